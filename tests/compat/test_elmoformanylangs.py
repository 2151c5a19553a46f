"""sents2elmo: each output_layer is what it was, and state goes on where it is asked for."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
from golden.archive import BATCHES, DATA, Archive
from small_model import LAYERS, WIDTH

import zh_elmo
from zh_elmo.compat.elmoformanylangs import Embedder
from zh_elmo.files import BadInput

pytestmark = pytest.mark.filterwarnings("ignore:the model reads")
SENTENCES = [["我", "买", "了", "苹果"], ["他"], [], ["蘋果", "六斤", "。"]]
LAYERED = ["efml_char", "efml_word", "efml_word_char", "efml_noclip3", "efml_lstm_word"]


def test_the_call_is_that_of_the_original() -> None:
    made = inspect.signature(Embedder).parameters.values()
    assert [p.name for p in made if p.kind is p.POSITIONAL_OR_KEYWORD] == ["model_dir", "batch_size"]
    assert [p.default for p in made] == [inspect.Parameter.empty, 64, "reset", "model"]
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


@pytest.mark.parametrize("name", LAYERED)
@pytest.mark.parametrize("layer", [-2, -1, 0, 1, 2])
def test_golden(name: str, layer: int) -> None:
    golden = Archive(f"{name}/elmoformanylangs.npz")
    carrying, resetting = (Embedder(DATA / name, state=state) for state in ("carry", "reset"))
    for call, batch in enumerate(BATCHES):
        due = [golden[f"call{call}_layer{layer}_sent{i}"] for i in range(len(batch))]
        _compare(carrying.sents2elmo(batch, layer), due)
        if call == 0:
            _compare(resetting.sents2elmo(batch, layer), due)
    if layer == -2:
        _compare(Embedder(DATA / name, state="carry").sents2elmo(BATCHES[0][:1], -2), [golden["single_first"]])


def test_golden_without_layers() -> None:
    golden = Archive("efml_enc_lstm/elmoformanylangs.npz")
    embedder = Embedder(DATA / "efml_enc_lstm", state="carry")
    for call, batch in enumerate(BATCHES):
        due = [golden[f"call{call}_layer-2_sent{i}"] for i in range(len(batch))]
        for layer in (-2, -1, 0):  # in the original -1 is a mean over words, 0 the first word
            _compare(embedder.sents2elmo(batch, layer), due)
    with pytest.raises(BadInput, match="layers must be"):
        embedder.sents2elmo(BATCHES[0], 1)
    [alone] = Embedder(DATA / "efml_enc_lstm").sents2elmo(BATCHES[0][:1], -2)
    _compare([alone], [golden["single_first"]])


def test_state_goes_from_batch_to_batch_in_falling_length(model: Path) -> None:
    given = [["他"], ["我", "买", "了"], ["我", "吃", "。"], ["你", "他"], []]
    embedder = zh_elmo.load(model, state="carry")
    longest = embedder.embed([given[1], given[2]], layers=2)
    middle = embedder.embed([given[3], given[0]], layers=2)
    last = embedder.embed([given[4]], layers=2)
    due = [middle[1], longest[0], longest[1], middle[0], last[0]]
    _compare(Embedder(model, batch_size=2, state="carry").sents2elmo(given, 2), due, 1e-6)


def test_no_state_from_call_to_call(model: Path) -> None:
    embedder = Embedder(model, batch_size=1)
    first = embedder.sents2elmo(SENTENCES)
    for sentence, array in zip(SENTENCES, first, strict=True):
        np.testing.assert_allclose(embedder.sents2elmo([sentence])[0], array, atol=1e-5)


def test_nothing_given(model: Path) -> None:
    for state in ("reset", "carry"):
        assert Embedder(model, state=state).sents2elmo([]) == []
    [word] = Embedder(DATA / "efml_word_char").sents2elmo([[""]], -2)
    assert word.shape == (3, 1, 32)


def test_normalize() -> None:
    """A word in full-width letters, which only the half-width form of is in the dictionary."""
    name = DATA / "efml_word_char"
    known = next(word for word in zh_elmo.load(name).bilm.words if word.isascii() and word.isalpha())
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in known)
    as_given, folded = (Embedder(name, normalize=how).sents2elmo([[wide]], 0)[0] for how in (None, "auto"))
    [due] = Embedder(name).sents2elmo([[known]], 0)
    np.testing.assert_array_equal(folded, due)
    assert np.abs(as_given - due).max() > 1e-3


def test_bad_input(model: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="absent"):
        Embedder(tmp_path / "absent")
    with pytest.raises(BadInput, match="batch_size"):
        Embedder(model, batch_size=0)
    for state in ("reset", "carry"):
        embedder = Embedder(model, state=state)
        for layer in (LAYERS, -3):
            with pytest.raises(BadInput, match="layer"):
                embedder.sents2elmo(SENTENCES, layer)
        with pytest.raises(BadInput, match="list of words"):
            embedder.sents2elmo(["我买了"])


def _compare(found: list[np.ndarray], due: list[np.ndarray], tolerance: float = 2e-5) -> None:
    assert [a.shape for a in found] == [a.shape for a in due]
    for array, right in zip(found, due, strict=True):
        np.testing.assert_allclose(array, right, rtol=0, atol=tolerance)
