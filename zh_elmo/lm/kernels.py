"""The element-wise work of an LSTM step, compiled by numba: one visit to each number, no call of a mathematics library.

tanh is a rational function of degree 13 over 6 (wrong by 3e-7 at most), the sigmoid is made from it. Constants are of
single precision on purpose: a Python literal is a double to numba, and would halve the speed. Every inner loop touches
few arrays, so that LLVM can prove that they lie apart and vectorises it.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_F = np.float32
_ONE, _HALF, _ZERO = _F(1), _F(0.5), _F(0)
_BOUND = _F(7.9)  # where tanh is 1 in single precision
_A = tuple(map(_F, (
    4.89352455891786e-03, 6.37261928875436e-04, 1.48572235717979e-05, 5.12229709037114e-08, -8.60467152213735e-11,
    2.00018790482477e-13, -2.76076847742355e-16,
)))  # fmt: skip
_B = tuple(map(_F, (4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839466702e-06)))
_A1, _A3, _A5, _A7, _A9, _A11, _A13 = _A
_B0, _B2, _B4, _B6 = _B

# Sums may be taken in another order; what is no number stays none, so that a training that diverges is seen.
_LAX = {"contract", "reassoc", "arcp", "nsz"}


def compiled(function: Any) -> Any:
    """The function, compiled when it is first called, and kept for the next process where there is a place for it."""

    def made(*, cache: bool) -> Any:
        how = numba.njit(fastmath=_LAX, error_model="numpy", cache=cache, boundscheck=False, nogil=True)
        return how(function)

    try:
        return made(cache=True)
    except RuntimeError:  # neither beside the package nor in the user's cache can be written
        return made(cache=False)


@compiled
def tanh(x: Any) -> Any:
    """Of a number in single precision."""
    x = min(max(x, -_BOUND), _BOUND)
    y = x * x
    p = ((((((_A13 * y + _A11) * y + _A9) * y + _A7) * y + _A5) * y + _A3) * y + _A1) * x
    return p / (((_B6 * y + _B4) * y + _B2) * y + _B0)


@compiled
def sigmoid(x: Any) -> Any:
    return _HALF + _HALF * tanh(_HALF * x)


@compiled
def step(a: Any, recurrent: Any, before: Any, keep: Any, c: Any, m: Any, clip: Any) -> None:
    """One step of all rows of one direction. a [B, 4C]: input products, in the order i f g o; the gates in the end.
    recurrent [B, 4C] is added to them; before [B, C], keep [B]: the cells that come in, and 0 where they are not to;
    c, m [B, C]: cells and o * tanh(c) of this step; clip: 0 for none."""
    batch, cell = c.shape
    for b in range(batch):
        row, r, k = a[b], recurrent[b], keep[b]
        for j in range(len(row)):
            row[j] += r[j]
        i, f, g, o, cp, cb, mb = (
            row[:cell], row[cell : 2 * cell], row[2 * cell : 3 * cell], row[3 * cell :], before[b], c[b], m[b],
        )  # fmt: skip
        first = row[: 2 * cell]
        for j in range(len(first)):
            first[j] = sigmoid(first[j])
        for j in range(cell):
            g[j] = tanh(g[j])
        for j in range(cell):
            o[j] = sigmoid(o[j])
        for j in range(cell):
            cb[j] = i[j] * g[j] + k * f[j] * cp[j]
        if clip > _ZERO:
            for j in range(cell):
                cb[j] = min(max(cb[j], -clip), clip)
        for j in range(cell):
            mb[j] = o[j] * tanh(cb[j])


@compiled
def step_back(a: Any, before: Any, keep: Any, c: Any, d_m: Any, d_c: Any, clip: Any) -> None:
    """The same backwards. a: the gates, which become the gradient of what they were made from. d_m is used up;
    d_c: the gradient of the cells that go out, and in the end of those that came in."""
    batch, cell = c.shape
    for b in range(batch):
        row, k, cp, cb, d, e = a[b], keep[b], before[b], c[b], d_m[b], d_c[b]
        i, f, g, o = row[:cell], row[cell : 2 * cell], row[2 * cell : 3 * cell], row[3 * cell :]
        for j in range(cell):
            t = tanh(cb[j])
            s = d[j] * o[j]
            e[j] += s * (_ONE - t * t)
            d[j] = s * t  # of o, times o
        if clip > _ZERO:
            for j in range(cell):
                e[j] = e[j] if abs(cb[j]) < clip else _ZERO
        for j in range(cell):
            o[j] = d[j] * (_ONE - o[j])
        for j in range(cell):
            gate = i[j]
            i[j] = e[j] * g[j] * gate * (_ONE - gate)
            g[j] = e[j] * gate * (_ONE - g[j] * g[j])
        for j in range(cell):
            gate = f[j]
            f[j] = k * e[j] * cp[j] * gate * (_ONE - gate)
            e[j] = k * e[j] * gate
