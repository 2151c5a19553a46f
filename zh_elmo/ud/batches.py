"""Which sentences make up update `step`: batches of like length, in an order that depends on seed and epoch alone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from zh_elmo.fit import Plan
from zh_elmo.recipe import Amount, Count, Positive, Settings, Share, Size

_JITTER = 4.0  # words: sentences whose lengths differ by less may change places


class Training(Settings):
    """How long and how fast to train; `[tagger.training]` and `[parser.training]` of a recipe."""

    epochs: Size = 8
    minimum_steps: Count = 400  # updates at the least: a small treebank is seen more often
    batch_words: Size = 400
    evaluations: Size = 8  # on dev, evenly spread; the best state is kept
    learning_rate: Positive = 3e-3
    beta1: Share = 0.9
    beta2: Share = 0.99
    warmup: Share = 0.05
    final: Amount = 0.05
    clip: Amount = 5.0
    save_every: Count = 500

    def plan(self, batches: int, seed: int, dev: bool) -> Plan:
        """The plan of a training with so many batches an epoch; without dev sentences the last state is kept."""
        steps = max(self.epochs * batches, self.minimum_steps)
        return Plan(
            steps=steps,
            learning_rate=self.learning_rate,
            beta1=self.beta1,
            beta2=self.beta2,
            warmup=self.warmup,
            final=self.final,
            clip=self.clip,
            evaluate_every=max(1, -(-steps // self.evaluations)) if dev else 0,
            save_every=self.save_every,
            keep="best" if dev else "last",
            seed=seed,
        )


class Schedule:
    """Cuts an epoch into a fixed number of batches of about `words` words.

    The sentences are sorted by length plus a random part, so that a batch has little padding and differs from epoch to
    epoch; then the batches are shuffled. `rows(step)` is a pure function of (lengths, words, seed, step).
    """

    def __init__(self, lengths: NDArray[np.int64], words: int, seed: int) -> None:
        self.lengths = lengths
        self.seed = seed
        self.batches = max(1, min(len(self.lengths), round(int(self.lengths.sum()) / words)))
        self._epoch, self._cut = -1, list[NDArray[np.int64]]()

    def rows(self, step: int) -> NDArray[np.int64]:
        """Numbers of the sentences of update `step`, longest first."""
        epoch, index = divmod(step, self.batches)
        if epoch != self._epoch:
            self._epoch, self._cut = epoch, self._shuffled(np.random.default_rng([self.seed, epoch]))
        return self._cut[index]

    def _shuffled(self, rng: np.random.Generator) -> list[NDArray[np.int64]]:
        order = np.argsort(self.lengths + rng.random(len(self.lengths)) * _JITTER, kind="stable")
        batches = cut(self.lengths[order], self.batches)
        rows = [longest_first(order[begin:end], self.lengths) for begin, end in batches]
        return [rows[i] for i in rng.permutation(len(rows))]


def cut(lengths: NDArray[np.int64], parts: int) -> list[tuple[int, int]]:
    """Cut a row of sentences into `parts` pieces, none empty, of as even a number of words as sentences allow."""
    ends = np.cumsum(lengths)
    targets = ends[-1] * np.arange(1, parts) / parts
    inner = np.searchsorted(ends, targets, side="left") + 1
    number, place = len(lengths), np.arange(1, parts)
    inner = np.maximum.accumulate(inner - place) + place  # every piece holds a sentence at least
    inner = np.minimum(inner, number - parts + place)
    edges = [0, *inner.tolist(), number]
    return list(pairwise(edges))


def by_length(lengths: NDArray[np.int64], words: int) -> list[NDArray[np.int64]]:
    """All sentences in batches of at most `words` words with their padding (a longer one stands alone), for use
    after training."""
    batches: list[NDArray[np.int64]] = []
    order = np.argsort(-lengths, kind="stable")
    begin = 0
    while begin < len(order):
        held = max(1, words // max(1, int(lengths[order[begin]])))
        batches.append(order[begin : begin + held])
        begin += held
    return batches


def longest_first(rows: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    order: NDArray[np.int64] = rows[np.argsort(-lengths[rows], kind="stable")]
    return order
