"""Traditional to simplified by one table of characters, and by the library only where one of its phrases may be.

A phrase of the library can reach no further than the characters that its phrases are made of. So every run of such
characters in which a phrase occurs is given to it, and everything else is a table look-up: the same text as the
library's, at a hundred times its speed on a whole document.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from zh_elmo.text import script_library, script_words

Codes = npt.NDArray[np.uint32]  # one code point each
TRADITIONAL, SIMPLIFIED = 1, 2  # what `kinds` says of a character that only one script has
SHORT = 120  # characters up to which str.translate and re are faster than arrays

_EVERY = 0x110000
_LONGEST_RUN = 2000  # characters of a run that are given to the library at once; no real text comes near
_SHORT_RUN = 32  # runs up to this length are remembered
# Traditional-only by the table, but written in simplified text as well (乾坤, 哪吒, 薹草, 麴 as a surname).
_BOTH = "乾麽吒薹醣麴甯拚袷捱榘"
# Simplified forms that Big5 has as rare characters of their own, but that no traditional text uses.
_SIMPLIFIED_IN_BIG5 = "与么体儿听圣宁异床复怀怜惊扑扰机构栖气洁洒离网羡肴触赶优吨坏"
_NOT_SIMPLIFIED = "广叶亘床栖羡肴"
_FOLD = dict(zip(map(ord, "乾於徵著藉瞭覆锺鍾麽甚祇哩沈"), "干于征着借了复钟钟么什只里沉", strict=True))


class Tables(NamedTuple):
    """What the conversion needs, made once from the installed package."""

    convert: Callable[[str], str]  # the library's own t2s
    characters: dict[str, str]  # its single characters
    phrases: re.Pattern[str] | None  # any of its phrases; None: its inside is closed, no fast path
    reach: frozenset[str]  # the characters of its phrases
    whole: re.Pattern[str] | None  # a character that leaves the whole text to the library
    special: re.Pattern[str]  # any of its phrases, or of what our own words look at
    kinds: npt.NDArray[np.uint8]  # of every code point: TRADITIONAL, SIMPLIFIED, or 0
    traditional: re.Pattern[str]  # a character of the one kind
    simplified: re.Pattern[str]  # a character of the other
    folds: dict[int, str]  # `characters`, and on top of it _FOLD; in the basic plane
    foldable: re.Pattern[str]  # a character that `folds` changes


@cache
def tables() -> Tables:
    """Raises BadInput where the library is missing or damaged."""
    library = script_library.converter("t2s")
    known = script_library.inside(library)
    if known is None:
        characters, phrases, whole = _by_asking(library), frozenset[str](), ""
    else:
        characters, phrases, whole = known
    folds = {ord(one): value.translate(script_words.CHARACTERS) for one, value in characters.items()}
    folds = {point: value.translate(_FOLD) for point, value in (_FOLD | script_words.CHARACTERS | folds).items()}
    folds = {point: value for point, value in folds.items() if point <= 0xFFFF and value != chr(point)}
    kinds = _kinds(characters)
    return Tables(
        convert=script_library.aligned("t2s"),
        characters=characters,
        phrases=script_words.alternation(_shortest(phrases)) if phrases else None,
        reach=frozenset("".join(phrases)),
        whole=re.compile(f"[{_ranges(whole)}]") if whole else None,
        special=script_words.alternation(_shortest(phrases | _own_keys(characters))),
        kinds=kinds,
        traditional=_any_of(kinds, TRADITIONAL),
        simplified=_any_of(kinds, SIMPLIFIED),
        folds=folds,
        foldable=re.compile(f"[{''.join(map(chr, folds))}]"),
    )


def by_library(text: str) -> str:
    """Exactly what the library's `t2s` gives."""
    return _converted(text, own=False)


def simplified(text: str) -> str:
    """What the library's `t2s` gives, with our own characters and words over it."""
    if _by_table_alone(text):
        return _by_table(text, own=True)
    return script_words.mend(text, _converted(text, own=True))


def encoded(text: str) -> Codes:
    """The code points of `text`."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def decoded(codes: Codes) -> str:
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


def _by_table_alone(text: str) -> bool:
    known = tables()
    if known.special.search(text) or known.phrases is None:
        return False
    return known.whole is None or known.whole.search(text) is None


def _converted(text: str, *, own: bool) -> str:
    known = tables()
    if known.phrases is None or (known.whole and known.whole.search(text)):
        converted = known.convert(text)
        return converted.translate(script_words.CHARACTERS) if own else converted
    converted = _by_table(text, own=own)
    match = known.phrases.search(text)
    if match is None:
        return converted
    pieces, position = [], 0
    while match:
        start, end = _run(text, *match.span(), known.reach)
        run = _by_phrases(text[start:end])
        pieces += [converted[position:start], run.translate(script_words.CHARACTERS) if own else run]
        position = end
        match = known.phrases.search(text, end)
    return "".join(pieces) + converted[position:]


def _by_table(text: str, *, own: bool) -> str:
    small, large = _table(own)
    return text.translate(small) if len(text) <= SHORT else decoded(large[encoded(text)])


def _run(text: str, start: int, end: int, reach: frozenset[str]) -> tuple[int, int]:
    """text[start:end] with all characters beside it that a phrase may have."""
    while start > 0 and text[start - 1] in reach:
        start -= 1
    while end < len(text) and text[end] in reach:
        end += 1
    return start, end


def _by_phrases(run: str) -> str:
    if len(run) <= _SHORT_RUN:
        return _remembered(run)
    convert = tables().convert
    return "".join(convert(run[place : place + _LONGEST_RUN]) for place in range(0, len(run), _LONGEST_RUN))


@lru_cache(maxsize=8192)
def _remembered(run: str) -> str:
    return tables().convert(run)


@cache
def _table(own: bool) -> tuple[dict[int, str], Codes]:
    """What every character becomes, with our own characters or without: those that change, and all code points."""
    small = {ord(one): value for one, value in tables().characters.items()}
    if own:
        small = script_words.CHARACTERS | {
            one: value.translate(script_words.CHARACTERS) for one, value in small.items()
        }
    large = np.arange(_EVERY, dtype=np.uint32)
    for point, value in small.items():
        large[point] = ord(value)
    return small, large


def _by_asking(library: Any) -> dict[str, str]:
    """The single characters of a package whose inside is closed, which is fast by itself."""
    han = [chr(point) for first, last in ((0x3400, 0x4DBF), (0x4E00, 0x9FFF)) for point in range(first, last + 1)]
    answers = library.convert("\n".join(han)).split("\n")
    return {one: answer for one, answer in zip(han, answers, strict=True) if len(answer) == 1}


def _own_keys(characters: dict[str, str]) -> frozenset[str]:
    """What a text must hold for our own words to change it: one of them, or what becomes a character of a rule."""
    rules = script_words.RULED
    return script_words.FOUND | set(rules) | {one for one, value in characters.items() if value in rules}


def _shortest(phrases: frozenset[str]) -> list[str]:
    """Those that hold no other: where none of them occurs, no phrase does."""
    parts = sorted({len(phrase) for phrase in phrases})
    return [
        phrase
        for phrase in phrases
        if not any(
            phrase[start : start + length] in phrases
            for length in parts
            if length < len(phrase)
            for start in range(len(phrase) - length + 1)
        )
    ]


def _kinds(characters: dict[str, str]) -> npt.NDArray[np.uint8]:
    """Which characters are of one script only: what the table changes and never yields; what it yields that Big5,
    the code of traditional text, does not have."""
    changed = {key: value for key, value in characters.items() if key != value and key < "\uf900"}  # not compatibility
    results = {value for value in changed.values() if value <= "\uffff"}
    kinds = np.zeros(_EVERY, np.uint8)
    simplified = {value for value in results if not _in_big5(value)} | set(_SIMPLIFIED_IN_BIG5)
    for one in simplified - set(_NOT_SIMPLIFIED) - changed.keys():
        kinds[ord(one)] = SIMPLIFIED
    for one in changed.keys() - results - set(_BOTH):
        kinds[ord(one)] = TRADITIONAL
    return kinds


def _ranges(characters: str) -> str:
    """All of them and what lies between, in two ranges (in the basic plane and beyond), which `re` finds fast."""
    planes = [one for one in characters if one <= "\uffff"], [one for one in characters if one > "\uffff"]
    return "".join(f"{min(plane)}-{max(plane)}" for plane in planes if plane)


def _any_of(kinds: npt.NDArray[np.uint8], kind: int) -> re.Pattern[str]:
    return re.compile(f"[{''.join(map(chr, np.flatnonzero(kinds == kind).tolist()))}]")


def _in_big5(character: str) -> bool:
    try:
        character.encode("big5")
    except UnicodeEncodeError:
        return False
    return True
