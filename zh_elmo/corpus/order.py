"""Word types by falling frequency, ties by code point, from a file of the words: a part of them in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.uint32]
Places = NDArray[np.int64]
Bytes = NDArray[np.uint8]
_AT_ONCE = 1 << 19  # words that are sorted at once, if no more have the same count
_READ = 1 << 15  # words that are read at once
_BYTES = 8  # of a word in one key
_MASKS = np.array([2**64 - (1 << 8 * (_BYTES - left)) for left in range(_BYTES)] + [2**64 - 1], np.uint64)
PADDING = bytes(2 * _BYTES)  # at the end of the file, so that a key may reach over it


class WordFile:
    """Words by number, one a line of a file, which stays on the disk; PADDING ends it."""

    def __init__(self, path: Path, size: int) -> None:
        self.starts = _starts(path, size)  # where each word begins, and where one more would
        with open(path, "rb") as stream:
            self._raw = mmap(stream.fileno(), 0, access=ACCESS_READ)

    def lists(self, numbers: Numbers) -> Iterator[list[bytes]]:
        """The words of these numbers, in UTF-8, some at a time."""
        raw = self._raw
        for begin in range(0, len(numbers), _READ):
            part = numbers[begin : begin + _READ].astype(np.int64)
            spans = zip(self.starts[part].tolist(), (self.starts[part + 1] - 1).tolist(), strict=True)
            yield [raw[start:end] for start, end in spans]

    def lines(self, numbers: Numbers, counts: Places) -> Iterator[bytes]:
        """The words of these numbers, each with a tab, its count of `counts`, a line feed; some at a time."""
        raw = np.frombuffer(self._raw, np.uint8)
        for begin in range(0, len(numbers), _READ):
            part = numbers[begin : begin + _READ]
            starts = self.starts[part]
            distinct, which = np.unique(counts[part], return_inverse=True)
            endings = [b"\t%d\n" % count for count in distinct.tolist()]
            sizes = np.array(list(map(len, endings)))
            lengths, ending_lengths = self.starts[part + np.uint32(1)] - 1 - starts, sizes[which]
            ends = np.cumsum(lengths + ending_lengths)
            block = np.empty(int(ends[-1]), np.uint8)
            _copy(raw, starts, block, ends - lengths - ending_lengths, lengths)
            source = np.frombuffer(b"".join(endings), np.uint8)
            _copy(source, (np.cumsum(sizes) - sizes)[which], block, ends - ending_lengths, ending_lengths)
            yield block.tobytes()

    def by_frequency(self, counts: Places, numbers: Numbers) -> Numbers:
        """`numbers` by falling count, ties by code point. counts: of every word."""
        falling = counts[numbers]
        order = numbers[np.argsort(np.negative(falling, out=falling), kind="stable")]
        falling = counts[order]
        edges = [0, *(np.flatnonzero(np.diff(falling)) + 1).tolist(), len(order)]
        begin = 0
        for band, end in pairwise(edges):
            if end - begin > _AT_ONCE and band > begin:
                order[begin:band] = self._sorted(order[begin:band], falling[begin:band])
                begin = band
        order[begin:] = self._sorted(order[begin:], falling[begin:])
        return order

    def _sorted(self, numbers: Numbers, counts: Places) -> Numbers:
        """By falling count, then by the first 8 bytes, which in UTF-8 is the order of code points; those that have them
        in common by the next 8, and the few that have these in common are looked at whole."""
        first = self._keys(numbers, 0)
        order = np.argsort(first)
        if len(order) and counts[0] != counts[-1]:
            order = order[np.argsort(-counts[order], kind="stable")]
        numbers, first, counts = numbers[order], first[order], counts[order]
        same = np.concatenate(([False], (np.diff(first) == 0) & (np.diff(counts) == 0)))
        rows = np.flatnonzero(same | np.append(same[1:], False))
        groups, second = np.cumsum(~same)[rows], self._keys(numbers[rows], _BYTES)
        inner = np.lexsort((second, groups))
        numbers[rows], second = numbers[rows][inner], second[inner]
        same = np.concatenate(([False], (np.diff(groups) == 0) & (np.diff(second) == 0)))
        starts = np.flatnonzero(~same & np.append(same[1:], False))
        ends = np.flatnonzero(same & ~np.append(same[1:], False)) + 1
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            group = numbers[rows[start:end]]
            words = sorted(zip(chain.from_iterable(self.lists(group)), group.tolist(), strict=True))
            numbers[rows[start:end]] = [number for _, number in words]
        return numbers

    def _keys(self, numbers: Numbers, at: int) -> NDArray[np.uint64]:
        """Bytes at .. at + 7 of each word as one number, zeros behind its end."""
        every = np.ndarray((len(self._raw) - _BYTES + 1,), ">u8", self._raw, strides=(1,))
        keys = np.empty(len(numbers), np.uint64)
        for begin in range(0, len(numbers), _READ):
            part = numbers[begin : begin + _READ]
            begins = self.starts[part] + at
            left = np.clip(self.starts[part + np.uint32(1)] - 1 - begins, 0, _BYTES)
            keys[begin : begin + _READ] = every[begins].astype(np.uint64) & _MASKS[left]
        return keys


def _copy(source: Bytes, starts: Places, target: Bytes, to: Places, lengths: Places) -> None:
    """target[to[i] : to[i] + lengths[i]] = source[starts[i] : starts[i] + lengths[i]], for every i."""
    after = np.cumsum(lengths)
    if len(after):
        places = np.arange(after[-1])
        before = after - lengths
        target[np.repeat(to - before, lengths) + places] = source[np.repeat(starts - before, lengths) + places]


def _starts(path: Path, size: int) -> Places:
    starts = np.zeros(size + 1, np.int64)
    offset = place = 0
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + offset + 1
            starts[place + 1 : place + 1 + len(ends)] = ends
            place += len(ends)
            offset += len(block)
    return starts
