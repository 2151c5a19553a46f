"""The best tree: an exact maximum spanning arborescence with exactly one root (Chu-Liu-Edmonds without recursion).

A tree with one root is the optimum when arcs from the artificial root cost more than any sum of scores. Nothing has to
be subtracted for that: it is enough to compare (not from the root, score) instead of the score alone. A node then takes
the root only where nothing else is left, so all words contract into one node, and its best arc from the root is the
root of the best tree. (Subtracting a large constant instead, as Stanojevic and Cohen 2021 do, costs digits.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zh_elmo.ud.conllu import tree_fault

Scores = NDArray[np.float64]


def single_root_tree(scores: NDArray[Any]) -> NDArray[np.int64]:
    """Heads of the highest-scoring tree in which exactly one word hangs on the artificial root.

    `scores` [n+1, n+1] is dependent x head: `scores[d, h]` is that of the arc h -> d, 0 is the artificial root. Row 0
    and the diagonal are not read; -inf forbids an arc. Returns [n] heads: element i is the head (0..n) of word i+1.
    Decoding is in float64; of equal scores the lowest head wins, so the same scores give the same tree everywhere.
    Raises ValueError for another shape, for NaN or +inf, and where no tree of allowed arcs has exactly one root.

    Chu and Liu 1965, Edmonds 1967; growing a path and contracting it as in Gabow et al. 1986. Time O(n^2) at the most n
    contractions of O(n) each, memory O(n^2).
    """
    table = _checked(scores)
    if len(table) == 1:
        return np.zeros(0, np.int64)
    greedy: NDArray[np.int64] = table[1:].argmax(1)
    if np.isfinite(table[np.arange(1, len(table)), greedy]).all() and tree_fault(greedy.tolist()) is None:
        return greedy
    heads = _Contraction(table).heads()
    if np.count_nonzero(heads == 0) != 1:
        raise ValueError("no tree of the allowed arcs has exactly one root")
    return heads


def _checked(scores: NDArray[Any]) -> Scores:
    table = np.array(scores, np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not len(table):
        raise ValueError(f"scores must be square, [n+1, n+1], not {table.shape}")
    np.fill_diagonal(table, -np.inf)
    table[0] = -np.inf
    if np.isnan(table).any() or (table == np.inf).any():
        raise ValueError("scores must not be NaN or +inf")
    return table


class _Cycle(NamedTuple):
    members: list[int]  # nodes
    entered: NDArray[np.int64]  # [n+1] by the word that an arc comes from: the member that this arc enters


class _Contraction:
    """Nodes 0..n are the artificial root and the words; a node above n stands for a cycle of nodes."""

    def __init__(self, table: Scores) -> None:
        words = len(table)
        self.rows: list[Scores | None] = list(table)  # of a node: the score of its best arc from each word
        self.inside = list(np.eye(words, dtype=bool))  # of a node: the words within it
        self.cycles: list[_Cycle | None] = [None] * words
        self.owner = np.arange(words)  # of a word: the outermost node around it
        self.chosen = [0] * words  # of a node: the word that its arc comes from

    def heads(self) -> NDArray[np.int64]:
        settled = {0}  # outermost nodes from which the chosen arcs lead to the artificial root
        for word in range(1, len(self.owner)):
            path = [int(self.owner[word])]
            while path[-1] not in settled:
                source = self._choose(path[-1])
                above = int(self.owner[source])
                if above in settled:
                    settled.update(path)
                    break
                if above in path:
                    start = path.index(above)
                    path[start:] = [self._contract(path[start:])]
                else:
                    path.append(above)
        return self._expand()

    def _choose(self, node: int) -> int:
        """The word from which the best arc enters `node`: the artificial root only where there is no other."""
        row = self.rows[node]
        assert row is not None
        source = int(row[1:].argmax()) + 1
        if row[source] == -np.inf:
            source = 0
            if row[0] == -np.inf:
                raise ValueError("no tree of the allowed arcs has exactly one root")
        self.chosen[node] = source
        return source

    def _contract(self, cycle: list[int]) -> int:
        """Make the nodes of a cycle one node: an arc into it replaces the arc that its member had chosen."""
        gains = np.stack([row - row[self.chosen[node]] for node in cycle if (row := self.rows[node]) is not None])
        best = gains.argmax(0)
        row = gains[best, np.arange(gains.shape[1])]
        inside = np.logical_or.reduce([self.inside[node] for node in cycle])
        row[inside] = -np.inf
        self.owner[inside] = node = len(self.rows)
        for member in cycle:
            self.rows[member] = None  # never asked again
        self.rows.append(row)
        self.inside.append(inside)
        self.cycles.append(_Cycle(cycle, np.array(cycle)[best]))
        self.chosen.append(0)
        return node

    def _expand(self) -> NDArray[np.int64]:
        """Open the cycles from the outside in: the member that the arc enters keeps that arc, the others their own."""
        heads = np.zeros(len(self.owner), np.int64)
        waiting = [(node, self.chosen[node]) for node in sorted(set(self.owner.tolist()) - {0})]
        while waiting:
            node, source = waiting.pop()
            while (cycle := self.cycles[node]) is not None:
                member = int(cycle.entered[source])
                waiting.extend((other, self.chosen[other]) for other in cycle.members if other != member)
                node = member
            heads[node] = source
        return heads[1:]
