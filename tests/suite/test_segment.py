"""A word segmenter from a treebank by a recipe: trained elsewhere, scored, whole or not there at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from zh_elmo.files import BadInput, read_json, sha256
from zh_elmo.recipe import find, load
from zh_elmo.suite import jobs, treebanks
from zh_elmo.suite.segment import show, train_segmenter
from zh_elmo.suite.settings import TrainRecipe
from zh_elmo.text.pipeline import Pipeline, TextSettings
from zh_elmo.text.segmenters import pkuseg_train
from zh_elmo.ud.words import word_score

pytest.importorskip("spacy_pkuseg")
SMALL = ["data.treebank=zh_sample", "segmenter.iterations=1"]


def recipe(*sets: str) -> TrainRecipe:
    return load(find("recipes", "segment-gsd"), TrainRecipe, [*SMALL, *sets])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("segment") / "model"
    facts = train_segmenter(recipe(), folder, command="zh-elmo train", quiet=True)
    assert facts == read_json(folder / "segmenter.json")
    return folder


def test_the_folder_is_a_model_with_its_score(trained: Path) -> None:
    facts = read_json(trained / "segmenter.json")
    assert sorted(path.name for path in trained.iterdir()) == ["features.msgpack", "segmenter.json", "weights.npz"]
    assert [path.name for path in trained.parent.iterdir()] == ["model"]
    text = TextSettings(segmenter="pkuseg", segmenter_model=str(trained))
    score = word_score(treebanks.load("zh_sample").test, Pipeline(text))
    assert facts["score"] == {"split": "test", **score.as_dict()}
    assert score.f1 > 70
    assert len(facts["held_out"]["f1"]) == 1
    assert facts["text"] == {"script": "simplified", "punctuation": "full", "quotes": "curly"}
    assert facts["data"]["files"]["train"]["sentences"] == 500
    assert facts["files"] == {name: sha256(trained / name) for name in ("features.msgpack", "weights.npz")}
    assert facts["versions"]["spacy-pkuseg"]
    assert show(facts) == (
        f"zh_sample test: word F1 {score.f1:.2f} (precision {facts['score']['precision']:.2f}, recall "
        f"{facts['score']['recall']:.2f}, 3,062 words; gold spans, white space ignored)"
    )


def test_the_same_seed_gives_the_same_bytes(trained: Path, tmp_path: Path) -> None:
    files = {}
    for seed in (1, 2):
        train_segmenter(recipe(f"seed={seed}"), tmp_path / str(seed), quiet=True)
        files[seed] = [(tmp_path / str(seed) / name).read_bytes() for name in ("features.msgpack", "weights.npz")]
    assert files[1] == [(trained / name).read_bytes() for name in ("features.msgpack", "weights.npz")]
    assert files[1][1] != files[2][1]


def test_the_recipe_of_the_shelf() -> None:
    settings = load(find("recipes", "segment-gsd"), TrainRecipe)
    assert settings.segmenter is not None
    assert settings.segmenter.iterations <= 5
    assert settings.data.treebank == "zh_gsd"


@pytest.mark.parametrize("sets", ["tagger.hidden=8", "parser.tags=none", "vectors.kind=static"])
def test_a_segmenter_stands_alone(sets: str) -> None:
    with pytest.raises(BadInput, match=r"\[segmenter\] stands alone"):
        recipe(sets)


def test_what_is_no_segmenter_is_not_replaced(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("three years")
    with pytest.raises(BadInput, match="exists and is not a segmenter") as caught:
        train_segmenter(recipe(), tmp_path, quiet=True)
    assert caught.value.usage
    assert (tmp_path / "thesis.txt").read_text() == "three years"


def test_a_training_that_fails_is_one_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pkuseg_train, "write_words", lambda path, _: path.parent.mkdir(exist_ok=True) or path.touch())
    with pytest.raises(BadInput, match="training failed: 0 sentences"):
        train_segmenter(recipe(), tmp_path / "out", quiet=True)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_training_leaves_what_was_there(trained: Path, tmp_path: Path) -> None:
    command = ["train", "segment-gsd", "--out", "out", "--set", SMALL[0], "--set", "segmenter.iterations=100"]
    root = str(Path(jobs.__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root, "TMPDIR": str(tmp_path)}
    running = subprocess.Popen(
        [sys.executable, "-m", "zh_elmo", *command], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".out.*.part/scratch")) and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert said.splitlines()[-1].startswith("zh-elmo: interrupted")
    assert list(tmp_path.iterdir()) == []
