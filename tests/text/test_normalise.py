"""Normalisation against its table of cases; what holds for any input is in test_normalise_properties."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from zh_elmo.files import BadInput
from zh_elmo.text.normalise import Normalised, normalise

CASES = Path(__file__).parent / "cases" / "normalise.tsv"
ROWS = [line.split("\t") for line in CASES.read_text("utf-8").splitlines()[1:]]
OPTIONS: dict[str, dict[str, Any]] = {
    "-": {},
    "punct=full": {"punctuation": "full"},
    "quotes=curly": {"quotes": "curly"},
    "quotes=corner": {"quotes": "corner"},
}


def unescape(text: str) -> str:
    text = re.sub(r"\\U([0-9A-F]{8})", lambda match: chr(int(match[1], 16)), text)
    return re.sub(r"\\u([0-9A-F]{4})", lambda match: chr(int(match[1], 16)), text)


def spans_of(result: Normalised) -> list[tuple[int, int]]:
    return [result.span(place, place + 1) for place in range(len(result.text))]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_case(row: list[str]) -> None:
    _, _, _, options, raw, wanted, spans, _ = row
    raw, wanted = unescape(raw), unescape(wanted)
    result = normalise(raw, **OPTIONS[options])
    assert result.text == wanted
    if spans == "identity":
        assert spans_of(result) == [(place, place + 1) for place in range(len(raw))]
    else:
        pairs = [tuple(map(int, pair.split(":"))) for pair in spans.split()] if spans != "-" else []
        assert spans_of(result) == pairs
    assert normalise(result.text, **OPTIONS[options]).text == wanted


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("don’t說‘好’", "don’t說『好』"),  # an apostrophe is no quote
        ("a\r\r\nb", "a\n\nb"),
        ("\U0001f468\u200d\u200d\U0001f468", "\U0001f468\u200d\U0001f468"),  # one joiner is enough
        ("\U0001f3fd\u200d\u2329", "\U0001f3fd\u3008"),  # a bracket among emoji blocks, which is none
        ("\u0308\u0f73", "\u0f71\u0f72\u0308"),  # a mark of class 0 that NFC takes apart
    ],
)
def test_more_cases(raw: str, wanted: str) -> None:
    assert normalise(raw, quotes="corner").text == wanted


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("好......", "好……"),
        ("好,(a),(b),c", "好，（a），（b），c"),  # each mark sees what its left neighbour has become
        ("#B(C)、#C", "#B（C）、#C"),
        ("他用U.S.", "他用U.S。"),
        ("「好」,「是」.", "「好」，「是」。"),
        ("第1.2节,图3:4", "第1.2节，图3:4"),
        ("一九九○年", "一九九〇年"),
    ],
)
def test_more_punctuation(raw: str, wanted: str) -> None:
    assert normalise(raw, punctuation="full").text == wanted


def test_clean_text_has_identity_spans_and_no_lists() -> None:
    assert normalise("中文：（测试）。", punctuation="full", quotes="curly") == Normalised("中文：（测试）。")


@pytest.mark.parametrize("raw", [b"abc", None, 3, ["a"]])
def test_what_is_not_text_is_refused(raw: Any) -> None:
    with pytest.raises(BadInput, match="str"):
        normalise(raw)


@pytest.mark.parametrize("piece", ["(", "\u200d", " ", "e\u0301", "好,(a)", ".", "\u3000a", "\r\n", "好...", "\u0344"])
def test_long_lines_take_linear_time(piece: str) -> None:
    raw = piece * (200_000 // len(piece))
    assert len(normalise(raw, punctuation="full").text) <= 2 * len(raw)  # U+0344 becomes two marks
