"""Which language a paragraph is in, where that is sure: by its scripts where they tell, else by the package lingua.

Chinese, Japanese, Korean, Thai and other languages that have a script to themselves are told by counting characters,
which is free. Kana alone do not make Japanese, since Chinese text quotes names in kana: characters of one national
standard alone (働 or 駅 against 这 or 説) and the commonest words of Chinese weigh in. Cantonese and classical Chinese
are zh. Only where languages that share a script are asked for (en or vi) must their text be told apart, by the trigrams
of lingua: offline, the same on every run, some 30 MB for each process.

Short paragraphs and those in doubt are in no language; they stay.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zh_elmo.files import BadInput
from zh_elmo.text.script_tables import Codes, encoded

if TYPE_CHECKING:
    from lingua import LanguageDetector

_ENOUGH = 5.0  # units of text (a Chinese character, or 4 letters) below which nothing is said
_MOST = 0.7  # of the units must be in one script
_SURE = 0.9  # as sure lingua must be of a language, and as little (one minus this) of those asked for
_LETTERS = 20  # that lingua needs
_CHINESE = ("zh-hans", "zh-hant", "zh-cn", "zh-tw", "zh-hk", "cmn", "yue", "lzh", "wuu", "hak", "nan")
# Scripts by the first word of their characters' names in Unicode, and the language that each tells, if one.
_SCRIPTS = {
    "LATIN": "", "CYRILLIC": "", "ARABIC": "", "DEVANAGARI": "", "CJK": "zh", "HIRAGANA": "ja", "KATAKANA": "ja",
    "HANGUL": "ko", "THAI": "th", "GREEK": "el", "HEBREW": "he", "GEORGIAN": "ka", "ARMENIAN": "hy", "TAMIL": "ta",
    "TELUGU": "te", "GUJARATI": "gu", "GURMUKHI": "pa", "BENGALI": "bn", "KANNADA": "kn", "MALAYALAM": "ml",
    "SINHALA": "si", "KHMER": "km", "LAO": "lo", "MYANMAR": "my", "TIBETAN": "bo", "ETHIOPIC": "am", "MONGOLIAN": "",
}  # fmt: skip
_NAMES = tuple(_SCRIPTS)
_HAN, _HIRAGANA, _KATAKANA = (1 + _NAMES.index(name) for name in ("CJK", "HIRAGANA", "KATAKANA"))
_WHOLE = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL")  # a character of which is worth as much as some letters
# What lingua knows, of the scripts that several languages share.
_SHARED = {
    "LATIN": "af az bs ca cs cy da de en eo es et eu fi fr ga hr hu id is it la lg lt lv mi ms nb nl nn pl pt ro sk sl "
    "sn so sq st sv sw tl tn tr ts vi xh yo zu",
    "CYRILLIC": "be bg kk mk mn ru sr uk",
    "ARABIC": "ar fa ur",
    "DEVANAGARI": "hi mr",
}
_COMMON = "en fr de es pt it nl pl vi id tr cs sv ro hu fi"  # against which a language in Latin letters is told
# Languages that trigrams mistake for each other: a paragraph in one is not sure to be in no other.
_KIN = (
    {"nb", "nn", "da", "sv"}, {"bs", "hr", "sl", "sr"}, {"id", "ms"}, {"cs", "sk"}, {"af", "nl"}, {"xh", "zu"},
    {"st", "tn"}, {"es", "pt", "ca"}, {"ru", "uk", "be"}, {"bg", "mk", "sr"}, {"fa", "ur"}, {"hi", "mr"},
)  # fmt: skip
_ADDRESS = re.compile(r"(?:https?://|www\.)[!-~]+|(?<![\w.+-])[\w.+-]{1,64}@[\w.-]+", re.ASCII)
_QUOTED = re.compile(r"（[^（）]{0,99}）|\([^()]{0,99}\)|《[^《》]{0,99}》")
_FUNCTION = "的是了你她它這这們们那就很吗嗎吧呢没沒么麼说說还還过過把让讓啊"  # rare in Japanese, but for 的
_FOR_ZH, _FOR_JA = 1, 2


def checked(languages: Iterable[str]) -> tuple[str, ...]:
    """The languages as they are told here: zh for every kind of Chinese. Raises BadInput (usage) for what is none."""
    known = {*filter(None, _SCRIPTS.values()), *" ".join(_SHARED.values()).split()}
    found: dict[str, None] = {}
    for language in languages:
        code = language.lower().replace("_", "-")
        code = "zh" if code in _CHINESE else "nb" if code == "no" else code
        if code not in known:
            near = difflib.get_close_matches(code, [*sorted(known), *_CHINESE], n=3) or sorted(known)
            raise BadInput(f"{language!r} is no language known here (ISO 639-1), such as {', '.join(near)}", usage=True)
        found[code] = None
    return tuple(found)


def foreign(text: str, languages: tuple[str, ...]) -> str | None:
    """Why a paragraph (as read, with its spaces) is in none of the languages (`checked`); None where it may be."""
    if "@" in text or "www." in text or "://" in text:
        text = _ADDRESS.sub(" ", text)
    script, language, letters = _told(text)
    if not script or language in languages:
        return None
    wanted = " or ".join(languages)
    if language:
        return f"in {language}, not {wanted}"
    shared = _SHARED.get(script, "").split()
    asked = tuple(code for code in languages if code in shared)
    if not asked:
        return f"in {script.capitalize()} letters, not {wanted}"
    if letters < _LETTERS:
        return None
    found = _by_lingua(text, asked, script)
    return f"in {found}, not {wanted}" if found else None


def _told(text: str) -> tuple[str, str, int]:
    """(script, the language that it tells if it does, letters of it); nothing for what is short or mixed."""
    codes = encoded(text)
    counts = np.bincount(_kinds()[codes], minlength=len(_NAMES) + 1)
    units = counts * _weights()
    east = units[_HAN] + units[_HIRAGANA] + units[_KATAKANA]
    total = float(units.sum())
    if total < _ENOUGH:
        return "", "", 0
    if east >= _MOST * total:
        if counts[_HIRAGANA] + counts[_KATAKANA]:  # names in kana that Chinese text quotes
            codes = encoded(_QUOTED.sub("", text))
        language = _chinese_or_japanese(codes)
        return ("CJK" if language else ""), language, int(east)
    best = int(np.argmax(units))
    if units[best] < _MOST * total or best in (_HAN, _HIRAGANA, _KATAKANA):
        return "", "", 0
    return _NAMES[best - 1], _SCRIPTS[_NAMES[best - 1]], int(counts[best])


def _chinese_or_japanese(codes: Codes) -> str:
    """zh, ja, or nothing where both may be."""
    kinds = np.bincount(_kinds()[codes], minlength=len(_NAMES) + 1)
    han, kana = int(kinds[_HAN]), int(kinds[_HIRAGANA] + kinds[_KATAKANA])
    _, for_zh, characters = np.bincount(_standards()[codes], minlength=3).tolist()
    if kana <= 1 and characters <= 1:
        return "zh" if for_zh or han >= 20 else ""  # a few Han characters alone may be either
    for_ja = characters + kana
    if for_ja >= 0.1 * (han + kana) and for_ja > 2 * for_zh:
        return "ja"
    return "zh" if for_zh > 2 * for_ja else ""


@cache
def _kinds() -> NDArray[np.uint8]:
    """Of every code point the script, 1 + its place in _NAMES; 0 for others and for what is no letter."""
    kinds = np.zeros(0x110000, np.uint8)
    place = {name: number for number, name in enumerate(_NAMES, 1)}
    for point in (*range(0x3400), *range(0xA000, 0xD800), *range(0xF900, 0x10000)):
        character = chr(point)
        if unicodedata.category(character) in ("Ll", "Lu", "Lo", "Lt", "Lm", "Mn", "Mc"):
            name = unicodedata.name(character, "").removeprefix("HALFWIDTH ").removeprefix("FULLWIDTH ")
            kinds[point] = place.get(name.partition(" ")[0], 0)
    kinds[ord("ー")] = kinds[ord("々")] = 0
    kinds[0x3400:0x4DC0] = kinds[0x4E00:0xA000] = kinds[0x20000:0x32000] = kinds[0x3007] = place["CJK"]
    return kinds


@cache
def _weights() -> NDArray[np.float64]:
    """Units that a character of each kind is worth."""
    return np.array([0, *(1 if name in _WHOLE else 0.25 for name in _NAMES)])


@cache
def _standards() -> NDArray[np.uint8]:
    """Of every code point whether it tells Chinese from Japanese: characters that only the Chinese standards have (GB
    2312, and the common half of Big5) and the commonest words of Chinese; characters that only the Japanese one has."""

    def of(codec: str, rows: Iterable[int], cells: Iterable[int]) -> set[int]:
        pairs = (bytes((row, cell)).decode(codec, "ignore") for row in rows for cell in cells)
        return {ord(character) for character in pairs if "\u4e00" <= character <= "\u9fff"}

    upper = range(0xA1, 0xFF)
    china = of("gb2312", range(0xB0, 0xF8), upper)
    taiwan = of("big5", range(0xA4, 0xFA), [*range(0x40, 0x7F), *upper])
    common = of("big5", range(0xA4, 0xC7), [*range(0x40, 0x7F), *upper])
    japan = of("euc_jp", range(0xB0, 0xF5), upper)
    found = np.zeros(0x110000, np.uint8)
    found[sorted(((china | common) - japan) | set(map(ord, _FUNCTION)))] = _FOR_ZH
    found[sorted(japan - china - taiwan)] = _FOR_JA
    return found


# Languages that share a script ---------------------------------------------------------------------------------------


def prepare(languages: tuple[str, ...]) -> None:
    """Raises BadInput (usage) where a package is missing that telling these languages needs."""
    if any(language in codes.split() for language in languages for codes in _SHARED.values()):
        _package(languages)


def _by_lingua(text: str, asked: tuple[str, ...], script: str) -> str:
    """The language of a text in this script, if it is surely none of those asked for; else nothing."""
    values = {
        found.language.iso_code_639_1.name.lower(): found.value
        for found in _detector(asked, script).compute_language_confidence_values(text)
    }
    kin = {code for family in _KIN if family & set(asked) for code in family}.union(asked)
    best = max(values, key=lambda code: values[code])
    return best if values[best] >= _SURE and best not in kin else ""


@cache
def _detector(asked: tuple[str, ...], script: str) -> LanguageDetector:
    """Built where it is first needed, in each process; of few languages, by trigrams alone: 30 MB instead of 350."""
    package = _package(asked)
    shared = set(_SHARED[script].split())
    plausible = {*asked, *(shared & set(_COMMON.split()) if script == "LATIN" else shared)}
    codes = [getattr(package.IsoCode639_1, code.upper()) for code in sorted(plausible)]
    builder = package.LanguageDetectorBuilder.from_iso_codes_639_1(*codes)
    detector: LanguageDetector = builder.with_low_accuracy_mode().build()
    return detector


def _package(languages: Iterable[str]) -> Any:
    """The module."""
    try:
        import lingua
    except ImportError:
        message = f"telling {' and '.join(languages)} from others that share a script needs the package lingua"
        raise BadInput(f"{message}: pip install 'zh-elmo[language]'", usage=True) from None
    return lingua
