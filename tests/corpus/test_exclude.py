"""Test sentences are found in raw text, in either script, whatever stands around them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zh_elmo.corpus.exclude import SHORT, Excluded, excluded, key, treebank_sentences
from zh_elmo.files import BadInput
from zh_elmo.recipe import shelf_folder

LETTERS = st.text("甲乙丙", max_size=24)


def test_long_sentences_are_found_anywhere_in_either_script() -> None:
    wanted = Excluded(["然而,這樣的處理也衍生了一些問題."])
    assert wanted.holds("然而，这样的处理也衍生了一些问题。")
    assert wanted.holds("他说：“然而这样的处理，也衍生了一些问题！”大家都笑了。")
    assert wanted.holds("前文" * 50 + "然而，这样的处理也衍生了一些问题")
    assert not wanted.holds("然而，这样的处理也衍生了一些疑问。")
    assert not wanted.holds("")


def test_short_sentences_keep_out_only_what_is_the_same() -> None:
    wanted = Excluded(["他來了。"])
    assert wanted.holds("他来了！")
    assert not wanted.holds("他来了，我走了。")


def test_sentences_of_marks_alone_keep_nothing_out() -> None:
    assert not Excluded(["……", " "])
    assert not Excluded(["……"]).holds("")


def test_variants_that_conversion_may_leave_make_no_difference() -> None:
    assert key("乾净地看著他，什么都說") == key("干净地看着他什么都说")


@given(st.lists(LETTERS, max_size=4), LETTERS)
@settings(max_examples=150, deadline=None)
def test_the_search_is_equal_to_a_plain_one(sentences: list[str], paragraph: str) -> None:
    plain = any((len(s) >= SHORT and s in paragraph) or s == paragraph != "" for s in sentences)
    assert Excluded(sentences).holds(paragraph) == plain


@given(st.lists(LETTERS, max_size=4), st.lists(LETTERS | st.text(st.sampled_from("甲乙丙，。 aé")), max_size=9))
@settings(max_examples=300, deadline=None)
def test_many_paragraphs_at_once_are_found_as_one_by_one(sentences: list[str], paragraphs: list[str]) -> None:
    wanted = Excluded(sentences)
    assert wanted.among(paragraphs) == {number for number, one in enumerate(paragraphs) if wanted.holds(one)}


def test_the_sample_keeps_its_dev_and_test_sentences_out() -> None:
    wanted = excluded(["zh_sample"])
    sample = shelf_folder("corpora") / "sample"
    for part in ("dev", "test"):
        assert all(wanted.holds(key(s)) for s in treebank_sentences(sample / f"zh_sample-ud-{part}.conllu"))
    train = [wanted.holds(key(s)) for s in treebank_sentences(sample / "zh_sample-ud-train.conllu")]
    assert len(train) == 500
    assert not any(train)


def test_treebanks_without_test_sentences_and_raw_text_are_refused() -> None:
    with pytest.raises(BadInput, match="treebank is due"):
        excluded(["raw_zh_hans"])
    with pytest.raises(BadInput, match="no data set"):
        excluded(["zh_nothing"])


def test_multiword_tokens_and_empty_nodes(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    rows = [
        "# text = x",
        *(f"{i}\t{form}" + "\t_" * 8 for i, form in [("1-2", "ab"), (1, "a"), (2, "b"), ("2.1", "e"), (3, "c")]),
    ]
    path.write_text("\n".join(rows) + "\n\n" + "1\td" + "\t_" * 8 + "\n", "utf-8")
    assert list(treebank_sentences(path)) == ["abc", "d"]
    path.write_text("1\td\n", "utf-8")
    with pytest.raises(BadInput, match="10 tab-separated") as caught:
        list(treebank_sentences(path))
    assert caught.value.line == 1
