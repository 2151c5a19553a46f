"""The baseline of benchmarks/pretrain.py: a biLM as a tutorial writes it in torch.

Padded batches of 32 random sentences; the characters of every token encoded; for each direction an `nn.LSTM` of two
layers with `proj_size`; one full softmax; dense Adam. `fair`: its bias starts at the log unigram and the learning rate
decays to a twentieth, without which it is worse than counting words.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from zh_elmo.corpus.store import Corpus
from zh_elmo.lm.model import START, STOP, BiLM
from zh_elmo.lm.streams import sentences

BATCH = 32


class Encoder(nn.Module):
    def __init__(self, characters: int, size: int) -> None:
        super().__init__()
        self.table = nn.Embedding(characters, 64)
        self.filters = nn.ModuleList(nn.Conv1d(64, 128, width) for width in (1, 2, 3))
        self.highway, self.projection = nn.Linear(384, 768), nn.Linear(384, size)

    def forward(self, spelled: Tensor) -> Tensor:
        seen = self.table(spelled).transpose(1, 2)
        x = torch.cat([filters(seen).amax(2) for filters in self.filters], 1).relu()
        carried, gate = self.highway(x).chunk(2, 1)
        gate = gate.sigmoid()
        result: Tensor = self.projection(gate * carried.relu() + (1 - gate) * x)
        return result


class Tutorial(nn.Module):
    def __init__(self, like: BiLM, cell: int, size: int = 256) -> None:
        """With the characters and words of `like`."""
        super().__init__()
        words = len(like.words) + 3
        self.encoder = Encoder(int(like.tokens.characters.embedding.num_embeddings), size)  # type: ignore[union-attr]
        self.ways = nn.ModuleList(nn.LSTM(size, cell, num_layers=2, proj_size=size) for _ in range(2))
        self.softmax = nn.Linear(size, words)
        nn.init.normal_(self.softmax.weight, std=0.05)
        nn.init.zeros_(self.softmax.bias)

    def losses(self, spelled: Tensor, inputs: Tensor, targets: Tensor) -> list[Tensor]:
        """Summed loss of each direction. spelled [types, L]; inputs, targets [2, T, B], targets -1 behind the end."""
        found = []
        for way, lstm in enumerate(self.ways):
            tokens = self.encoder(spelled[inputs[way].flatten()]).view(*inputs[way].shape, -1)
            hidden, _ = lstm(tokens)
            there = targets[way] >= 0
            found.append(cross_entropy(self.softmax(hidden[there]), targets[way][there], reduction="sum"))
        return found


class Data(NamedTuple):
    spelled: Tensor  # [types + 2, L] the marks last
    ids: Tensor  # [types + 2] of words, as targets
    unigram: Tensor  # [V] log probability

    @classmethod
    def of(cls, like: BiLM, corpus: Corpus) -> Data:
        spelled, marks = like.spell(corpus.types), like.marks()
        missing = spelled.chars.shape[1] - marks.chars.shape[1]
        chars = torch.cat([spelled.chars, nn.functional.pad(marks.chars, (0, missing))])
        ids = torch.cat([spelled.ids, marks.ids])
        counts = np.zeros(len(like.words) + 3)
        np.add.at(counts, spelled.ids.numpy(), corpus.counts.astype(np.float64))
        counts[[START, STOP]] = len(sentences(corpus.ids("train")).lengths) / 2
        return cls(chars, ids, torch.from_numpy(np.log(np.maximum(counts / counts.sum(), 1e-7))).float())


def batches(part: np.ndarray, data: Data, order: np.ndarray | None = None) -> Iterator[tuple[Tensor, Tensor]]:
    """inputs, targets [2, T, B]; endless, of random sentences, or once in the given order."""
    found, draw = sentences(part), np.random.default_rng(0)
    begin, end = len(data.ids) - 2, len(data.ids) - 1
    while True:
        numbers = draw.permutation(len(found.lengths)) if order is None else order
        for at in range(0, len(numbers), BATCH):
            rows: list[list[Tensor]] = [[], []]
            for number in numbers[at : at + BATCH]:
                words = found.words[found.starts[number] : found.starts[number] + found.lengths[number]].astype(int)
                rows[0].append(torch.tensor([begin, *words, end]))
                rows[1].append(torch.tensor([end, *words[::-1], begin]))
            padded = torch.stack([nn.utils.rnn.pad_sequence(way, padding_value=-1) for way in rows])
            inputs, following = padded[:, :-1], padded[:, 1:]
            yield inputs.clamp(min=0), torch.where(following < 0, -1, data.ids[following.clamp(min=0)])
        if order is not None:
            return


class Trained(NamedTuple):
    words: int  # predictions in one direction
    seconds: float  # CPU
    steps: int


def train(
    model: Tutorial, data: Data, corpus: Corpus, seconds: float, *, rate: float = 3e-3, fair: bool = True
) -> Trained:
    """For so many CPU seconds."""
    if fair:
        with torch.no_grad():
            model.softmax.bias.copy_(data.unigram)
    optimiser = torch.optim.Adam(model.parameters(), rate)
    words = steps = 0
    start = time.process_time()
    for inputs, targets in batches(corpus.ids("train"), data):
        spent = time.process_time() - start
        if spent >= seconds:
            return Trained(words, spent, steps)
        for group in optimiser.param_groups:
            group["lr"] = rate * (1 - 0.95 * spent / seconds if fair else 1)
        number = int((targets[0] >= 0).sum())
        loss = sum(model.losses(data.spelled, inputs, targets)) / (2 * number)  # type: ignore[arg-type]
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        words, steps = words + number, steps + 1
    raise AssertionError("batches do not end")


def perplexity(model: Tutorial, data: Data, corpus: Corpus) -> float:
    """Of the held-out part, geometric mean of both directions."""
    found = sentences(corpus.ids("heldout"))
    order = np.argsort(found.lengths)
    total, number = 0.0, 0
    with torch.no_grad():
        for inputs, targets in batches(corpus.ids("heldout"), data, order):
            total += float(sum(model.losses(data.spelled, inputs, targets)))  # type: ignore[arg-type]
            number += int((targets >= 0).sum())
    return float(np.exp(total / number))


def unigram_perplexity(data: Data, corpus: Corpus) -> float:
    """By counting words alone; a mark is predicted at the end of each sentence."""
    found = sentences(corpus.ids("heldout"))
    ids = data.ids[torch.from_numpy(found.words.astype(np.int64))]
    ends = len(found.lengths)
    logs = float(data.unigram[ids].double().sum()) + ends * float(data.unigram[[START, STOP]].double().mean())
    return float(np.exp(-logs / (len(ids) + ends)))
