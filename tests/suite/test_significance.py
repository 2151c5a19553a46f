"""The bootstrap: known cases, and p values that behave on constructed data."""

from __future__ import annotations

import math

import numpy as np
import pytest

from zh_elmo.suite.significance import Counts, compare, interval, weights


def counts(correct: list[int], words: list[int]) -> Counts:
    return Counts(np.array(correct), np.array(words), np.array(words))


def test_f1_counts_words_and_not_sentences() -> None:
    assert counts([1, 9], [2, 18]).f1 == 50.0
    assert Counts(np.array([3]), np.array([4]), np.array([5])).f1 == pytest.approx(100 * 2 * 3 / 9)
    assert math.isnan(counts([0], [0]).f1)


def test_each_sample_draws_as_many_sentences_as_there_are_and_the_seed_decides() -> None:
    drawn = weights(50, samples=400, seed=7)
    assert drawn.shape == (400, 50)
    assert (drawn.sum(axis=1) == 50).all()
    assert drawn.mean(axis=0) == pytest.approx(np.ones(50), abs=0.25)
    assert np.array_equal(drawn, weights(50, samples=400, seed=7))
    assert not np.array_equal(drawn, weights(50, samples=400, seed=8))
    with pytest.raises(ValueError, match="sentence"):
        weights(0)


def test_the_interval_is_that_of_a_binomial_where_sentences_are_single_words() -> None:
    n = 400
    low, high = interval(counts([1] * 300 + [0] * 100, [1] * n), weights(n, 4000))
    spread = 196 * math.sqrt(0.75 * 0.25 / n)
    assert (low, high) == pytest.approx((75 - spread, 75 + spread), abs=0.5)


def test_sentences_all_alike_leave_no_doubt_and_no_words_leave_nothing() -> None:
    assert interval(counts([1] * 20, [2] * 20), weights(20)) == (50.0, 50.0)
    assert all(math.isnan(value) for value in interval(counts([0] * 20, [0] * 20), weights(20)))


def test_equal_systems_do_not_differ() -> None:
    same = counts([3, 1, 4, 1, 5], [5, 5, 5, 5, 5])
    found = compare(same, same, weights(5))
    assert (found.difference, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


def test_a_difference_everywhere_is_sure_and_goes_both_ways() -> None:
    worse, better = counts([5] * 100, [10] * 100), counts([6] * 100, [10] * 100)
    drawn = weights(100, 1999)
    up, down = compare(worse, better, drawn), compare(better, worse, drawn)
    assert (up.difference, up.low, up.high) == pytest.approx((10.0, 10.0, 10.0))
    assert down.difference == pytest.approx(-10.0)
    # every sample differs by as much, so moved to zero none is as large as what was seen
    assert up.p == down.p == pytest.approx(1 / 2000)


def test_p_is_spread_evenly_where_there_is_no_difference() -> None:
    """Under the null hypothesis a p below 0.05 comes about one time in twenty, a p below a half about half the time."""
    generator = np.random.default_rng(3)
    words = np.full(120, 10)
    found = []
    for trial in range(150):
        first, second = (Counts(generator.binomial(words, 0.8), words, words) for _ in range(2))
        found.append(compare(first, second, weights(120, 400, seed=trial)).p)
    assert np.mean(np.array(found) < 0.05) < 0.12
    assert np.mean(np.array(found) < 0.5) == pytest.approx(0.5, abs=0.13)


def test_pairing_sees_what_two_intervals_do_not() -> None:
    """Sentences are very unlike each other, yet the second system is right once more in nearly each."""
    generator = np.random.default_rng(4)
    words = np.full(80, 20)
    first = generator.integers(2, 18, 80)
    second = first + (np.arange(80) % 10 != 0)
    one, two = Counts(first, words, words), Counts(second, words, words)
    drawn = weights(80)
    assert interval(one, drawn)[1] > interval(two, drawn)[0]
    assert compare(one, two, drawn).p < 0.01
