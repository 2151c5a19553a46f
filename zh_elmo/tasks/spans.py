"""Spans written as labels (BIO, BIOES): what may follow what, labels to spans, F1 over spans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from zh_elmo.files import BadInput

Scheme = Literal["BIO", "BIOES", "plain"]  # plain: a label stands for its word alone
OUTSIDE = "O"


class Span(NamedTuple):
    """Words start..end-1 of a sentence, from 0."""

    start: int
    end: int
    kind: str


class Score(NamedTuple):
    """Counts of spans, and what follows from them, in percent (0 where nothing was there to find, or found)."""

    correct: int
    gold: int
    predicted: int

    @property
    def precision(self) -> float:
        return 100 * self.correct / max(self.predicted, 1)

    @property
    def recall(self) -> float:
        return 100 * self.correct / max(self.gold, 1)

    @property
    def f1(self) -> float:
        return 200 * self.correct / max(self.gold + self.predicted, 1)


def split(label: str, scheme: Scheme) -> tuple[str, str]:
    """ "B-PER" -> ("B", "PER"); "O" -> ("O", ""). Raises BadInput where the label is none of the scheme."""
    if label == OUTSIDE:
        return OUTSIDE, ""
    part, dash, kind = label.partition("-")
    if part == OUTSIDE or len(part) != 1 or part not in scheme or not dash or not kind:
        raise BadInput(f"{label!r} is no label of {scheme}: those are O and {'-X, '.join(scheme.replace('O', ''))}-X")
    return part, kind


def may_follow(before: str, after: str, scheme: Scheme) -> bool:
    """Whether `after` may stand right of `before`. The ends of a sentence behave like O.

    Raises BadInput for labels that are none of the scheme.
    """
    if scheme == "plain":
        return True
    (first, kind), (second, other) = split(before, scheme), split(after, scheme)
    opened, goes_on = first in "BI", second in "IE"
    if scheme == "BIO":
        return not goes_on or (opened and kind == other)
    return (opened and goes_on and kind == other) or not (opened or goes_on)


def first_fault(labels: Sequence[str], scheme: Scheme) -> tuple[int, str] | None:
    """(word from 0, what is wrong) of the first label that is none of the scheme or may not stand where it stands."""
    before = OUTSIDE
    for word, label in enumerate(labels):
        try:
            fits = may_follow(before, label, scheme)
        except BadInput as error:
            return word, str(error)
        if not fits:
            where = "at the beginning" if word == 0 else f"after {before}"
            return word, f"{label} may not stand {where} in {scheme}"
        before = label
    if labels and not may_follow(before, OUTSIDE, scheme):
        return len(labels) - 1, f"{before} may not stand at the end in {scheme}"
    return None


def spans(labels: Sequence[str], scheme: Scheme) -> list[Span]:
    """The spans of a sentence, from left to right; none for `plain`. Raises BadInput for labels with a fault."""
    if scheme == "plain":
        return []
    if fault := first_fault(labels, scheme):
        raise BadInput(f"word {fault[0] + 1}: {fault[1]}")
    found: list[Span] = []
    for word, label in enumerate(labels):
        part, kind = split(label, scheme)
        if part in "BS":
            found.append(Span(word, word + 1, kind))
        elif part != OUTSIDE:
            found[-1] = found[-1]._replace(end=word + 1)
    return found


def score(gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]], scheme: Scheme) -> Score:
    """Spans with the same words and kind in both, over all sentences (labels of each). Raises BadInput for faults."""
    correct = n_gold = n_predicted = 0
    for right, given in zip(gold, predicted, strict=True):
        wanted, found = set(spans(right, scheme)), set(spans(given, scheme))
        correct, n_gold, n_predicted = correct + len(wanted & found), n_gold + len(wanted), n_predicted + len(found)
    return Score(correct, n_gold, n_predicted)
