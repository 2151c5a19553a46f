"""Wikitext of MediaWiki to paragraphs of plain text, in which language-variant markup is resolved for good.

A paragraph is a line of wikitext: editors of the Chinese Wikipedia write no line breaks in a paragraph. Headings are
left out: they are labels, not sentences, and the same dozen (历史, 参考文献, 外部链接) would be the most frequent
"sentences" of a corpus. Items of lists lose their marks. Of a page that cannot be read whole nothing is kept.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from zh_elmo.text import wikinames
from zh_elmo.text.variants import CLOSE, FALLBACKS, OPEN, Span, Unreadable, Words
from zh_elmo.text.wikiscan import HOLE, LITERAL, MARK, Scan

LONGEST = 1 << 21  # characters of a page; MediaWiki stops editors at 2 MiB

_MADE = re.compile(f"[{OPEN}{CLOSE}{LITERAL}{HOLE}\x04]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_LINE_END = re.compile(r"\r\n?")
_PIECE = re.compile(f"{OPEN}([^{OPEN}{CLOSE}]*){CLOSE}|\x04([0-9]+)\x05")
_LIST = "*#:; \t"
# A template that is gone leaves its brackets empty, or begins or ends them with a comma: （{{lang-en|}}，1912年）.
_HOLES = re.compile(f"{HOLE}[{HOLE} ]*")
_COMMA = "，、；：,;: "
_EMPTY = re.compile(f"（[{_COMMA}{HOLE}]*{HOLE}[{_COMMA}]*）|\\([{_COMMA}{HOLE}]*{HOLE}[{_COMMA}]*\\)")
_FIRST = re.compile(f"([（(])[{_COMMA}{HOLE}]*{HOLE}[{_COMMA}]?")
_LAST = re.compile(f"(?:[{_COMMA}]? ?{HOLE}){{1,9}} ?([）)])")


class Paragraph(NamedTuple):
    """Text, and where it is in the wanted variant already: `protected` holds (start, end) in order, without overlap.

    An empty span is a place that no phrase may cross (大-{}-丑). See `variants.outside`.
    """

    text: str
    protected: tuple[Span, ...] = ()


class Page(NamedTuple):
    """What is to be read on a page."""

    paragraphs: list[Paragraph]
    groups: int  # templates that bring conversion rules from elsewhere ({{CGroup|IT}}), which are lost


def plain(wikitext: str, variant: str = "zh-hans", *, hidden: frozenset[str] = wikinames.HIDDEN) -> Page:
    """The paragraphs of a page, none empty, without white space at their ends.

    `variant` (zh-hans, zh-hant, zh-cn, zh-tw, zh-hk, zh-sg, zh-mo, zh-my, zh) decides what `-{ }-` shows; the text
    around it is in whatever script its authors used, and goes through `script` outside of `Paragraph.protected`.
    `hidden` are the namespaces and languages, in lower case, links to which show no text.
    Raises Unreadable with one of a few reasons for a page that cannot be read whole.
    """
    if variant not in FALLBACKS:
        raise ValueError(f"unknown variant {variant!r}; there are {', '.join(FALLBACKS)}")
    if len(wikitext) > LONGEST:
        raise Unreadable("too long")
    if "\r" in wikitext:
        wikitext = _LINE_END.sub("\n", wikitext)
    if _CONTROL.search(wikitext):
        wikitext = _CONTROL.sub("", wikitext)
    scan = Scan(wikitext, variant, hidden)
    lines = scan.text.split("\n")
    if _MADE.search(scan.text):
        paragraphs = _finished(lines, scan, variant)
    else:
        paragraphs = [Paragraph(text) for line in lines if (text := _unmarked(line))]
    if scan.as_written:
        paragraphs = [Paragraph(text, ((0, len(text)),)) for text, _ in paragraphs]
    return Page(paragraphs, scan.groups)


def _unmarked(line: str) -> str:
    """A line without what makes it an item of a list; nothing where it is a heading, a rule, a piece of a table."""
    line = line.strip()
    if not line:
        return ""
    first = line[0]
    if first in _LIST:
        return line.lstrip(_LIST)
    if (first == "=" and line[-1] == "=" and len(line) > 2) or first == "|":
        return ""
    return line.lstrip("-").lstrip() if line.startswith("----") else line


def _finished(lines: list[str], scan: Scan, variant: str) -> list[Paragraph]:
    """Lines with marks in them to paragraphs; rules hold from their mark on."""
    words = Words(variant, scan.text)
    paragraphs = []
    for line in lines:
        if HOLE in line:
            line = _tidied(line)
        text = _unmarked(line)
        if text != line and not text:  # rules hold, though the heading goes
            text = "".join(found.group() for found in MARK.finditer(line))
        if text and not (words.hold or _MADE.search(text)):
            paragraphs.append(Paragraph(text))
        elif text and (paragraph := _paragraph(text, words, scan)).text:
            paragraphs.append(paragraph)
    return paragraphs


def _tidied(line: str) -> str:
    line = _HOLES.sub(HOLE, line)
    return _LAST.sub(r"\1", _FIRST.sub(r"\1", _EMPTY.sub("", line))).replace(HOLE, "")


def _paragraph(line: str, words: Words, scan: Scan) -> Paragraph:
    """Final pieces and pieces of the rules in one line, and where they are."""
    pieces: list[str] = []
    protected: list[Span] = []
    length = position = 0

    def add(text: str, is_final: bool) -> None:
        nonlocal length
        if is_final:
            protected.append((length, length + len(text)))
        pieces.append(text)
        length += len(text)

    for found in _PIECE.finditer(line):
        for piece, is_final in words.pieces(_clean(line[position : found.start()])):
            add(piece, is_final)
        position = found.end()
        if found[2] is not None:
            words.change(*scan.changes[int(found[2])])
        else:
            add(found[1], True)
    for piece, is_final in words.pieces(_clean(line[position:])):
        add(piece, is_final)
    return _stripped("".join(pieces), protected)


def _clean(text: str) -> str:
    return text.replace(LITERAL, "").replace(CLOSE, "")


def _stripped(text: str, protected: list[Span]) -> Paragraph:
    end = len(text.rstrip())
    start = len(text) - len(text.lstrip())
    spans = ((max(first, start) - start, min(last, end) - start) for first, last in protected)
    return Paragraph(text[start:end], tuple((first, last) for first, last in spans if 0 <= first <= last))
