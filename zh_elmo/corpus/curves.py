"""Figures of a corpus in one pass over its shards: coverage, types against tokens, lengths of sentences and words.

Shards are memory-mapped and read a block at a time; types.txt is read as bytes. Memory: some tens of bytes a word type,
whatever the number of words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zh_elmo.corpus.store import DOCUMENT_END, SENTENCE_END, Corpus
from zh_elmo.files import BadInput
from zh_elmo.progress import Progress

Counts = NDArray[np.int64]
_BLOCK = 1 << 20  # ids
_BYTES = 1 << 22
_POINTS = 8  # of a curve, for each power of ten
_LONGEST = 1 << 16  # longer sentences are counted as this long
_LARGE = 100_000_000  # words: from here on progress is shown
_TAB, _NEWLINE = 9, 10


class Types(NamedTuple):
    """What types.txt holds, but for the words themselves."""

    counts: Counts  # [types] occurrences in the training part, falling; 0: held out only
    word_lengths: Counts  # [longest + 1] running words of so many characters
    type_lengths: Counts  # [longest + 1] the same for types seen in training


class Run(NamedTuple):
    """What the shards hold, in the order of the text."""

    types: list[tuple[int, int]]  # (running words, types among them), at points that are even on a log scale
    sentence_lengths: Counts  # [longest + 1] sentences of so many words
    longest: int


def points(total: int) -> list[int]:
    """Whole numbers up to `total`, even on a log scale; the last one is `total`."""
    found: list[int] = []
    step = 0
    while total and (value := round(10 ** (step / _POINTS))) < total:
        if not found or value > found[-1]:
            found.append(value)
        step += 1
    return [*found, total] if total else []


# types.txt --------------------------------------------------------------------------------------------------------


def of_types(corpus: Corpus) -> Types:
    """Counts and lengths of words; raises BadInput with the line where types.txt is not as it should be."""
    counts: list[Counts] = []
    words, types = np.zeros(8, np.int64), np.zeros(8, np.int64)
    before = 0
    for block in _whole_lines(corpus):
        numbers, lengths = _lines(corpus, block, before)
        counts.append(numbers)
        before += len(numbers)
        there = numbers > 0
        words = _added(words, lengths, numbers)
        types = _added(types, lengths[there], np.ones(int(there.sum()), np.int64))
    joined = np.concatenate(counts) if counts else np.zeros(0, np.int64)
    return Types(joined, _trimmed(words), _trimmed(types))


def _whole_lines(corpus: Corpus) -> Iterator[NDArray[np.uint8]]:
    """The bytes of types.txt in blocks of whole lines, each ending with its line feed."""
    rest = b""
    with open(corpus.folder / "types.txt", "rb") as stream:
        while block := stream.read(_BYTES):
            block = rest + block
            end = block.rfind(b"\n") + 1
            rest = block[end:]
            if end:
                yield np.frombuffer(block[:end], np.uint8)
    if rest:
        yield np.frombuffer(rest + b"\n", np.uint8)


def _lines(corpus: Corpus, block: NDArray[np.uint8], before: int) -> tuple[Counts, Counts]:
    """(count, characters of the word) of each line of a block. before: how many lines there are before it."""
    ends = np.flatnonzero(block == _NEWLINE)
    starts = np.concatenate(([0], ends[:-1] + 1))
    tabs = np.flatnonzero(block == _TAB)
    at = np.searchsorted(tabs, ends) - 1  # the last tab of each line
    tab = np.where(at >= 0, tabs[np.maximum(at, 0)], -1) if len(tabs) else np.full(len(ends), -1)
    wrong = (tab < starts) | (tab + 1 >= ends)
    counts, power = np.zeros(len(ends), np.int64), np.ones(len(ends), np.int64)
    for back in range(1, 1 + int((ends - tab).max(initial=1))):  # digits from the last one on
        place = ends - back
        inside = ~wrong & (place > tab)
        if not inside.any():
            break
        digit = block[np.maximum(place, 0)].astype(np.int64) - ord("0")
        wrong |= inside & ((digit < 0) | (digit > 9) | (back > 18))
        counts += np.where(inside, digit * power, 0)
        power *= 10 if back < 18 else 1
    if wrong.any():
        number = before + int(np.flatnonzero(wrong)[0]) + 1
        raise BadInput("expected a word, a tab and a count", path=corpus.folder / "types.txt", line=number)
    characters = np.concatenate(([0], np.cumsum((block & 0xC0) != 0x80)))  # a character has one byte that leads it
    return counts, characters[tab] - characters[starts]


def _added(total: Counts, values: Counts, weights: Counts) -> Counts:
    """`total`, grown as needed, with `weights` counted at the places `values`."""
    if not len(values):
        return total
    wanted = int(values.max()) + 1
    grown = np.zeros(max(len(total), wanted), np.int64)
    grown[: len(total)] = total
    np.add.at(grown, values, weights)
    return grown


def _trimmed(counts: Counts) -> Counts:
    full = np.flatnonzero(counts)
    return counts[: int(full[-1]) + 1] if len(full) else counts[:1]


# Shards -----------------------------------------------------------------------------------------------------------


def of_text(corpus: Corpus, n_types: int, *, quiet: bool = False) -> Run:
    """One pass over the training part. n_types: how many lines types.txt has."""
    total = int(corpus.manifest["counts"]["train"]["words"])
    growth = _Growth(total, n_types)
    lengths = np.zeros(_LONGEST + 1, np.int64)
    open_words = longest = 0  # words since the last end of a sentence
    with Progress("reading", total, unit="words", quiet=quiet or total < _LARGE) as progress:
        for ids in _blocks(corpus):
            words = ids[ids < DOCUMENT_END]
            if len(words) and int(words.max()) >= n_types:
                raise BadInput("holds words that types.txt does not; build the corpus again", path=corpus.folder)
            growth.add(words)
            marked = ids[ids != DOCUMENT_END]
            ends = np.flatnonzero(marked == SENTENCE_END)
            if len(ends):
                found = np.diff(ends, prepend=-1 - open_words) - 1
                longest = max(longest, int(found.max()))
                lengths += np.bincount(np.minimum(found, _LONGEST), minlength=_LONGEST + 1)
                open_words = len(marked) - 1 - int(ends[-1])
            else:
                open_words += len(marked)
            progress.advance(len(words))
    return Run(growth.curve, _trimmed(lengths), longest)


class _Growth:
    """Types seen so far, at the points of the curve."""

    def __init__(self, total: int, n_types: int) -> None:
        self.seen = np.zeros(n_types, bool)
        self.points = points(total)
        self.curve: list[tuple[int, int]] = []
        self.words = 0

    def add(self, words: NDArray[np.uint32]) -> None:
        start = 0
        while len(self.curve) < len(self.points) and self.points[len(self.curve)] <= self.words + len(words) - start:
            point = self.points[len(self.curve)]
            end = start + point - self.words
            self.seen[words[start:end]] = True
            self.curve.append((point, int(np.count_nonzero(self.seen))))
            start, self.words = end, point
        self.seen[words[start:]] = True
        self.words += len(words) - start


def _blocks(corpus: Corpus) -> Iterator[NDArray[np.uint32]]:
    for shard in corpus.shards("train"):
        for start in range(0, len(shard), _BLOCK):
            yield np.asarray(shard[start : start + _BLOCK])


# Coverage -----------------------------------------------------------------------------------------------------------


def coverage(counts: Counts, sizes: Sequence[int]) -> list[float]:
    """What share of the running words of the training part the so many most frequent types are."""
    below = np.concatenate(([0], np.cumsum(counts)))
    places = np.minimum(np.asarray(sizes, np.int64), len(counts))
    return [float(share) for share in below[places] / max(1, int(below[-1]))]


def held_out_coverage(corpus: Corpus, sizes: Sequence[int]) -> list[float]:
    """The same of the held-out part, which had no say in what is frequent; empty where it holds no word."""
    found, total = np.zeros(len(sizes), np.int64), 0
    for shard in corpus.shards("heldout"):
        for start in range(0, len(shard), _BLOCK):
            words = np.asarray(shard[start : start + _BLOCK])
            words = words[words < DOCUMENT_END]  # an id is the place in the order of frequency
            found += [int(np.count_nonzero(words < size)) for size in sizes]
            total += len(words)
    return [float(share) for share in found / total] if total else []


def types_for(counts: Counts, shares: Sequence[float]) -> list[int]:
    """How many of the most frequent types it takes to cover these shares of the running words."""
    below = np.cumsum(counts)
    total = int(below[-1]) if len(below) else 0
    return [int(np.searchsorted(below, share * total - 1e-9)) + 1 for share in shares]


def spread(lengths: Counts) -> dict[str, float]:
    """Mean, median, 90th and 99th percentile, maximum of a histogram; zeros where it is empty."""
    total = int(lengths.sum())
    if not total:
        return dict.fromkeys(("mean", "median", "p90", "p99", "max"), 0)
    below = np.cumsum(lengths)
    at = {"median": 0.5, "p90": 0.9, "p99": 0.99}
    found = {name: int(np.searchsorted(below, share * total)) for name, share in at.items()}
    mean = float((lengths * np.arange(len(lengths))).sum() / total)
    return {"mean": round(mean, 3), **found, "max": len(lengths) - 1}
