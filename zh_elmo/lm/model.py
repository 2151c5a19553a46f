"""The biLM: token encodings, two directions of LSTM layers, one softmax (Peters et al. 2018, sections 3.1 and 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from zh_elmo.lm.characters import BEGIN, BOS, END, EOS, PAD, CharacterEncoder, Speller
from zh_elmo.lm.lstm import StackedLSTM, State
from zh_elmo.lm.settings import Model
from zh_elmo.lm.softmax import Softmax

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
    and `</s>`, which are no words: a word that is spelled `<s>` is a word like any other.
    """

    def __init__(self, settings: Model, chars: Sequence[str], words: Sequence[str]) -> None:
        super().__init__()
        self.settings, self.chars, self.words = settings, list(chars), list(words)
        self.speller = Speller(self.chars, settings.characters.maximum)
        self.word_ids = {word: i for i, word in enumerate(self.words, len(SPECIAL_WORDS))}
        size, n_words = settings.projection, len(self.words) + len(SPECIAL_WORDS)
        self.encoder = CharacterEncoder(settings.characters, len(self.chars), size)
        self.table = nn.Embedding(n_words, size, padding_idx=UNK, sparse=True) if settings.word_table else None
        if self.table is not None:
            nn.init.zeros_(self.table.weight)  # at first a word is what its characters say
        clips = {"cell_clip": settings.cell_clip, "projection_clip": settings.projection_clip}
        self.layers = nn.ModuleList(StackedLSTM(size=size, cell=settings.cell, **clips) for _ in range(settings.layers))
        self.softmax = Softmax(n_words, size)
        self.dropout = nn.Dropout(settings.dropout)

    @property
    def width(self) -> int:
        """Size of one layer's vector of a word: both directions."""
        return 2 * self.settings.projection

    @property
    def n_layers(self) -> int:
        """Layers of vectors: the token encoding and the LSTM layers."""
        return self.settings.layers + 1

    def spell(self, words: Sequence[str]) -> Spelled:
        """Words of any kind, the empty one too, as ids."""
        ids = torch.tensor([self.word_ids.get(word, UNK) for word in words], dtype=torch.int64)
        return Spelled(self.speller(words), ids)

    def marks(self) -> Spelled:
        """`<s>` and `</s>`, spelled: two rows."""
        return Spelled(torch.tensor([[BEGIN, BOS, END], [BEGIN, EOS, END]]), torch.tensor([START, STOP]))

    def encode(self, spelled: Spelled) -> Tensor:
        """Context-free token encodings [n, P]; give each distinct word once."""
        encoded: Tensor = self.encoder(spelled.chars)
        return encoded if self.table is None else encoded + self.table(spelled.ids)

    def start(self, batch: int) -> list[State]:
        """Zero states."""
        return [layer.start(batch) for layer in self.layers]  # type: ignore[operator]

    def run(
        self, tokens: Tensor, states: Sequence[State], keep: Tensor | None = None
    ) -> tuple[list[Tensor], list[State]]:
        """Token encodings [2, T, B, P] -> the output of each layer, [2, T, B, P], and the states after the last step.

        Index 0 is the forward direction, 1 the backward one, whose tokens come last word first. keep [2, T, B] is 0
        where the state is set to zero before the step.
        """
        outputs, ends = [], []
        x = tokens
        for number, (layer, state) in enumerate(zip(self.layers, states, strict=True)):
            out, end = layer(self.dropout(x), state, keep)
            x = out + x if number and self.settings.skip else out
            outputs.append(x)
            ends.append(end)
        return outputs, ends
