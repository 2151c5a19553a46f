"""What is dropped, and for what reason."""

from __future__ import annotations

import pytest

from zh_elmo.corpus.filters import NONE, Filters, fault
from zh_elmo.files import BadInput
from zh_elmo.recipe import convert


@pytest.mark.parametrize(
    ("filters", "text", "reason"),
    [
        (NONE, "x", None),
        (Filters(han=0.5), "我们去ok", None),
        (Filters(han=0.5), "我们okay", "less than 50.0% Han"),
        (Filters(han=0.5), "", None),
        (Filters(letters=0.5), "12345我", "less than 50.0% letters"),
        (Filters(kana=0.05), "東京に行きました", "more than 5.0% kana or hangul"),
        (Filters(kana=0.05), "他说の字很常见而且很多人都会写这个字吧真的很多人", None),
        (Filters(kana=0.05), "한국어입니다", "more than 5.0% kana or hangul"),
        (Filters(private=0.001), "我\ue000们", "more than 0.1% private use"),
        (Filters(private=0.0), "我\ufffd", "more than 0.0% private use"),
        (Filters(ascii=0.3), "第3章abc", "more than 30.0% ASCII letters and digits"),
        (Filters(shortest=3), "我们", "shorter than 3 characters"),
        (Filters(longest=3), "我们去吧", "longer than 3 characters"),
        (Filters(mojibake=True), "这是锟斤拷", "decoded by the wrong table"),
        (Filters(mojibake=True), "“好的”".encode().decode("gb18030", "replace"), "decoded by the wrong table"),
        (Filters(mojibake=True), "拷问", None),
        (Filters(languages=["zh"]), "今日はとても天気がいいですね", "in ja, not zh"),
        (Filters(languages=["yue", "ja"]), "한국어문장은이렇게씁니다", "in ko, not zh or ja"),
        (Filters(languages=["zh"]), "今天天气很好，我们去公园", None),
    ],
)
def test_reasons(filters, text, reason):
    assert fault(text, filters) == reason


def test_languages_are_told_of_the_text_with_its_spaces(monkeypatch):
    monkeypatch.setattr("zh_elmo.corpus.language.foreign", lambda text, languages: f"{text} {languages}")
    assert fault("ab", Filters(languages=["zh-TW", "en"]), "a b") == "a b ('zh', 'en')"
    assert fault("ab", Filters(languages=["zh-TW", "en"])) == "ab ('zh', 'en')"


@pytest.mark.parametrize("raw", [{"han": 1.5}, {"kana": 2.0}, {"shortest": -1}, {"hann": 0.5}])
def test_wrong_numbers(raw):
    with pytest.raises(BadInput, match=r"x\.toml"):
        convert(raw, Filters, "x.toml")
