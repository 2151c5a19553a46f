"""ElmoEmbedder and ScalarMix answer as AllenNLP 0.9 did."""

from __future__ import annotations

import inspect
import json
from itertools import cycle, islice
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from golden.archive import BATCHES, DATA, TEXT, Archive
from small_model import LAYERS, WIDTH

import zh_elmo
from zh_elmo.compat.allennlp import ElmoEmbedder, ScalarMix
from zh_elmo.embed import mix
from zh_elmo.embed.hdf5_read import Vectors
from zh_elmo.files import BadInput

pytestmark = pytest.mark.filterwarnings("ignore:the model reads")
SENTENCES = [["我", "买", "了", "苹果"], ["他"], []]
OPTIONS, WEIGHTS = DATA / "bilm_skip/options.json", DATA / "bilm_skip/weights.hdf5"


def test_embed(model: Path) -> None:
    embedder = ElmoEmbedder(model)
    due = zh_elmo.load(model).embed(SENTENCES, layers="all")
    batch = embedder.embed_batch(SENTENCES)
    assert [a.shape for a in batch] == [(LAYERS, len(s), WIDTH) for s in SENTENCES]
    for sentence, array, right in zip(SENTENCES, batch, due, strict=True):
        np.testing.assert_array_equal(array, right)
        np.testing.assert_allclose(embedder.embed_sentence(sentence), right, atol=1e-5)
    endless = islice(embedder.embed_sentences(cycle(SENTENCES), batch_size=2), 7)
    assert [a.shape[1] for a in endless] == [4, 1, 0, 4, 1, 0, 4]
    layers, mask = embedder.batch_to_embeddings(SENTENCES)
    assert mask.tolist() == [[1, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert layers.shape == (3, LAYERS, 4, WIDTH)
    np.testing.assert_allclose(layers[1, :, :1].numpy(), due[1], atol=1e-6)
    assert not layers[1, :, 1:].any()


def test_the_calls_are_those_of_the_original() -> None:
    made = inspect.signature(ElmoEmbedder).parameters.values()
    assert [p.name for p in made if p.kind is p.POSITIONAL_OR_KEYWORD] == ["options_file", "weight_file", "cuda_device"]
    called = inspect.signature(ElmoEmbedder.embed_file).parameters
    assert {name: p.default for name, p in called.items() if p.default is not p.empty} == {
        "output_format": "all", "batch_size": 64, "forget_sentences": False, "use_sentence_keys": False
    }  # fmt: skip
    assert list(called)[1:3] == ["input_file", "output_file_path"]
    assert inspect.signature(ElmoEmbedder.embed_sentences).parameters["batch_size"].default == 64


def test_ways_to_name_a_model(tmp_path: Path) -> None:
    sentence = ["今天", "cat"]
    due = zh_elmo.load(WEIGHTS, options=OPTIONS).embed([sentence], layers="all")[0]
    for embedder in (
        ElmoEmbedder(OPTIONS, WEIGHTS),
        ElmoEmbedder(str(OPTIONS), str(WEIGHTS), -1),
        ElmoEmbedder(options_file=OPTIONS, weight_file=WEIGHTS),
        ElmoEmbedder(weight_file=WEIGHTS),
        ElmoEmbedder(WEIGHTS),
    ):
        np.testing.assert_array_equal(embedder.embed_sentence(sentence), due)
    with pytest.warns(UserWarning, match="CPU"):
        ElmoEmbedder(OPTIONS, WEIGHTS, cuda_device=0)
    with pytest.raises(BadInput, match="give options_file and weight_file"):
        ElmoEmbedder()
    with pytest.raises(BadInput, match="give weight_file"):
        ElmoEmbedder(OPTIONS)
    with pytest.raises(BadInput, match="not fetched"):
        ElmoEmbedder("https://somewhere/options.json", WEIGHTS)
    with pytest.raises(BadInput, match="absent"):
        ElmoEmbedder(OPTIONS, tmp_path / "absent.hdf5")


def test_golden_carry() -> None:
    golden = Archive("bilm_skip/allennlp.npz")
    embedder = ElmoEmbedder(OPTIONS, WEIGHTS, state="carry")
    for k, batch in enumerate(BATCHES):
        for row, sentence, vectors in zip(golden[f"b{k}_layers"], batch, embedder.embed_batch(batch), strict=True):
            np.testing.assert_allclose(vectors, row[:, : len(sentence)], rtol=0, atol=2e-5)
    embedder = ElmoEmbedder(OPTIONS, WEIGHTS, state="carry")
    for name in ("first", "second"):
        vectors = embedder.embed_sentence(BATCHES[0][0])
        np.testing.assert_allclose(vectors, golden[f"embedder_sentence0_{name}"], rtol=0, atol=2e-5)
        assert embedder.embed_batch([[]])[0].shape == (3, 0, 32)  # which moved no state there


def test_golden_reset() -> None:
    golden = Archive("bilm_skip/allennlp.npz")
    embedder = ElmoEmbedder(OPTIONS, WEIGHTS)
    for k, batch in enumerate(BATCHES):
        found = list(embedder.embed_sentences(batch, batch_size=3))
        for row, sentence, vectors in zip(golden[f"reset_b{k}_layers"], batch, found, strict=True):
            np.testing.assert_allclose(vectors, row[:, : len(sentence)], rtol=0, atol=2e-5)


def test_batches_of_sentences_carry_the_state(model: Path) -> None:
    sentences = [["我", "买"], ["他"], ["了"], [], ["你", "吃", "苹果"]]
    whole, parts = (ElmoEmbedder(model, state="carry") for _ in range(2))
    found = list(whole.embed_sentences(iter(sentences), batch_size=2))
    due = [*parts.embed_batch(sentences[:2]), *parts.embed_batch(sentences[2:4]), *parts.embed_batch(sentences[4:])]
    for array, right in zip(found, due, strict=True):
        np.testing.assert_array_equal(array, right)
    with pytest.raises(BadInput, match="batch_size"):
        whole.embed_sentences(sentences, batch_size=0)


@pytest.mark.parametrize("output_format", ["all", "top", "average"])
def test_golden_file(output_format: str, tmp_path: Path) -> None:
    out = tmp_path / "vectors.hdf5"
    embedder = ElmoEmbedder(OPTIONS, WEIGHTS, state="carry")
    with open(DATA / "text.txt", encoding="utf-8") as file:
        embedder.embed_file(file, str(out), output_format, batch_size=4)
        assert file.closed
    golden = Archive(f"bilm_skip/allennlp_cli_{output_format}.hdf5")
    with h5py.File(out) as found:
        assert set(found) == set(golden.names)
        for number in range(len(TEXT)):
            assert found[str(number)].dtype == np.float32
            np.testing.assert_allclose(found[str(number)], golden[str(number)], rtol=0, atol=5e-5)
        index = found["sentence_to_index"]
        assert index.shape == (1,)
        assert h5py.check_string_dtype(index.dtype) == ("utf-8", None)
        assert json.loads(index[0]) == json.loads(golden["sentence_to_index"][0])
    with Vectors(out) as vectors:
        assert vectors.layout == "allennlp"
        assert vectors.words(3) == TEXT[3]


def test_file_with_blank_and_repeated_lines(model: Path, tmp_path: Path) -> None:
    text, out = tmp_path / "text", tmp_path / "new" / "vectors.h5"
    text.write_text("我  买\t了 \n\n他 / .\n我  买\t了\n", encoding="utf-8")
    embedder = ElmoEmbedder(model)
    embedder.embed_file(text, out)
    with h5py.File(out) as found:
        assert [found[str(number)].shape for number in range(4)] == [(LAYERS, n, WIDTH) for n in (3, 0, 3, 3)]
        np.testing.assert_allclose(found["3"], embedder.embed_sentence(["我", "买", "了"]), atol=1e-6)
        assert json.loads(found["sentence_to_index"][0]) == {"我  买\t了": "3", "": "1", "他 / .": "2"}
    embedder.embed_file(text, out, "top", forget_sentences=True)
    with h5py.File(out) as found:
        assert set(found) == {"0", "1", "2", "3"}
        assert found["1"].shape == (0, WIDTH)


def test_file_with_sentences_as_keys(model: Path, tmp_path: Path) -> None:
    text, out = tmp_path / "text", tmp_path / "vectors.h5"
    text.write_text("我 买\n他 / .\n", encoding="utf-8")
    embedder = ElmoEmbedder(model)
    embedder.embed_file(text, out, use_sentence_keys=True)
    with h5py.File(out) as found:
        assert "sentence_to_index" not in found
        np.testing.assert_allclose(found["他 / ."], embedder.embed_sentence(["他", "/", "."]), atol=1e-6)
        before = set(found)
    refused = {"我\n他\n我\n": "line 3 comes twice", "我\n\n": "line 2 is blank", "a\na/b\n": "line 2", ".\n": "line 1"}
    for lines, message in refused.items():
        text.write_text(lines, encoding="utf-8")
        with pytest.raises(BadInput, match=message):
            embedder.embed_file(text, out, use_sentence_keys=True)
    with h5py.File(out) as found:
        assert set(found) == before  # nothing half-written


def test_file_bad_input(model: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"\xff\n")
    embedder = ElmoEmbedder(model)
    with pytest.raises(BadInput, match="all, top, average"):
        embedder.embed_file(text, tmp_path / "out.h5", "mean")
    with pytest.raises(BadInput, match="UTF-8"):
        embedder.embed_file(text, tmp_path / "out.h5")
    with open(text, "rb") as binary, pytest.raises(BadInput, match="binary"):
        embedder.embed_file(binary, tmp_path / "out.h5")
    assert [path.name for path in tmp_path.iterdir()] == ["text"]
    with pytest.raises(BadInput, match="list of words"):
        embedder.embed_sentence("我买了")


def test_mix_by_hand() -> None:
    scalar_mix = ScalarMix(2, initial_scalar_parameters=[0.0, float(np.log(3))])  # softmax: 1/4, 3/4
    layers = [torch.tensor([[[4.0, 8.0]]]), torch.tensor([[[0.0, 4.0]]])]
    torch.testing.assert_close(scalar_mix(layers), torch.tensor([[[1.0, 5.0]]]))
    with torch.no_grad():
        scalar_mix.gamma.fill_(2.0)
    torch.testing.assert_close(scalar_mix(layers), torch.tensor([[[2.0, 10.0]]]))
    torch.testing.assert_close(ScalarMix(2)(layers), torch.tensor([[[2.0, 6.0]]]))


def test_layer_norm_over_the_words_of_the_batch() -> None:
    layer = torch.tensor([[[1.0, 3.0], [5.0, 7.0]], [[9.0, 11.0], [100.0, 100.0]]])
    mask = torch.tensor([[1, 1], [1, 0]])
    values = torch.tensor([1.0, 3, 5, 7, 9, 11])
    due = (layer - values.mean()) / values.std(correction=0)
    torch.testing.assert_close(ScalarMix(1, do_layer_norm=True)([layer], mask), due)


def test_state_dict_is_that_of_allennlp() -> None:
    state = {name: tuple(tensor.shape) for name, tensor in ScalarMix(3).state_dict().items()}
    assert state == {f"scalar_parameters.{k}": (1,) for k in range(3)} | {"gamma": (1,)}
    given = {"scalar_parameters.0": torch.tensor([1.0]), "scalar_parameters.1": torch.tensor([-1.0])}
    loaded = ScalarMix(2)
    loaded.load_state_dict(given | {"gamma": torch.tensor([1.5])})
    layers = torch.randn(2, 3, 4, 5)
    ours = mix.ScalarMix(2, initial=torch.tensor([1.0, -1.0]).softmax(0).tolist(), gamma=1.5)
    torch.testing.assert_close(loaded(list(layers)), ours(layers))


def test_what_is_learned() -> None:
    assert all(p.requires_grad for p in ScalarMix(3).parameters())
    assert not any(p.requires_grad for p in ScalarMix(3, trainable=False).parameters())
    scalar_mix = ScalarMix(2)
    scalar_mix([torch.ones(1, 2), -torch.ones(1, 2)]).sum().backward()
    gradients = [parameter.grad.item() for parameter in scalar_mix.scalar_parameters]
    assert gradients == pytest.approx([1.0, -1.0])  # 2 (s_0 (1 - s_0) + s_0 s_1) with s = 1/2


def test_mix_bad_input() -> None:
    with pytest.raises(BadInput, match="2 finite weights"):
        ScalarMix(2, initial_scalar_parameters=[1.0])
    with pytest.raises(BadInput, match="2 layers was given 3"):
        ScalarMix(2)([torch.zeros(1, 2)] * 3)
