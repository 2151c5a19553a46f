"""What holds of normalisation for any text whatever: lone surrogates, controls, every plane, in any order.

An ordinary run tries some thousand texts and 80,000 characters; with ZH_ELMO_FULL=1 over ten times the texts and every
character of Unicode.
"""

from __future__ import annotations

import itertools
import lzma
import os
import random
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from zh_elmo.text.normalise import _PLAIN, Normalised, clean, dropped, edited, normalise, requote, widened

FULL = os.environ.get("ZH_ELMO_FULL") == "1"
OPTIONS = [
    {"punctuation": punctuation, "quotes": quotes}
    for punctuation, quotes in itertools.product(("keep", "full"), ("keep", "curly", "corner"))
]
NAMES = ["-".join(options.values()) for options in OPTIONS]
# Pieces that interact: marks, joiners, surrogates, brackets, dots, spaces, line ends, radicals, full-width letters,
# characters that NFC takes apart or puts together, emoji, flags, tags, and characters that are removed.
PIECES = [
    "好", "說", "ア", "a", "A", "1", "一", "二", "\u25cb", "年", "〇", ",", ".", "..", "...", "(", ")", "（", "）",
    "《", ":", ";", "?", "!", "-", "--", "\u2015", "\u2500", "\u22ef", "\u30fb", "\u2027", "〜", "“", "”", "‘", "’",
    "「", "」", "『", "』", '"', "'", "don’t", "é’é", " ", "  ", "\u3000", "\t", "\xa0", "\u200a", "\r", "\n",
    "\r\n", "\x0b", "\x85", "\u2028", "\0", "\x1c", "\x7f", "\xad", "\u200b", "\u200c", "\u200d", "\u180b",
    "\u180e", "\ufe0f", "\ufe0e", "\U000e0100", "\ufeff", "\u2060", "\ufffb", "\ufdd0", "\uffff", "\U0001fffe",
    "\u0301", "\u0323", "\u0308", "\u20e3", "e", "é", "\u1112", "\u1161", "\u11ab", "\uac00", "\u0958", "\u0344",
    "\u0f73", "\U0001d15e", "\u0fb9", "\u09c7", "\u09be", "\ud842", "\udfb7", "\udb40", "\udd00", "\U0001f468", "❤",
    "\U0001f3f4", "\U000e0067", "\U000e007f", "\U0001f1e8", "\U0001f3fd", "\u2f24", "\u2e9f", "\uf900", "\ufa0e",
    "\U0002f800", "\u2126", "\u037e", "\u2329", "\u1fef", "Ａ", "９", "\uff0e", "\uff61", "\ufe50", "\ue5e5",
    "\ue816", "\ufffd",
]  # fmt: skip
ANY = st.lists(
    st.sampled_from(PIECES) | st.characters() | st.characters(categories=["Cs", "Cc", "Cf", "Mn"]), max_size=14
)
TEXTS = ANY.map("".join)
TRIED = settings(max_examples=4_000 if FULL else 300, deadline=None)


def hold(raw: str, options: dict[str, Any]) -> Normalised:
    """All the properties of one text; the result, for what else a test may ask."""
    now = normalise(raw, **options)
    text = now.text
    spans = [now.span(place, place + 1) for place in range(len(text))]
    # Spans index the raw string, never go back, and are the same or apart.
    assert all(0 <= start < end <= len(raw) for start, end in spans)
    assert all(one == two or one[1] <= two[0] for one, two in itertools.pairwise(spans))
    assert [now.parts(place) for place in range(1, len(text))] == [one == two for one, two in itertools.pairwise(spans)]
    # Every raw character is in a span or dropped for a reason, never both.
    covered = {place for start, end in spans for place in range(start, end)}
    drops = list(dropped(raw, now))
    assert sorted(covered) == sorted(set(range(len(raw))) - {place for place, _ in drops})
    assert len(drops) + len(covered) == len(raw)
    assert [place for place, _ in drops] == sorted(place for place, _ in drops)
    # Done is done.
    again = normalise(text, **options)
    assert again == Normalised(text)
    # The quick way and the thorough one are the same.
    slow = clean(Normalised(raw))
    if options["quotes"] != "keep":
        slow = Normalised(requote(slow.text, options["quotes"]), slow.blocks)
    slow = widened(slow) if options["punctuation"] == "full" else slow
    assert slow == now
    # What is promised of the text.
    assert unicodedata.is_normalized("NFC", text)
    assert "  " not in text
    assert not re.search(
        "^ | $|[\ud800-\udfff\0-\x09\x0b-\x1f\x7f-\xa0\ufeff\u2028\u2029\u200b\u3000\ufe0f]", text, re.M
    )
    return now


@pytest.mark.parametrize("options", OPTIONS, ids=NAMES)
@given(raw=TEXTS)
@example(raw="\u200d" * 3)
@example(raw="\U0001d15e ")
@example(raw="\udb40\udd00")
@example(raw="好 \u200b 好")
@example(raw="\u0f73\u0344")
@TRIED
def test_any_text(options: dict[str, Any], raw: str) -> None:
    hold(raw, options)


def every_character() -> Iterator[int]:
    if FULL:
        return iter(range(0x110000))
    planes = ((0, 0x10000), (0x1D100, 0x1D200), (0x1F000, 0x20100), (0x2F800, 0x2FA20), (0xE0000, 0xE0200))
    ends = ((plane << 16 | 0xFFF0, (plane + 1) << 16) for plane in range(1, 17))
    return itertools.chain.from_iterable(range(first, last) for first, last in (*planes, *ends))


def test_every_character_by_itself_and_between_others() -> None:
    """Most stay as they are; the others as a whole must."""
    moved = 0
    for point in every_character():
        character = chr(point)
        raw = f"{character}好{character}\u0301a{character}"
        now = normalise(raw, punctuation="full", quotes="curly")
        if now.text != raw or now.blocks:
            moved += 1
            hold(character, OPTIONS[0])
            hold(raw, OPTIONS[4])
    assert moved > 3000


@pytest.mark.parametrize("options", OPTIONS, ids=NAMES)
def test_long_random_texts(options: dict[str, Any]) -> None:
    """Edits over edits over edits, which short texts seldom need."""
    draw = random.Random(str(options))
    for _ in range(150 if FULL else 12):
        hold("".join(draw.choice(PIECES) for _ in range(draw.randint(50, 400))), options)


def test_every_character_that_is_taken_as_plain_is_left_by_every_step() -> None:
    """By itself and beside any other of them: the quick way looks at no more."""
    plain = [chr(point) for point in range(0x10000) if _PLAIN.fullmatch(chr(point)) and chr(point) != " "]
    assert len(plain) > 27_000
    text = "".join(plain) + "".join(reversed(plain))
    for punctuation, quotes in itertools.product(("keep", "full"), ("keep", "curly")):
        slow = clean(Normalised(text))
        slow = slow if quotes == "keep" else Normalised(requote(slow.text, "curly"), slow.blocks)
        assert (slow if punctuation == "keep" else widened(slow)) == Normalised(text)
    draw = random.Random(4)
    for _ in range(300):
        hold("".join(draw.choice([*"年二一.-'\"“’", draw.choice(plain)]) for _ in range(12)), OPTIONS[4])


def test_real_text(real_data: Path) -> None:
    """Lines of every file, and what is not plain in them."""
    plain = total = 0
    for path in sorted(real_data.glob("raw_*/*.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as stream:
            lines = stream.read(200_000 if FULL else 20_000).split("\n")
        for line in lines[: None if FULL else 40]:
            now = hold(line, OPTIONS[4])
            plain += now == Normalised(line)
            total += 1
        hold("\n".join(lines[:20]), OPTIONS[5])
    assert 0.5 * total < plain < total


def test_the_kinds_of_what_is_dropped() -> None:
    raw = "\ufeff\u3000a\0b\u200bc\ufe0fd\U000e0041\ufdd0\udb40\udd00\xad \n\u200d\ue5e5"
    now = normalise(raw)
    assert now.text == "abcd\n"
    assert [kind for _, kind in dropped(raw, now)] == [
        "zero-width", "space", "control", "zero-width", "selector", "tag", "noncharacter", "selector", "selector",
        "zero-width", "space", "zero-width", "space",
    ]  # fmt: skip
    assert [place for place, _ in dropped(raw, now)] == [0, 1, 3, 5, 7, 9, 10, 11, 12, 13, 14, 16, 17]
    assert list(dropped("a \u200b b", normalise("a \u200b b"))) == []  # one space, whose span has them all


# Spans over edits of edits, against lists of spans for every character ----------------------------------------------


@given(st.text("abc", max_size=12), st.randoms(use_true_random=False))
@TRIED
def test_edits_over_edits_are_as_by_lists_of_spans(raw: str, draw: random.Random) -> None:
    now, spans = Normalised(raw), [(place, place + 1) for place in range(len(raw))]
    for _ in range(4):
        edits, position = [], 0
        while position < len(now.text):
            start = position + draw.randint(0, 3)
            end = min(len(now.text), start + draw.randint(1, 3))
            if start >= end:
                break
            edits.append((start, end, draw.choice(["", "x", "xy", "xyz"])))
            position = end
        new, position = [], 0
        for start, end, text in edits:
            new += [*spans[position:start], *[(spans[start][0], spans[end - 1][1])] * len(text)]
            position = end
        spans = new + spans[position:]
        now = edited(now, edits)
        assert [now.span(place, place + 1) for place in range(len(now.text))] == spans
        for _ in range(3 if spans else 0):
            start = draw.randrange(len(spans))
            end = draw.randint(start + 1, len(spans))
            assert now.span(start, end) == (spans[start][0], spans[end - 1][1])
