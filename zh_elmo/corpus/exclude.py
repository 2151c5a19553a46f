"""Keeping test sentences out: a paragraph that holds a dev or test sentence of a treebank, in either script, is found.

Both sides are compared in simplified script, without punctuation and spaces. A paragraph is kept out where it contains
such a sentence of 10 characters or more, or is the same as a shorter one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zh_elmo import data
from zh_elmo.files import BadInput, lines
from zh_elmo.text import script
from zh_elmo.text.normalise import normalise
from zh_elmo.text.script_tables import Codes, encoded

SHORT = 10  # characters; shorter sentences keep out only paragraphs that are the same
# A stretch of _GRAM + _STRIDE - 1 = SHORT characters always holds a whole gram that begins at a multiple of _STRIDE.
_GRAM, _STRIDE = 5, 6
_SIEVE = 1 << 20
_WEIGHTS = np.random.default_rng(0).integers(1, 2**64, SHORT, np.uint64)
_NOT_A_LETTER = re.compile(r"[\W_]+")


class Excluded:
    """The sentences to keep out. Pickles."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self.short: set[str] = set()
        self.long: dict[str, list[tuple[int, str]]] = {}  # a gram -> (where it is in a sentence, the sentence)
        for sentence in sentences:
            wanted = key(script.to_simplified(normalise(sentence).text))
            if len(wanted) < SHORT:
                self.short |= {wanted} - {""}
                continue
            for offset in range(_STRIDE):
                self.long.setdefault(wanted[offset : offset + _GRAM], []).append((offset, wanted))
        self._sieve = np.zeros(_SIEVE, bool)  # which hashes grams and short sentences have
        for one in (*self.long, *self.short):
            codes = encoded(one).astype(np.uint64)
            self._sieve[_sifted((codes * _WEIGHTS[: len(codes)]).sum())] = True

    def __bool__(self) -> bool:
        return bool(self.short or self.long)

    def holds(self, paragraph: str) -> bool:
        """Whether `paragraph` (normalised, in simplified script) must be kept out."""
        found = key(paragraph)
        if len(found) < SHORT:
            return found in self.short
        return any(
            place >= offset and found.startswith(sentence, place - offset)
            for place in range(0, len(found) - _GRAM + 1, _STRIDE)
            if (gram := found[place : place + _GRAM]) in self.long
            for offset, sentence in self.long[gram]
        )

    def among(self, paragraphs: Sequence[str]) -> set[int]:
        """Places of those that `holds`, none of which has a line feed: a sieve by arrays, then one by one."""
        if not self:
            return set()
        codes, starts, sizes = keys(paragraphs)
        counts = np.where(sizes < SHORT, 0, (sizes - _GRAM) // _STRIDE + 1)
        rows = np.repeat(np.arange(len(starts)), counts)
        nth = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        at = starts[rows] + nth * _STRIDE
        hashes = _hashes(codes, at, np.full(len(at), _GRAM))
        found = rows[self._sieve[_sifted(hashes)]]
        short = np.flatnonzero((sizes < SHORT) & (sizes > 0))
        found_short = short[self._sieve[_sifted(_hashes(codes, starts[short], sizes[short]))]]
        return {row for row in {*found.tolist(), *found_short.tolist()} if self.holds(paragraphs[row])}


def _hashes(codes: Codes, at: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Of codes[at : at + size], at most SHORT of them."""
    found = np.zeros(len(at), np.uint64)
    for place in range(int(sizes.max(initial=0))):
        inside = at + np.minimum(place, sizes - 1)
        found += np.where(place < sizes, codes[inside].astype(np.uint64) * _WEIGHTS[place], np.uint64(0))
    return found


def _sifted(hashes: Any) -> Any:
    """The place of a hash, or of each, in a sieve."""
    return (hashes ^ (hashes >> np.uint64(31))) & np.uint64(_SIEVE - 1)


def keys(paragraphs: Sequence[str]) -> tuple[Codes, NDArray[np.int64], NDArray[np.int64]]:
    """The `key` of each of some paragraphs without line feeds, all in one: codes[start : start + size]."""
    kept, folds = _tables()
    codes = encoded("\n".join(paragraphs) + "\n")
    codes = folds[codes[kept[codes]]]
    ends = np.flatnonzero(codes == ord("\n"))
    starts = np.concatenate(([0], ends[:-1] + 1))
    return codes, starts, ends - starts


@cache
def _tables() -> tuple[NDArray[np.bool_], Codes]:
    """Of every code point: whether it is a letter, a digit or a line feed, and what `key` makes of it."""
    everything = "".join(map(chr, range(0x110000)))
    kept = np.zeros(0x110000, bool)
    kept[encoded(_NOT_A_LETTER.sub("", everything))] = True
    kept[ord("\n")] = True
    return kept, encoded(script.fold(everything))


def key(text: str) -> str:
    """What two editions of one sentence have in common: letters and digits alone, variants of a character as one."""
    return script.fold(_NOT_A_LETTER.sub("", text))


def excluded(treebanks: Iterable[str]) -> Excluded:
    """The dev and test sentences of treebanks of the catalogue. Raises BadInput for one that has neither."""
    sentences: list[str] = []
    for name in treebanks:
        paths = [path for role, path in data.treebank(name).items() if role in ("dev", "test")]
        if not paths:
            raise BadInput(f"{name} has neither a dev nor a test file to keep out of the corpus", usage=True)
        for path in paths:
            sentences += treebank_sentences(path)
    return Excluded(sentences)


def treebank_sentences(path: Path) -> Iterator[str]:
    """The surface text of the sentences of a CoNLL-U file, tokens joined without spaces."""
    tokens: list[str] = []
    covered = 0  # words up to this number belong to a multiword token, which stands for them
    for number, line in lines(path):
        if not line:
            if tokens:
                yield "".join(tokens)
            tokens, covered = [], 0
        elif not line.startswith("#"):
            columns = line.split("\t")
            if len(columns) != 10:
                raise BadInput(f"10 tab-separated columns expected, not {len(columns)}", path=path, line=number)
            if "-" in columns[0]:
                covered = int(columns[0].partition("-")[2])
                tokens.append(columns[1])
            elif columns[0].isdigit() and int(columns[0]) > covered:
                tokens.append(columns[1])
    if tokens:
        yield "".join(tokens)
