"""ElmoEmbedder and ScalarMix answer as AllenNLP 0.9 did."""

from __future__ import annotations

from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pytest
import torch
from small_model import LAYERS, WIDTH

import zh_elmo
from zh_elmo.compat.allennlp import ElmoEmbedder, ScalarMix
from zh_elmo.embed import mix
from zh_elmo.files import BadInput

SENTENCES = [["我", "买", "了", "苹果"], ["他"], []]


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


def test_bad_input() -> None:
    with pytest.raises(BadInput, match="2 finite weights"):
        ScalarMix(2, initial_scalar_parameters=[1.0])
    with pytest.raises(BadInput, match="2 layers was given 3"):
        ScalarMix(2)([torch.zeros(1, 2)] * 3)
