"""Keeping test sentences out: a paragraph that holds a dev or test sentence of a treebank, in either script, is found.

Both sides are compared in simplified script, without punctuation and spaces. A paragraph is kept out where it contains
such a sentence of 10 characters or more, or is the same as a shorter one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from zh_elmo import data
from zh_elmo.files import BadInput, lines
from zh_elmo.text import script
from zh_elmo.text.normalise import normalise

SHORT = 10  # characters; shorter sentences keep out only paragraphs that are the same
# A stretch of _GRAM + _STRIDE - 1 = SHORT characters always holds a whole gram that begins at a multiple of _STRIDE.
_GRAM, _STRIDE = 5, 6
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
