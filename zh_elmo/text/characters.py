"""Tables of characters that the normaliser folds, removes, or looks at: what each is, and where the list is from."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # inside a character class
_HAN = re.compile(f"[{HAN}]")

# Unicode, EquivalentUnifiedIdeograph.txt, U+2E81..U+2EF3; "?" at U+2E9A, which is not assigned.
_RADICALS_SUPPLEMENT = (
    "厂乛乚乙亻冂𠘨刀刂卜㔾小小兀尣尢𡯂巳幺彑\U0002b739忄心扌攵?旡日月歺母民氵氺灬爫爫丬牛犭"
    "王𤴔目示礻𥫗糹纟罓罒㓁冗𦉫羊𦍌𦍋耂肀聿肉𦥑艹艹艹虎衤覀西见角𧢲讠贝𧾷车辶辶辶邑钅"
    "長镸长门𨸏阝雨青韦页风飞食𩙿飠饣𩠐马骨鬼鱼鸟卤麦黄黾斉齐歯齿竜龙龜亀龟"
)

# Private use in which the GB18030 tables of 2000 and 2005 left characters that Unicode has had since.
_GB18030 = {
    0xE5E5: 0x20, 0xE7C7: 0x1E3F, 0xE7C8: 0x1F9,
    0xE78D: 0xFE10, 0xE78E: 0xFE12, 0xE78F: 0xFE11, 0xE790: 0xFE13, 0xE791: 0xFE14,
    0xE792: 0xFE15, 0xE793: 0xFE16, 0xE794: 0xFE17, 0xE795: 0xFE18, 0xE796: 0xFE19,
    0xE81E: 0x9FB4, 0xE826: 0x9FB5, 0xE82B: 0x9FB6, 0xE82C: 0x9FB7, 0xE832: 0x9FB8,
    0xE843: 0x9FB9, 0xE854: 0x9FBA, 0xE864: 0x9FBB,
    0xE816: 0x20087, 0xE817: 0x20089, 0xE818: 0x200CC, 0xE831: 0x215D7, 0xE83B: 0x2298F, 0xE855: 0x241FE,
}  # fmt: skip
_SPACES = [0x09, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000]
_LINE_ENDS = [0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029]


def _folds() -> dict[int, int]:
    table = dict.fromkeys(_SPACES, 0x20) | dict.fromkeys(_LINE_ENDS, 0x0A) | _GB18030
    for first, last, ascii_first in ((0xFF10, 0xFF19, "0"), (0xFF21, 0xFF3A, "A"), (0xFF41, 0xFF5A, "a")):
        table |= {point: ord(ascii_first) + point - first for point in range(first, last + 1)}
    table |= {point: ord(unicodedata.normalize("NFKC", chr(point))) for point in range(0x2F00, 0x2FD6)}  # Kangxi
    table |= {0x2E81 + place: ord(han) for place, han in enumerate(_RADICALS_SUPPLEMENT) if han != "?"}
    return table


FOLDS = _folds()  # code point -> code point: white space, line ends, full-width letters and digits, radicals, GB18030

# Removed wherever they stand: controls but line ends and tab, soft hyphen, invisible format characters, bidirectional
# marks, byte order marks, interlinear annotation, variation selectors, non-characters.
REMOVED = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u180b-\u180e\u200b\u200c\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffc\ufdd0-\ufdef\U000e0100-\U000e01ef"
    + "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(17))
)
JOINER = "\u200d"  # kept between two emoji, removed elsewhere
BLACK_FLAG = "\U0001f3f4"  # the only base after which tag characters (subdivision flags) are kept
TAGS = "\U000e0000-\U000e007f"
SURROGATES = "\ud800-\udfff"

# Extended_Pictographic with modifiers and regional indicators, widened to whole blocks (but for two brackets, U+2329
# and U+232A, which NFC exchanges).
EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u2328\u232b-\u23ff\u25aa-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)

# Characters of combining class 0 that nevertheless belong to the one before: jamo and Indic vowel signs
# (NFC_Quick_Check=Maybe of the Unicode Character Database), and five that NFC takes apart into marks or that it makes.
JAMO = "\u1161-\u1175\u11a8-\u11c2"
_COMPOSING_STARTERS = (
    f"{JAMO}\u0fb5\u0fb7\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dcf\u0ddf"
    "\u0f73\u0f75\u0f81\u102e\u1b35\U00011127\U0001133e\U00011357\U000114b0\U000114ba\U000114bd\U000115af\U00011930"
)
_composing = re.compile(f"[{_COMPOSING_STARTERS}]")
_jamo = re.compile(f"[{JAMO}]")
_removed = re.compile(f"[{REMOVED}]")


def composes(character: str) -> bool:
    """Whether the character belongs to the cluster (starter with its marks) of the one before it."""
    return unicodedata.combining(character) != 0 or _composing.match(character) is not None


@cache
def marks() -> str:
    """All characters of the category Mark, for a character class; the `re` module knows no categories."""
    ranges: list[tuple[int, int]] = []
    for point in (*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0)):
        if unicodedata.category(chr(point))[0] == "M":
            if ranges and ranges[-1][1] == point - 1:
                ranges[-1] = (ranges[-1][0], point)
            else:
                ranges.append((point, point))
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


def continues(character: str) -> bool:
    """Whether no word begins with the character where another one stands before it: a mark that the normaliser keeps,
    or a vowel or final consonant of Korean. Each character but the first that NFC makes of one is such a one."""
    if unicodedata.category(character)[0] == "M":
        return _removed.match(character) is None
    return _jamo.match(character) is not None


def is_han(character: str) -> bool:
    """Whether `character` (one, or the empty string) is a Chinese character; 〇 is one."""
    return _HAN.match(character) is not None
