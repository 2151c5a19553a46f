"""The shape of the house: shelves hold data, modules say their idea first, functions fit a screen, no machine shows."""

from __future__ import annotations

import ast
import configparser
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "zh_elmo"
SOURCES = sorted(PACKAGE.rglob("*.py"))
SHELVES = ("corpora", "recipes", "eval")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("shelf", SHELVES)
def test_shelves_hold_no_code(shelf: str):
    files = [path for path in (ROOT / shelf).rglob("*") if path.is_file()]
    assert [name(path) for path in files if path.suffix not in {".toml", ".conllu", ".md", ".txt"}] == []
    assert any(path.suffix == ".toml" for path in files)


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_module_says_its_idea_in_its_first_line(path: Path):
    source = path.read_text("utf-8")
    docstring = ast.get_docstring(ast.parse(source))
    assert docstring
    assert source.startswith('"""')
    assert docstring.splitlines()[0].strip()


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_files_and_functions_can_be_read_at_one_go(path: Path):
    source = path.read_text("utf-8")
    functions = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    too_long = [f.name for f in functions if (f.end_lineno or f.lineno) - f.lineno + 1 > 60]
    assert too_long == []
    assert source.count("\n") <= 500


def test_the_wheel_is_told_of_every_room():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", "utf-8")
    listed = setup["options"]["packages"].split()
    rooms = {".".join(path.parent.relative_to(ROOT).parts) for path in SOURCES}
    assert sorted(listed) == sorted(rooms | {f"zh_elmo.shelves.{shelf}" for shelf in SHELVES})
    assert len(set(listed)) == len(listed)


def test_the_package_holds_code_alone():
    """Data lie on the shelves, which the wheel is told of; a file of another kind in a room would be left out of it."""
    files = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    others = [name(path) for path in files if path.suffix != ".py"]
    assert others == ["zh_elmo/py.typed"]


def test_pins_leave_no_build_of_one_machine():
    pins = [line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", pin) for pin in pins), pins
    assert "torch==2.13.0" in pins


# Put together from pieces, so that this file does not find itself.
FOLDERS = ["wo" + "rk", "ro" + "ot", "fa" + "rm", "tmp/" + "bash_jobs"]
HOSTS = ["py" + r"pi\.org", "python" + r"hosted\.org", "download\\.py" + "torch", "registry\\.npm" + "js"]
MACHINE = re.compile(r"(?<![\w.~-])/(?:" + "|".join(FOLDERS) + r")(?:/|\b)")
REGISTRY = re.compile(r"(?i)\b(?:" + "|".join(HOSTS) + r"|--(?:extra-)?index-url[ =]https?:)")


def tracked() -> list[Path]:
    """What git tracks, or would: new files count, ignored ones do not."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / part for part in done.stdout.decode().split("\0") if part]
    return [path for path in paths if path.is_file()]


def test_no_machine_and_no_registry_is_named():
    found = []
    for path in tracked():
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), 1):
            if MACHINE.search(line) or REGISTRY.search(line):
                found.append(f"{name(path)}:{number}: {line.strip()[:100]}")
    assert not found, "\n".join(found)


def test_what_is_looked_for_would_be_found():
    assert MACHINE.search('open("/wo' + 'rk/shared/x")')
    assert MACHINE.search("cd /ro" + "ot")
    assert not MACHINE.search("src/wo" + "rk/x")
    assert REGISTRY.search("https://py" + "pi.org/simple")


def test_nothing_large_is_tracked():
    assert [name(path) for path in tracked() if path.stat().st_size > 27_000_000] == []
