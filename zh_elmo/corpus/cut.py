"""Paragraphs to word ids, the part of a build that runs in worker processes: a pure function of the paragraphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zh_elmo.corpus.chunk import DOCUMENT_MARK, FIRST_WORD, SENTENCE_MARK, Chunk
from zh_elmo.corpus.exclude import Excluded
from zh_elmo.corpus.filters import NONE, fault
from zh_elmo.corpus.index import hashes as type_hashes
from zh_elmo.corpus.index import of_paragraphs
from zh_elmo.corpus.near import sketches
from zh_elmo.corpus.readers import Final
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.text.batch import Batch, Words
from zh_elmo.text.pipeline import LONGEST_WORD

EXAMPLE = 60  # characters of a dropped paragraph that the manifest shows

Places = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Task(NamedTuple):
    """What a worker is handed: paragraphs, with the empty string for the end of a document."""

    paragraphs: list[str]
    characters: int  # of all of them
    read: int  # the same with what is around the text: tags, line ends


class Cutter:
    """Settings and tables, sent to each worker once."""

    def __init__(self, settings: CorpusSettings, excluded: Excluded) -> None:
        self.settings = settings
        self.excluded = excluded
        self.batch = Batch(settings.text)

    def __call__(self, task: Task) -> Chunk:
        paragraphs = task.paragraphs
        words = self.batch(paragraphs, [isinstance(paragraph, Final) for paragraph in paragraphs])
        is_end = np.array([not paragraph for paragraph in paragraphs], bool)
        look = self.settings.filters != NONE or self.excluded or self.settings.near_duplicates
        joined = words.joined(len(paragraphs)) if look else [""] * len(paragraphs)
        reasons = dict(self._faults(words, is_end, joined, paragraphs))
        pieces = _Pieces.of(words, self.settings, reasons)
        for number in np.flatnonzero(~is_end & ~pieces.there(len(paragraphs))).tolist():
            reasons.setdefault(number, "sentences too short")
        hashes = type_hashes(words.types, words.lengths)
        kept = np.ones(len(paragraphs), bool)
        kept[list(reasons)] = False
        compared = [text for text, stays in zip(joined, kept.tolist(), strict=True) if stays]
        ids, bounds = _assembled(words, pieces, is_end)
        digests = of_paragraphs(hashes[words.ids, 0], words.bounds(len(paragraphs)), self.settings.seed)
        digests[is_end] = 0
        return Chunk(
            types=words.types,
            type_hashes=hashes,
            ids=ids,
            bounds=bounds[np.append(True, kept)],  # a dropped paragraph has no ids
            hashes=digests[kept],
            near=sketches(compared if self.settings.near_duplicates else []),
            characters=task.characters,
            read=task.read,
            dropped=[(reason, paragraphs[number][:EXAMPLE]) for number, reason in sorted(reasons.items())],
            changes=pieces.changes,
            facts={name: dict(counts) for name, counts in words.facts.items()},
        )

    def _faults(
        self, words: Words, is_end: Mask, joined: list[str], paragraphs: list[str]
    ) -> Iterator[tuple[int, str]]:
        """Paragraphs that are dropped, and why, from all their words."""
        visible = np.zeros(len(is_end), bool)
        visible[words.paragraphs] = True
        yield from ((number, "nothing visible") for number in np.flatnonzero(~is_end & ~visible).tolist())
        kept_out = self.excluded.among(joined)
        looked_at = visible if self.settings.filters != NONE else ()
        for number in sorted({*np.flatnonzero(looked_at).tolist(), *kept_out}):
            if number in kept_out:
                yield number, "holds a sentence of an excluded treebank"
            elif reason := fault(joined[number], self.settings.filters, paragraphs[number]):
                yield number, reason


class _Pieces(NamedTuple):
    """Sentences as they are kept: long ones cut, short ones and those of dropped paragraphs left out."""

    starts: Places  # [n] words
    ends: Places
    paragraphs: Places
    changes: dict[str, int]

    @classmethod
    def of(cls, words: Words, settings: CorpusSettings, dropped: dict[int, str]) -> _Pieces:
        starts, ends, of = np.concatenate(([0], words.ends))[:-1], words.ends, words.paragraphs
        if dropped:
            kept = ~np.isin(of, list(dropped))
            starts, ends, of = starts[kept], ends[kept], of[kept]
        changes = {"words_cut": _long_words(words, starts, ends)}
        cut = ends - starts > settings.maximum
        changes["sentences_cut"] = int(np.count_nonzero(cut))
        if cut.any():
            starts, ends, of = _capped(starts, ends, of, settings.maximum)
        short = ends - starts < settings.minimum
        changes["sentences_too_short"] = int(np.count_nonzero(short))
        if short.any():
            starts, ends, of = starts[~short], ends[~short], of[~short]
        return cls(starts, ends, of, changes)

    def there(self, number: int) -> Mask:
        """Which of so many paragraphs have one."""
        found = np.zeros(number, bool)
        found[self.paragraphs] = True
        return found


def _capped(starts: Places, ends: Places, of: Places, maximum: int) -> tuple[Places, Places, Places]:
    """Sentences of at most so many words."""
    parts = -(-(ends - starts) // maximum)
    first = np.repeat(np.cumsum(parts) - parts, parts)
    starts = np.repeat(starts, parts) + (np.arange(int(parts.sum())) - first) * maximum
    return starts, np.minimum(starts + maximum, np.repeat(ends, parts)), np.repeat(of, parts)


def _long_words(words: Words, starts: Places, ends: Places) -> int:
    """How many words of these sentences are as long as a word can be: cut, nearly always."""
    long = np.flatnonzero(words.lengths == LONGEST_WORD)
    if not len(long):
        return 0
    before = np.concatenate(([0], np.cumsum(np.isin(words.ids, long))))
    return int((before[ends] - before[starts]).sum())


def _assembled(words: Words, pieces: _Pieces, is_end: Mask) -> tuple[NDArray[np.uint32], Places]:
    """Ids with the marks of ends among them, and where each paragraph begins and the last one ends."""
    sizes = pieces.ends - pieces.starts
    after = np.cumsum(sizes)
    total = int(after[-1]) if len(after) else 0
    ids = words.ids
    if total < len(ids):
        ids = ids[np.repeat(pieces.starts - (after - sizes), sizes) + np.arange(total)]
    of_paragraph = np.bincount(pieces.paragraphs, sizes + 1, len(is_end)).astype(np.int64)
    bounds = np.concatenate(([0], np.cumsum(of_paragraph + is_end)))
    result = np.empty(int(bounds[-1]), np.uint32)
    at_ends = after + np.arange(len(after)) + np.cumsum(is_end)[pieces.paragraphs]
    marked = np.zeros(len(result), bool)
    marked[at_ends] = True
    marked[bounds[:-1][is_end]] = True
    result[~marked] = ids + np.uint32(FIRST_WORD)
    result[at_ends] = SENTENCE_MARK
    result[bounds[:-1][is_end]] = DOCUMENT_MARK
    return result, bounds
