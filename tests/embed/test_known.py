"""Words that a model knows in another width or script, and how much of a text it knows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import zh_elmo
from zh_elmo.embed.known import Folding, Known, is_cut, known, shares
from zh_elmo.lm.model import BiLM
from zh_elmo.lm.settings import Characters, Model

GOLDEN = Path(__file__).parents[1] / "golden" / "data"


def model(chars: str, words: str = "", **changes: object) -> BiLM:
    reads = {"size": 2, "filters": ((1, 2),), **changes}
    settings = Model(characters=Characters(**reads), projection=2, cell=2, word_table=bool(words))
    return BiLM(settings, list(chars), words.split())


@pytest.mark.parametrize(
    ("chars", "word", "form"),
    [
        ("头发", "頭髮", "头发"),  # simplified alone is known
        ("頭髮", "头发", "頭髮"),  # traditional alone
        ("头发頭髮", "頭髮", "頭髮"),  # both: as it is given
        ("A1,", "Ａ１，", "A1,"),  # half width alone
        ("Ａ１，", "A1,", "Ａ１，"),  # full width alone
        ("A", "Ａ１", "A1"),  # a word is brought to one width
        ("A头", "Ａ頭１", "A头1"),
        ("头A", "頭Ａ", "头A"),  # both at once
        ("，a", ",ａ", "，a"),  # a word with both widths the wrong way round
        ("。", "！", "！"),  # nothing is known
        ("", "頭", "頭"),
        ("发", "髮", "发"),
        ("的", "的", "的"),
    ],
)
def test_forms_by_characters(chars, word, form):
    assert Folding(model(chars)).form(word) == form
    assert len(form) == len(word)


def test_a_known_word_is_left_alone_and_an_unknown_one_is_sought_in_the_table():
    folding = Folding(model("头发頭髮干乾净淨", "头发 乾淨"))
    assert folding(["頭髮", "乾淨", "干净", "头髮"]) == ["头发", "乾淨", "乾淨", "头发"]


def test_models_of_bytes_go_by_their_vocabulary_if_there_is_one():
    assert Folding(model("", "头发", unit="byte")).form("頭髮") == "头发"
    assert Folding(model("", "", unit="byte")).form("頭髮") == "頭髮"  # nothing is known of what it knows


def test_auto_and_none_and_one_call_without():
    """What ELMoForManyLangs' dictionary has only in half width is found; None keeps exact behaviour."""
    folder = GOLDEN / "efml_word_char"
    auto, given = zh_elmo.load(folder, normalize="auto"), zh_elmo.load(folder, normalize=None)
    wide = next(c for c in map(chr, range(0x21, 0x7F)) if c in given.bilm.chars and chr(ord(c) + 0xFEE0) not in
                given.bilm.chars)  # fmt: skip
    full = chr(ord(wide) + 0xFEE0)
    assert np.array_equal(auto.embed([[full]])[0], given.embed([[wide]])[0])
    assert not np.array_equal(given.embed([[full]])[0], given.embed([[wide]])[0])
    assert np.array_equal(auto.embed([[full]], normalize=False)[0], given.embed([[full]])[0])
    assert np.array_equal(zh_elmo.load(folder).embed([[full]])[0], given.embed([[full]])[0])
    assert auto.text_digest != given.text_digest


def test_cut_words():
    assert [is_cut(model("a", maximum=3), word) for word in ("abc", "abcd")] == [False, True]
    byte = model("", unit="byte", maximum=48)
    assert [is_cut(byte, word) for word in ("中" * 16, "中" * 17, "a" * 48, "a" * 49, "😀" * 12, "😀" * 13)] == [
        False, True, False, True, False, True,
    ]  # fmt: skip


def test_counts():
    sentences = [["头发", "頭髮", "xyz!"], [], ["头"]]
    found = known(model("头发y", "头发", maximum=3), sentences)
    assert found == Known(words=4, known_words=1, characters=9, known_characters=4, cut=1, folded=1)
    assert shares(found) == [
        "characters known: 44.44 % of 9",
        "words known: 25.00 % of 4",
        "words cut, so that two may become the same: 25.00 % of 4",
        'words that normalize="auto" gives a form that the model knows better: 25.00 % of 4',
    ]
    assert known(model("", unit="byte"), sentences)[1:4] == (None, 9, None)
    assert shares(known(model("a"), [])) == [
        "characters known: none of 0",
        'words that normalize="auto" gives a form that the model knows better: none of 0',
    ]


def test_a_cut_word_is_warned_of_once():
    """Public report 54 (allennlp#3318): more than 16 Han characters do not go into 48 bytes."""
    embedder = zh_elmo.load(GOLDEN / "bilm_skip")
    with pytest.warns(UserWarning, match=r"48 bytes of a word at the most; .* in 2 words such as '中中"):
        first, second = embedder.embed([["中" * 17], ["中" * 16 + "国"]], layers=0)
    assert np.array_equal(first, second)
    embedder.embed([["国" * 17]])  # not again
