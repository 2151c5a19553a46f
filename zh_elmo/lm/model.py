"""The biLM: token encodings, two directions of LSTM layers, one softmax (Peters et al. 2018, sections 3.1 and 3.4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from zh_elmo.files import BadInput
from zh_elmo.lm.characters import BEGIN, BOS, END, EOS, PAD, Speller
from zh_elmo.lm.lstm import StackedLSTM, State, TwoWayLSTM
from zh_elmo.lm.settings import Model
from zh_elmo.lm.softmax import Softmax
from zh_elmo.lm.tokens import TokenEncoder

UNK, START, STOP = range(3)  # ids of the special entries of the vocabulary
SPECIAL_WORDS = ("<unk>", "<s>", "</s>")


class Spelled(NamedTuple):
    """Words as the encoder takes them."""

    chars: Tensor  # [n, L] ids of characters
    ids: Tensor  # [n] ids of words, UNK where the vocabulary lacks the word

    def take(self, rows: Tensor) -> Spelled:
        """The words at `rows`, without columns that are padding for all of them."""
        chars = self.chars[rows]
        longest = int((chars != PAD).sum(1).max()) if len(chars) else 0
        return Spelled(chars[:, :longest], self.ids[rows])


class BiLM(nn.Module):
    """A bidirectional language model.

    `words` are the real words of the vocabulary by falling frequency; entry k has the id k + 3, after `<unk>`, `<s>`
    and `</s>`, which are no words: a word that is spelled `<s>` is a word like any other, unless `settings.marks`
    says which two spellings stand for the marks.
    """

    def __init__(self, settings: Model, chars: Sequence[str], words: Sequence[str]) -> None:
        super().__init__()
        self.settings, self.chars, self.words = settings, list(chars), list(words)
        self.speller = Speller(self.chars, settings.characters)
        self.word_ids = {word: i for i, word in enumerate(self.words, len(SPECIAL_WORDS))}
        size, n_words = settings.projection, len(self.words) + len(SPECIAL_WORDS)
        n_chars = 256 if settings.characters.unit == "byte" else len(self.chars)
        self.tokens = TokenEncoder(settings, n_chars, n_words, UNK)
        self.layers = nn.ModuleList(self._layers())
        self.softmax = Softmax(n_words, size) if settings.softmax else None
        self.dropout = nn.Dropout(settings.dropout)

    def _layers(self) -> Iterator[nn.Module]:
        settings = self.settings
        if settings.lstm == "two-way":
            yield TwoWayLSTM(size=settings.projection, cell=settings.cell, layers=settings.layers)
            return
        for _ in range(settings.layers):
            yield StackedLSTM(
                size=settings.projection, cell=settings.cell, projected=settings.lstm == "projected",
                cell_clip=settings.cell_clip, projection_clip=settings.projection_clip,
            )  # fmt: skip

    @property
    def width(self) -> int:
        """Size of one layer's vector of a word: both directions."""
        return 2 * self.settings.projection

    @property
    def n_layers(self) -> int:
        """Layers of vectors: the token encoding and the LSTM layers; a two-way LSTM has the top one alone."""
        return 1 if self.settings.lstm == "two-way" else self.settings.layers + 1

    def predictor(self) -> Softmax:
        """The softmax. Raises BadInput where the model has none."""
        if self.softmax is None:
            raise BadInput("this model has no softmax: it gives vectors, but no probabilities of words")
        return self.softmax

    def spell(self, words: Sequence[str]) -> Spelled:
        """Words of any kind, the empty one too, as ids."""
        marks = self.settings.marks or ()
        if self.settings.cut_words:
            words = [word[: self.settings.characters.maximum] for word in words]
        ids = [self.word_ids.get(word, UNK) for word in words]
        chars = self.speller(words)
        if not set(marks).isdisjoint(words):
            chars = nn.functional.pad(chars, (0, max(3 - chars.shape[1], 0)), value=PAD)
            as_marks = self.marks()
            for row, word in enumerate(words):
                if word in marks:
                    which = marks.index(word)
                    ids[row] = int(as_marks.ids[which])
                    chars[row] = PAD
                    chars[row, :3] = as_marks.chars[which]
        return Spelled(chars, torch.tensor(ids, dtype=torch.int64))

    def marks(self) -> Spelled:
        """`<s>` and `</s>`, spelled: two rows."""
        return Spelled(torch.tensor([[BEGIN, BOS, END], [BEGIN, EOS, END]]), torch.tensor([START, STOP]))

    def padding(self) -> Spelled:
        """What ELMoForManyLangs puts behind the end of a sentence: a word of nothing but padding, `<pad>` in the
        table."""
        return Spelled(torch.tensor([[PAD]]), torch.tensor([self.word_ids.get("<pad>", UNK)]))

    def encode(self, spelled: Spelled) -> Tensor:
        """Context-free token encodings [n, P]; give each distinct word once."""
        encoded: Tensor = self.tokens(spelled.chars, spelled.ids)
        return encoded

    def start(self, batch: int) -> list[State]:
        """Zero states."""
        return [layer.start(batch) for layer in self.layers if isinstance(layer, StackedLSTM)]

    def run(
        self, tokens: Tensor, states: Sequence[State], keep: Tensor | None = None
    ) -> tuple[list[Tensor], list[State]]:
        """Token encodings [2, T, B, P] -> the output of each layer, [2, T, B, P], and the states after the last step.

        Index 0 is the forward direction, 1 the backward one, whose tokens come last word first. keep [2, T, B] is 0
        where the state is set to zero before the step. Not for a two-way LSTM.
        """
        outputs, ends = [], []
        x = tokens
        for number, (layer, state) in enumerate(zip(self.layers, states, strict=True)):
            out, end = layer(self.dropout(x), state, keep)
            x = out + x if number and self.settings.skip else out
            outputs.append(x)
            ends.append(end)
        return outputs, ends
