"""Sentences as numbers and tensors: words, characters and, where there are any, vectors from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zh_elmo.files import BadInput
from zh_elmo.ud.vocabulary import ROOT, UNKNOWN, Vocabulary

NO_TAG = 0  # of artificial roots, of tags unknown, and of tags lost in training


class Vectors(Protocol):
    """Word vectors of whole sentences: contextual (one layer or more) or a table's (one layer)."""

    @property
    def width(self) -> int:
        """Numbers of a vector."""

    @property
    def n_layers(self) -> int:
        """Layers, which the tagger or parser learns to mix."""

    def __call__(self, sentences: Sequence[Sequence[str]]) -> Sequence[NDArray[Any]]:
        """For each sentence of raw forms [n_layers, n_words, width], of any float type; memory-mapped ones are fine."""


class Batch(NamedTuple):
    """B sentences, longest first, with M words in all (the artificial roots counted in), sentence after sentence."""

    rows: NDArray[np.int64]  # [B] which sentences of the Inputs
    places: NDArray[np.int64]  # [M] where each word stands in the flat arrays of its Inputs
    sizes: Tensor  # [B] words of each sentence
    sentence: Tensor  # [M] 0..B-1
    position: Tensor  # [M] from 0
    words: Tensor  # [M]
    characters: Tensor  # [M, longest], padded with 0
    ends: Tensor  # [M] place of the last character
    tags: Tensor | None  # [M] tags as input, NO_TAG for artificial roots
    vectors: Tensor | None  # [n_layers, M, width] float32; 0 for artificial roots
    steps: Tensor  # [2, M] the place of each word in the two directions of an LSTM
    order: Tensor  # [2, M] the word at each of these places
    alive: list[int]  # sentences that go on at each step

    @property
    def starts(self) -> Tensor:
        """[M] the first word of each word's sentence."""
        return torch.arange(len(self.position)) - self.position


class Inputs:
    """A set of sentences, ready to be gathered into batches.

    `forms` are normalised (looked up), `raw` as they stand (given to `vectors`, once); `tags` are numbers, one a word.
    With `root=True` an artificial root stands before each sentence. Raises BadInput for vectors of another shape.
    """

    def __init__(
        self,
        forms: Sequence[Sequence[str]],
        vocabulary: Vocabulary,
        *,
        raw: Sequence[Sequence[str]],
        vectors: Vectors | None = None,
        tags: Sequence[NDArray[np.int64]] | None = None,
        root: bool = False,
    ) -> None:
        self.root = int(root)
        self.lengths = np.array([len(sentence) + self.root for sentence in forms], np.int64)
        self.begins = np.concatenate([[0], np.cumsum(self.lengths)])
        distinct = {form: number for number, form in enumerate(dict.fromkeys(f for s in forms for f in s))}
        numbers = vocabulary.word_numbers(list(distinct))
        self._characters, self._sizes = vocabulary.character_numbers(list(distinct))
        if root:
            numbers = np.append(numbers, ROOT)
            self._characters = np.concatenate(
                [self._characters, np.eye(1, self._characters.shape[1], dtype=int) * ROOT]
            )
            self._sizes = np.append(self._sizes, 1)
        roots = [len(distinct)] * self.root
        self._form = np.array([i for s in forms for i in (*roots, *(distinct[f] for f in s))], np.int64)
        self._words = numbers[self._form]
        self._tags = None if tags is None else self.flat(tags, NO_TAG)
        self._vectors = None if vectors is None else fetch(vectors, raw)

    def flat(self, values: Sequence[NDArray[np.int64]], of_root: int) -> NDArray[np.int64]:
        """[N] values of all words, one array a sentence, one after the other, with `of_root` for artificial roots."""
        roots = [np.full(self.root, of_root, np.int64)]
        return np.concatenate([part for sentence in values for part in (*roots, sentence)] or roots)

    def batch(self, rows: NDArray[np.int64], dropout: WordDropout | None = None) -> Batch:
        """The sentences `rows`, longest first. With `dropout`, words and characters are
        taken for unknown ones at random, for training."""
        sizes = self.lengths[rows]
        sentence = np.repeat(np.arange(len(rows)), sizes)
        position = np.arange(len(sentence)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        places = self.begins[rows][sentence] + position
        alive = np.bincount(position)
        begins = np.cumsum(alive) - alive
        steps = np.stack([begins[position], begins[sizes[sentence] - 1 - position]]) + sentence
        words, form = self._words[places], self._form[places]
        lengths = self._sizes[form]
        characters = self._characters[form, : lengths.max()]
        tags = None if self._tags is None else self._tags[places]
        if dropout is not None:
            words, characters = dropout.words(words), dropout.characters(characters)
            tags = None if tags is None else dropout.tags(tags)
        return Batch(
            rows,
            places,
            torch.from_numpy(sizes),
            torch.from_numpy(sentence),
            torch.from_numpy(position),
            torch.from_numpy(words),
            torch.from_numpy(characters),
            torch.from_numpy(lengths - 1),
            None if tags is None else torch.from_numpy(tags),
            self._gather(rows, sizes),
            torch.from_numpy(steps),
            torch.from_numpy(np.argsort(steps, 1)),
            alive.tolist(),
        )

    def _gather(self, rows: NDArray[np.int64], sizes: NDArray[np.int64]) -> Tensor | None:
        if self._vectors is None:
            return None
        n_layers, _, width = self._vectors[rows[0]].shape
        gathered = np.zeros((n_layers, sizes.sum(), width), np.float32)
        for row, end, size in zip(rows, np.cumsum(sizes), sizes, strict=True):
            gathered[:, end - size + self.root : end] = self._vectors[row]
        return torch.from_numpy(gathered)


class WordDropout:
    """Words, characters and tags that training takes for unknown ones at random."""

    def __init__(self, vocabulary: Vocabulary, alpha: float, seed: Sequence[int], tags: float = 0.0) -> None:
        self._tag = tags
        self._word, self._character = vocabulary.word_dropout(alpha), vocabulary.character_dropout()
        self._rng = np.random.default_rng(list(seed))

    def words(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(self._rng.random(numbers.shape) < self._word[numbers], UNKNOWN, numbers)

    def characters(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(self._rng.random(numbers.shape) < self._character[numbers], UNKNOWN, numbers)

    def tags(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(self._rng.random(numbers.shape) < self._tag, NO_TAG, numbers)


def fetch(vectors: Vectors, raw: Sequence[Sequence[str]]) -> Sequence[NDArray[Any]]:
    """Vectors of all sentences, their shapes checked."""
    arrays = vectors(raw)
    if len(arrays) != len(raw):
        raise BadInput(f"{len(arrays)} arrays of vectors for {len(raw)} sentences")
    for array, sentence in zip(arrays, raw, strict=True):
        due = (vectors.n_layers, len(sentence), vectors.width)
        if array.shape != due:
            raise BadInput(f"vectors of a sentence of {len(sentence)} words have shape {array.shape}, not {due}")
    return arrays
