"""`zh-elmo embed`: what is asked of it, and what is refused."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from small_model import save_small

from zh_elmo.embed.embedder import load
from zh_elmo.embed.hdf5_read import Vectors

h5py = pytest.importorskip("h5py")
Command = Callable[..., Any]
GOLDEN = Path(__file__).parents[1] / "golden" / "data"
WORDS = "我 买 了 苹果 。\n\n你 吃 六 斤 / .\n"
LINES = [line.split() for line in WORDS.splitlines()]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "w.txt").write_text(WORDS, "utf-8")
    return save_small(tmp_path / "model")


@pytest.mark.parametrize(
    ("options", "layers"),
    [
        ((), "all"),
        (("--all",), "all"),
        (("--layers", "all"), "all"),
        (("--top",), 2),
        (("--layers", "top"), 2),
        (("--layers", "1"), 1),
        (("--average",), None),
        (("--layers", "average"), None),
        (("--layers", "mean"), None),
        (("--layout", "elmoformanylangs"), None),
        (("--layout", "allennlp", "--top"), 2),
    ],
)
def test_layers(zh_elmo: Command, place: Path, options: tuple[str, ...], layers: Any):
    ended = zh_elmo("embed", place, "w.txt", "--out", "v.h5", "--input", "words", "--quiet", *options)
    assert ended.code == 0
    lines = [words for words in LINES if words or "elmoformanylangs" not in options]
    with Vectors("v.h5") as vectors:
        for found, due in zip(vectors, load(place).embed(lines, layers=layers), strict=True):
            np.testing.assert_allclose(found, due, atol=1e-6)
        assert vectors.layout == (options[1] if "--layout" in options else "own")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--top", "--average"), "--top and --average do not go together"),
        (("--layers", "1", "--all"), "--layers 1 and --all do not go together"),
        (("--layers", "7"), "the model has 3 layers, from 0 to 2; there is no 7"),
        (("--layers", "-1"), "--layers -1"),
        (("--layers", "²"), "--layers ²"),
        (("--layout", "bilm-tf", "--top"), "layout bilm-tf holds all layers"),
        (("--layout", "elmoformanylangs", "--all"), "one vector a word"),
        (("--layout", "allennlp", "--dtype", "float16"), "is float32"),
        (("--layout", "hdf"), "--layout"),
        (("--batch-size", "4"), "--batch-size without --state carry"),
        (("--state", "carry", "--batch-size", "0"), "--batch-size"),
        (("--tokens", "--top", "--state", "carry"), "--layers, --state carry with --tokens"),
        (("--resume",), "an HDF5 file cannot be resumed"),
        (("--out", "v.store", "--layout", "own"), "is one of HDF5 files"),
        (("--out", "v.store", "--top"), "a store has all layers"),
        (("--out", "v.txt", "--all"), "text holds one vector a word"),
        (("--out", "v.store", "--state", "carry", "--resume"), "cannot be resumed"),
        (("--out", "v.store", "--tokens"), "are written as HDF5"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(zh_elmo: Command, place: Path, options: tuple[str, ...], said: str):
    ended = zh_elmo("embed", place, "w.txt", "--out", "v.h5", *options)
    assert ended.code == 2
    assert said in ended.line
    assert sorted(path.name for path in place.parent.iterdir()) == ["model", "w.txt"]


@pytest.mark.parametrize("kind", [None, "words", "conllu"])
def test_standard_input(zh_elmo: Command, place: Path, monkeypatch: pytest.MonkeyPatch, kind: str | None):
    lines = LINES
    text = WORDS
    if kind == "conllu":
        lines = [["我"], ["买", "了"]]
        rows = [[f"{n}\t{word}" + "\t_" * 8 for n, word in enumerate(words, 1)] for words in lines]
        text = "\n\n".join("\n".join(block) for block in rows) + "\n\n"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    options = ["--input", kind] if kind == "words" else []
    ended = zh_elmo("embed", place, "-", "--out", "v.h5", "--quiet", *options)
    assert ended.code == 0
    assert f"taken for {kind or 'words'}" in ended.out
    with Vectors("v.h5") as vectors:
        assert [vectors.words(number) for number in range(len(vectors))] == lines
    with h5py.File("v.h5") as file:
        facts = json.loads(file.attrs["facts"])
    assert facts["source"]["name"] == "standard input"
    assert facts["command"].startswith("zh-elmo")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (b"a\n\xff\n", "standard input:2 (byte 2): not UTF-8"),
        (b"\n", "standard input: no sentence in this file"),
    ],
)
def test_standard_input_that_cannot_be_read(
    zh_elmo: Command, place: Path, monkeypatch: pytest.MonkeyPatch, given: bytes, said: str
):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(given)))
    ended = zh_elmo("embed", place, "-", "--out", "v.h5")
    assert ended.code == 1
    assert ended.line.startswith(said)


def test_the_command_is_noted(zh_elmo: Command, place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["x", "embed", "my model", "w.txt"])
    assert zh_elmo("embed", place, "w.txt", "--out", "v.h5", "--quiet").code == 0
    with h5py.File("v.h5") as file:
        assert json.loads(file.attrs["facts"])["command"] == "zh-elmo embed 'my model' w.txt"


def test_text_and_tabs(zh_elmo: Command, place: Path):
    Path("t.txt").write_text("New York\t我\n", "utf-8")
    ended = zh_elmo("embed", place, "t.txt", "--out", "v.txt", "--input", "tabs", "--quiet")
    assert ended.code == 0
    lines = Path("v.txt").read_text("utf-8").split("\n")
    assert [line.split("\t")[0] for line in lines] == ["New York", "我", "", ""]
    due = load(place).embed([["New York", "我"]])[0]
    np.testing.assert_allclose(np.array(lines[1].split("\t")[1:], float), due[1], atol=1e-6)


@pytest.mark.parametrize("normalize", ["model", "auto", "none"])
def test_state_warmup_and_normalisation_reach_the_embedder(zh_elmo: Command, place: Path, normalize: str):
    Path("w.txt").write_text("買 了\n蘋果\n我 吃\n", "utf-8")
    options = ["--state", "carry", "--batch-size", "2", "--warmup", "--normalize", normalize, "--input", "words"]
    assert zh_elmo("embed", place, "w.txt", "--out", "v.h5", "--quiet", *options).code == 0
    embedder = load(place, state="carry", normalize=None if normalize == "none" else normalize)
    due = embedder.embed([["買", "了"], ["蘋果"], ["我", "吃"]], layers="all", batch_size=2, warmup=True)
    with Vectors("v.h5") as vectors:
        for found, right in zip(vectors, due, strict=True):
            np.testing.assert_allclose(found, right, atol=1e-6)
        plain = load(place).embed([["買", "了"]], layers="all")[0]
        assert np.abs(vectors[0] - plain).max() > 1e-4


def test_vectors_of_a_vocabulary(zh_elmo: Command, tmp_path: Path):
    """bilm-tf's `dump_token_embeddings`."""
    folder = GOLDEN / "bilm_skip"
    ended = zh_elmo("embed", folder / "weights.hdf5", folder / "vocab.txt", "--tokens", "--out", "t.h5", "--quiet")
    assert ended.code == 0
    assert ended.out == "t.h5: 75 words, 16 numbers each\n"
    with h5py.File("t.h5") as ours, h5py.File(folder / "embedding_weights.hdf5") as theirs:
        np.testing.assert_allclose(ours["embedding"][()], theirs["embedding"][()], rtol=0, atol=2e-5)


def test_what_is_left_out_is_one_line(zh_elmo: Command, place: Path):
    options = ["--layout", "elmoformanylangs", "--input", "words", "--quiet"]
    ended = zh_elmo("embed", place, "w.txt", "--out", "v.h5", *options)
    assert ended.code == 0
    assert ended.err == "zh-elmo: note: v.h5: of 3 sentences 1 without words, which have no key, are left out\n"
