"""Word types of a whole corpus, numbered as they come: their hashes in memory, the words themselves on the disk.

A corpus of billions of words has millions of types; as a dictionary of Python they would take a gigabyte. Here a type
takes some 25 bytes of memory. Words are told apart by 96 bits: 64 find a word, 32 more tell whether it is it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from zh_elmo.corpus.order import PADDING
from zh_elmo.files import BadInput

Hashes = NDArray[np.uint64]  # [n, 2]
Places = NDArray[np.int64]
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_SHIFT = np.uint64(29)
_SLOTS = 1 << 16  # of an empty table
_FULL = 0.6  # share of the slots that may be taken


def hashes(words: Sequence[str], lengths: Places) -> Hashes:
    """128 bits of each word, all at once: two sums over its characters, each mixed with its place. lengths: of the
    words, in characters."""
    joined = "".join(words)
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
    starts = np.cumsum(lengths) - lengths
    places = (np.arange(len(codes)) - np.repeat(starts, lengths)).astype(np.uint64)
    found = np.zeros((len(words), 2), np.uint64)
    full = np.flatnonzero(lengths)
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64
        for half, factor in enumerate(_MIX):
            mixed = (codes + np.uint64(1)) * factor + (places + np.uint64(half + 1)) * _MIX[1 - half]
            mixed = _mixed(mixed, factor)
            if len(full):
                found[full, half] = np.add.reduceat(mixed, starts[full])
            found[:, half] ^= lengths.astype(np.uint64) * factor
    return found


def of_paragraphs(words: NDArray[np.uint64], bounds: Places, seed: int) -> NDArray[np.uint64]:
    """64 bits of each paragraph, never 0: a sum over its words (their hashes), each mixed with its place.
    bounds: [n paragraphs + 1] where its words begin."""
    sizes = np.diff(bounds)
    places = (np.arange(len(words)) - np.repeat(bounds[:-1], sizes)).astype(np.uint64)
    found = np.zeros(len(sizes), np.uint64)
    full = np.flatnonzero(sizes)
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64
        if len(full):
            found[full] = np.add.reduceat(_mixed(words + places * _MIX[1], _MIX[0]), bounds[full])
        found = _mixed(found ^ (np.uint64(seed) * _MIX[1]), _MIX[0])
    return np.maximum(found, np.uint64(1))


def _mixed(values: NDArray[np.uint64], factor: np.uint64) -> NDArray[np.uint64]:
    """Every bit of the result depends on every bit of the value (as in the last step of splitmix64)."""
    for _ in range(2):
        values = (values ^ (values >> _SHIFT)) * factor
    return values ^ (values >> _SHIFT)


class TypeIndex:
    """Words -> numbers from 0, in the order in which they are first seen: a hash table with open addressing, of which
    a whole batch of words is looked up at once."""

    def __init__(self, path: Path) -> None:
        """`path`: a file of its own for the words, one a line."""
        self.path = path
        self.stream: IO[bytes] = open(path, "wb")  # noqa: SIM115  (open for the whole build; closed by `close`)
        self.size = 0
        self._keys, self._checks = np.empty(0, np.uint64), np.empty(0, np.uint32)  # by number
        self._slots = np.zeros(_SLOTS, np.uint32)  # number + 1; 0: free

    def __len__(self) -> int:
        return self.size

    def numbers(self, found: Hashes, words: Sequence[str]) -> NDArray[np.uint32]:
        """The number of each of some distinct words, given with their hashes; new ones get the next numbers."""
        keys, checks = found[:, 0], (found[:, 1] >> np.uint64(32)).astype(np.uint32)
        numbers = self._known(keys)
        new = np.flatnonzero(numbers == 0)
        if len(new):
            numbers[new] = np.arange(self.size + 1, self.size + len(new) + 1, dtype=np.uint32)
            self.stream.write("".join([f"{words[row]}\n" for row in new.tolist()]).encode("utf-8", "surrogatepass"))
            self._append(keys[new], checks[new])
        numbers -= np.uint32(1)
        if len(np.unique(keys[new])) < len(new) or not np.array_equal(self._checks[numbers], checks):
            raise BadInput("two words have the same first 64 bits of their hash; report this text")
        return numbers

    def _known(self, keys: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """The number of each key, and 1 more; 0 where it is new."""
        result = np.zeros(len(keys), np.uint32)
        rows, slots = np.arange(len(keys)), self._first(keys)
        while len(rows):
            there = self._slots[slots]
            taken = there > 0  # a free slot ends the search: the word is new
            rows, slots, there = rows[taken], slots[taken], there[taken]
            other = self._keys[there - 1] != keys[rows]
            result[rows[~other]] = there[~other]
            rows, slots = rows[other], self._next(slots[other])
        return result

    def _append(self, keys: NDArray[np.uint64], checks: NDArray[np.uint32]) -> None:
        start, self.size = self.size, self.size + len(keys)
        if self.size > len(self._keys):
            room = max(_SLOTS, self.size + (self.size >> 1))
            self._keys.resize(room, refcheck=False)
            self._checks.resize(room, refcheck=False)
        self._keys[start : self.size], self._checks[start : self.size] = keys, checks
        if self.size > _FULL * len(self._slots):
            while self.size > _FULL * len(self._slots):
                self._slots = np.zeros(2 * len(self._slots), np.uint32)
            start = 0
        for begin in range(start, self.size, _SLOTS):  # a part at a time: the arrays of one are small
            self._insert(np.arange(begin, min(begin + _SLOTS, self.size)))

    def _insert(self, numbers: Places) -> None:
        """Give each number a slot."""
        slots = self._first(self._keys[numbers])
        while len(numbers):
            free = self._slots[slots] == 0
            self._slots[slots[free]] = numbers[free] + 1  # of several for one slot the last stays
            out = self._slots[slots] != numbers + 1
            numbers, slots = numbers[out], self._next(slots[out])

    def _first(self, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return keys & np.uint64(len(self._slots) - 1)

    def _next(self, slots: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return (slots + np.uint64(1)) & np.uint64(len(self._slots) - 1)

    def close(self) -> None:
        """Words are on the disk, for a `WordFile`, and the memory is free."""
        self.stream.write(PADDING)
        self.stream.close()
        self._keys, self._checks = np.empty(0, np.uint64), np.empty(0, np.uint32)
        self._slots = np.empty(0, np.uint32)
