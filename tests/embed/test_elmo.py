"""The torch module: what it computes, what learns, what is saved."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch

import zh_elmo
from zh_elmo.embed.elmo import Elmo
from zh_elmo.embed.store import Store
from zh_elmo.files import BadInput
from zh_elmo.formats.own import save
from zh_elmo.text.pipeline import Pipeline, TextSettings

SENTENCES = [["我", "买", "了", "苹果"], ["吃"], []]


def test_it_is_the_mix_of_the_layers(embedder):
    module = Elmo(embedder, dropout=0, initial=(0.2, 0.3, 0.5))
    module.mixes[0].gamma.data.fill_(2)
    outputs, mask = module(SENTENCES)
    assert mask.tolist() == [[True] * 4, [True, False, False, False], [False] * 4]
    assert outputs[0].shape == (3, 4, module.width)
    due = embedder.embed(SENTENCES, mix=(0.4, 0.6, 1.0))
    for row, vectors in zip(outputs[0].detach().numpy(), due, strict=True):
        assert np.abs(row[: len(vectors)] - vectors).max(initial=0) < 1e-6
        assert not row[len(vectors) :].any()


def test_two_outputs_learn_apart_and_the_language_model_stays(embedder):
    module = Elmo(embedder, outputs=2, dropout=0)
    before = embedder.embed(SENTENCES)
    optimiser = torch.optim.Adam(module.parameters(), 0.1)
    assert sum(p.numel() for p in module.parameters()) == 2 * (3 + 1)
    for _ in range(3):
        optimiser.zero_grad()
        outputs, _ = module(SENTENCES)
        (outputs[0].square().sum() - outputs[1].square().sum()).backward()
        optimiser.step()
    (first, gamma), (second, other) = module.weights()
    assert sum(first) == pytest.approx(1)
    assert first != second
    assert gamma < 1 < other
    assert all(np.array_equal(a, b) for a, b in zip(embedder.embed(SENTENCES), before, strict=True))
    assert all(p.grad is None for p in embedder.bilm.parameters())


def test_state_dict_holds_the_tasks_parameters_alone(embedder):
    module = Elmo(embedder, outputs=2)
    assert set(module.state_dict()) == {"mixes.0.s", "mixes.0.gamma", "mixes.1.s", "mixes.1.gamma"}
    other = Elmo(embedder, outputs=2)
    module.mixes[1].s.data = torch.tensor([1.0, 2.0, 3.0])
    other.load_state_dict(module.state_dict())
    assert other.weights() == module.weights()


def test_l2(embedder):
    module = Elmo(embedder, outputs=2, l2=0.1)
    module.mixes[0].s.data = torch.tensor([1.0, 0.0, -1.0])
    module.mixes[1].s.data = torch.tensor([2.0, 0.0, 0.0])
    assert module.l2().item() == pytest.approx(0.6)
    assert Elmo(embedder).l2().item() == 0


def test_dropout_only_in_training_and_never_on_padding(embedder):
    module = Elmo(embedder, dropout=0.5)
    (dropped,), mask = module(SENTENCES)
    (whole,), _ = module.eval()(SENTENCES)
    assert (dropped[mask] == 0).float().mean() == pytest.approx(0.5, abs=0.25)
    kept = dropped != 0
    assert torch.allclose(dropped[kept], 2 * whole[kept])
    assert not dropped[~mask].any()


def test_layer_norm_looks_at_words_only(embedder):
    module = Elmo(embedder, dropout=0, layer_norm=True)
    (padded,), mask = module(SENTENCES)
    layers = torch.from_numpy(np.concatenate(embedder(SENTENCES[:2]), axis=1))
    mean, deviation = layers.mean((1, 2), keepdim=True), layers.std((1, 2), keepdim=True, unbiased=False)
    assert torch.allclose(padded[mask], ((layers - mean) / deviation).mean(0), atol=1e-5)


def test_a_language_model_that_learns_along(embedder):
    frozen = Elmo(embedder, dropout=0)
    module = Elmo(embedder, dropout=0, requires_grad=True)
    (due,), _ = frozen(SENTENCES)
    (outputs,), mask = module(SENTENCES)
    assert torch.allclose(outputs, due, atol=1e-6)
    assert mask.tolist() == frozen(SENTENCES).mask.tolist()
    before = embedder.embed(SENTENCES)
    optimiser = torch.optim.Adam((p for p in module.parameters() if p.requires_grad), 0.01)
    outputs.square().sum().backward()
    assert module.bilm.tokens.characters.embedding.weight.grad.abs().sum() > 0
    optimiser.step()
    assert (module(SENTENCES).outputs[0] - outputs).abs().max() > 1e-3
    assert all(np.array_equal(a, b) for a, b in zip(embedder.embed(SENTENCES), before, strict=True))
    assert any(name.startswith("bilm.") for name in module.state_dict())
    assert module([[]]).outputs[0].shape == (1, 0, module.width)


def test_from_a_store(embedder, tmp_path):
    with Store.create(tmp_path / "s", n_layers=3, width=16, model=embedder.digest, dtype="float32") as store:
        for sentence, vectors in zip(SENTENCES, embedder(SENTENCES), strict=True):
            store.append(sentence, vectors)
    module = Elmo(Store.open(tmp_path / "s"), dropout=0)
    assert torch.equal(module(SENTENCES).outputs[0], Elmo(embedder, dropout=0)(SENTENCES).outputs[0])
    with pytest.raises(BadInput, match="holds no vectors of the sentence 不 在"):
        module([["不", "在"]])
    with pytest.raises(BadInput, match="only the biLM of an Embedder"):
        Elmo(Store.open(tmp_path / "s"), requires_grad=True)


def test_copies_and_pickles(new_bilm, tmp_path):
    save(tmp_path / "model", new_bilm(), text=Pipeline(TextSettings(segmenter="characters")).describe(), facts={})
    module = zh_elmo.Elmo(zh_elmo.load(tmp_path / "model"), dropout=0)
    module.mixes[0].s.data = torch.tensor([1.0, 2.0, 3.0])
    pickled = pickle.dumps(module)
    assert len(pickled) < 5000
    for twin in (copy.deepcopy(module), pickle.loads(pickled)):
        assert torch.equal(twin(SENTENCES).outputs[0], module(SENTENCES).outputs[0])
    assert copy.deepcopy(module).source is module.source


@pytest.mark.parametrize(
    ("given", "what"), [(["我"], "is the string"), ("我", "not the string"), ([], "no sentence in the batch")]
)
def test_wrong_input(embedder, given, what):
    with pytest.raises(BadInput, match=what):
        Elmo(embedder)(given)
    with pytest.raises(BadInput, match=what):
        Elmo(embedder, requires_grad=True)(given)


def test_wrong_outputs(embedder):
    with pytest.raises(BadInput, match="1 or more"):
        Elmo(embedder, outputs=0)
