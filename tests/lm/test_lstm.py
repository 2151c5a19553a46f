"""The layer of both directions: right values, right gradients, clipping, resets, carried state."""

from __future__ import annotations

import pytest
import torch

from zh_elmo.lm.lstm import StackedLSTM, TwoWayLSTM


def layer(cell_clip=0.0, projection_clip=0.0, dtype=torch.float64):
    torch.manual_seed(3)
    made = StackedLSTM(size=3, cell=5, cell_clip=cell_clip, projection_clip=projection_clip).to(dtype)
    with torch.no_grad():
        made.bias.normal_()
    return made


@pytest.mark.parametrize("direction", [0, 1])
def test_equals_the_lstm_of_torch(direction):
    ours, theirs = layer(), torch.nn.LSTM(3, 5, proj_size=3).double()
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(ours.input[direction].T)
        theirs.weight_hh_l0.copy_(ours.recurrent[direction].T)
        theirs.bias_ih_l0.copy_(ours.bias[direction, 0])
        theirs.bias_hh_l0.zero_()
        theirs.weight_hr_l0.copy_(ours.projection[direction].T)
    x = torch.randn(2, 7, 4, 3, dtype=torch.float64)
    expected, (h, c) = theirs(x[direction])
    out, state = ours(x, ours.start(4))
    assert torch.allclose(out[direction], expected, atol=1e-12)
    assert torch.allclose(state.h[direction], h[0], atol=1e-12)
    assert torch.allclose(state.c[direction], c[0], atol=1e-12)


@pytest.mark.parametrize("clips", [(0.0, 0.0), (0.4, 0.0), (0.0, 0.2), (0.4, 0.2)])
@pytest.mark.parametrize("resets", [False, True])
def test_backward_by_hand_is_the_derivative(clips, resets):
    made = layer(*clips)
    x = torch.randn(2, 5, 2, 3, dtype=torch.float64, requires_grad=True)
    keep = (torch.rand(2, 5, 2) > 0.4).double() if resets else None
    state = made.start(2)
    state = type(state)(torch.randn_like(state.h), torch.randn_like(state.c))
    assert torch.autograd.gradcheck(lambda x, *_: made(x, state, keep)[0], (x, *made.parameters()))


def test_clips_bite_where_they_should():
    free, clipped = layer(), layer(cell_clip=0.3, projection_clip=0.1)
    x = 3 * torch.randn(2, 9, 4, 3, dtype=torch.float64)
    wild, _ = free(x, free.start(4))
    tame, state = clipped(x, clipped.start(4))
    assert wild.abs().max() > 0.1
    assert tame.abs().max() == 0.1
    assert state.c.abs().max() == 0.3


def test_state_carries_a_window_into_the_next():
    made = layer()
    x = torch.randn(2, 8, 3, 3, dtype=torch.float64)
    whole, end = made(x, made.start(3))
    first, state = made(x[:, :5], made.start(3))
    second, last = made(x[:, 5:], state)
    assert torch.allclose(torch.cat([first, second], 1), whole, atol=1e-14)
    assert torch.allclose(last.c, end.c, atol=1e-14)


def test_a_reset_makes_a_place_a_beginning():
    made = layer()
    x = torch.randn(2, 6, 1, 3, dtype=torch.float64)
    keep = torch.ones(2, 6, 1, dtype=torch.float64)
    keep[:, 4] = 0
    out, _ = made(x, made.start(1), keep)
    fresh, _ = made(x[:, 4:], made.start(1))
    assert torch.allclose(out[:, 4:], fresh, atol=1e-14)


@pytest.mark.parametrize("direction", [0, 1])
def test_without_projection_it_is_the_plain_lstm_of_torch(direction):
    torch.manual_seed(3)
    ours, theirs = StackedLSTM(size=4, cell=4, projected=False).double(), torch.nn.LSTM(4, 4).double()
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(ours.input[direction].T)
        theirs.weight_hh_l0.copy_(ours.recurrent[direction].T)
        theirs.bias_ih_l0.copy_(ours.bias[direction, 0])
        theirs.bias_hh_l0.zero_()
    x = torch.randn(2, 7, 3, 4, dtype=torch.float64)
    assert torch.allclose(ours(x, ours.start(3))[0][direction], theirs(x[direction])[0], atol=1e-12)


@pytest.mark.parametrize("cell_clip", [0.0, 0.4])
def test_backward_by_hand_without_projection(cell_clip):
    torch.manual_seed(3)
    made = StackedLSTM(size=3, cell=3, projected=False, cell_clip=cell_clip, projection_clip=0.01).double()
    x = torch.randn(2, 5, 2, 3, dtype=torch.float64, requires_grad=True)
    state = made.start(2)
    assert made(x, state)[0].abs().max() > 0.05  # a clip of what is not projected has no effect
    assert torch.autograd.gradcheck(lambda x, *_: made(x, state)[0], (x, *made.parameters()))


def test_two_way_reads_a_row_as_if_it_were_alone():
    torch.manual_seed(3)
    made = TwoWayLSTM(size=3, cell=5, layers=2).double()
    x = torch.randn(2, 6, 3, dtype=torch.float64)
    together = made(x, torch.tensor([6, 4]))
    assert together.shape == (2, 6, 6)
    assert torch.allclose(together[1, :4], made(x[1:, :4])[0], atol=1e-12)
    assert not torch.allclose(made(x)[1, :4], together[1, :4], atol=1e-3)  # what lies behind is read
