"""How sure a score and a difference are: the bootstrap over sentences, paired between systems (Koehn 2004)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SAMPLES = 2000


class Counts(NamedTuple):
    """Of one metric, by sentence: what is right and how many words there are; both int64 [n_sentences]."""

    correct: np.ndarray
    gold: np.ndarray
    system: np.ndarray

    @property
    def f1(self) -> float:
        """In percent; nan where there is no word."""
        return float(_f1(self.correct.sum(), self.gold.sum() + self.system.sum()))


class Comparison(NamedTuple):
    """System B against system A on the same sentences."""

    difference: float  # B minus A, in percentage points of F1
    low: float  # 95 % interval of the difference
    high: float
    p: float  # two-sided


def weights(sentences: int, samples: int = SAMPLES, seed: int = 1) -> np.ndarray:
    """How often each sentence is in each sample drawn with replacement: int64 [samples, sentences]."""
    if sentences < 1:
        raise ValueError("a bootstrap needs a sentence")
    shares = np.full(sentences, 1.0 / sentences)
    return np.random.default_rng(seed).multinomial(sentences, shares, size=samples)


def interval(counts: Counts, drawn: np.ndarray) -> tuple[float, float]:
    """95 % interval of F1 in percent, by percentiles over the samples of `weights`; nan where nothing is counted."""
    return _middle(_sampled(counts, drawn))


def compare(first: Counts, second: Counts, drawn: np.ndarray) -> Comparison:
    """Is `second` better than `first`, by the same sampled sentences for both?

    p is the share of samples whose difference, moved so that the true difference were zero, is at least as large as
    the one seen (Berg-Kirkpatrick, Burkett and Klein 2012, section 2), on either side; 1 added above and below, so that
    it is never 0.
    """
    difference = second.f1 - first.f1
    sampled = _sampled(second, drawn) - _sampled(first, drawn)
    sampled = sampled[~np.isnan(sampled)]
    if np.isnan(difference) or not len(sampled):
        return Comparison(float("nan"), float("nan"), float("nan"), float("nan"))
    extreme = np.count_nonzero(np.abs(sampled - difference) >= abs(difference) - 1e-12)
    low, high = _middle(sampled)
    return Comparison(difference, low, high, (extreme + 1) / (len(sampled) + 1))


def _sampled(counts: Counts, drawn: np.ndarray) -> np.ndarray:
    """F1 in percent of each sample [samples]."""
    columns = np.stack([counts.correct, counts.gold + counts.system], axis=1).astype(np.float64)
    sums = drawn.astype(np.float64) @ columns  # exact: whole numbers far below 2 ** 53
    return _f1(sums[:, 0], sums[:, 1])


def _f1(correct: np.ndarray, both: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(200.0 * np.asarray(correct, np.float64) / np.asarray(both, np.float64))


def _middle(values: np.ndarray) -> tuple[float, float]:
    values = values[~np.isnan(values)]
    if not len(values):
        return float("nan"), float("nan")
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
