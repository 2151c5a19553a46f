"""The weighted sum of layers against hand computations."""

from __future__ import annotations

import pytest
import torch

from zh_elmo.embed.mix import ScalarMix, mix
from zh_elmo.files import BadInput

LAYERS = torch.tensor([1.0, 2.0, 4.0])[:, None, None].expand(3, 5, 2)


@pytest.mark.parametrize(("weights", "gamma", "due"), [((0.2, 0.3, 0.5), 2, 5.6), ((0.6, 0.3, 0.1), 2, 3.2)])
def test_known_sums(weights, gamma, due):
    assert mix(LAYERS, weights, gamma) == pytest.approx(torch.full((5, 2), due))
    learned = ScalarMix(3, initial=weights, gamma=gamma)
    assert learned(LAYERS).detach() == pytest.approx(torch.full((5, 2), due))
    assert learned(list(LAYERS)).detach() == pytest.approx(torch.full((5, 2), due))


def test_weights_read_back_as_given_and_sum_to_one():
    weights, gamma = ScalarMix(3, initial=(0.2, 0.3, 0.5), gamma=2).weights()
    assert weights == pytest.approx([0.2, 0.3, 0.5])
    assert sum(weights) == pytest.approx(1, abs=1e-12)
    assert gamma == 2
    assert ScalarMix(3).weights() == ([pytest.approx(1 / 3)] * 3, 1.0)


def test_the_top_layer_alone_is_exactly_the_top_layer():
    fixed = ScalarMix(3, initial=(0, 0, 1), trainable=False)
    layers = torch.randn(3, 4, 7, 6)
    assert torch.equal(fixed(layers), layers[2])
    assert fixed.weights()[0] == [0, 0, 1]
    assert fixed.l2() == 0
    assert not any(p.requires_grad for p in fixed.parameters())


def test_gradients_reach_weights_and_gamma():
    learned = ScalarMix(3)
    learned(LAYERS).sum().backward()
    mean = 7 / 3
    # d/ds_j of gamma * sum_k softmax(s)_k h_k is softmax_j * (h_j - mean), for 10 numbers
    assert learned.s.grad.tolist() == pytest.approx([10 / 3 * (h - mean) for h in (1, 2, 4)], abs=1e-5)
    assert learned.gamma.grad.item() == pytest.approx(10 * mean, rel=1e-6)


def test_l2_is_the_sum_of_squares_and_smallest_at_equal_weights():
    learned = ScalarMix(3)
    assert learned.l2() == 0
    learned.s.data = torch.tensor([1.0, -2.0, 0.5])
    assert learned.l2().item() == pytest.approx(5.25)
    learned.l2().backward()
    assert learned.s.grad.tolist() == [2, -4, 1]


def test_layer_norm_as_allennlp_computes_it():
    layers = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [9.0, 9.0]], [[0.0, 4.0], [4.0, 0.0], [7.0, 7.0]]])
    mask = torch.tensor([True, True, False])
    normed = ScalarMix(2, layer_norm=True)(layers, mask)
    # layer 0: mean 3, variance (4 + 1 + 0 + 9) / 4; layer 1: mean 2, variance 4
    first = (layers[0] - 3) / 3.5**0.5
    second = (layers[1] - 2) / 2
    assert torch.allclose(normed, (first + second) / 2)
    assert torch.equal(normed[:2], ScalarMix(2, layer_norm=True)(layers[:, :2]))


@pytest.mark.parametrize(
    ("initial", "what"),
    [
        ((0.5, 0.5), "expected 3"),
        ((0.5, 0.6, 0.5), "sum 1"),
        ((1.5, -0.25, -0.25), "0 or more"),
        ((0, 0, 1), "never be learned"),
        ((0.2, float("nan"), 0.8), "finite"),
        ("abc", "expected a weight"),
    ],
)
def test_wrong_weights(initial, what):
    with pytest.raises(BadInput, match=what):
        ScalarMix(3, initial=initial)


def test_wrong_number_of_layers():
    with pytest.raises(BadInput, match="3 layers was given 2"):
        ScalarMix(3)(LAYERS[:2])
    with pytest.raises(BadInput, match="3 layers need 3 weights, not 2"):
        mix(LAYERS, (0.5, 0.5))
