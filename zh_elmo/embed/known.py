"""What a model knows of a text: its characters, its words, and other forms of a word that it knows better.

The Chinese vocabularies of older models lack full-width or half-width forms, and one of the two scripts: a word that
is unknown only for its width or its script is brought to the form that the model has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from zh_elmo.lm.model import BiLM
from zh_elmo.text import script

_MEMO = 200_000  # words remembered
_WIDTH = 0xFEE0  # from "!" to "！": the full-width forms lie in the order of ASCII
_WIDE = {point: chr(point + _WIDTH) for point in range(0x21, 0x7F)} | {0x20: "\u3000"}
_NARROW = {ord(wide): chr(point) for point, wide in _WIDE.items()}


class Known(NamedTuple):
    """How much of a text a model knows; every word and character counts as often as it stands there."""

    words: int
    known_words: int | None  # in the table of words; None: the model has none
    characters: int
    known_characters: int | None  # in the model's list; None: it reads bytes, which are all known
    cut: int  # words of which the model does not read the end
    folded: int  # words that `normalize="auto"` gives another form


class Folding:
    """`normalize="auto"`: words as they are given, but where the model does not know one, the form of it that it does
    know, in the other width or script.

    A form counts as known if the table of words has it, or else if more of its characters are in the model's list (for
    models that read bytes: among the characters of their vocabulary, if they came with one).
    """

    def __init__(self, bilm: BiLM) -> None:
        self._words = frozenset(bilm.words) | frozenset(bilm.settings.marks or ())
        reads_bytes = bilm.settings.characters.unit == "byte"
        self._characters = frozenset("".join(bilm.words)) if reads_bytes else frozenset(bilm.chars)
        self._memo: dict[str, str] = {}

    def __call__(self, words: Sequence[str]) -> list[str]:
        return [self.form(word) for word in words]

    def form(self, word: str) -> str:
        """`word` as the model knows it best; the number of its characters stays."""
        known = self._memo.get(word)
        if known is None:
            if len(self._memo) >= _MEMO:
                self._memo.clear()
            known = self._memo[word] = self._best(word)
        return known

    def _best(self, word: str) -> str:
        if word in self._words:
            return word
        best, most = word, self._score(word)
        for form in _forms(word):
            score = self._score(form)
            if score > most:
                best, most = form, score
        return self._piecewise(best)

    def _score(self, form: str) -> tuple[bool, int]:
        return form in self._words, sum(character in self._characters for character in form)

    def _piecewise(self, word: str) -> str:
        """Each unknown character in the other width where only that is known; a word may have both widths in it."""
        if word in self._words or all(character in self._characters for character in word):
            return word
        return "".join(self._character(character) for character in word)

    def _character(self, character: str) -> str:
        if character in self._characters:
            return character
        return next((other for other in _widths(character) if other in self._characters), character)


def _widths(text: str) -> Iterator[str]:
    yield text.translate(_NARROW)
    yield text.translate(_WIDE)


def _forms(word: str) -> Iterator[str]:
    """Other forms of a word, of as many characters: the other width, the other script, both."""
    for width in (word, *_widths(word)):
        yield width
        if not width.isascii():
            for convert in (script.to_simplified, script.to_traditional):
                converted = convert(width)
                if len(converted) == len(width):
                    yield converted


def is_cut(bilm: BiLM, word: str) -> bool:
    """Whether the model reads only the start of a word."""
    characters = bilm.settings.characters
    if not characters.filters and not bilm.settings.cut_words:
        return False
    if characters.unit == "byte":
        return 4 * len(word) > characters.maximum and len(word.encode("utf-8", "ignore")) > characters.maximum
    return len(word) > characters.maximum


def known(bilm: BiLM, sentences: Iterable[Sequence[str]]) -> Known:
    """Count what a model knows of sentences (lists of words)."""
    settings = bilm.settings
    has_list = bool(settings.characters.filters) and settings.characters.unit == "character"
    words, characters = frozenset(bilm.word_ids), frozenset(bilm.chars)
    folding = Folding(bilm)
    n_words = known_words = n_characters = known_characters = cut = folded = 0
    for sentence in sentences:
        for word in sentence:
            n_words += 1
            n_characters += len(word)
            known_words += word in words
            known_characters += sum(character in characters for character in word)
            cut += is_cut(bilm, word)
            folded += folding.form(word) != word
    return Known(
        words=n_words,
        known_words=known_words if settings.word_table else None,
        characters=n_characters,
        known_characters=known_characters if has_list else None,
        cut=cut,
        folded=folded,
    )


def shares(of: Known) -> list[str]:
    """The counts in words."""

    def share(part: int, whole: int) -> str:
        return f"{100 * part / whole:.2f} % of {whole:,}" if whole else "none of 0"

    told = []
    if of.known_characters is not None:
        told.append(f"characters known: {share(of.known_characters, of.characters)}")
    if of.known_words is not None:
        told.append(f"words known: {share(of.known_words, of.words)}")
    if of.cut:
        told.append(f"words cut, so that two may become the same: {share(of.cut, of.words)}")
    told.append(f'words that normalize="auto" gives a form that the model knows better: {share(of.folded, of.words)}')
    return told
