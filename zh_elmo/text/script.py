"""Which script a text is in, and traditional to simplified, one character for one, so that offsets stay.

The installed `opencc` is the reference. A fast path equal to it translates lines in which none of its phrases occurs
by a character table; a small table of our own mends its known errors. Text without a traditional-only character is
never converted: on simplified text every change that `t2s` makes is wrong (萧乾 would become 萧干).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from importlib import metadata
from typing import Any, Literal, NamedTuple

from zh_elmo.files import BadInput

# What `t2s` of opencc-python-reimplemented 0.1.7 and OpenCC 1.x leave or get wrong, applied after it, one to one.
_CHARACTERS = str.maketrans("敍枱粧糭衞衹痺簷牠砲姪呉様舖燄擧効", "叙台妆粽卫只痹檐它炮侄吴样铺焰举效")
# The same for words, found in the text before conversion.
_PHRASES = {
    "乾安縣": "乾安县", "乾西五所": "乾西五所", "乾德": "乾德", "王丙乾": "王丙乾", "覆核": "复核", "甚麼": "什么",
    "沈重": "沉重", "英哩": "英里", "公哩": "公里",
    # names of the library's table that are nearly always the preposition 於 before another word (設於倫敦, 屬於單一)
    "於倫": "于伦", "於單": "于单", "於坦": "于坦", "於其一": "于其一", "於則": "于则", "於穆": "于穆",
    "於惟一": "于惟一", "於琳": "于琳",
}  # fmt: skip
_OWN_PHRASES = re.compile("|".join(_PHRASES))
# 著 is 着 (看著, 沿著, 著急) but in words of writing, of fame and of being plain to see; 祇 is 只 but in 神祇 and 地祇;
# 瞭 is 了 but in 瞭望.
_RULES = (
    ("著", re.compile("(?<![名原巨鉅专專论論译譯合编編显顯卓昭土拙遗遺])著(?![名作称稱述者书書录錄])"), "着"),
    ("祇", re.compile("(?<![神地])祇"), "只"),
    ("瞭", re.compile("瞭(?!望)"), "了"),
)
# Traditional-only by the table, but written in simplified text as well (乾坤, 哪吒).
_BOTH = "乾麽吒"
# Simplified forms that Big5 has as rare characters of their own, but that no traditional text uses.
_SIMPLIFIED_IN_BIG5 = "与么体儿听圣宁异床复怀怜惊扑扰机构栖气洁洒离网羡肴触赶优吨坏"
_NOT_SIMPLIFIED = "广叶亘床栖羡肴"
_FOLD = str.maketrans(dict(zip("乾於徵著藉瞭覆锺鍾麽甚祇哩沈", "干于征着借了复钟钟么什只里沉", strict=True)))
_PACKAGES = {"reimplemented": "opencc-python-reimplemented", "pure": "opencc-py", "official": "opencc"}
_REPAIR = (
    "pip uninstall -y opencc opencc-py opencc-python-reimplemented, then pip install opencc-python-reimplemented "
    "(three packages bring a module called opencc and overwrite each other)"
)

Script = Literal["hans", "hant"]
Share = Literal["none", "some", "all"]


class Tables(NamedTuple):
    """What the conversion needs, read once from the installed package."""

    convert: Callable[[str], str]  # the library's own t2s
    characters: dict[int, str]  # its single characters
    phrases: re.Pattern[str] | None  # any of its phrase keys; None: no fast path for this package
    separators: re.Pattern[str] | None  # where it cuts a text before it looks for phrases
    traditional: re.Pattern[str]  # a character that only traditional text has
    simplified: re.Pattern[str]
    telling: dict[int, str]  # the part of `characters` that is traditional-only
    folds: dict[int, str]  # `characters`, and on top of it _FOLD; in the basic plane
    foldable: re.Pattern[str]  # a character that `folds` changes


def count(text: str) -> tuple[int, int]:
    """How many characters of `text` occur in traditional text only, and how many in simplified text only."""
    tables = _tables()
    return len(tables.traditional.findall(text)), len(tables.simplified.findall(text))


def detect(text: str) -> Script | None:
    """The script that more of the telling characters belong to; None where they are equal or none."""
    traditional, simplified = count(text)
    if traditional == simplified:
        return None
    return "hant" if traditional > simplified else "hans"


def share(text: str) -> Share:
    """How much of `text` is to be converted to simplified: nothing where it has no traditional-only character or next
    to none; all where those are at least as many as the simplified-only ones; else (mixed: the rarer script has over a
    tenth) some of it, its traditional-only characters."""
    if _tables().traditional.search(text) is None:
        return "none"
    traditional, simplified = count(text)
    if traditional >= simplified:
        return "all"
    return "some" if traditional * 9 > simplified else "none"


def to_simplified(text: str) -> str:
    """`text` with its traditional parts in simplified script; character k of the result is character k of `text`.

    How much to convert is decided for the text as a whole (`share`).
    """
    return convert(text, share(text))


def convert(text: str, wanted: Share) -> str:
    """All of `text` (the library, then our own table), or only its traditional-only characters, to simplified."""
    if wanted == "all":
        return mend(text, by_library(text))
    return text.translate(_tables().telling) if wanted == "some" else text


def mend(text: str, converted: str) -> str:
    """Our own corrections to what the library made of `text`."""
    converted = converted.translate(_CHARACTERS)
    pieces, position = [], 0
    for match in _OWN_PHRASES.finditer(text):
        pieces += [converted[position : match.start()], _PHRASES[match.group()]]
        position = match.end()
    converted = "".join(pieces) + converted[position:]
    for character, pattern, right in _RULES:
        if character in converted:
            converted = pattern.sub(right, converted)
    return converted


def by_library(text: str) -> str:
    """Exactly what the library's `t2s` gives: by its character table where no phrase of it occurs in `text`."""
    tables = _tables()
    if tables.phrases is None or tables.separators is None:
        return tables.convert(text)
    if tables.phrases.search(text) is None:
        return text.translate(tables.characters)
    pieces = tables.separators.split(text)
    return "".join(_piece(piece) for piece in pieces)


@lru_cache(maxsize=4096)
def _piece(piece: str) -> str:
    """One piece between separators (or a separator, which has no entry in any table)."""
    tables = _tables()
    if tables.phrases is not None and tables.phrases.search(piece) is None:
        return piece.translate(tables.characters)
    return tables.convert(piece)


def fold(text: str) -> str:
    """`text` with the characters that conversion may or may not change brought to one form, for comparing editions of
    one text across scripts; not for reading (乾坤 becomes 干坤)."""
    tables = _tables()
    return text.translate(tables.folds) if tables.foldable.search(text) else text


def to_traditional(text: str) -> str:
    """Exactly what the library's `s2t` gives: OpenCC's own standard of traditional characters."""
    converted: str = _to_traditional().convert(text)
    return converted


def package() -> dict[str, str]:
    """Which package brings the module `opencc`: {"package", "version"}."""
    name = _PACKAGES[_kind(_opencc())]
    try:
        return {"package": name, "version": metadata.version(name)}
    except metadata.PackageNotFoundError:
        return {"package": name, "version": "unknown"}


def _opencc() -> Any:
    try:
        import opencc
    except ImportError as error:
        raise BadInput(f"script conversion needs the module opencc ({error}): {_REPAIR}") from None
    if not hasattr(opencc, "OpenCC"):
        raise BadInput(f"the module opencc is damaged: {_REPAIR}")
    return opencc


def _kind(module: Any) -> str:
    if hasattr(module.OpenCC, "set_conversion"):
        return "reimplemented"
    return "pure" if hasattr(module, "_opencc_pure") else "official"


@cache
def _to_traditional() -> Any:
    return _opencc().OpenCC("s2t")


@cache
def _tables() -> Tables:
    library = _opencc().OpenCC("t2s")
    try:
        return _open_tables(library)
    except (AttributeError, TypeError, ValueError, IndexError):  # another package, or its inside has changed
        return _closed_tables(library)


def _open_tables(library: Any) -> Tables:
    """From the inside of opencc-python-reimplemented: one stage of two dictionaries, phrases and characters."""
    ((*stage,),) = library._dict_chain_data
    first = {key: value.split(" ")[0] for _, _, entries in reversed(stage) for key, value in entries.items()}
    if any(len(key) != len(value) for key, value in first.items()):
        raise ValueError("a conversion that changes the length")
    phrases = [key for key in first if len(key) > 1]
    shortest = [key for key in phrases if not any(other != key and other in key for other in phrases)]
    characters = {key: value for key, value in first.items() if len(key) == 1}
    return _with_characters(library, characters, _alternation(shortest), library.split_chars_re)


def _closed_tables(library: Any) -> Tables:
    """For a package whose inside is closed (it is fast by itself): single characters by asking for each."""
    han = [chr(point) for first, last in ((0x3400, 0x4DBF), (0x4E00, 0x9FFF)) for point in range(first, last + 1)]
    answers = library.convert("\n".join(han)).split("\n")
    characters = {one: answer for one, answer in zip(han, answers, strict=True) if len(answer) == 1}
    return _with_characters(library, characters, None, None)


def _with_characters(
    library: Any, characters: dict[str, str], phrases: re.Pattern[str] | None, separators: re.Pattern[str] | None
) -> Tables:
    """Which characters are of one script only: what the table changes and never yields; what it yields that Big5,
    the code of traditional text, does not have."""
    changed = {key: value for key, value in characters.items() if key != value}
    results = set(changed.values())
    traditional = set(changed) - results - set(_BOTH)
    simplified = {value for value in results if not _in_big5(value)} | set(_SIMPLIFIED_IN_BIG5)
    simplified -= set(_NOT_SIMPLIFIED) | set(changed)
    table = {ord(key): value for key, value in characters.items()}
    folds = {**_FOLD, **{point: chr(one) for point, one in _CHARACTERS.items()}}
    folds |= {point: one.translate(_CHARACTERS).translate(_FOLD) for point, one in table.items()}
    folds = {point: one for point, one in folds.items() if point <= 0xFFFF and one != chr(point)}
    return Tables(
        convert=library.convert,
        characters=table,
        phrases=phrases,
        separators=separators,
        traditional=_any_of(traditional),
        simplified=_any_of(simplified),
        telling={ord(key): characters[key] for key in traditional},
        folds=folds,
        foldable=_any_of({chr(point) for point in folds}),
    )


def _in_big5(character: str) -> bool:
    try:
        character.encode("big5")
    except UnicodeEncodeError:
        return False
    return True


def _any_of(characters: set[str]) -> re.Pattern[str]:
    """Rare characters outside the basic plane are left out: they tell little, and make `re` ten times slower."""
    return re.compile(f"[{''.join(one for one in sorted(characters) if one <= chr(0xFFFF))}]")


def _alternation(keys: list[str]) -> re.Pattern[str]:
    """Any of the keys, grouped by first character, which is what keeps the search fast."""
    groups: dict[str, list[str]] = {}
    for key in sorted(keys):
        groups.setdefault(key[0], []).append(re.escape(key[1:]))
    return re.compile("|".join(f"{first}(?:{'|'.join(rests)})" for first, rests in groups.items()))
