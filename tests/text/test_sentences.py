"""Sentence boundaries against the table of cases, real treebanks, and any input."""

from __future__ import annotations

import lzma
import os
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zh_elmo.corpus.exclude import treebank_sentences
from zh_elmo.text import sentence_arrays, sentences
from zh_elmo.text.normalise import normalise
from zh_elmo.text.script_tables import encoded
from zh_elmo.text.sentences import split

FULL = os.environ.get("ZH_ELMO_FULL") == "1"
ROWS = [
    line.split("\t") for line in (Path(__file__).parent / "cases/sentences.tsv").read_text("utf-8").split("\n")[1:-1]
]
MARKS = '好是。！？!?….,，；：“”‘’「」『』（）()《》"说道的这aAZ1 \n～—Dr'
NOISE = st.text(st.sampled_from(MARKS), max_size=40)
ANY = st.text(st.sampled_from(MARKS) | st.characters(), max_size=60)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_case(row: list[str]) -> None:
    text = row[2].replace("\\n", "\n")
    assert split(text) == [tuple(map(int, span.split(":"))) for span in row[3].split()]


@given(NOISE | ANY, st.integers(1, 50))
@settings(max_examples=5000 if FULL else 400, deadline=None)
def test_spans_cover_all_but_white_space_and_keep_the_cap(text: str, limit: int) -> None:
    counts = Counter[str]()
    spans = split(text, limit, counts)
    covered = [place for start, end in spans for place in range(start, end)]
    assert covered == sorted(set(covered))
    assert all(text[place].isspace() for place in set(range(len(text))) - set(covered))
    for start, end in spans:
        assert 0 < end - start <= limit
        assert not text[start].isspace()
        assert not text[end - 1].isspace()
        assert "\n" not in text[start:end]
    assert counts["sentences"] - counts["cut"] + counts["pieces"] == len(spans)
    assert counts["sentences"] == len(split(text, 1000))


def assert_same_by_arrays(text: str, limit: int = 500) -> None:
    counts, by_arrays = Counter[str](), Counter[str]()
    starts, ends = sentence_arrays.split(text, encoded(text), limit, by_arrays)
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == split(text, limit, counts)
    assert by_arrays == counts


@given(st.lists(NOISE | ANY, max_size=8).map("\n".join), st.integers(1, 50))
@settings(max_examples=20_000 if FULL else 1000, deadline=None)
def test_arrays_give_the_same(text: str, limit: int) -> None:
    assert_same_by_arrays(text, limit)


def assert_same_if_weighed(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sentence by the rules one by one, none at one glance."""
    counts, of_weighed = Counter[str](), Counter[str]()
    spans = split(text, counts=counts)
    with monkeypatch.context() as patch:
        patch.setattr(sentences, "_SIMPLE", re.compile("(?!)"))
        patch.setattr(sentences, "_SPOKEN", re.compile("(?!)"))
        assert split(text, counts=of_weighed) == spans
    assert of_weighed == counts


def test_simple_sentences_are_the_same_as_if_weighed(monkeypatch: pytest.MonkeyPatch, real_data: Path) -> None:
    draw = random.Random(6)
    for _ in range(30_000 if FULL else 3_000):
        text = "".join(draw.choice(MARKS) for _ in range(draw.randint(1, 40)))
        assert_same_if_weighed(text, monkeypatch)
    for path in sorted((real_data).glob("raw_*/*.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as stream:
            text = stream.read(400_000 if FULL else 8_000)
        text = normalise(text, punctuation="full", quotes="curly").text
        assert len(text) > 5000
        assert_same_if_weighed(text, monkeypatch)
        assert_same_by_arrays(text)


def test_what_is_split_and_joined_is_counted() -> None:
    text = (
        "他说：“天黑了。走吧！”大家都走了。我……我不知道。“你去吗？”他问。他来了（昨天。）并且住下。J. K. 罗琳。"
        + "好" * 1200
    )
    counts = Counter({"sentences": 1})
    spans = split(text, 500, counts)
    assert len(spans) == 9
    assert counts == {
        "sentences": 8, "cut": 1, "pieces": 3, "in open": 1, "in ellipsis": 1, "after quote": 1, "after bracket": 1,
        "in abbreviation": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("他问：“谁？”。我不知道。", ["他问：“谁？”。", "我不知道。"]),  # a stop after the closing mark belongs to it
        ("（他说：“好！”）。走吧……」。完", ["（他说：“好！”）。", "走吧……」。", "完"]),
        ("他说：“好。”。”又说", ["他说：“好。”。”", "又说"]),
    ],
)
def test_more_cases(text: str, wanted: list[str]) -> None:
    assert [text[start:end] for start, end in split(text)] == wanted


@pytest.mark.parametrize(
    "piece", ["好", "（", "“好。", "……", "。", ".", "a.", "”", "《好》", "“", '"', " ", "“”", "(a"]
)
def test_long_texts_take_linear_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert all(end - start <= 500 for start, end in split(text))


def test_long_sentences_are_cut_at_the_best_place() -> None:
    text = "我们" * 4 + "；" + "他们" * 4 + "，" + "hello" + "好" * 20 + "abcdef"
    cut = [text[start:end] for start, end in split(text, 12)]
    assert cut == ["我们我们我们我们；", "他们他们他们他们，", "hello" + "好" * 7, "好" * 12, "好abcdef"]
    assert split("好好好好abcdef", 7) == [(0, 4), (4, 10)]  # not inside a Latin word


def test_one_lost_quote_does_not_swallow_the_text() -> None:
    assert len(split("他说：“" + "我来了。" * 200)) > 100


@pytest.mark.parametrize(
    ("name", "full", "wanted"),  # GSD of release 2.2 writes half-width marks, which its current edition does not
    [
        ("zh_gsdsimp-ud-test", False, 99.5),
        ("zh_gsdsimp-ud-dev", False, 99.5),
        ("zh_gsd-ud-dev", True, 99.5),
        ("zh_gsd-ud-test", True, 99.5),
    ],
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
