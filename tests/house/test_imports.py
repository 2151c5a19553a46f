"""Rooms import downwards only, and light rooms stay light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "zh_elmo"

# Higher floors may import lower ones, and their own room. A module of the package's top folder is a room of its own.
FLOORS = {
    "compressed": -1,
    "spawned": -1,
    "files": 0,
    "progress": 0,
    "fetch": 1,
    "recipe": 1,
    "data": 2,
    "fit": 2,
    "text": 3,
    "corpus": 4,
    "lm": 5,
    "formats": 6,
    "embed": 7,
    "ud": 8,
    "compat": 8,
    "plugs": 8,
    "tasks": 9,  # labels words with the layers and batches of ud
    "suite": 10,
    "train": 11,
    "cli": 12,
    "__init__": 13,
    "__main__": 13,
}
# `fit` serves the rooms that train; the words and shards below them know nothing of it.
USERS_OF_FIT = {"lm", "ud", "tasks", "suite", "train"}
SOURCES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    inside = path.relative_to(PACKAGE)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, room) of every import of zh_elmo in a module, inside functions too; `__version__` is anyone's to know."""
    version_alone = {"__version__"} == {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "zh_elmo"
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                top, _, rest = name.name.partition(".")
                if top == "zh_elmo" and (rest or not version_alone):
                    yield node.lineno, rest.partition(".")[0] or "__init__"
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import; say where from"
            top, _, rest = (node.module or "").partition(".")
            if top != "zh_elmo":
                continue
            for name in node.names:
                room = rest.partition(".")[0] or name.name
                if room == "__version__":
                    continue
                yield node.lineno, room if room in FLOORS else "__init__"


def upward(path: Path, tree: ast.AST) -> list[str]:
    """The imports of a module that break the order, each as a line to read."""
    here = room_of(path)
    faults = []
    for line, there in imported(tree):
        if there == here:
            continue
        forbidden = FLOORS[there] >= FLOORS[here] or (there == "fit" and here not in USERS_OF_FIT)
        if forbidden:
            faults.append(f"{path.relative_to(PACKAGE.parent)}:{line}: {here} may not import {there}")
    return faults


def test_every_room_has_its_floor():
    assert {room_of(path) for path in SOURCES} <= set(FLOORS)


def test_imports_point_downwards():
    faults = [fault for path in SOURCES for fault in upward(path, ast.parse(path.read_text("utf-8")))]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("module", "source", "wrong"),
    [
        ("text/x.py", "from zh_elmo.lm.model import BiLM", True),
        ("text/x.py", "def f():\n    import zh_elmo.corpus.build", True),
        ("text/x.py", "from zh_elmo import fit", True),
        ("corpus/x.py", "from zh_elmo import load", True),
        ("ud/x.py", "import zh_elmo\nzh_elmo.load('x')", True),
        ("ud/x.py", "import zh_elmo\nprint(zh_elmo.__version__)", False),
        ("ud/x.py", "from zh_elmo.tasks.crf import CRF", True),
        ("tasks/x.py", "from zh_elmo.ud.network import BiLSTM", False),
        ("tasks/x.py", "from zh_elmo.suite.run import run", True),
        ("ud/x.py", "from zh_elmo.embed.mix import ScalarMix\nfrom zh_elmo.fit import fit\nimport torch", False),
        ("lm/x.py", "from zh_elmo.lm.model import BiLM\nfrom zh_elmo.files import BadInput", False),
    ],
)
def test_the_check_itself_sees_upward_imports(module: str, source: str, wrong: bool):
    assert bool(upward(PACKAGE / module, ast.parse(source))) is wrong


HEAVY = ("torch", "jieba", "rjieba", "opencc", "spacy_pkuseg", "matplotlib", "gensim", "h5py", "scipy", "tensorflow")


# In one process, in this order: what one of them brings the next ones cannot take back.
LIGHT = ("zh_elmo", "zh_elmo.cli.main", "zh_elmo.recipe", "zh_elmo.data", "zh_elmo.ud.score", "zh_elmo.corpus.settings")


def test_light_modules_bring_nothing_heavy():
    code = f"import sys, {', '.join(LIGHT)}; print(*sorted(set(sys.modules) & set({HEAVY!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    assert done.stdout.split() == []
