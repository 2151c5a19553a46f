"""Softmax over the vocabulary: full, and sampled with the correction for the probability of being sampled."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy


class Softmax(nn.Module):
    """One softmax for both directions; rows and biases lie in tables with sparse gradients."""

    def __init__(self, n_words: int, size: int) -> None:
        super().__init__()
        self.rows = nn.Embedding(n_words, size, sparse=True)
        self.bias = nn.Embedding(n_words, 1, sparse=True)
        nn.init.normal_(self.rows.weight, std=0.05)
        nn.init.zeros_(self.bias.weight)

    def start_at(self, unigram: NDArray[np.float64]) -> None:
        """Biases at the log unigram probabilities: the first prediction is then as good as counting words."""
        with torch.no_grad():
            self.bias.weight[:, 0] = torch.from_numpy(np.log(np.maximum(unigram, 1e-7)))

    def log_probabilities(self, hidden: Tensor) -> Tensor:
        """hidden [n, P] -> log P(word) [n, V] over the whole vocabulary."""
        return torch.addmm(self.bias.weight[:, 0], hidden, self.rows.weight.t()).log_softmax(-1)

    def full_loss(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Mean negative log likelihood of targets [n] given hidden [n, P], over the whole vocabulary."""
        return cross_entropy(torch.addmm(self.bias.weight[:, 0], hidden, self.rows.weight.t()), targets)

    def sampled_loss(self, hidden: Tensor, targets: Tensor, sample: Sample) -> Tensor:
        """The estimate of `full_loss` in which the normaliser is

            Z = exp(logit of the target) + sum over the other candidates c of exp(logit_c) / P(c is a candidate),

        whose expectation is the full one (Jean et al. 2015, section 3; with inclusion probabilities). hidden [n, P],
        targets [n] ids of words.
        """
        correction = sample.correction.to(hidden)
        bias = self.bias(sample.candidates)[:, 0] - correction
        logits = torch.addmm(bias, hidden, self.rows(sample.candidates).t())
        # the target itself is in the sum for certain: no correction
        own = correction[sample.columns][:, None]
        logits = logits.scatter_add(1, sample.columns[:, None], own)
        return cross_entropy(logits, sample.columns)


class Sample:
    """Candidates of one update, shared by all its words: draws from a log-uniform distribution over ids sorted by
    frequency, and the targets of the update themselves, whose rows are needed anyway."""

    def __init__(self, sampler: Sampler, targets: NDArray[np.int64], generator: np.random.Generator) -> None:
        drawn = sampler.draw(generator)
        candidates = np.union1d(targets, drawn)
        self.candidates = torch.from_numpy(candidates)
        self.columns = torch.from_numpy(np.searchsorted(candidates, targets))
        self.correction = torch.from_numpy(sampler.log_inclusion(candidates, len(targets)))


class Sampler:
    """Draws `negatives` ids log-uniformly and knows how likely an id is to be among the candidates."""

    def __init__(self, unigram: NDArray[np.float64], negatives: int) -> None:
        self.n_words, self.negatives, self.unigram = len(unigram), negatives, unigram / unigram.sum()
        ids = np.arange(self.n_words)
        self.log_uniform = np.log((ids + 2) / (ids + 1)) / np.log(self.n_words + 1)

    def draw(self, generator: np.random.Generator) -> NDArray[np.int64]:
        power = generator.random(self.negatives) * np.log(self.n_words + 1)
        drawn: NDArray[np.int64] = np.minimum(np.exp(power) - 1, self.n_words - 1).astype(np.int64)
        return drawn

    def log_inclusion(self, ids: NDArray[np.int64], n_targets: int) -> NDArray[np.float64]:
        """log(1 - (1 - q)^S (1 - u)^N): drawn at least once among S draws, or a target of one of N words.

        The targets of both directions are nearly the same words, so N counts one direction.
        """
        miss = self.negatives * np.log1p(-np.minimum(self.log_uniform[ids], 1 - 1e-12))
        miss += n_targets / 2 * np.log1p(-np.minimum(self.unigram[ids], 1 - 1e-12))
        inclusion: NDArray[np.float64] = np.log(np.maximum(-np.expm1(miss), 1e-12))
        return inclusion
