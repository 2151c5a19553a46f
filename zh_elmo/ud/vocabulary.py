"""What training has seen: words that recur, characters, labels; each known by a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNKNOWN = 1  # 0 is padding
ROOT = 2  # the artificial root before each sentence of a parser, as a word and as its one character
_FIRST = 3
LONGEST = 20  # characters of a word that are read: its first 19 and its last
UNSEEN = -1  # a label that training never saw: never predicted, counted as wrong


class Vocabulary:
    """Numbers of words and characters.

    `words`: training forms with their counts, from `minimum` occurrences on; a rarer form is known by its characters
    only, like an unknown one. `characters`: in how many distinct forms each occurs.
    """

    def __init__(self, words: Mapping[str, int], characters: Mapping[str, int]) -> None:
        self.words, self.characters = dict(words), dict(characters)
        self._word = {word: number for number, word in enumerate(self.words, _FIRST)}
        self._character = {character: number for number, character in enumerate(self.characters, _FIRST)}

    @classmethod
    def build(cls, sentences: Iterable[Sequence[str]], minimum: int = 2) -> Vocabulary:
        counts = Counter(form for forms in sentences for form in forms)
        characters = Counter(character for form in counts for character in set(form))
        kept = {form: counts[form] for form in sorted(counts) if counts[form] >= minimum}
        return cls(kept, {character: characters[character] for character in sorted(characters)})

    @property
    def n_words(self) -> int:
        return len(self.words) + _FIRST

    @property
    def n_characters(self) -> int:
        return len(self.characters) + _FIRST

    def word_numbers(self, forms: Sequence[str]) -> NDArray[np.int64]:
        return np.array([self._word.get(form, UNKNOWN) for form in forms], np.int64)

    def character_numbers(self, forms: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """([n, LONGEST] numbers, padded with 0; [n] how many there are) of words that are not empty."""
        numbers = np.zeros((len(forms), LONGEST), np.int64)
        sizes = np.zeros(len(forms), np.int64)
        get = self._character.get
        for row, form in enumerate(forms):
            read = form if len(form) <= LONGEST else form[: LONGEST - 1] + form[-1]
            sizes[row] = len(read)
            numbers[row, : len(read)] = [get(character, UNKNOWN) for character in read]
        return numbers, sizes

    def word_dropout(self, alpha: float) -> NDArray[np.float64]:
        """[n_words] probability alpha / (alpha + count) that training takes a word for an unknown one, so that the
        vector of unknown words learns from frequent words too (Kiperwasser and Goldberg 2016)."""
        counts = np.array(list(self.words.values()), np.float64)
        return np.concatenate([np.zeros(_FIRST), alpha / (alpha + counts) if alpha else counts * 0])

    def character_dropout(self) -> NDArray[np.float64]:
        """[n_characters] the same of characters: one half for those of a single form."""
        types = np.array(list(self.characters.values()), np.float64)
        return np.concatenate([np.zeros(_FIRST), 0.5 * (types == 1)])

    def plain(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {"words": self.words, "characters": self.characters}


class Labels:
    """The values of one column."""

    def __init__(self, values: Sequence[str]) -> None:
        self.values = list(values)
        self._number = {value: number for number, value in enumerate(self.values)}

    @classmethod
    def build(cls, values: Iterable[str]) -> Labels:
        return cls(sorted(set(values)))

    def __len__(self) -> int:
        return len(self.values)

    def numbers(self, values: Iterable[str]) -> NDArray[np.int64]:
        """Numbers of `values`, UNSEEN where training had no such label."""
        return np.array([self._number.get(value, UNSEEN) for value in values], np.int64)

    def names(self, numbers: Iterable[int]) -> list[str]:
        return [self.values[number] for number in numbers]
