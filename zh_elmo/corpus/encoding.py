"""Which encoding a file of text is in: told by a byte order mark, strict UTF-8, or the Chinese encoding (or UTF-16) in
which the text reads like Chinese.

Never gb2312 or gbk, of which gb18030 is a superset and whose tables give other characters for · and ——; never big5,
for the same reason. An answer is a guess only where more than one encoding decodes the bytes; it is always told.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from zh_elmo.files import BadInput

Encoding = str  # a name that Python's codecs know
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
_ENOUGH = 0.6  # share of plausible characters without which nothing is believed
_COMMON = frozenset("，。、；：？！“”‘’「」『』（）《》…—·　 \n\r\t")


class Decided(NamedTuple):
    """An encoding, and how it was found."""

    name: Encoding
    how: str


def named(name: str) -> Encoding:
    """The encoding that a person means by a name: gb18030 for gbk and gb2312, big5hkscs for big5. Raises BadInput
    (usage) for a name that nobody knows."""
    wanted = _ALIASES.get(name.lower().replace("_", "-"), name)
    try:
        return codecs.lookup(wanted).name
    except LookupError:
        known = "utf-8, gb18030, big5hkscs, cp950, utf-16"
        raise BadInput(f"{name!r} is no encoding; known are {known} and what else Python has", usage=True) from None


def decide(sample: bytes, *, whole: bool) -> Decided | None:
    """The encoding of a file that begins with `sample` (all of it, if `whole`); None where none of them fits."""
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return Decided(name, "byte order mark")
    if _decoded(sample, "utf-8", whole) is not None:
        return Decided("utf-8", "all bytes are UTF-8")
    # of equals the first: Big5-HKSCS has what cp950 has, and more
    scored = sorted(_scores(sample, whole), key=lambda found: -round(found[0], 2))
    if not scored or scored[0][0] < _ENOUGH:
        return None
    best = scored[0]
    others = ", ".join(f"{name} {share:.0%}" for share, name in scored[1:2])
    how = f"{best[0]:.0%} of its characters are common ones" + (f" ({others})" if others else "")
    return Decided(best[1], how)


def _scores(sample: bytes, whole: bool) -> Iterator[tuple[float, Encoding]]:
    for name in _CANDIDATES:
        text = _decoded(sample, name, whole)
        if text:
            yield _plausible(text), name


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
