"""Word types of a whole corpus, numbered as they come: their hashes in memory, the words themselves on the disk.

A corpus of billions of words has millions of types; as a dictionary of Python they would take a gigabyte. Here a type
takes 32 bytes of memory. Words are told apart by 128 bits: one half finds a word, the other tells whether it is it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from zh_elmo.files import BadInput

Hashes = NDArray[np.uint64]  # [n, 2]
Places = NDArray[np.int64]
_RECENT = 1 << 15  # types that wait to be sorted in among the others
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_SHIFT = np.uint64(29)
_READ = 1 << 16  # words that are read from the disk at once


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
    """Words -> numbers from 0, in the order in which they are first seen."""

    def __init__(self, path: Path) -> None:
        """`path`: a file of its own for the words, one a line."""
        self.path = path
        self.stream: IO[bytes] = open(path, "wb")  # noqa: SIM115  (open for the whole build; closed by `close`)
        self.size = 0
        empty = np.empty(0, np.uint64)
        self._sorted, self._checks, self._numbers = empty, empty, np.empty(0, np.uint32)
        self._recent: dict[int, tuple[int, int]] = {}  # first half -> (second half, number)

    def __len__(self) -> int:
        return self.size

    def numbers(self, found: Hashes, words: Sequence[str]) -> NDArray[np.uint32]:
        """The number of each of some distinct words, given with their hashes; new ones get the next numbers."""
        result = np.empty(len(words), np.uint32)
        places = np.searchsorted(self._sorted, found[:, 0])
        inside = places < len(self._sorted)
        known = np.zeros(len(words), bool)
        known[inside] = self._sorted[places[inside]] == found[inside, 0]
        self._compare(self._checks[places[known]], found[known, 1])
        result[known] = self._numbers[places[known]]
        recent = self._recent
        for row in np.flatnonzero(~known).tolist():
            first, second = int(found[row, 0]), int(found[row, 1])
            there = recent.get(first)
            if there is None:
                there = recent[first] = (second, self.size)
                self.stream.write(words[row].encode("utf-8", "surrogatepass") + b"\n")
                self.size += 1
            elif there[0] != second:
                raise _collision()
            result[row] = there[1]
        if len(recent) >= _RECENT:
            self._sort_in()
        return result

    def _compare(self, ours: Hashes, theirs: Hashes) -> None:
        if not np.array_equal(ours, theirs):
            raise _collision()

    def _sort_in(self) -> None:
        """Merge what is recent into the sorted arrays."""
        first = np.fromiter(self._recent, np.uint64, len(self._recent))
        others = np.array(list(self._recent.values()), np.uint64).reshape(-1, 2)
        order = np.argsort(first)
        places = np.searchsorted(self._sorted, first[order])
        self._sorted = np.insert(self._sorted, places, first[order])
        self._checks = np.insert(self._checks, places, others[order, 0])
        self._numbers = np.insert(self._numbers, places, others[order, 1].astype(np.uint32))
        self._recent.clear()

    def close(self) -> None:
        """Words are on the disk, and the memory is free."""
        self.stream.close()
        self._sorted = self._checks = np.empty(0, np.uint64)
        self._numbers = np.empty(0, np.uint32)
        self._recent.clear()


def _collision() -> BadInput:
    return BadInput("two words have the same first 64 bits of their hash; change corpus.seed and build again")


# Order ------------------------------------------------------------------------------------------------------------


def by_frequency(path: Path, counts: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Numbers of the words of `path` (one a line) by falling count, ties by code point.

    Words are sorted by their first 16 bytes, which in UTF-8 is the order of code points; the few that have them in
    common are looked at whole. One band of counts is sorted at a time.
    """
    starts = _starts(path, len(counts))
    raw = np.memmap(path, np.uint8, mode="r") if len(counts) else np.empty(0, np.uint8)
    order = np.argsort(-counts, kind="stable").astype(np.uint32)
    falling = counts[order]
    edges = [0, *(np.flatnonzero(np.diff(falling)) + 1).tolist(), len(counts)]
    for begin, end in pairwise(edges):
        if end - begin > 1:
            order[begin:end] = _sorted_words(raw, starts, order[begin:end])
    return order


def _starts(path: Path, number: int) -> NDArray[np.int64]:
    """Where each word begins, and where one more would."""
    starts = np.zeros(number + 1, np.int64)
    offset = place = 0
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 10) + offset + 1
            starts[place + 1 : place + 1 + len(ends)] = ends
            place += len(ends)
            offset += len(block)
    return starts


def _sorted_words(raw: NDArray[np.uint8], starts: NDArray[np.int64], numbers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    keys = [_key(raw, starts, numbers, at) for at in (0, 8)]
    order = np.lexsort((keys[1], keys[0]))
    numbers = numbers[order]
    same = (np.diff(keys[0][order]) == 0) & (np.diff(keys[1][order]) == 0)
    place = 0
    for begin in np.flatnonzero(same).tolist():
        if begin < place:
            continue
        end = begin + 1
        while end < len(same) and same[end]:
            end += 1
        group = numbers[begin : end + 1].tolist()
        numbers[begin : end + 1] = sorted(group, key=lambda n: bytes(raw[starts[n] : starts[n + 1] - 1]))
        place = end
    return numbers


def _key(raw: NDArray[np.uint8], starts: NDArray[np.int64], numbers: NDArray[np.uint32], at: int) -> NDArray[np.uint64]:
    """Bytes at .. at + 7 of each word as one number, zeros behind its end."""
    begins, ends = starts[numbers] + at, starts[numbers.astype(np.int64) + 1] - 1
    key = np.zeros(len(numbers), np.uint64)
    for byte in range(8):
        inside = begins + byte < ends
        values = np.zeros(len(numbers), np.uint64)
        values[inside] = raw[begins[inside] + byte]
        key = (key << np.uint64(8)) | values
    return key


def words_in(path: Path, numbers: NDArray[np.uint32], total: int) -> Iterator[str]:
    """The words of these numbers, in this order, a part of them in memory at a time."""
    starts = _starts(path, total)
    raw = np.memmap(path, np.uint8, mode="r") if total else np.empty(0, np.uint8)
    for begin in range(0, len(numbers), _READ):
        for number in numbers[begin : begin + _READ].tolist():
            yield bytes(raw[starts[number] : starts[number + 1] - 1]).decode("utf-8", "surrogatepass")
