"""Which paragraphs are text worth learning from: by what share of them is Han, kana, private use or damaged, by their
language."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from zh_elmo.corpus import language
from zh_elmo.recipe import Count, Settings, Share
from zh_elmo.text.characters import HAN

_HAN = re.compile(f"[{HAN}]")
_KANA_HANGUL = re.compile("[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]")
_PRIVATE = re.compile("[\ue000-\uf8ff\ufffd\U000f0000-\U0010ffff]")
_LETTER = re.compile(r"[^\W\d_]")
_OTHER = re.compile(r"[0-9A-Za-z]")
# UTF-8 read as GBK (鈥 for “ and ”, 銆 for 。 and 、, 锛 for ，), U+FFFD read as GBK (锟斤拷), memory of debuggers
_MOJIBAKE = re.compile("锟斤拷|烫烫烫|屯屯屯|ï»¿|鈥|銆|锛|Ã[\u0080-\u00bf]|â€")


class Filters(Settings):
    """`[corpus.filters]`: what a paragraph must be like. 0 (or 1 for an upper bound) asks for nothing."""

    han: Share = 0.0  # at least this share of what is not white space is Han
    letters: Share = 0.0  # at least this share is letters of any script
    kana: float = 1.0  # at most this share is kana or hangul
    private: float = 1.0  # at most this share is private use or U+FFFD
    ascii: float = 1.0  # at most this share is ASCII letters and digits
    shortest: Count = 0  # characters, white space apart
    longest: Count = 0  # characters; 0: any
    mojibake: bool = False  # drop what was decoded by the wrong table
    languages: list[str] = msgspec.field(default_factory=list)  # drop what is surely in another, as ISO 639-1; []: none

    def __post_init__(self) -> None:
        for name in ("kana", "private", "ascii"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a share, from 0 to 1")
        language.checked(self.languages)


NONE = Filters()


def prepare(filters: Filters) -> None:
    """Raises BadInput (usage) where a package is missing that these filters need."""
    language.prepare(_languages(tuple(filters.languages)))


@cache
def _languages(names: tuple[str, ...]) -> tuple[str, ...]:
    return language.checked(names)


def fault(text: str, filters: Filters, raw: str | None = None) -> str | None:
    """Why a paragraph (normalised, without white space) is dropped; None where it is not. raw: the same with its white
    space, without which languages in Latin letters cannot be told."""
    if filters == NONE or not text:
        return None
    size = len(text)
    if size < filters.shortest:
        return f"shorter than {filters.shortest} characters"
    if filters.longest and size > filters.longest:
        return f"longer than {filters.longest} characters"
    if filters.mojibake and _MOJIBAKE.search(text):
        return "decoded by the wrong table"
    for pattern, bound, most, what in (
        (_HAN, filters.han, False, "Han"), (_LETTER, filters.letters, False, "letters"),
        (_KANA_HANGUL, filters.kana, True, "kana or hangul"), (_PRIVATE, filters.private, True, "private use"),
        (_OTHER, filters.ascii, True, "ASCII letters and digits"),
    ):  # fmt: skip
        if bound == (1.0 if most else 0.0):
            continue
        share = len(pattern.findall(text)) / size
        if (share > bound) if most else (share < bound):
            return f"{'more' if most else 'less'} than {bound:.1%} {what}"
    if filters.languages:
        return language.foreign(text if raw is None else raw, _languages(tuple(filters.languages)))
    return None
