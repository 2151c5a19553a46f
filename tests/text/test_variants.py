"""Rules of language variants as they are written, and conversion around what is final."""

from __future__ import annotations

import pytest

from zh_elmo.text.variants import Rule, Unreadable, Words, outside, parse


def test_conversion_stops_at_a_span_even_if_it_is_empty() -> None:
    seen: list[str] = []
    assert outside("大丑乙", ((1, 1), (2, 3)), lambda piece: seen.append(piece) or piece.upper()) == "大丑乙"
    assert seen == ["大", "丑"]
    assert outside("ab", (), str.upper) == "AB"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("zh-cn:a; zh-tw:b;", Rule({"zh-cn": "a", "zh-tw": "b"}, ())),
        (" zh-CN : a b ;\nzh-tw:c ; ", Rule({"zh-cn": "a b", "zh-tw": "c"}, ())),
        ("zh-cn:a;b;zh-tw:c:d", Rule({"zh-cn": "a;b", "zh-tw": "c:d"}, ())),
        ("a:b=>zh-cn:c", Rule({}, (("a:b", "zh-cn", "c"),))),
        ("a=>zh-cn:b;c=>zh-tw:d", Rule({}, (("a", "zh-cn", "b"), ("c", "zh-tw", "d")))),
        ("zh-cn:a=>b", Rule({"zh-cn": "a=>b"}, ())),
        ("=>zh-cn:b", None),
        ("甲；乙", None),
        ("x;zh-cn:a", None),
        ("zh-xx:a", None),
        ("zh-cn", None),
        ("", None),
    ],
)
def test_a_rule_is_read_as_it_is_meant(text: str, rule: Rule | None) -> None:
    assert parse(text) == rule


def test_longest_words_first_and_each_once() -> None:
    words = Words("zh-tw", "网络游戏网络")
    assert not words.hold
    words.change(Rule({"zh-cn": "网络", "zh-tw": "網路"}, ()), "add")
    words.change(Rule({"zh-cn": "网络游戏", "zh-tw": "線上網络"}, ()), "add")
    assert [piece for piece in words.pieces("网络游戏网络") if piece[0]] == [("線上網络", True), ("網路", True)]
    words.change(Rule({"zh-cn": "网络游戏", "zh-tw": "線上網络"}, ()), "remove")
    assert "".join(piece for piece, _ in words.pieces("网络游戏网络")) == "網路游戏網路"


def test_too_many_words_for_one_page_are_refused() -> None:
    rule = Rule({}, tuple((f"乙{number}", "zh-tw", "丙") for number in range(600)))
    Words("zh-tw", "甲" * 1_000).change(rule, "add")
    with pytest.raises(Unreadable, match="too many conversion rules"):
        Words("zh-tw", "甲" * 1_000_000).change(rule, "add")
