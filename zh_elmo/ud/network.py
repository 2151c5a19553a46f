"""Layers that tagger and parser share: word representation, shared-mask dropout, BiLSTM.

All words of a batch lie in one flat row, [M, width], sentence after sentence: nothing is computed for padding.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from zh_elmo.embed.mix import ScalarMix
from zh_elmo.recipe import Amount, Settings, Share, Size
from zh_elmo.ud.batches import Training
from zh_elmo.ud.inputs import Batch
from zh_elmo.ud.lstm import LSTM
from zh_elmo.ud.vocabulary import Vocabulary


class EncoderSettings(Settings):
    """Sizes of the part that tagger and parser have in common."""

    word_size: Size = 100
    character_size: Size = 48
    vector_size: Size = 128  # what vectors from elsewhere are brought to
    hidden: Size = 128  # of the LSTM, a direction
    layers: Size = 1
    dropout: Share = 0.33
    vector_dropout: Share = 0.33
    minimum_count: Size = 2  # a rarer training form has no vector of its own
    word_dropout: Amount = 0.25  # alpha of alpha / (alpha + count)
    training: Training = Training()


class VectorShape(Settings):
    """What a tagger or parser was trained with, and so must be given."""

    n_layers: int
    width: int
    digest: str = ""


class SharedDropout(nn.Module):
    """Dropout with one mask for all words of a sentence (Gal and Ghahramani 2016; Dozat and Manning 2017)."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        """[M, width] -> [M, width]."""
        if not self.training or not self.share:
            return x
        mask = x.new_empty(len(batch.sizes), x.shape[1]).bernoulli_(1 - self.share).div_(1 - self.share)
        return x * mask[batch.sentence]


class WordInput(nn.Module):
    """Trained word embedding, characters (first, last and mean of all), tag embedding and vectors, side by side.

    All arms of a comparison have the first two alike. `width` is that of the outcome.
    """

    def __init__(
        self,
        settings: EncoderSettings,
        vocabulary: Vocabulary,
        shape: VectorShape | None,
        tags: int = 0,
        tag_size: int = 0,
    ) -> None:
        super().__init__()
        self.word = _embedding(vocabulary.n_words, settings.word_size)
        self.character = _embedding(vocabulary.n_characters, settings.character_size)
        self.tag = _embedding(tags, tag_size) if tags else None
        self.vectors = VectorInput(settings, shape) if shape else None
        self.dropout = SharedDropout(settings.dropout)
        own = settings.word_size + 3 * settings.character_size + (tag_size if tags else 0)
        self.width = own + (settings.vector_size if shape else 0)

    def forward(self, batch: Batch) -> Tensor:
        """-> [M, width]."""
        characters = self.character(batch.characters)  # [M, longest, size]; padding is 0
        last = characters[torch.arange(len(characters)), batch.ends]
        mean = characters.sum(1) / (batch.ends + 1)[:, None]
        parts = [self.word(batch.words), characters[:, 0], last, mean]
        if self.tag is not None:
            parts.append(self.tag(batch.tags))
        x = self.dropout(torch.cat(parts, 1), batch)
        return x if self.vectors is None else torch.cat([x, self.vectors(batch)], 1)


class VectorInput(nn.Module):
    """Vectors from elsewhere: layers mixed by learned weights, dropout, a linear layer."""

    def __init__(self, settings: EncoderSettings, shape: VectorShape) -> None:
        super().__init__()
        self.mix = ScalarMix(shape.n_layers) if shape.n_layers > 1 else None
        self.dropout = SharedDropout(settings.vector_dropout)
        self.project = nn.Linear(shape.width, settings.vector_size)

    def forward(self, batch: Batch) -> Tensor:
        """-> [M, vector_size]."""
        assert batch.vectors is not None
        mixed = batch.vectors[0] if self.mix is None else self.mix(batch.vectors)
        projected: Tensor = self.project(self.dropout(mixed, batch))
        return projected


class BiLSTM(nn.Module):
    """Layers of LSTMs in both directions, shared-mask dropout after each."""

    def __init__(self, width: int, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        widths = [width] + [2 * hidden] * (layers - 1)
        self.layers = nn.ModuleList(LSTM(w, hidden) for w in widths)
        self.dropout = SharedDropout(dropout)
        self.width = 2 * hidden

    def forward(self, x: Tensor, batch: Batch) -> list[Tensor]:
        """[M, width] whose dropout has been applied -> [M, 2 hidden] of each layer, dropout applied."""
        outputs = []
        for layer in self.layers:
            forward, backward = layer(x[batch.order], batch.alive)
            x = self.dropout(torch.cat([forward[batch.steps[0]], backward[batch.steps[1]]], 1), batch)
            outputs.append(x)
        return outputs


def mix_weights(words: WordInput) -> dict[str, Any] | None:
    """Learned weights of the layers, {"s": [...], "gamma": x}; None without layers to mix."""
    if words.vectors is None or words.vectors.mix is None:
        return None
    weights, gamma = words.vectors.mix.weights()
    return {"s": weights, "gamma": gamma}


def _embedding(rows: int, size: int) -> nn.Embedding:
    table = nn.Embedding(rows, size, padding_idx=0)
    nn.init.normal_(table.weight, std=0.1)
    with torch.no_grad():
        table.weight[0] = 0
    return table
