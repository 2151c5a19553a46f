"""Labels to spans and back to figures."""

from __future__ import annotations

import pytest

from zh_elmo.files import BadInput
from zh_elmo.tasks.spans import Score, Span, first_fault, score, spans

RIGHT = [
    ("BIO", "O B-A I-A B-A O B-B", [(1, 3, "A"), (3, 4, "A"), (5, 6, "B")]),
    ("BIO", "", []),
    ("BIO", "O O", []),
    ("BIOES", "B-A I-A E-A S-A O B-B E-B", [(0, 3, "A"), (3, 4, "A"), (5, 7, "B")]),
    ("BIOES", "S-A-B", [(0, 1, "A-B")]),
    ("plain", "NOUN VERB", []),
]
WRONG = [
    ("BIO", "I-A", 0, "at the beginning"),
    ("BIO", "B-A I-B", 1, "after B-A"),
    ("BIO", "B-A O I-A", 2, "after O"),
    ("BIO", "O S-A", 1, "no label of BIO"),
    ("BIOES", "B-A O", 1, "O may not stand after B-A"),
    ("BIOES", "S-A I-A E-A", 1, "after S-A"),
    ("BIOES", "B-A E-B", 1, "after B-A"),
    ("BIOES", "O B-A I-A", 2, "at the end"),
    ("BIOES", "E-A", 0, "at the beginning"),
    ("BIOES", "O-A", 0, "no label of BIOES"),
    ("BIO", "B", 0, "no label of BIO"),
    ("BIO", "B-", 0, "no label of BIO"),
]


@pytest.mark.parametrize(("scheme", "labels", "found"), RIGHT)
def test_spans(scheme: str, labels: str, found: list[tuple[int, int, str]]) -> None:
    assert spans(labels.split(), scheme) == [Span(*span) for span in found]
    assert first_fault(labels.split(), scheme) is None


@pytest.mark.parametrize(("scheme", "labels", "place", "message"), WRONG)
def test_faults(scheme: str, labels: str, place: int, message: str) -> None:
    fault = first_fault(labels.split(), scheme)
    assert fault is not None
    assert fault[0] == place
    assert message in fault[1]
    with pytest.raises(BadInput, match=f"^word {place + 1}: "):
        spans(labels.split(), scheme)


def test_score() -> None:
    gold = [["B-A", "I-A", "O", "B-B"], ["B-A", "O"], []]
    given = [["B-A", "I-A", "O", "B-A"], ["B-A", "I-A"], []]  # right; wrong kind; wrong end
    found = score(gold, given, "BIO")
    assert found == Score(correct=1, gold=3, predicted=3)
    assert (found.precision, found.recall, found.f1) == pytest.approx((100 / 3, 100 / 3, 100 / 3))
    assert score(gold, [["O"] * 4, ["O"] * 2, []], "BIO") == Score(0, 3, 0)
    assert Score(0, 3, 0).f1 == Score(0, 0, 0).f1 == 0
    assert Score(2, 4, 2).f1 == pytest.approx(200 / 3)
