"""The compiled layer against the plain one: values, gradients, states, the same bytes on two cores."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
import torch

from zh_elmo.lm import fused, kernels
from zh_elmo.lm.lstm import StackedLSTM, State


def made(projected: bool, clips: tuple[float, float], size: int = 7, cell: int = 9) -> StackedLSTM:
    torch.manual_seed(3)
    cell = cell if projected else size
    layer = StackedLSTM(size=size, cell=cell, projected=projected, cell_clip=clips[0], projection_clip=clips[1])
    with torch.no_grad():
        layer.bias.normal_()
    return layer


def passed(layer: StackedLSTM, resets: bool, monkeypatch: pytest.MonkeyPatch, plain: bool) -> list[torch.Tensor]:
    """Out, states and all gradients of one window."""
    torch.manual_seed(4)
    x = torch.randn(2, 6, 4, layer.size, requires_grad=True)
    keep = (torch.rand(2, 6, 4) > 0.4).float() if resets else None
    state = State(torch.randn(2, 4, layer.size), torch.randn(2, 4, layer.cell))
    layer.zero_grad()
    with monkeypatch.context() as patch:
        if plain:
            patch.setattr(fused, "usable", lambda x: False)
        out, after = layer(x, state, keep)
        (out * torch.randn_like(out)).sum().backward()
    assert type(out.grad_fn).__name__ == ("_LayerBackward" if plain else "LayerBackward")
    return [out, *after, x.grad, *(parameter.grad for parameter in layer.parameters())]


@pytest.mark.parametrize("clips", [(0.0, 0.0), (0.4, 0.0), (0.0, 0.2), (0.4, 0.2)])
@pytest.mark.parametrize("resets", [False, True])
@pytest.mark.parametrize("projected", [False, True])
def test_the_same_numbers_as_the_plain_layer(
    projected: bool, resets: bool, clips: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = made(projected, clips)
    ours, plain = (passed(layer, resets, monkeypatch, of) for of in (False, True))
    for one, other in zip(ours, plain, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-5, atol=3e-6)


def test_two_cores_give_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, before = made(True, (0.4, 0.2), 64, 96), torch.get_num_threads()
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(passed(layer, True, monkeypatch, plain=False))
    torch.set_num_threads(before)
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))


def test_where_it_takes_the_place_of_the_plain_one() -> None:
    x = torch.zeros(1)
    assert fused.usable(x)
    assert not fused.usable(x.double())
    with torch.no_grad():
        assert not fused.usable(x)


def test_backward_goes_once() -> None:
    layer = made(True, (0.0, 0.0))
    out, _ = layer(torch.randn(2, 3, 2, 7), layer.start(2))
    out.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="once only"):
        out.sum().backward()


def test_a_weight_that_was_changed_in_between_is_seen() -> None:
    layer = made(True, (0.0, 0.0))
    out, _ = layer(torch.randn(2, 3, 2, 7), layer.start(2))
    with torch.no_grad():
        layer.recurrent.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_tanh_and_sigmoid() -> None:
    x = np.concatenate((np.linspace(-12, 12, 100_001), [0.0, -0.0, 1e-20, 88.0, -1e30])).astype(np.float32)
    wide = x.astype(np.float64)
    assert np.abs(over(kernels.tanh, x) - np.tanh(wide)).max() < 4e-7
    assert np.abs(over(kernels.sigmoid, x) - 1 / (1 + np.exp(-np.clip(wide, -700, 700)))).max() < 3e-7


def over(function: Any, x: np.ndarray) -> np.ndarray:
    return np.array([function(value) for value in x], np.float64)


def test_where_nothing_can_be_kept_it_is_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_a_place(**how: Any) -> Any:
        if how["cache"]:
            raise RuntimeError("cannot cache function 'double': no locator available")
        return njit(**how)

    njit = numba.njit
    monkeypatch.setattr(numba, "njit", without_a_place)
    assert kernels.compiled(lambda x: x + x)(3) == 6


def test_what_is_no_number_stays_none() -> None:
    """So that a training that diverges is seen."""
    layer = made(True, (0.0, 0.0))
    x = torch.randn(2, 3, 2, 7)
    x[0, 1, 1, 3] = torch.nan
    out, _ = layer(x, layer.start(2))
    assert out[0, 1:, 1].isnan().all()
    assert not out[1].isnan().any()
