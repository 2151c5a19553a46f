"""sents2elmo: each output_layer is what it was, and no call changes the next."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
from small_model import LAYERS, WIDTH

import zh_elmo
from zh_elmo.compat.elmoformanylangs import Embedder
from zh_elmo.files import BadInput

SENTENCES = [["我", "买", "了", "苹果"], ["他"], [], ["蘋果", "六斤", "。"]]


def test_the_call_is_that_of_the_original() -> None:
    made = inspect.signature(Embedder).parameters
    assert list(made) == ["model_dir", "batch_size"]
    assert made["batch_size"].default == 64
    called = inspect.signature(Embedder.sents2elmo).parameters
    assert list(called) == ["self", "sents", "output_layer"]
    assert called["output_layer"].default == -1


def test_output_layers(model: Path) -> None:
    embedder = Embedder(str(model))
    due = zh_elmo.load(model).embed(SENTENCES, layers="all")
    layers = embedder.sents2elmo(SENTENCES, -2)
    assert [a.shape for a in layers] == [(LAYERS, len(s), WIDTH) for s in SENTENCES]
    for array, right in zip(layers, due, strict=True):
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, right)
    for number in range(LAYERS):
        for array, right in zip(embedder.sents2elmo(SENTENCES, output_layer=number), due, strict=True):
            np.testing.assert_array_equal(array, right[number])
    for array, right in zip(embedder.sents2elmo(SENTENCES), due, strict=True):
        assert array.shape == right.shape[1:]
        np.testing.assert_allclose(array, right.mean(0), atol=1e-6)


def test_no_state_from_call_to_call(model: Path) -> None:
    embedder = Embedder(model, batch_size=1)
    first = embedder.sents2elmo(SENTENCES)
    for sentence, array in zip(SENTENCES, first, strict=True):
        np.testing.assert_allclose(embedder.sents2elmo([sentence])[0], array, atol=1e-5)
    assert embedder.sents2elmo([]) == []


def test_bad_input(model: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="absent"):
        Embedder(tmp_path / "absent")
    embedder = Embedder(model)
    for layer in (LAYERS, -3):
        with pytest.raises(BadInput, match="layer"):
            embedder.sents2elmo(SENTENCES, layer)
    with pytest.raises(BadInput, match="list of words"):
        embedder.sents2elmo(["我买了"])
