"""The network of the parser: BiLSTM, four perceptrons, biaffine scores of arcs and labels (Dozat and Manning 2017)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from zh_elmo.ud.inputs import Batch
from zh_elmo.ud.network import BiLSTM, SharedDropout, WordInput

_SLOPE = 0.1  # of the leaky rectifier


class Views(NamedTuple):
    """What the network says of a batch of B sentences, M words with their artificial roots, T in the longest."""

    arcs: Tensor  # [M, T] score of each head, by its position in the sentence; -inf for the word itself and padding
    dependent: Tensor  # [M, label_size + 1] of each word as a dependent, for labels
    head: Tensor  # [M, label_size + 1] of each word as a head, for labels
    first: Tensor  # [M, 2 hidden] of the first LSTM layer, for tags


class Biaffine(nn.Module):
    """Scores of arcs for all pairs, of labels for chosen pairs only: n x labels numbers instead of n x n x labels."""

    def __init__(
        self, words: WordInput, lstm: BiLSTM, *, arc_size: int, label_size: int, labels: int, dropout: float
    ) -> None:
        super().__init__()
        self.words, self.lstm = words, lstm
        self.sizes = [arc_size, arc_size, label_size, label_size]
        self.perceptrons = nn.Linear(
            lstm.width, sum(self.sizes)
        )  # arc dependent, arc head, label dependent, label head
        self.dropout = SharedDropout(dropout)
        self.arc = nn.Parameter(torch.zeros(arc_size + 1, arc_size))
        self.label = nn.Parameter(torch.zeros(labels, label_size + 1, label_size + 1))

    def forward(self, batch: Batch) -> Views:
        layers = self.lstm(self.words(batch), batch)
        hidden = self.dropout(leaky_relu(self.perceptrons(layers[-1]), _SLOPE), batch)
        dependent, head, label_dependent, label_head = hidden.split(self.sizes, 1)
        return Views(
            self._arcs(_with_one(dependent) @ self.arc, head, batch),
            _with_one(label_dependent),
            _with_one(label_head),
            layers[0],
        )

    def _arcs(self, dependent: Tensor, head: Tensor, batch: Batch) -> Tensor:
        """Scores [M, T]: the only place where sentences are padded to one length."""
        sentences, longest = len(batch.sizes), len(batch.alive)
        cell = batch.sentence * longest + batch.position
        padded = [x.new_zeros(sentences * longest, x.shape[1]).index_copy(0, cell, x) for x in (dependent, head)]
        left, right = (x.view(sentences, longest, -1) for x in padded)
        scores = torch.bmm(left, right.transpose(1, 2)).view(sentences * longest, longest)[cell]
        place = torch.arange(longest)
        no_head = (place >= batch.sizes[batch.sentence][:, None]) | (place == batch.position[:, None])
        return scores.masked_fill(no_head, -torch.inf)

    def labels(self, views: Views, words: Tensor, heads: Tensor) -> Tensor:
        """[K, labels] scores of the labels of K arcs; `words` and `heads` [K] are numbers of words in the batch."""
        labels, width, _ = self.label.shape
        asked = views.dependent[words] @ self.label.permute(1, 0, 2).reshape(width, -1)
        return torch.bmm(asked.view(len(words), labels, width), views.head[heads][:, :, None])[:, :, 0]


def _with_one(x: Tensor) -> Tensor:
    """A constant 1 beside each vector, so that a product has linear terms too."""
    return torch.cat([x, x.new_ones(len(x), 1)], 1)
