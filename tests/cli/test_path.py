"""The commands one after another, as a person would type them, on a text and a treebank of a few sentences."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zh_elmo.cli.main import main
from zh_elmo.data import treebank
from zh_elmo.ud import conllu

Command = Callable[..., Any]
PRETRAIN = """\
# A biLM for tests
[corpus]
held_out = 0.2
[corpus.text]
segmenter = "words"
[model]
projection = 8
cell = 8
[model.characters]
size = 4
filters = [[1, 4], [2, 4]]
minimum_count = 1
[streams]
batch = 2
window = 4
[softmax]
negatives = 16
[training]
steps = 6
"""
TRAIN = """\
# A tagger and a parser for tests
[data]
treebank = "treebank"
[vectors]
kind = "elmo"
model = "run/model"
[tagger]
word_size = 8
character_size = 4
hidden = 8
[tagger.training]
epochs = 1
minimum_steps = 4
evaluations = 1
[parser]
word_size = 8
character_size = 4
hidden = 8
layers = 1
arc_size = 8
label_size = 4
[parser.training]
epochs = 1
minimum_steps = 4
evaluations = 1
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with text, treebank and recipes, in which a corpus was built and a biLM pre-trained."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "treebank").mkdir()
    texts = []
    for role, path in treebank("zh_sample").items():
        sentences = conllu.read(path)[:12]
        conllu.write(folder / "treebank" / f"small-{role}.conllu", sentences)
        texts += [" ".join(sentence.forms) for sentence in sentences if role == "train"]
    (folder / "text.txt").write_text("\n".join(texts) + "\n", "utf-8")
    (folder / "tiny.toml").write_text(PRETRAIN, "utf-8")
    (folder / "both.toml").write_text(TRAIN, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["corpus", "build", "tiny.toml", "text.txt", "--out", "corpus", "--quiet", "--threads", "1"]) == 0
        assert main(["pretrain", "tiny.toml", "--corpus", "corpus", "--out", "run", "--quiet"]) == 0
        yield folder


@pytest.fixture
def here(zh_elmo: Command, place: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Commands in that folder."""
    monkeypatch.chdir(place)
    return zh_elmo


def test_the_corpus_has_the_settings_of_the_recipe(here: Command, place: Path):
    manifest = json.loads((place / "corpus" / "manifest.json").read_text("utf-8"))
    assert manifest["settings"]["text"]["segmenter"] == "words"
    assert "text.txt" in here("corpus", "show", "corpus").out


def test_options_win_over_the_recipe(here: Command, place: Path, tmp_path: Path):
    options = ["--script", "keep", "--segmenter", "characters", "--exclude", "zh_sample", "--quiet", "--threads", "1"]
    ended = here("corpus", "build", "tiny.toml", "text.txt", "--out", tmp_path / "other", *options)
    assert ended.code in (0, 1)  # 1: all of its sentences were excluded
    ended = here("corpus", "build", "tiny.toml", "text.txt", "--out", tmp_path / "other", *options[:4], *options[6:])
    settings = json.loads((tmp_path / "other" / "manifest.json").read_text("utf-8"))["settings"]
    assert ended.code == 0
    assert (settings["text"]["script"], settings["text"]["segmenter"]) == ("keep", "characters")
    assert settings["held_out"] == 0.2


def test_the_card_says_how_the_model_was_made(here: Command):
    ended = here("info", "run/model")
    assert ended.code == 0
    assert "tiny.toml" in ended.out
    assert "text.txt" in ended.out
    facts = json.loads(here("info", "run/model", "--json").out)
    assert facts["facts"]["steps"] == 6
    assert facts["text"]["segmenter"] == "words"


def test_perplexity_is_the_one_of_the_card(here: Command):
    printed = json.loads(here("perplexity", "run/model", "corpus", "--json", "--quiet").out)
    facts = json.loads(here("info", "run/model", "--json").out)["facts"]
    assert printed["mean"] == pytest.approx(facts["held_out_perplexity"]["mean"], rel=1e-6)
    assert f"{printed['mean']:,.2f}" in here("perplexity", "run/model", "corpus", "--quiet").out


def test_pretraining_twice_into_one_folder_is_refused(here: Command):
    ended = here("pretrain", "tiny.toml", "--corpus", "corpus", "--out", "run", "--quiet")
    assert ended.code == 2
    assert "--resume" in ended.line


def test_embed_to_a_store_and_to_hdf5(here: Command, place: Path, tmp_path: Path):
    h5py = pytest.importorskip("h5py")
    from zh_elmo.embed.store import Store

    ended = here("embed", "run/model", "text.txt", "--out", tmp_path / "v.store", "--dtype", "float32", "--quiet")
    assert ended.code == 0
    assert "12 sentences" in ended.out
    assert "taken for words" in ended.out
    assert here("embed", "run/model", "text.txt", "--out", tmp_path / "v.h5", "--layers", "1", "--quiet").code == 0
    with Store.open(tmp_path / "v.store") as store, h5py.File(tmp_path / "v.h5") as file:
        np.testing.assert_allclose(store[3][1], file["3"][()], atol=1e-6)


def test_an_empty_file_is_not_embedded(here: Command, tmp_path: Path):
    (tmp_path / "empty.txt").write_text("", "utf-8")
    for name in ("v.store", "v.h5"):
        ended = here("embed", "run/model", tmp_path / "empty.txt", "--out", tmp_path / name, "--quiet")
        assert ended.code == 1
        assert "empty.txt: no sentence" in ended.line
    assert [path.name for path in tmp_path.iterdir()] == ["empty.txt"]


def test_text_that_is_not_utf8_is_not_embedded(here: Command, tmp_path: Path):
    (tmp_path / "bad.txt").write_bytes("苹果 很 好吃\n".encode() * 3 + b"\xff\n")
    ended = here("embed", "run/model", tmp_path / "bad.txt", "--out", tmp_path / "v.h5", "--quiet")
    assert ended.code == 1
    assert "bad.txt:4 (byte 54)" in ended.line
    assert [path.name for path in tmp_path.iterdir()] == ["bad.txt"]


def test_a_damaged_model_is_named(here: Command, place: Path, tmp_path: Path):
    import shutil

    shutil.copytree(place / "run" / "model", tmp_path / "model")
    weights = tmp_path / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    ended = here("info", tmp_path / "model")
    assert ended.code == 1
    assert "model.safetensors" in ended.line


def test_train_predict_score_report(here: Command, place: Path, tmp_path: Path):
    ended = here("train", "both.toml", "--out", "both", "--threads", "1", "--quiet")
    assert ended.code == 0, ended.err
    assert "UPOS" in ended.out
    gold = place / "treebank" / "small-test.conllu"
    assert here("predict", "both", gold, "--out", tmp_path / "system.conllu", "--threads", "1").code == 0
    predicted = conllu.read(tmp_path / "system.conllu", trees=True)
    assert [sentence.forms for sentence in predicted] == [sentence.forms for sentence in conllu.read(gold)]
    assert here("predict", "both", gold, "--threads", "1").out == (tmp_path / "system.conllu").read_text("utf-8")

    train = place / "treebank" / "small-train.conllu"
    scored = json.loads(here("score", gold, tmp_path / "system.conllu", "--train", train, "--json").out)
    whole, slices = scored["metrics"], scored["slices"]
    assert len(whole) == 13
    assert whole["Words"]["f1"] == 1.0
    assert slices["IV"]["LAS"]["correct"] + slices["OOV"]["LAS"]["correct"] == whole["LAS"]["correct"]
    n_oov = slices["OOV"]["Words"]["gold_total"]
    assert scored["oov_rate"] == pytest.approx(n_oov / whole["Words"]["gold_total"])
    assert "OOV (" in here("score", gold, tmp_path / "system.conllu", "--train", train).out

    (place / "both" / "report.html").unlink()
    ended = here("report", "both")
    assert ended.code == 0
    assert "UPOS" in ended.out
    assert (place / "both" / "report.html").is_file()


def test_eval_runs_a_suite_and_says_where_the_page_is(here: Command, place: Path):
    suite = 'title = "Small"\ntreebanks = ["treebank"]\narms = ["none"]\nsamples = 10\n'
    sizes = TRAIN.partition("[tagger]")
    (place / "suite.toml").write_text(suite + sizes[1] + sizes[2], "utf-8")
    ended = here("eval", "suite.toml", "--out", "results", "--threads", "1", "--quiet")
    assert ended.code == 0, ended.err
    assert str(Path("results") / "report.html") in ended.out
    results = json.loads((place / "results" / "results.json").read_text("utf-8"))
    assert [cell["arm"] for cell in results["cells"]] == ["none"]


def test_eval_without_a_model_for_its_arm_is_wrong_usage(here: Command):
    ended = here("eval", "gsd", "--out", "nothing", "--threads", "1", "--quiet")
    assert ended.code == 2
    assert "model" in ended.line


def test_get_copies_a_data_set(here: Command, tmp_path: Path):
    ended = here("corpus", "get", "zh_sample", "--out", tmp_path / "copy")
    assert ended.code == 0
    copied = sorted(path.name for path in (tmp_path / "copy").iterdir())
    assert copied == [f"zh_sample-ud-{role}.conllu" for role in ("dev", "test", "train")]
    assert sorted(Path(line).name for line in ended.out.splitlines()) == copied
    assert "CC0" in ended.err
