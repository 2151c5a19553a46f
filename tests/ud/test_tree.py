"""The tree decoder against an enumeration of all single-root trees."""

from __future__ import annotations

import itertools
import sys
from functools import cache

import numpy as np
import pytest

from zh_elmo.ud.conllu import tree_fault
from zh_elmo.ud.tree import single_root_tree


@cache
def all_trees(n: int) -> np.ndarray:
    """Every single-root tree over n words, [trees, n] heads, found without the code under test."""
    found = []
    for heads in itertools.product(range(n + 1), repeat=n):
        reached = {0}
        for _ in range(n):
            reached |= {word for word, head in enumerate(heads, 1) if head in reached}
        if heads.count(0) == 1 and len(reached) == n + 1:
            found.append(heads)
    return np.array(found)


def totals(scores: np.ndarray, trees: np.ndarray) -> np.ndarray:
    return scores[np.arange(1, len(scores)), trees].sum(-1)


def test_number_of_trees() -> None:
    assert [len(all_trees(n)) for n in range(1, 6)] == [n ** (n - 1) for n in range(1, 6)]  # Cayley, rooted


@pytest.mark.parametrize("n", range(1, 7))
@pytest.mark.parametrize("kind", ["normal", "tied", "roots", "forbidden", "tied and forbidden"])
def test_equals_enumeration(n: int, kind: str) -> None:
    rng = np.random.default_rng([n, len(kind)])
    trees = all_trees(n)
    without = 0
    for _ in range(120 if n < 6 else 40):
        scores = rng.normal(size=(n + 1, n + 1)) * 10
        if "tied" in kind:
            scores = rng.integers(-1, 2, size=(n + 1, n + 1)).astype(float)
        if kind == "roots":
            scores[:, 0] += 30  # every word wants the artificial root: one of them must get it
        if "forbidden" in kind:
            scores[rng.random(scores.shape) < 0.4] = -np.inf
        best = totals(scores, trees).max()
        if best == -np.inf:
            without += 1
            with pytest.raises(ValueError, match="exactly one root"):
                single_root_tree(scores)
            continue
        heads = single_root_tree(scores)
        assert tree_fault(heads.tolist()) is None
        assert totals(scores, heads) == pytest.approx(best, abs=1e-9)
    assert (without > 0) == ("forbidden" in kind)


def test_fixing_the_best_root_first_would_be_wrong() -> None:
    """Word 1 has the highest root score, yet the best tree has word 2 as its root (parser.md 8.1)."""
    scores = np.array([[0, 0, 0], [9, 0, 8], [8, 1, 0]], float)
    assert single_root_tree(scores).tolist() == [2, 0]


def test_matrix_is_dependent_by_head() -> None:
    scores = np.zeros((4, 4))
    scores[1, 2] = scores[2, 3] = scores[3, 0] = 5
    assert single_root_tree(scores).tolist() == [2, 3, 0]


def test_root_scores_decide_the_root() -> None:
    scores = np.zeros((4, 4))
    for word in (1, 2, 3):
        wanted = scores.copy()
        wanted[word, 0] = 0.5
        assert single_root_tree(wanted).tolist().index(0) + 1 == word


def test_ties_take_the_lowest_head() -> None:
    assert single_root_tree(np.zeros((5, 5))).tolist() == single_root_tree(np.full((5, 5), 7.25)).tolist()
    scores = np.full((4, 4), -50.0)
    scores[1, 0] = scores[2, 1] = scores[3, 1] = scores[3, 2] = 1.0
    assert single_root_tree(scores).tolist() == [0, 1, 1]


def test_row_of_the_root_and_diagonal_are_not_read() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(8, 8))
    scores[:, 0] += 5
    expected = single_root_tree(scores)
    scores[0] = np.nan
    np.fill_diagonal(scores, np.inf)
    kept = scores.copy()
    assert single_root_tree(scores).tolist() == expected.tolist()
    np.testing.assert_array_equal(scores, kept)  # the caller's matrix is left alone


def test_small_and_wrong_input() -> None:
    assert single_root_tree(np.zeros((1, 1))).shape == (0,)
    assert single_root_tree(np.array([[0, 0], [-3.0, 0]])).tolist() == [0]
    for wrong in (np.zeros((2, 3)), np.zeros(4), np.zeros((0, 0))):
        with pytest.raises(ValueError, match="square"):
            single_root_tree(wrong)
    for value in (np.nan, np.inf):
        scores = np.zeros((4, 4))
        scores[2, 1] = value
        with pytest.raises(ValueError, match="NaN"):
            single_root_tree(scores)
    with pytest.raises(ValueError, match="exactly one root"):
        single_root_tree(np.array([[0, 0], [-np.inf, 0]]))


@pytest.mark.parametrize("kind", ["equal", "chain", "nested", "random"])
def test_400_words_without_recursion(kind: str) -> None:
    n = 400
    scores = np.zeros((n + 1, n + 1))
    if kind == "chain":
        scores[np.arange(1, n), np.arange(2, n + 1)] = 1
        scores[1:, 0] = 2
    if kind == "nested":  # each new word closes a cycle around all that came before
        index = np.arange(n + 1)
        scores = -np.abs(index[:, None] - index[None]).astype(float)
        scores[:, 0] = -1000 - index
    if kind == "random":
        scores = np.random.default_rng(4).normal(size=(n + 1, n + 1))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(150)
    try:
        heads = single_root_tree(scores)
    finally:
        sys.setrecursionlimit(limit)
    assert tree_fault(heads.tolist()) is None
    if kind == "chain":
        assert heads.tolist() == [*range(2, n + 1), 0]
    if kind == "nested":
        assert heads.tolist() == [0, *range(1, n)]
