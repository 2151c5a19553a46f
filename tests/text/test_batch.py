"""Many paragraphs at once give the words that the pipeline gives for each."""

from __future__ import annotations

import gc
import lzma
import os
import pickle
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from zh_elmo.text.batch import Batch, Words
from zh_elmo.text.pipeline import LONGEST_WORD
from zh_elmo.text.settings import TextSettings

FULL = os.environ.get("ZH_ELMO_FULL") == "1"
SETTINGS = {
    "jieba": TextSettings(),
    "no model": TextSettings(hmm=False),
    "kept": TextSettings(script="keep", punctuation="keep", quotes="keep"),
    "traditional": TextSettings(script="traditional", quotes="corner"),
    "characters": TextSettings(segmenter="characters"),
    "unicode": TextSettings(segmenter="unicode"),
    "words": TextSettings(segmenter="words"),
}
BATCHES = {name: Batch(one) for name, one in SETTINGS.items()}
PIECES = [
    "他說：“好。”", "走了", "。", "！", "…", "“", "”", "（", ")", ".", "3.5mm", "AT&T", "C++", "Type-C",
    "2024-05-06", "-", "--", "...", ",", " ", "  ", "\u3000", "\r", "\n", "\r\n", "\u2028", "\x85", "\u200b",
    "\ufe0f", "乾隆", "著名", "看著", "后", "後", "这些", "這些", "国家", "國家", "说的", "e\u0301", "q\u0301",
    "👍🏽", "\U0001f1e8\U0001f1f3", "\u200d", "\ud842\udfb7", "\ud800", "㐀", "𠮷", "鿿", "１", "Ａ", "．", "é",
    "テスト", "한글", "a" * 120, "字" * 130, "苹果。" * 3, "\u0958", "\u0344", "\x1c", "\0", "\U000e0067",
]  # fmt: skip
PARAGRAPH = st.lists(st.sampled_from(PIECES) | st.characters(), max_size=12).map("".join)


def sentences(words: Words) -> list[tuple[int, list[str]]]:
    """(paragraph, words) of each sentence."""
    starts = [0, *words.ends.tolist()]
    forms = [words.types[number] for number in words.ids.tolist()]
    return [
        (of, forms[start:end]) for of, start, end in zip(words.paragraphs.tolist(), starts, words.ends, strict=False)
    ]


def assert_same(batch: Batch, paragraphs: Sequence[str], final: Sequence[bool]) -> Words:
    found, due = batch(paragraphs, final), batch.one_by_one(paragraphs, final)
    assert sentences(found) == sentences(due)
    assert found.joined(len(paragraphs)) == due.joined(len(paragraphs))
    assert found.bounds(len(paragraphs)).tolist() == due.bounds(len(paragraphs)).tolist()
    assert found.lengths.tolist() == list(map(len, found.types))
    return found


@pytest.mark.parametrize("name", list(BATCHES))
@given(paragraphs=st.lists(PARAGRAPH | st.just(""), min_size=1, max_size=8), seed=st.integers(0, 9))
@settings(max_examples=3000 if FULL else 150, deadline=None)
@example(paragraphs=[""], seed=0)
@example(paragraphs=["", "", "好", ""], seed=0)
@example(paragraphs=["a\rb", "\n", "說\u2028说"], seed=0)
def test_any_paragraphs(name: str, paragraphs: list[str], seed: int) -> None:
    draw = random.Random(seed)
    assert_same(BATCHES[name], paragraphs, [draw.random() < 0.2 for _ in paragraphs])


def test_a_document_decides_on_the_script_of_its_lines() -> None:
    paragraphs = ["電腦裡的資料", "看后面", "", "看后面", "国家的资料", ""]
    words = assert_same(BATCHES["jieba"], paragraphs, [False] * 6)
    assert ["".join(forms) for _, forms in sentences(words)] == ["电脑里的资料", "看后面", "看后面", "国家的资料"]
    assert words.paragraphs.tolist() == [0, 1, 3, 4]
    final = assert_same(BATCHES["jieba"], ["電腦裡的資料", "電腦"], [True, False])
    assert ["".join(forms) for _, forms in sentences(final)] == ["電腦裡的資料", "电脑"]


def test_what_was_done_is_counted() -> None:
    words = BATCHES["jieba"](["電腦\u200b。", "国家。他说：“好。来！”", "ＯＫ", "後后后後", ""], [False] * 5)
    assert words.facts["characters_dropped"] == Counter({"zero-width": 1})
    assert words.facts["script"] == {
        "paragraphs_simplified": 1, "paragraphs_traditional": 2, "paragraphs_mixed": 0, "paragraphs_either": 1,
        "characters_converted": 4,
    }  # fmt: skip
    assert words.facts["sentences_by"]["sentences"] == 5
    assert words.facts["sentences_by"]["in open"] == 1


def test_no_word_is_longer_than_it_may_be() -> None:
    words = assert_same(BATCHES["unicode"], ["a" * 250, "b 3.5mm"], [False] * 2)
    assert sentences(words)[0] == (0, ["a" * LONGEST_WORD, "a" * LONGEST_WORD, "a" * 50])


def test_it_pickles_by_its_settings() -> None:
    copy = pickle.loads(pickle.dumps(BATCHES["kept"]))
    assert sentences(copy(["他說：好"], [False])) == [(0, ["他", "說", "：", "好"])]


@pytest.mark.parametrize("name", ["jieba", "kept"])
def test_real_text(name: str, real_data: Path) -> None:
    """The beginning of every file; all of it with ZH_ELMO_FULL=1."""
    for path in sorted(real_data.glob("raw_*/*.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as stream:
            while paragraphs := [line.rstrip("\n") for line in islice(stream, 5000 if FULL else 300)]:
                assert_same(BATCHES[name], paragraphs, [False] * len(paragraphs))
                if not FULL:
                    break


def test_no_cycle_keeps_words_in_memory() -> None:
    """Two hundred tasks of 100,000 characters once kept 100 MB until the next full collection."""
    BATCHES["characters"](["甲乙丙"], [False])
    gc.collect()
    gc.disable()
    try:
        BATCHES["characters"](["丁戊己庚"], [False])
        BATCHES["characters"].one_by_one(["丁戊己庚"], [False])
        left = [one for one in gc.get_objects() if type(one) is defaultdict and "庚" in one]
    finally:
        gc.enable()
    assert not left
