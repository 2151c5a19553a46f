"""The layer of `lstm` for training on a processor: compiled element-wise work, products by OpenBLAS, each direction on
a core of its own. The same numbers as the plain layer, but for rounding.

Each direction goes through its whole window by itself: its recurrent matrix then stays in the cache from step to step.
Products are numpy's, on views of torch's memory: numpy brings OpenBLAS, which is faster at these shapes than torch's
MKL on a processor that MKL does not know (benchmarks/pretrain.py).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float32]


def usable(x: Tensor) -> bool:
    """Whether this layer can take the place of the plain one in training: where gradients are wanted, in single
    precision, on a processor, with the packages of the extra `fast`."""
    return torch.is_grad_enabled() and x.dtype == torch.float32 and x.device.type == "cpu" and _has_packages()


@cache
def _has_packages() -> bool:
    return all(map(find_spec, ("numba", "threadpoolctl")))


class _Direction(NamedTuple):
    """One direction of a layer and a window. Arrays begin [T, B] but for `cells`: [T + 1, B, C], the first those that
    come in."""

    weight: Array  # [P, 4C]
    recurrent: Array  # [P, 4C]
    bias: Array  # [1, 4C]
    projection: Array | None  # [C, P]
    x: Array
    keep: Array  # [T, B]
    gates: Array
    before: Array  # h that comes in
    cells: Array
    memory: Array
    raw: Array  # h before it is clipped
    out: Array
    cell_clip: float
    projection_clip: float

    def forward(self, h: Array) -> None:
        """Fills `gates`, `before`, `cells` behind the first, `memory`, `raw`, `out`. h [B, P] comes in."""
        from zh_elmo.lm import kernels

        size = self.x.shape[-1]
        np.matmul(self.x.reshape(-1, size), self.weight, out=_flat(self.gates))
        _flat(self.gates)[...] += self.bias
        added, clip = np.empty_like(self.gates[0]), np.float32(self.cell_clip)
        for t, keep in enumerate(self.keep):
            before, cells, memory, raw = self.before[t], self.cells[t + 1], self.memory[t], self.raw[t]
            np.multiply(h, keep[:, None], out=before)
            np.matmul(before, self.recurrent, out=added)
            kernels.step(self.gates[t], added, self.cells[t], keep, cells, memory, clip)
            if self.projection is None:
                raw[...] = memory
            else:
                np.matmul(memory, self.projection, out=raw)
            if self.projection_clip:
                np.clip(raw, -self.projection_clip, self.projection_clip, out=self.out[t])
            h = self.out[t]

    def backward(self, d_h: Array, found: _Gradients) -> None:
        """d_h [T, B, P]: the gradient of `out`; it and `gates` are used up."""
        from zh_elmo.lm import kernels

        d_c, back, clip = np.zeros_like(self.cells[0]), np.empty_like(d_h[0]), np.float32(self.cell_clip)
        d_memory = np.empty_like(d_c)
        for t in reversed(range(len(d_h))):
            if t + 1 < len(d_h):
                np.matmul(self.gates[t + 1], self.recurrent.T, out=back)
                back *= self.keep[t + 1][:, None]
                d_h[t] += back
            if self.projection_clip:
                d_h[t] *= np.abs(self.raw[t]) < self.projection_clip
            if self.projection is None:
                d_memory[...] = d_h[t]
            else:
                np.matmul(d_h[t], self.projection.T, out=d_memory)
            kernels.step_back(self.gates[t], self.cells[t], self.keep[t], self.cells[t + 1], d_memory, d_c, clip)
        d_gates = _flat(self.gates)
        np.matmul(_flat(self.x).T, d_gates, out=found.weight)
        np.matmul(_flat(self.before).T, d_gates, out=found.recurrent)
        np.sum(d_gates, 0, out=found.bias[0])
        if found.projection is not None:
            np.matmul(_flat(self.memory).T, _flat(d_h), out=found.projection)
        if found.x is not None:
            np.matmul(d_gates, self.weight.T, out=_flat(found.x))


class _Gradients(NamedTuple):
    """Of one direction; to be filled."""

    x: Array | None
    weight: Array
    recurrent: Array
    bias: Array
    projection: Array | None


class Layer(torch.autograd.Function):
    """Arguments and results are those of the plain layer."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, h: Tensor, c: Tensor, keep: Tensor | None,
        weight: Tensor, recurrent: Tensor, bias: Tensor, projection: Tensor | None,
        cell_clip: float, projection_clip: float,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        _, steps, batch, size = x.shape
        cell = bias.shape[2] // 4
        out = x.new_empty(2, steps, batch, size)
        cells = x.new_empty(2, steps + 1, batch, cell)
        cells[:, 0] = c
        tensors = (
            weight, recurrent, bias, projection, x.contiguous(),
            x.new_ones(2, steps, batch) if keep is None else keep.contiguous(),
            x.new_empty(2, steps, batch, 4 * cell), torch.empty_like(out), cells, x.new_empty(2, steps, batch, cell),
            torch.empty_like(out) if projection_clip else out, out,
        )  # fmt: skip
        arrays: list[Any] = [None if tensor is None else tensor.detach().numpy() for tensor in tensors]
        clips = cell_clip, projection_clip
        ways = [_Direction._make([*(None if a is None else a[way] for a in arrays), *clips]) for way in range(2)]
        first = h.detach().numpy()
        _both(lambda way: ways[way].forward(first[way]))
        ctx.ways, ctx.needs_x = ways, ctx.needs_input_grad[0]
        ctx.save_for_backward(weight, recurrent, bias, projection, tensors[4])  # so that a change of them is seen
        ends = out[:, -1].clone(), cells[:, -1].clone()
        ctx.mark_non_differentiable(*ends)
        return out, *ends

    @staticmethod
    def backward(ctx: Any, d_out: Tensor, _h: Tensor, _c: Tensor) -> Any:
        weight, recurrent, bias, projection, x = ctx.saved_tensors
        if ctx.ways is None:
            raise RuntimeError("this layer goes backward once only: the gates of its window are used up")
        d_h = d_out.clone(memory_format=torch.contiguous_format).numpy()
        wanted = (x if ctx.needs_x else None, weight, recurrent, bias, projection)
        gradients = [None if tensor is None else torch.empty_like(tensor) for tensor in wanted]
        arrays: list[Any] = [None if tensor is None else tensor.detach().numpy() for tensor in gradients]
        ways = [_Gradients._make(None if a is None else a[way] for a in arrays) for way in range(2)]
        _both(lambda way: ctx.ways[way].backward(d_h[way], ways[way]))
        d_x, *rest = gradients
        ctx.ways = None
        return d_x, None, None, None, *rest, None, None


def _flat(array: Array) -> Array:
    """[T, B, n] -> [T * B, n], the same memory."""
    return array.reshape(-1, array.shape[-1])


def _both(run: Callable[[int], None]) -> None:
    """Both directions: one after the other, or beside each other where torch may use two cores. Each is the same to the
    last bit either way."""
    with _blas().limit(limits=1, user_api="blas"):
        if torch.get_num_threads() < 2:
            run(0)
            run(1)
            return
        other = _second().submit(run, 1)
        try:
            run(0)
        finally:
            other.result()


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@cache
def _second() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "zh_elmo.lm.fused")
