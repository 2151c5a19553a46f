"""Stored layers of a biLM: what the model gives, rounded, written once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zh_elmo.embed.embedder import Embedder, load
from zh_elmo.embed.store import Store
from zh_elmo.files import BadInput
from zh_elmo.suite import features
from zh_elmo.suite.features import ElmoFeatures

SENTENCES = [["我", "买", "了"], ["好"], ["我", "买", "了"], ["你", "好"]]


@pytest.fixture(scope="module")
def embedder(model: Path) -> Embedder:
    return load(model)


def test_the_store_gives_the_layers_of_the_model(model: Path, embedder: Embedder, tmp_path: Path) -> None:
    assert features.write(model, SENTENCES, tmp_path / "store") == {"model": embedder.digest, "words": 6}
    vectors = ElmoFeatures(Store.open(tmp_path / "store"))
    assert (vectors.n_layers, vectors.width, vectors.digest) == (3, 12, embedder.digest)
    for found, expected in zip(vectors(SENTENCES), embedder(SENTENCES), strict=True):
        assert found.dtype == np.float16
        assert found == pytest.approx(expected, abs=1e-3)


def test_new_sentences_are_rounded_like_stored_ones(model: Path, embedder: Embedder, tmp_path: Path) -> None:
    features.write(model, SENTENCES[:2], tmp_path / "store")
    both = ElmoFeatures(Store.open(tmp_path / "store"), embedder)
    for found, expected in zip(both(SENTENCES), ElmoFeatures(embedder=embedder)(SENTENCES), strict=True):
        assert found.dtype == np.float16
        assert found == pytest.approx(expected, abs=1e-3)


def test_without_the_model_only_stored_sentences_have_vectors(model: Path, tmp_path: Path) -> None:
    features.write(model, SENTENCES, tmp_path / "store")
    with pytest.raises(BadInput, match="no vectors are stored of the sentence 我 好"):
        ElmoFeatures(Store.open(tmp_path / "store"))([["我", "好"]])
    with pytest.raises(ValueError, match="store or an embedder"):
        ElmoFeatures()


def test_writing_goes_on_where_it_was_and_another_model_begins_anew(model: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    features.write(model, SENTENCES[:2], store)
    inode = (store / "features.bin").stat().st_ino
    features.write(model, SENTENCES, store)
    assert (store / "features.bin").stat().st_ino == inode
    assert len(Store.open(store)) == 3
    meta = (store / "meta.json").read_text("utf-8")
    (store / "meta.json").write_text(meta.replace('"model": "', '"model": "0'), "utf-8")
    features.write(model, SENTENCES[:1], store)
    assert len(Store.open(store)) == 1
