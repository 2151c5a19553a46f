"""A plain LSTM in both directions over sentences of any lengths, without padding; its backward pass is written by hand.

Words lie step by step, as in torch's PackedSequence: first the first word of each sentence, longest sentence first,
then the second ones, and so on. The backward direction reads each sentence from its end, so that both have the same
shape and every product is one batched product over the two. The gradients of the weights stay out of the time loop: one
product over all words, where `nn.LSTM` makes one for every step, which on a CPU costs more than the step itself.

    a_t = W x_t + R h_{t-1} + b;  i, f, o = sigmoid;  g = tanh;  c_t = f * c_{t-1} + i * g;  h_t = o * tanh(c_t)
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class LSTM(nn.Module):
    """One layer: [2, M, width], forward direction first, to [2, M, hidden]."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        bound = hidden**-0.5
        self.input = nn.Parameter(torch.empty(2, width, 4 * hidden).uniform_(-bound, bound))
        self.recurrent = nn.Parameter(torch.empty(2, hidden, 4 * hidden).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(2, 1, 4 * hidden))
        with torch.no_grad():
            self.bias[:, :, hidden : 2 * hidden] = 1.0  # remember at first (Jozefowicz et al. 2015, section 2.2)

    def forward(self, x: Tensor, alive: list[int]) -> Tensor:
        """`alive`: how many sentences go on at each step, falling, with the sum M."""
        out: Tensor = _Layer.apply(x, self.input, self.recurrent, self.bias, alive)  # type: ignore[no-untyped-call]
        return out


class _Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, recurrent: Tensor, bias: Tensor, alive: list[int]) -> Tensor:
        hidden = recurrent.shape[1]
        gates = torch.baddbmm(bias, x, weight)  # [2, M, 4 hidden]
        out, cells = gates.new_empty(2, len(gates[0]), hidden), gates.new_empty(2, len(gates[0]), hidden)
        begin = before = 0
        for number in alive:
            end, last = begin + number, before + number  # the states before are those of the first sentences
            a = gates[:, begin:end]
            if begin:
                a.baddbmm_(out[:, before:last], recurrent)
            a[..., : 2 * hidden].sigmoid_()
            a[..., 2 * hidden : 3 * hidden].tanh_()
            a[..., 3 * hidden :].sigmoid_()
            i, f, g, o = a.chunk(4, dim=-1)
            c = torch.mul(i, g, out=cells[:, begin:end])
            if begin:
                c.addcmul_(f, cells[:, before:last])
            torch.mul(o, c.tanh(), out=out[:, begin:end])
            begin, before = end, begin
        ctx.alive = alive
        ctx.save_for_backward(x, gates, cells, out, weight, recurrent)
        return out

    @staticmethod
    def backward(ctx: Any, d_out: Tensor) -> Any:
        x, gates, cells, out, weight, recurrent = ctx.saved_tensors
        alive: list[int] = ctx.alive
        hidden, back = recurrent.shape[1], recurrent.transpose(1, 2)
        d_gates, d_h, squashed = torch.empty_like(gates), d_out.clone(), cells.tanh()
        before_h, before_c = torch.zeros_like(out), torch.zeros_like(cells)
        d_c = cells.new_zeros(2, alive[0], hidden)  # a sentence's is zero until its last word is reached
        end = len(out[0])
        for number, above in zip(reversed(alive), [*reversed(alive[:-1]), 0], strict=True):
            begin, before = end - number, end - number - above
            i, f, g, o = gates[:, begin:end].chunk(4, dim=-1)
            d_i, d_f, d_g, d_o = d_gates[:, begin:end].chunk(4, dim=-1)
            d_state, t, d_hidden = d_c[:, :number], squashed[:, begin:end], d_h[:, begin:end]
            d_state.addcmul_(d_hidden * o, 1 - t * t)
            torch.mul(d_hidden * t, o * (1 - o), out=d_o)
            torch.mul(d_state * g, i * (1 - i), out=d_i)
            torch.mul(d_state * i, 1 - g * g, out=d_g)
            if above:
                last = before + number
                before_h[:, begin:end], before_c[:, begin:end] = out[:, before:last], cells[:, before:last]
                torch.mul(d_state * before_c[:, begin:end], f * (1 - f), out=d_f)
                d_h[:, before:last].baddbmm_(d_gates[:, begin:end], back)
                d_state.mul_(f)
            else:
                d_f.zero_()
            end = begin
        d_x = torch.bmm(d_gates, weight.transpose(1, 2)) if ctx.needs_input_grad[0] else None
        d_weight = torch.bmm(x.transpose(1, 2), d_gates)
        d_recurrent = torch.bmm(before_h.transpose(1, 2), d_gates)
        return d_x, d_weight, d_recurrent, d_gates.sum(1, keepdim=True), None
