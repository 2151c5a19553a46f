"""Sentence boundaries against the table of cases, real treebanks, and any input."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zh_elmo.corpus.exclude import treebank_sentences
from zh_elmo.text.normalise import normalise
from zh_elmo.text.sentences import split

ROWS = [
    line.split("\t") for line in (Path(__file__).parent / "cases/sentences.tsv").read_text("utf-8").split("\n")[1:-1]
]
NOISE = st.text(st.sampled_from('好是。！？!?….,，；：“”‘’「」（）()《》"说道的aAZ1 \n～—'), max_size=40)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_case(row: list[str]) -> None:
    text = row[2].replace("\\n", "\n")
    assert split(text) == [tuple(map(int, span.split(":"))) for span in row[3].split()]


@given(NOISE, st.integers(1, 50))
@settings(max_examples=200, deadline=None)
def test_spans_cover_all_but_white_space(text: str, limit: int) -> None:
    spans = split(text, limit)
    assert "".join(text[start:end] for start, end in spans).replace(" ", "") == text.replace(" ", "").replace("\n", "")
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(spans))
    for start, end in spans:
        assert 0 < end - start <= limit
        assert not text[start].isspace()
        assert not text[end - 1].isspace()
        assert "\n" not in text[start:end]


def test_long_sentences_are_cut_at_the_best_place() -> None:
    text = "我们" * 4 + "；" + "他们" * 4 + "，" + "hello" + "好" * 20 + "abcdef"
    cut = [text[start:end] for start, end in split(text, 12)]
    assert cut == ["我们我们我们我们；", "他们他们他们他们，", "hello" + "好" * 7, "好" * 12, "好abcdef"]
    assert split("好好好好abcdef", 7) == [(0, 4), (4, 10)]  # not inside a Latin word


def test_one_lost_quote_does_not_swallow_the_text() -> None:
    assert len(split("他说：“" + "我来了。" * 200)) > 100


@pytest.mark.parametrize(
    ("name", "full", "wanted"),
    [("zh_gsdsimp-ud-test", False, 99.5), ("zh_gsdsimp-ud-dev", False, 99.4), ("zh_gsd-ud-test", True, 99.5)],
)
def test_treebank_sentences_joined_ten_by_ten(name: str, full: bool, wanted: float, real_data: Path) -> None:
    gold = list(treebank_sentences(real_data / "ud" / f"{name}.conllu.xz"))
    if full:
        gold = [normalise(sentence, punctuation="full").text for sentence in gold]
    right = found = due = 0
    for first in range(0, len(gold), 10):
        ends, position = set(), 0
        for sentence in gold[first : first + 10]:
            position += len(sentence)
            ends.add(position)
        got = {end for _, end in split("".join(gold[first : first + 10]))}
        right, found, due = right + len(ends & got), found + len(got), due + len(ends)
    assert 200 * right / (found + due) >= wanted
