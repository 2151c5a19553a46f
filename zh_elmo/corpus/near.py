"""Paragraphs that are nearly the same as an earlier one: MinHash signatures, compared where bands of them agree.

Two paragraphs are alike by the share of their runs of 5 characters that both have (Jaccard), counted on letters and
digits alone with variants of a character as one, so that punctuation and script do not matter. A signature keeps the
smallest of 128 hashes of these runs; the share of equal places in two signatures estimates their likeness with a
standard deviation of at most 4.4 points (3.5 at 0.8). Paragraphs of fewer than 50 letters have too few runs for that
and are never near duplicates.

Measured on 1,500 edited real paragraphs against the exact Jaccard (`tests/corpus/test_near.py`), at a threshold of 0.8:
of pairs that are alike by 0.88 and more all are found, of 0.84 to 0.88 95 %, of 0.80 to 0.84 62 %, of 0.76 to 0.80
34 %, of less than 0.72 none; precision 93 %, recall 92 %.

Own arrays, not the package rensa 0.5, and so no extra: 14 M characters/s, where rensa, given the same hashes and its
matrix brought into an array, has 8 on paragraphs of 100 characters and 19 on paragraphs of 200; segmenting has 2. And a
corpus has the same bytes whatever is installed, where rensa's signatures changed with 0.5.

Broder 1997, On the resemblance and containment of documents; Leskovec et al., Mining of Massive Datasets, chapter 3.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from zh_elmo.corpus.exclude import keys
from zh_elmo.corpus.repeated import Repeated

PERMUTATIONS = 128
SHORTEST = 50  # letters
VERSION = 1  # of signatures: another one is no continuation of a build
LEAST = 0.5  # a threshold below which too much is alike by chance

Sketches = NDArray[np.uint32]  # [m, 1 + PERMUTATIONS]: the place of a paragraph, then its signature
Pairs = NDArray[np.uint64]  # the row of a signature, and that of an earlier one in the lower half
_Bits = NDArray[np.uint64]

_GRAM = 5
_AT_ONCE = 1 << 14  # runs of characters, about: what stays in a processor's cache
_CERTAIN = 0.95  # of pairs at the threshold share a band
_NEIGHBOURS = 8  # first ones of a band's bucket, and as many before a paragraph, with which it is compared
_PAIRS = 1 << 20  # in memory at once
_COMPARED = 1 << 13
_HALF = np.uint64(32)


def _mixed(number: int) -> int:
    """A well mixed 64-bit number (Steele et al. 2014, SplitMix64): the same in every version of everything."""
    bits = (1 << 64) - 1
    number = (number + 1) * 0x9E3779B97F4A7C15 & bits
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & bits
    number = (number ^ number >> 27) * 0x94D049BB133111EB & bits
    return number ^ number >> 31


_WEIGHTS = np.array([_mixed(number) | 1 for number in range(_GRAM)], np.uint64)
_FACTORS = np.array([_mixed(number) >> 32 | 1 for number in range(100, 100 + PERMUTATIONS)], np.uint32)
_MASKS = np.array([_mixed(number) >> 32 for number in range(300, 300 + PERMUTATIONS)], np.uint32)
_BAND = np.array([_mixed(number) | 1 for number in range(500, 500 + PERMUTATIONS)], np.uint64)


# Signatures, made by workers ----------------------------------------------------------------------------------------


def sketches(texts: Sequence[str]) -> Sketches:
    """The signatures of paragraphs (normalised, without line feeds) that are long enough, each with its place."""
    if not texts:
        return np.empty((0, 1 + PERMUTATIONS), np.uint32)
    codes, starts, sizes = keys(texts)
    long = np.flatnonzero(sizes >= SHORTEST)
    result = np.empty((len(long), 1 + PERMUTATIONS), np.uint32)
    result[:, 0] = long
    hashes = _hashes(codes)
    counts = sizes[long] - _GRAM + 1
    done = np.concatenate(([0], np.cumsum(counts)))
    edges = np.append(np.searchsorted(done, np.arange(0, int(done[-1]), _AT_ONCE)), len(long))
    for first, last in pairwise(edges.tolist()):
        if first < last:
            some = counts[first:last]
            begins = np.cumsum(some) - some
            at = np.repeat(starts[long[first:last]] - begins, some) + np.arange(int(some.sum()))
            result[first:last, 1:] = _smallest(hashes[at], begins)
    return result


def _hashes(codes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Of each run of _GRAM codes."""
    wide = codes.astype(np.uint64)
    size = max(0, len(wide) - _GRAM + 1)
    found = np.zeros(size, np.uint64)
    for place, weight in enumerate(_WEIGHTS):
        found += wide[place : place + size] * weight
    found ^= found >> np.uint64(29)
    found *= _BAND[0]
    return (found >> _HALF).astype(np.uint32)


def _smallest(hashes: NDArray[np.uint32], begins: NDArray[np.int64]) -> NDArray[np.uint32]:
    """[len(begins), PERMUTATIONS]: of the hashes from one begin to the next the smallest, under each permutation."""
    result = np.empty((PERMUTATIONS, len(begins)), np.uint32)
    permuted = np.empty_like(hashes)
    for number in range(PERMUTATIONS):
        np.multiply(hashes, _FACTORS[number], out=permuted)
        np.bitwise_xor(permuted, _MASKS[number], out=permuted)
        np.minimum.reduceat(permuted, begins, out=result[number])
    return result.T


def alike(first: Sketches, second: Sketches) -> NDArray[np.float64]:
    """The likeness of paragraphs that their signatures (rows of `sketches`) estimate, row by row."""
    return np.asarray((first[:, 1:] == second[:, 1:]).mean(axis=1))


def bands(threshold: float) -> tuple[int, int]:
    """(number of bands, places of a signature in each): the longest bands of which pairs at the threshold nearly always
    share one."""
    for rows in range(PERMUTATIONS, 1, -1):
        number = PERMUTATIONS // rows
        if 1 - (1 - threshold**rows) ** number >= _CERTAIN:
            return number, rows
    return PERMUTATIONS, 1


# Which are near -----------------------------------------------------------------------------------------------------


class NearDuplicates:
    """`add` the signatures of all paragraphs in order; `flags` then tells which are near an earlier one that stays.

    On the disk, some 700 bytes for each signature; memory does not grow with the text, but for the flags, which are
    mapped. A paragraph is compared with the first 8 of those that share a band with it and the 8 before it, which is
    all of them but where text is made by a template.
    """

    def __init__(self, folder: Path, threshold: float) -> None:
        """`folder`: for files of its own, cleared by `clear`."""
        self.folder = folder
        self.least = int(np.ceil(threshold * PERMUTATIONS - 1e-9))  # equal places of two signatures
        self.number = 0  # of paragraphs
        self.rows = 0  # of signatures
        number, self._width = bands(threshold)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self._bands = [_Band(folder / f"band-{band:03d}") for band in range(number)]
        self._signatures: IO[bytes] = open(folder / "signatures", "wb")  # noqa: SIM115  (open until `flags`)
        self._places: IO[bytes] = open(folder / "places", "wb")  # noqa: SIM115

    def add(self, found: Sketches, skip: NDArray[np.uint8]) -> None:
        """The signatures of len(skip) paragraphs; those that `skip` has 1 for are not there: repeated, say."""
        found = found[skip[found[:, 0]] == 0]
        signatures = np.ascontiguousarray(found[:, 1:])
        self._signatures.write(signatures.astype("<u4").tobytes())
        self._places.write((found[:, 0] + np.uint64(self.number)).astype("<u8").tobytes())
        for number, band in enumerate(self._bands):
            part = slice(number * self._width, (number + 1) * self._width)
            sums = (signatures[:, part].astype(np.uint64) * _BAND[part]).sum(axis=1, dtype=np.uint64)
            band.add((sums ^ (sums >> np.uint64(31))) * _BAND[0])
        self.number += len(skip)
        self.rows += len(found)

    def flags(self) -> NDArray[np.uint8]:
        """1 for each paragraph that is near an earlier one which is 0, by place; mapped from the disk."""
        self._signatures.close()
        self._places.close()
        near = _mapped(self.folder / "near", self.rows)
        for pairs in self._sorted_pairs():
            # in order of the later one: whether the earlier one stays is known by then
            for later, earlier in zip((pairs >> _HALF).tolist(), (pairs & np.uint64(0xFFFFFFFF)).tolist(), strict=True):
                if not near[earlier]:
                    near[later] = 1
        flags = _mapped(self.folder / "flags", self.number)
        with open(self.folder / "places", "rb") as stream:
            row = 0
            while raw := stream.read(8 * _PAIRS):
                places = np.frombuffer(raw, "<u8")
                flags[places[near[row : row + len(places)] == 1]] = 1
                row += len(places)
        return flags[: self.number]

    def _sorted_pairs(self) -> Iterator[Pairs]:
        """All pairs that are near, in order."""
        path = self.folder / "pairs"
        total = 0
        with open(path, "wb") as stream:
            for band in self._bands:
                for pairs in band.pairs():
                    stream.write(pairs.astype("<u8").tobytes())
                    total += len(pairs)
                band.clear()
        with open(self.folder / "signatures", "rb") as signatures:
            for pairs in _by_row(path, total, self.rows):
                for start in range(0, len(pairs), _COMPARED):
                    yield self._near(pairs[start : start + _COMPARED], signatures.fileno())

    def _near(self, pairs: Pairs, signatures: int) -> Pairs:
        """Those of the pairs that are near, by their whole signatures, read from a file."""
        rows, places = np.unique(np.concatenate((pairs >> _HALF, pairs & np.uint64(0xFFFFFFFF))), return_inverse=True)
        size = 4 * PERMUTATIONS
        # read, not mapped: pages of a map that are touched here and there would count as memory
        raw = b"".join(os.pread(signatures, size, size * row) for row in rows.tolist())
        read = np.frombuffer(raw, "<u4").reshape(-1, PERMUTATIONS)
        equal = np.count_nonzero(read[places[: len(pairs)]] == read[places[len(pairs) :]], axis=1)
        near: Pairs = pairs[equal >= self.least]
        return near

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class _Band(Repeated):
    """The hashes of one band of all signatures, in buckets on the disk."""

    def pairs(self) -> Iterator[Pairs]:
        """(row, earlier row) of signatures that share a hash, as one number each."""
        self._stream.close()
        for entries in self._buckets():
            order = np.argsort(entries["hash"], kind="stable")  # rows stay in order
            hashes, rows = entries["hash"][order], entries["place"][order]
            fresh = np.concatenate(([True], hashes[1:] != hashes[:-1]))
            first = np.maximum.accumulate(np.where(fresh, np.arange(len(rows)), 0))
            rank = np.arange(len(rows)) - first
            for distance in range(1, _NEIGHBOURS + 1):
                later = np.flatnonzero(rank >= distance)
                yield (rows[later] << _HALF) | rows[later - distance]
            for place in range(_NEIGHBOURS):
                later = np.flatnonzero(rank > place + _NEIGHBOURS)
                yield (rows[later] << _HALF) | rows[first[later] + place]


def _by_row(path: Path, total: int, rows: int) -> Iterator[Pairs]:
    """The pairs of a file, sorted, each once; parted by the later row so that each part fits into memory."""
    parts = min(256, total // _PAIRS + 1)
    streams = [open(path.with_name(f"pairs-{part:03d}"), "wb") for part in range(parts)]  # noqa: SIM115
    with open(path, "rb") as stream:
        while raw := stream.read(8 * _PAIRS):
            pairs = np.frombuffer(raw, "<u8")
            of = (pairs >> _HALF) * np.uint64(parts) // np.uint64(rows)
            order = np.argsort(of, kind="stable")
            edges = np.searchsorted(of[order], np.arange(parts + 1, dtype=np.uint64))
            for part, into in enumerate(streams):
                into.write(pairs[order[edges[part] : edges[part + 1]]].tobytes())
    path.unlink()
    for into in streams:
        into.close()
        pairs = np.unique(np.fromfile(into.name, "<u8"))
        yield pairs
        os.unlink(into.name)


def _mapped(path: Path, size: int) -> NDArray[np.uint8]:
    """Zeros in a file."""
    with open(path, "wb") as stream:
        stream.truncate(max(size, 1))
    return np.memmap(path, np.uint8, mode="r+")
