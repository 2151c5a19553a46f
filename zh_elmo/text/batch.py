"""Many paragraphs to word ids at once: the words that `Pipeline.forms` gives for each, by arrays and one long cut."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zh_elmo.text import script, sentence_arrays
from zh_elmo.text.normalise import dropped
from zh_elmo.text.pipeline import LONGEST_WORD, Pipeline
from zh_elmo.text.script_tables import encoded
from zh_elmo.text.segmenters.pieces import shortened
from zh_elmo.text.sentences import MAX_CHARACTERS
from zh_elmo.text.settings import TextSettings

Ids = NDArray[np.uint32]
Places = NDArray[np.int64]
_PORTION = 16_000  # characters; all at once, cutting takes 3 to 5 % more
_Found = tuple[list[str], Places, Ids, Places]  # the first four of Words
_LINE_END = re.compile("\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")
_OTHER_LINE_END = re.compile("[\r\x0b\x0c\x85\u2028\u2029]")


class Words(NamedTuple):
    """The words of some paragraphs."""

    types: list[str]  # distinct ones; some may not occur
    lengths: Places  # of them, in characters
    ids: Ids  # [n words] places in `types`
    ends: Places  # [n sentences] sentence s is ids[ends[s - 1] : ends[s]]
    paragraphs: Places  # [n sentences] the paragraph that it is of
    text: str  # as normalised and converted, one line or more for each paragraph
    owners: Places  # [n lines] the paragraph that each line is of
    facts: dict[str, Counter[str]]  # what was done, for the manifest

    def bounds(self, number: int) -> Places:
        """Where the words of each of so many paragraphs begin, and where the last one's end."""
        first = np.searchsorted(self.paragraphs, np.arange(number + 1))
        bounds: Places = np.concatenate(([0], self.ends))[first]
        return bounds

    def joined(self, number: int) -> list[str]:
        """The words of each of so many paragraphs without anything between."""
        lines = self.text.replace(" ", "").split("\n")
        if len(lines) == number:
            return lines
        result = [""] * number
        for owner, line in zip(self.owners.tolist(), lines, strict=True):
            result[owner] += line
        return result


class Batch:
    """Paragraphs of documents to words. Pickles as its settings."""

    def __init__(self, settings: TextSettings) -> None:
        self.settings = settings
        self.pipeline = Pipeline(settings)
        self._convert = script.converter(settings.script)

    def __reduce__(self) -> tuple[type[Batch], tuple[TextSettings]]:
        return Batch, (self.settings,)

    def __call__(self, paragraphs: Sequence[str], final: Sequence[bool]) -> Words:
        """An empty paragraph ends a document, which decides on the script of its lines. final: of each paragraph,
        whether its script stays."""
        if self.settings.segmenter == "words" or not paragraphs:
            return self.one_by_one(paragraphs, final)
        raw, owners = _lines(paragraphs)
        now = self.pipeline.normalised(raw)
        codes = encoded(now.text)
        lines = script.by_line(codes)
        sizes = _sizes(paragraphs, owners)
        text = self._convert.documents(now.text, lines, sizes, np.asarray(final, bool)[owners])
        changed = encoded(text) if text is not now.text else codes
        counts = Counter[str]()
        starts, ends = sentence_arrays.split(text, changed, MAX_CHARACTERS, counts)
        facts = {
            "sentences_by": counts,
            "characters_dropped": Counter[str](kind for _, kind in dropped(raw, now)),
            "script": _scripts(lines, owners, paragraphs),
        }
        facts["script"]["characters_converted"] = int(np.count_nonzero(codes != changed))
        found = self._words([text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])
        of = owners[np.searchsorted(lines.ends, starts, "right")]
        return Words(*found, of, text, owners, facts)

    def _words(self, sentences: list[str]) -> _Found:
        if not sentences:
            return [], np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.int64)
        segmenter = self.pipeline.segmenter
        index: defaultdict[str, int] = defaultdict(None, {"\n": 0, " ": 1})
        index.default_factory = index.__len__  # a new word is numbered by how many there are
        numbered: list[Ids] = []
        for text in _portions("\n".join(sentences)):
            words = segmenter.lines(text)
            numbered.append(np.fromiter(map(index.__getitem__, words), np.uint32, len(words)))
        index.default_factory = None  # a cycle, which would keep all words until the next full collection
        ids = np.concatenate(numbered)
        kept = ids > 1
        ends = np.cumsum(kept)[np.append(np.flatnonzero(ids == 0), len(ids) - 1)]
        assert len(ends) == len(sentences)
        types = list(index)[2:]
        codes = encoded("\n".join(types))
        type_ends = np.append(np.flatnonzero(codes == ord("\n")), len(codes))
        recut = segmenter.recut(types, codes, type_ends)
        return _finished(types, np.diff(type_ends, prepend=-1) - 1, ids[kept] - np.uint32(2), ends, recut)

    def one_by_one(self, paragraphs: Sequence[str], final: Sequence[bool]) -> Words:
        """The same without arrays and without facts: the plain way, which the other is tested against."""
        index: defaultdict[str, int] = defaultdict()
        index.default_factory = index.__len__
        ids, ends, of = list[int](), list[int](), list[int]()
        texts: list[str] = []
        for wanted, members in self._documents(paragraphs):
            for number in members:
                forms = self.pipeline.forms(paragraphs[number], document=wanted, final=final[number])
                for words in forms:
                    ids += map(index.__getitem__, words)
                    ends.append(len(ids))
                    of.append(number)
                texts.append("".join(map("".join, forms)))
        index.default_factory = None
        lengths = np.array(list(map(len, index)), np.int64)
        found = list(index), lengths, np.array(ids, np.uint32), np.array(ends, np.int64)
        return Words(*found, np.array(of, np.int64), "\n".join(texts), np.arange(len(paragraphs)), {})

    def _documents(self, paragraphs: Sequence[str]) -> Iterator[tuple[script.Share, list[int]]]:
        """How much of each document is to be converted, and its paragraphs with the empty one at its end."""
        members: list[int] = []
        for number, paragraph in enumerate(paragraphs):
            members.append(number)
            if not paragraph or number == len(paragraphs) - 1:
                counts = [script.count(self.pipeline.normalised(paragraphs[member]).text) for member in members]
                traditional, simplified = sum(count[0] for count in counts), sum(count[1] for count in counts)
                yield script.verdict(traditional, simplified, self.settings.script), members
                members = []


def _portions(text: str) -> Iterator[str]:
    """Lines, so many at once that their words stay in the processor's cache until they are numbered."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _PORTION) + 1 or len(text)
        yield text[start:end]
        start = end


def _sizes(paragraphs: Sequence[str], owners: Places) -> list[int]:
    """How many lines each document has."""
    ends = np.flatnonzero([not paragraph for paragraph in paragraphs])
    after = np.searchsorted(owners, ends, "right")
    if not len(after) or after[-1] != len(owners):
        after = np.append(after, len(owners))
    return np.diff(after, prepend=0).tolist()  # type: ignore[no-any-return]


def _scripts(lines: script.Lines, owners: Places, paragraphs: Sequence[str]) -> Counter[str]:
    """Paragraphs by the script of their telling characters: mixed where over a tenth is of the rarer one."""
    traditional, simplified = (np.bincount(owners, of) for of in (lines.traditional, lines.simplified))
    hans, hant = traditional * 9 <= simplified, simplified * 9 <= traditional
    there = np.array(list(map(bool, paragraphs)))
    kinds = {"simplified": hans & ~hant, "traditional": hant & ~hans, "mixed": ~hans & ~hant, "either": hans & hant}
    return Counter({f"paragraphs_{name}": int(np.count_nonzero(of & there)) for name, of in kinds.items()})


def _finished(types: list[str], lengths: Places, ids: Ids, ends: Places, recut: dict[int, list[str]]) -> _Found:
    """Words that fall into others, and those of more than LONGEST_WORD characters, cut."""
    for long in np.flatnonzero(lengths > LONGEST_WORD).tolist():
        recut.setdefault(long, [types[long]])
    if not recut:
        return types, lengths, ids, ends
    pieces = {at: [piece for part in parts for piece in shortened(part)] for at, parts in recut.items()}
    number = dict(zip(types, range(len(types)), strict=True))
    for piece in chain.from_iterable(pieces.values()):
        number.setdefault(piece, len(number))
    sizes = np.ones(len(types), np.int64)
    sizes[list(pieces)] = list(map(len, pieces.values()))
    of_words = sizes[ids]
    after = np.cumsum(of_words)
    cut = np.repeat(ids, of_words)
    for place in np.flatnonzero(of_words > 1).tolist():
        parts = pieces[int(ids[place])]
        cut[after[place] - len(parts) : after[place]] = [number[part] for part in parts]
    types = list(number)
    return types, np.fromiter(map(len, types), np.int64, len(types)), cut, after[ends - 1]


def _lines(paragraphs: Sequence[str]) -> tuple[str, Places]:
    """Paragraphs as lines of one text, and the paragraph that each line is of."""
    raw = "\n".join(paragraphs)
    if raw.count("\n") == len(paragraphs) - 1 and _OTHER_LINE_END.search(raw) is None:
        return raw, np.arange(len(paragraphs))
    parts = [_LINE_END.split(paragraph) for paragraph in paragraphs]
    lines = "\n".join(line for part in parts for line in part)
    return lines, np.repeat(np.arange(len(paragraphs)), list(map(len, parts)))
