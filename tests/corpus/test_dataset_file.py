"""A data set of one's own, by the path of its TOML."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from zh_elmo.corpus.build import build
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.files import BadInput
from zh_elmo.text.pipeline import TextSettings

SETTINGS = CorpusSettings(text=TextSettings(segmenter="characters"), held_out=0.0)
ABOUT = """name = "news"
title = "News"
kind = "{kind}"
language = "zh"
licence = "CC BY 4.0"
attribution = "The paper"
origin = "by hand"
reader = "lines"

[[files]]
path = "texts/a.txt"
sha256 = "{digest}"
role = "text"
"""


def dataset(folder: Path, *, kind: str = "text", digest: str = "") -> Path:
    raw = "甲乙丙。\n".encode()
    (folder / "texts").mkdir(parents=True)
    (folder / "texts/a.txt").write_bytes(raw)
    path = folder / "news.toml"
    path.write_text(ABOUT.format(kind=kind, digest=digest or hashlib.sha256(raw).hexdigest()), "utf-8")
    return path


def test_its_files_lie_beside_it(tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("丁戊。\n", "utf-8")
    manifest = build(SETTINGS, [dataset(tmp_path / "set"), tmp_path / "more.txt"], tmp_path / "c", quiet=True)
    news, more = manifest["sources"]
    assert (news["name"], news["licence"], news["attribution"]) == ("news", "CC BY 4.0", "The paper")
    assert "licence" not in more
    assert manifest["counts"]["train"]["paragraphs"] == 2


def test_a_recipe_may_name_it(tmp_path: Path) -> None:
    settings = CorpusSettings(sources=[str(dataset(tmp_path / "set"))], text=SETTINGS.text, held_out=0.0)
    assert build(settings, [], tmp_path / "c", quiet=True)["sources"][0]["name"] == "news"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"digest": "0" * 64}, "SHA-256 is"),
        ({"kind": "treebank"}, "news is a treebank, not raw text"),
        ({"kind": "words"}, "news.toml"),
    ],
)
def test_what_is_wrong_with_it_is_one_line(tmp_path: Path, changes: dict[str, str], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        build(SETTINGS, [dataset(tmp_path / "set", **changes)], tmp_path / "c", quiet=True)


def test_a_file_that_is_nowhere(tmp_path: Path) -> None:
    path = dataset(tmp_path / "set")
    (tmp_path / "set/texts/a.txt").unlink()
    with pytest.raises(BadInput, match="not found in the folder of its TOML"):
        build(SETTINGS, [path], tmp_path / "c", quiet=True)
