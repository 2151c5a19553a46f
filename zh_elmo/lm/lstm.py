"""An LSTM with projection and optional clipping, both directions at once; its backward pass is written by hand.

Both directions have the same shape, so their weights are stacked and every product is one batched product over the
two: on two cores each direction has its own. The backward pass keeps the weight gradients out of the time loop: one
product over all places of the window instead of one for every step.

    a_t = W x_t + R h_{t-1} + b;  i, f, o = sigmoid;  g = tanh
    c_t = clip(f * c_{t-1} + i * g);  h_t = clip((o * tanh(c_t)) V)        (Sak et al. 2014, eq. 7 to 12; no peepholes)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from zh_elmo.lm import fused


class State(NamedTuple):
    """Recurrent state of one layer."""

    h: Tensor  # [2, B, P]
    c: Tensor  # [2, B, C]


class StackedLSTM(nn.Module):
    """One layer, forward and backward direction: [2, T, B, P] -> [2, T, B, P]."""

    def __init__(
        self, *, size: int, cell: int, projected: bool = True, cell_clip: float = 0.0, projection_clip: float = 0.0
    ) -> None:
        """projected=False: no V, and size = cell; `projection_clip` then has no effect."""
        super().__init__()
        self.input = nn.Parameter(torch.empty(2, size, 4 * cell).normal_(std=size**-0.5))
        self.recurrent = nn.Parameter(torch.empty(2, size, 4 * cell).normal_(std=size**-0.5))
        self.bias = nn.Parameter(torch.zeros(2, 1, 4 * cell))
        projection = nn.Parameter(torch.empty(2, cell, size).normal_(std=cell**-0.5)) if projected else None
        self.register_parameter("projection", projection)
        self.size, self.cell = size, cell
        self.clips = (cell_clip, projection_clip if projected else 0.0)
        with torch.no_grad():
            self.bias[:, :, cell : 2 * cell] = 1.0  # remember at first (Jozefowicz et al. 2015, section 2.2)

    def start(self, batch: int) -> State:
        return State(self.bias.new_zeros(2, batch, self.size), self.bias.new_zeros(2, batch, self.cell))

    def forward(self, x: Tensor, state: State, keep: Tensor | None = None) -> tuple[Tensor, State]:
        """x [2, T, B, P]; keep [2, T, B] is 0 where the state is set to zero before the step, else 1.

        The state that comes in is a constant: no gradient flows into it.
        """
        weights = (self.input, self.recurrent, self.bias, self.projection)
        layer = fused.Layer if self.training and fused.usable(x) else _Layer
        out, h, c = layer.apply(x, state.h, state.c, keep, *weights, *self.clips)  # type: ignore[no-untyped-call]
        return out, State(h, c)


class _Layer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, h: Tensor, c: Tensor, keep: Tensor | None,
        weight: Tensor, recurrent: Tensor, bias: Tensor, projection: Tensor | None,
        cell_clip: float, projection_clip: float,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        _, steps, batch, size = x.shape
        cell = bias.shape[2] // 4
        # time first: what belongs to one step then lies together
        gates = torch.baddbmm(bias, x.reshape(2, steps * batch, size), weight).view(2, steps, batch, 4 * cell)
        gates = gates.transpose(0, 1).contiguous()
        before_h, before_c = x.new_empty(steps, 2, batch, size), x.new_empty(steps, 2, batch, cell)
        cells, memory = torch.empty_like(before_c), torch.empty_like(before_c)
        raw = x.new_empty(steps if projection is not None else 0, 2, batch, size)
        out = x.new_empty(2, steps, batch, size)
        for t in range(steps):
            if keep is None:
                before_h[t], before_c[t] = h, c
            else:
                torch.mul(h, keep[:, t, :, None], out=before_h[t])
                torch.mul(c, keep[:, t, :, None], out=before_c[t])
            a = gates[t].baddbmm_(before_h[t], recurrent)
            a[..., : 2 * cell].sigmoid_()
            a[..., 2 * cell : 3 * cell].tanh_()
            a[..., 3 * cell :].sigmoid_()
            i, f, g, o = a.chunk(4, dim=-1)
            c = torch.addcmul(i * g, f, before_c[t], out=cells[t])
            if cell_clip:
                c.clamp_(-cell_clip, cell_clip)
            torch.mul(o, torch.tanh(c), out=memory[t])
            h = memory[t] if projection is None else torch.bmm(memory[t], projection, out=raw[t])
            if projection_clip:
                h = h.clamp(-projection_clip, projection_clip)
            out[:, t] = h
        ctx.clips = cell_clip, projection_clip
        ctx.save_for_backward(x, keep, gates, before_h, before_c, cells, memory, raw, weight, recurrent, projection)
        h, c = h.clone(), c.clone()
        ctx.mark_non_differentiable(h, c)
        return out, h, c

    @staticmethod
    def backward(ctx: Any, d_out: Tensor, _h: Tensor, _c: Tensor) -> Any:
        x, keep, gates, before_h, before_c, cells, memory, raw, weight, recurrent, projection = ctx.saved_tensors
        cell_clip, projection_clip = ctx.clips
        _, steps, batch, size = x.shape
        cell = cells.shape[3]
        d_gates, d_h = torch.empty_like(gates), d_out.transpose(0, 1).contiguous()
        projection_t = None if projection is None else projection.transpose(1, 2)
        recurrent_t = recurrent.transpose(1, 2)
        d_c = torch.zeros_like(cells[0])
        for t in reversed(range(steps)):
            if t + 1 < steps:
                back = torch.bmm(d_gates[t + 1], recurrent_t)
                d_h[t] += back if keep is None else back.mul_(keep[:, t + 1, :, None])
            if projection_clip:
                d_h[t] *= raw[t].abs() < projection_clip
            d_memory = d_h[t].clone() if projection_t is None else torch.bmm(d_h[t], projection_t)
            i, f, g, o = gates[t].chunk(4, dim=-1)
            d_i, d_f, d_g, d_o = d_gates[t].chunk(4, dim=-1)
            squashed = torch.tanh(cells[t])
            d_c.addcmul_(d_memory * o, 1 - squashed * squashed)
            if cell_clip:
                d_c *= cells[t].abs() < cell_clip
            torch.mul(d_memory.mul_(squashed), o * (1 - o), out=d_o)
            torch.mul(d_c * g, i * (1 - i), out=d_i)
            torch.mul(d_c * before_c[t], f * (1 - f), out=d_f)
            torch.mul(d_c * i, 1 - g * g, out=d_g)
            d_c = d_c.mul_(f) if keep is None else d_c.mul_(f).mul_(keep[:, t, :, None])
        flat = d_gates.transpose(0, 1).reshape(2, steps * batch, 4 * cell)
        places = x.reshape(2, steps * batch, size)
        d_x = torch.bmm(flat, weight.transpose(1, 2)).view_as(x) if ctx.needs_input_grad[0] else None
        d_weight = torch.bmm(places.transpose(1, 2), flat)
        d_recurrent = torch.bmm(_by_direction(before_h).transpose(1, 2), flat)
        d_projection = None
        if projection is not None:
            d_projection = torch.bmm(_by_direction(memory).transpose(1, 2), _by_direction(d_h))
        d_bias = flat.sum(1, keepdim=True)
        return d_x, None, None, None, d_weight, d_recurrent, d_bias, d_projection, None, None


def _by_direction(steps: Tensor) -> Tensor:
    """[T, 2, B, n] -> [2, T * B, n]."""
    return steps.transpose(0, 1).reshape(2, -1, steps.shape[-1])


class TwoWayLSTM(nn.Module):
    """Layers that each read both directions of the one below, and one projection for both halves: ELMoForManyLangs'
    encoder `lstm`. [B, T, P] -> [B, T, 2 P]."""

    def __init__(self, *, size: int, cell: int, layers: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(size, cell, layers, bidirectional=True, batch_first=True)
        self.projection = nn.Linear(cell, size)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """lengths [B]: words of each row, what lies behind is not read; None: all of it is."""
        if lengths is None:
            read, _ = self.lstm(x)
        else:
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
            read, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        halves: Tensor = self.projection(read.unflatten(-1, (2, -1)))
        return halves.flatten(-2)
