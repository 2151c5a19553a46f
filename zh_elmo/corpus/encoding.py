"""Which encoding a file of text is in: told by a byte order mark, strict UTF-8, or the Chinese encoding (or UTF-16) in
which the text reads like Chinese.

Never gb2312 or gbk, of which gb18030 is a superset and whose tables give other characters for · and ——; never big5,
for the same reason. An answer is a guess only where more than one encoding decodes the bytes; it is always told.
Bytes that do not decode are replaced where that is asked for, and then counted, with the places of the first.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NamedTuple

from zh_elmo.files import BadInput

Encoding = str  # a name that Python's codecs know
OnUndecodable = Literal["refuse", "replace"]  # what is done about bytes that do not decode
SAMPLE = 1 << 18  # bytes that are looked at
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_CANDIDATES = ("gb18030", "big5hkscs", "cp950", "utf-16-le", "utf-16-be")
_ALIASES = {
    "gb2312": "gb18030", "gbk": "gb18030", "cp936": "gb18030", "gb": "gb18030", "big5": "big5hkscs",
    "big5-hkscs": "big5hkscs", "utf8": "utf-8", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be", "utf16": "utf-16",
}  # fmt: skip
_STATEFUL = ("iso2022", "hz", "utf-7")  # in which what a byte means hangs on bytes far before it
_WINDOW = 1024  # bytes that are decoded at once around those that do not decode
_PLACES = 5  # that are remembered of a file
_BROKEN = 50  # of so many characters at most one is damaged in a file that is UTF-8 all the same
_ENOUGH = 0.6  # share of plausible characters without which nothing is believed
_COMMON = frozenset("，。、；：？！“”‘’「」『』（）《》…—·　 \n\r\t")


REPLACEMENT = "\ufffd"


class Decided(NamedTuple):
    """An encoding, and how it was found."""

    name: Encoding
    how: str


def named(name: str) -> Encoding:
    """The encoding that a person means by a name: gb18030 for gbk and gb2312, big5hkscs for big5. Raises BadInput
    (usage) for a name that nobody knows."""
    wanted = _ALIASES.get(name.lower().replace("_", "-"), name)
    try:
        with suppress(UnicodeError):
            b"a".decode(wanted)  # a LookupError for what is no encoding of text, such as rot13
        return codecs.lookup(wanted).name
    except LookupError:
        known = "utf-8, gb18030, big5hkscs, cp950, utf-16"
        raise BadInput(f"{name!r} is no encoding; known are {known} and what else Python has", usage=True) from None


def decide(sample: bytes, *, whole: bool, undecodable: OnUndecodable = "refuse") -> Decided | None:
    """The encoding of a file that begins with `sample` (all of it, if `whole`); None where none of them fits.
    undecodable: "replace" finds that of a file with some damaged characters as well."""
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return Decided(name, "byte order mark")
    if _decoded(sample, "utf-8", whole) is not None:
        return Decided("utf-8", "all bytes are UTF-8")
    damaged = undecodable == "replace"
    if damaged and (share := _broken(sample)) <= 1 / _BROKEN:
        return Decided("utf-8", f"all characters but {share:.2%} of those beyond ASCII are UTF-8")
    # of equals the first: Big5-HKSCS has what cp950 has, and more
    scored = sorted(_scores(sample, whole, damaged), key=lambda found: -round(found[0], 2))
    if not scored or scored[0][0] < _ENOUGH:
        return None
    best = scored[0]
    others = ", ".join(f"{name} {share:.0%}" for share, name in scored[1:2])
    how = f"{best[0]:.0%} of its characters are common ones" + (f" ({others})" if others else "")
    return Decided(best[1], how)


def _scores(sample: bytes, whole: bool, damaged: bool) -> Iterator[tuple[float, Encoding]]:
    for name in _CANDIDATES:
        text = sample.decode(name, "replace") if damaged else _decoded(sample, name, whole)
        if text:
            yield _plausible(text), name


def _broken(sample: bytes) -> float:
    """The share of the characters beyond ASCII that are damaged if this is UTF-8."""
    text = sample.decode("utf-8", "replace")
    beyond = sum(not character.isascii() for character in text)
    return text.count(REPLACEMENT) / max(1, beyond)


def _decoded(sample: bytes, name: Encoding, whole: bool) -> str | None:
    """Strictly; a character that the end of the sample cuts is no fault."""
    try:
        return codecs.getincrementaldecoder(name)("strict").decode(sample, final=whole)
    except (UnicodeDecodeError, ValueError):
        return None


def _plausible(text: str) -> float:
    """Share of characters that Chinese text is mostly made of: the common half of either national standard,
    punctuation, ASCII letters and digits."""
    common = _common_characters()
    good = sum(character in common for character in text)
    return good / len(text)


@cache
def _common_characters() -> frozenset[str]:
    """The first levels of GB 2312 (3,755 characters by sound) and of Big5 (5,401 by strokes), which the codecs have."""
    found = set(_COMMON) | {chr(point) for point in range(0x20, 0x7F)}
    for codec, rows, cells in (
        ("gb2312", range(0xB0, 0xD8), range(0xA1, 0xFF)),
        ("big5", range(0xA4, 0xC7), [*range(0x40, 0x7F), *range(0xA1, 0xFF)]),
    ):
        for row in rows:
            for cell in cells:
                found.update(bytes((row, cell)).decode(codec, "ignore"))
    return frozenset(found)


# Bytes that do not decode -------------------------------------------------------------------------------------------


class Gap(NamedTuple):
    """Bytes that stand for no character, U+FFFD in the text."""

    at: int  # byte
    size: int  # bytes
    character: int  # where it is in the text


@dataclass
class Undecodable:
    """The bytes of one file that did not decode: how many there were, and where the first of them are. Pickles."""

    size: int = 0  # bytes
    sequences: int = 0  # each became one U+FFFD
    places: list[tuple[int, int, str]] = field(default_factory=list)  # line, byte in the decompressed file, hex

    def add(self, line: int, byte: int, raw: bytes) -> None:
        self.size += len(raw)
        self.sequences += 1
        if len(self.places) < _PLACES:
            self.places.append((line, byte, raw.hex(" ")))

    def describe(self) -> dict[str, Any]:
        """For a manifest."""
        places = [{"line": line, "byte": byte, "hex": seen} for line, byte, seen in self.places]
        return {"bytes": self.size, "sequences": self.sequences, "places": places}


def check(name: Encoding, undecodable: OnUndecodable) -> None:
    """Raises BadInput (usage) for an encoding in which one damaged byte changes what all others mean."""
    if undecodable == "replace" and name.replace("_", "-").startswith(_STATEFUL):
        message = f"bytes that do not decode cannot be replaced in {name}, where those after them depend on them"
        raise BadInput(f"{message}; convert the file to UTF-8 first", usage=True)


def replaced(raw: bytes, encoding: Encoding) -> tuple[str, list[Gap]]:
    """`raw` decoded with U+FFFD for what does not decode, in time that is linear however much of it that is. The
    encoding must have no state."""
    parts: list[str] = []
    gaps: list[Gap] = []
    place = characters = 0
    while place < len(raw):
        window = raw[place : place + _WINDOW]
        try:
            text, gap = window.decode(encoding), None
        except UnicodeDecodeError as error:
            text, gap = window[: error.start].decode(encoding), (error.start, error.end)
        parts.append(text)
        characters += len(text)
        if gap is None:
            place += len(window)
        elif gap[0] and gap[1] == len(window) < len(raw) - place:
            place += gap[0]  # perhaps only the window ends there
        else:
            gaps.append(Gap(place + gap[0], gap[1] - gap[0], characters))
            parts.append(REPLACEMENT)
            characters += 1
            place += gap[1]
    return "".join(parts), gaps
