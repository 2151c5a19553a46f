"""The LSTM against torch's, values and gradients."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from zh_elmo.ud.lstm import LSTM


@pytest.mark.parametrize("lengths", [[1], [7], [5, 5, 5], [9, 4, 4, 2, 1, 1]])
def test_equals_torch(lengths: list[int]) -> None:
    torch.manual_seed(1)
    alive = [sum(length > step for length in lengths) for step in range(lengths[0])]
    own, other = LSTM(3, 4).double(), nn.LSTM(3, 4).double()
    x = torch.randn(2, sum(lengths), 3, dtype=torch.double, requires_grad=True)
    with torch.no_grad():
        own.bias.normal_()
    out = own(x, alive)
    wanted = torch.randn_like(out)
    gradients = torch.autograd.grad((out * wanted).sum(), [x, own.input, own.recurrent, own.bias])
    for direction in range(2):
        with torch.no_grad():
            other.weight_ih_l0.copy_(own.input[direction].T)
            other.weight_hh_l0.copy_(own.recurrent[direction].T)
            other.bias_ih_l0.copy_(own.bias[direction, 0])
            other.bias_hh_l0.zero_()
        data = x[direction].detach().requires_grad_()
        theirs = other(PackedSequence(data, torch.tensor(alive)))[0].data
        torch.testing.assert_close(out[direction], theirs, atol=1e-12, rtol=0)
        parameters = [data, other.weight_ih_l0, other.weight_hh_l0, other.bias_ih_l0]
        for mine, other_gradient in zip(
            gradients, torch.autograd.grad((theirs * wanted[direction]).sum(), parameters), strict=True
        ):
            shaped = mine[direction].reshape(other_gradient.shape) if other_gradient.dim() == 1 else mine[direction]
            theirs_shaped = (
                other_gradient.T if mine is not gradients[0] and other_gradient.dim() == 2 else other_gradient
            )
            torch.testing.assert_close(shaped, theirs_shaped, atol=1e-11, rtol=0)


def test_gradients_by_differences() -> None:
    torch.manual_seed(2)
    layer = LSTM(2, 3).double()
    x = torch.randn(2, 6, 2, dtype=torch.double, requires_grad=True)
    parameters = (x, *layer.parameters())

    def run(x: torch.Tensor, weight: torch.Tensor, recurrent: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        named = {"input": weight, "recurrent": recurrent, "bias": bias}
        return torch.func.functional_call(layer, named, (x, [3, 2, 1]))

    assert torch.autograd.gradcheck(run, parameters)
