"""CRC-32C (Castagnoli, RFC 3720) of any number of bytes, with numpy: a hundred megabytes in a tenth of a second.

A checksum is linear over GF(2): passing over zeros is a product with a matrix, and the sum of two texts has the sum of
their registers. So thousands of words are passed over at once, each in a lane of its own, and the lanes folded in the
end.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

_POLYNOMIAL = 0x82F63B78  # lowest bit first
_FULL = 0xFFFFFFFF  # the register before the first byte; also what is added at the end
_TO_FULL = (0x641F6454).to_bytes(4, "little")  # the bytes that take the register from zero there
_MOST = 14  # lanes, as a power of two: their tables and registers fit into a processor's cache

_Words = NDArray[np.uint32]


def crc32c(content: bytes | NDArray[Any]) -> int:
    """The checksum of bytes, or of the memory of an array in C order."""
    raw = np.frombuffer(content, np.uint8)
    levels = min(max(raw.size.bit_length() - 3, 0), _MOST)
    lanes = np.zeros(1 << levels, np.uint32)
    head = raw.size % lanes.nbytes
    front = np.zeros(2 * lanes.nbytes, np.uint8)  # zeros before a text change nothing while the register is zero
    start = front.size - head
    front[start - 4 : start] = np.frombuffer(_TO_FULL, np.uint8)
    front[start:] = raw[:head]
    for row in chain(*(part.view("<u4").reshape(-1, lanes.size) for part in (front, raw[head:]))):
        lanes = _passed(lanes, levels) ^ row
    for level in reversed(range(levels)):
        first, second = lanes.reshape(2, -1)
        lanes = _passed(first, level) ^ second
    return int(_passed(lanes, 0)[0]) ^ _FULL


def masked(crc: int) -> int:
    """As TensorFlow stores it: turned and shifted, since checksums of data that hold checksums are weak."""
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _passed(registers: _Words, level: int) -> _Words:
    """[n] registers after 2 ** level words of zeros."""
    low, high = _tables(level)
    halves = registers.astype("<u4", copy=False).view("<u2")
    found: _Words = low.take(halves[::2])
    found ^= high.take(halves[1::2])
    return found


@lru_cache
def _tables(level: int) -> tuple[_Words, _Words]:
    """What 2 ** level words of zeros make of a register's low half, and of its high half: [65536] each."""
    columns = _columns(level)
    return _sums(columns[:16]), _sums(columns[16:])


@lru_cache
def _columns(level: int) -> list[int]:
    """What 2 ** level words of zeros make of each bit of a register: [32]."""
    if level == 0:
        return [_bit(1 << bit) for bit in range(32)]
    half = _columns(level - 1)
    low, high = _sums(half[:16]), _sums(half[16:])
    return [int(low[value & 0xFFFF] ^ high[value >> 16]) for value in half]


def _bit(register: int) -> int:
    for _ in range(32):
        register = (register >> 1) ^ (_POLYNOMIAL if register & 1 else 0)
    return register


def _sums(columns: list[int]) -> _Words:
    """The sum of every subset of the columns, [2 ** n]."""
    sums = np.zeros(1, np.uint32)
    for column in columns:
        sums = np.concatenate([sums, sums ^ np.uint32(column)])
    return sums
