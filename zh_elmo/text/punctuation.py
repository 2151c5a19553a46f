"""Half-width punctuation inside Chinese text to full width, decided by what stands on both sides of each mark.

UD Chinese GSD 2.2 writes `,` `.` `(` `)`, running text ，。（）: one of them must become the other, or every tenth
word of the treebank is unknown. Numbers, times, addresses, file names and English sentences keep their marks.
"""

from __future__ import annotations

import re
from typing import Literal

from zh_elmo.text.characters import HAN, is_han

Edit = tuple[int, int, str]

_FULL = {",": "，", ";": "；", ":": "：", "?": "？", "!": "！", "(": "（", ")": "）", ".": "。", "\uff0e": "。"}
_ALWAYS = {
    "\u301c": "～", "\uff61": "。", "\uff64": "、", "\ufe50": "，", "\ufe51": "、", "\ufe52": "。", "\ufe54": "；",
    "\ufe55": "：", "\ufe56": "？", "\ufe57": "！",
}  # fmt: skip
_MIDDLE_DOTS = "\u2027\u30fb\u2022"
_DASHES = ("--", "\u2015\u2015", "\u2500\u2500")
_ANY = "[-\u2015\u2500\u22ef,;:?!().\uff0e\u25cb" + "".join(_ALWAYS) + _MIDDLE_DOTS + "]"
_ANY_MARK = re.compile(_ANY)
# A mark, or a run of three dots, two dashes, or more; a group says of a mark between ASCII letters or digits (3.5) that
# it stays. It begins with a set, which `re` finds ten times faster than branches.
_MARKS = re.compile(
    _ANY + r"(?:(?<=\.)\.{2,}|(?<=-)-+|(?<=\u2015)\u2015+|(?<=\u2500)\u2500+|(?<=\u22ef)\u22ef+"
    r"|(?<=[A-Za-z0-9][,;:?!.\uff0e])(?=[A-Za-z0-9])(?P<stays>))?"
)
_CHINESE = re.compile(f"[{HAN}，。、；：？！…—～·％《》〈〉「」『』【】〔〕“”‘’（）]")
_BRACKET = re.compile("[()]")
_AFTER_BRACKET = ("、", "，", "。", "；", "：", "？", "！")
_OPENING = re.compile("[《〈「『【〔“‘]")
_LINE_TAIL = re.compile("[」』”’\"')）》]*(?:\n|$)")
_NUMERALS = "〇一二三四五六七八九十百千两兩\u25cb"
_AFTER_NUMERAL = _NUMERALS + "年月日号號"

_APOSTROPHE = re.compile("(?<=[A-Za-z\u00c0-\u024f])’(?=[A-Za-z\u00c0-\u024f])")


def requote(text: str, quotes: Literal["curly", "corner"]) -> str:
    """「」『』 as “”‘’ or the other way round, one to one; ASCII quotes stay, and so does the apostrophe of don’t."""
    if quotes == "curly":
        return _curly(text)
    return "’".join(_corner(piece) for piece in _APOSTROPHE.split(text)) if "’" in text else _corner(text)


def _curly(text: str) -> str:
    """Four replacements, which are ten times faster than one str.translate: that looks at every character."""
    return text.replace("「", "“").replace("」", "”").replace("『", "‘").replace("』", "’")


def _corner(text: str) -> str:
    return text.replace("“", "「").replace("”", "」").replace("‘", "『").replace("’", "』")


def full_width(text: str) -> list[Edit]:
    """What to replace, from left to right; empty where everything is as it should be."""
    if _ANY_MARK.search(text) is None:
        return []
    edits: list[Edit] = []
    pairs: dict[int, int] | None = None  # "(" -> its ")" and back, of the whole text, when first needed
    full_pairs: set[int] = set()
    left_start, left = 0, ""  # the last replacement: where it ended, and its last character
    for match in _MARKS.finditer(text):
        start, end = match.span()
        mark = text[start:end]
        if match.lastgroup or mark == "-":
            continue
        before = left if left_start == start and left else text[start - 1 : start] if start else ""
        if mark in ("(", ")"):
            if pairs is None:
                pairs = _pairs(text)
            found = _bracket(text, start, before, pairs, full_pairs)
        else:
            found = _replacements(text, start, end, before)
        edits += found
        if found:
            left_start, left = end, found[-1][2]
    return edits


def _replacements(text: str, start: int, end: int, before: str) -> list[Edit]:
    """The edits for one mark; `before` is the character to its left as it has become."""
    mark, after = text[start:end], text[end : end + 1]
    if mark in _ALWAYS:
        return [(start, end, _ALWAYS[mark])]
    near = _is_chinese(before) or is_han(after) or _is_opening(after)
    if len(mark) > 1 or mark == "\u22ef":
        return _run(start, end, mark, near, _is_chinese(before) and _is_chinese(after))
    if mark in _MIDDLE_DOTS:
        return [(start, end, "·")] if is_han(before) and is_han(after) else []
    if mark == "\u25cb":
        return _zero(text, start, before)
    if mark in ".\uff0e":
        return [(start, end, "。")] if _is_stop(text, start, before, after) else []
    between_digits = before.isdigit() and after.isdigit()
    return [(start, end, _FULL[mark])] if near and mark in _FULL and not between_digits else []


def _run(start: int, end: int, mark: str, near: bool, between: bool) -> list[Edit]:
    """Dots to …, six and more to ……; pairs of dashes to ——; midline ellipses to …."""
    if mark[0] == ".":
        middle = start + (end - start) // 2
        whole = [(start, end, "…")] if end - start < 6 else [(start, middle, "…"), (middle, end, "…")]
        return whole if near else []
    if mark[0] == "\u22ef":
        return [(place, place + 1, "…") for place in range(start, end)] if near or end - start > 1 else []
    if mark in _DASHES and (between if mark[0] == "-" else near):
        return [(start, start + 1, "—"), (start + 1, end, "—")]
    return []


def _zero(text: str, start: int, before: str) -> list[Edit]:
    """A circle between Chinese numerals (or before 年 月 日 号) is the numeral 〇."""
    after = text[start + 1 : start + 2]
    is_zero = before != "" and before in _NUMERALS and before != "\u25cb" and after != "" and after in _AFTER_NUMERAL
    return [(start, start + 1, "〇")] if is_zero else []


def _is_stop(text: str, start: int, before: str, after: str) -> bool:
    """A dot is a Chinese full stop after Chinese, if no letter or digit follows, and at the end of a Chinese line."""
    if _is_chinese(before) and not _is_opening(before):
        return not (after.isascii() and after.isalnum())
    if before in ("", " ", "\n", ".", "\uff0e") or not _LINE_TAIL.match(text, start + 1):
        return False
    return _mostly_han(text[text.rfind("\n", 0, start) + 1 : start])


def _mostly_han(line: str) -> bool:
    """At least 30 % of what is not white space."""
    solid = len(line) - line.count(" ")
    return solid > 0 and len(re.findall(f"[{HAN}]", line)) >= 0.3 * solid


def _bracket(text: str, start: int, before: str, pairs: dict[int, int], full: set[int]) -> list[Edit]:
    """Both brackets of a pair become full width where Chinese stands outside of it or right after the opening one."""
    other = pairs.get(start)
    if other is None:
        return []
    if text[start] == "(":
        inside, outside = text[start + 1 : start + 2], text[other + 1 : other + 2]
        if not (_is_chinese(before) or is_han(inside) or is_han(outside) or outside in _AFTER_BRACKET):
            return []
        full.add(start)
        return [(start, start + 1, "（")]
    return [(start, start + 1, "）")] if other in full else []


def _pairs(text: str) -> dict[int, int]:
    """Round half-width brackets that belong together on one line, both ways."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    read = 0
    for match in _BRACKET.finditer(text):
        place = match.start()
        if opened and text.find("\n", read, place) >= 0:
            opened.clear()
        read = place
        if text[place] == "(":
            opened.append(place)
        elif opened:
            start = opened.pop()
            pairs[start], pairs[place] = place, start
    return pairs


def _is_chinese(character: str) -> bool:
    """A Chinese character or a mark of Chinese punctuation."""
    return _CHINESE.match(character) is not None


def _is_opening(character: str) -> bool:
    return _OPENING.match(character) is not None
