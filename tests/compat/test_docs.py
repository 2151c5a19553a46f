"""What the pages on old programs show is what comes out, in both languages."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs/compat.md", ROOT / "docs/compat.zh.md"]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
_IMPORT = re.compile(r"^\+(from zh_elmo\S+ import .*)$", re.M)


def _blocks(page: Path) -> list[tuple[str, str]]:
    return _BLOCK.findall(page.read_text("utf-8"))


@pytest.mark.filterwarnings("ignore:the model reads")
def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    said, ran = "", 0
    for language, block in _blocks(PAGES[0]):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(block, names)
            said, ran = out.getvalue(), ran + 1
        elif language == "text":
            assert said == block
        else:
            exec("\n".join(_IMPORT.findall(block)), {})
    assert ran == 6
    assert (tmp_path / "vectors.hdf5").is_file()


def test_both_languages_show_the_same() -> None:
    english, chinese = map(_blocks, PAGES)
    assert english == chinese
    tables = [[line for line in page.read_text("utf-8").splitlines() if line.startswith("|")] for page in PAGES]
    assert [line.count("|") for line in tables[0]] == [line.count("|") for line in tables[1]]
