"""Words of any language by the rules of Unicode: our regular expression, or the ICU library; the setting says which.

Source: Unicode Standard Annex 29 (Text Segmentation), word boundaries. The expression follows it for alphabetic
scripts: letters and digits with their marks, joined by one apostrophe or full stop or middle dot between letters
(l'eau, U.S, l·l) and by one full stop, comma or apostrophe between digits (3.14, 1,000). Two rules are ours: a hyphen
between two letters or digits joins them (well-known, 2024-05-06), which ICU does not do; Chinese, Japanese, Thai, Lao,
Khmer and Burmese, whose words no rule finds, are cut into characters with their marks (ICU has dictionaries). Emoji
sequences are one word, every other mark is a word of its own.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache
from typing import Any, Literal, TypeVar

from zh_elmo.files import BadInput
from zh_elmo.text.characters import HAN, marks
from zh_elmo.text.segmenters.pieces import PICTURE, Cut

Rules = Literal["regex", "icu"]
Text = TypeVar("Text", str, bytes)

_SINGLE = (  # scripts without blanks between words: Han, kana, Bopomofo, Thai, Lao, Burmese, Khmer
    f"{HAN}\u3005\u3006\u303b\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff\uff66-\uff9f\U0001b000-\U0001b16f"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"
)
_JOINERS = "\u200c\u200d"  # inside words of Persian and of Indian languages


def cutter(rules: Rules) -> Cut:
    """Raises BadInput (usage) where ICU is asked for and not there."""
    return _expression().findall if rules == "regex" else _by_icu()


def facts(rules: Rules) -> str:
    if rules == "regex":
        return f"regex, Unicode {unicodedata.unidata_version}"
    icu = _icu()
    return f"ICU {icu.ICU_VERSION} by PyICU {icu.VERSION}"


@cache
def _expression() -> re.Pattern[str]:
    mark = f"[{marks()}{_JOINERS}]"
    letter = f"[^\\W\\d_{_SINGLE}]"
    run = f"(?:[^\\W{_SINGLE}]{mark}*)+"
    joint = (
        f"(?<={letter}|{mark})['’.·](?={letter})|(?<=\\d)[.,'’](?=\\d)"
        f"|(?<=[^\\W_{_SINGLE}]|{mark})[-\u2010](?=[^\\W_{_SINGLE}])"
    )
    return re.compile(f"{PICTURE}|{run}(?:(?:{joint}){run})*|\\S{mark}*")


# ICU -----------------------------------------------------------------------------------------------------------------


def _icu() -> Any:
    try:
        import icu
    except ImportError as error:
        raise BadInput(
            f"unicode_rules = icu needs PyICU ({error}): pip install 'zh-elmo[icu]' (it compiles against ICU, on "
            "Debian libicu-dev and pkg-config; pip install pyicu-wheels brings it compiled), or unicode_rules = regex",
            usage=True,
        ) from None
    return icu


def _by_icu() -> Cut:
    icu = _icu()
    iterator = icu.BreakIterator.createWordInstance(icu.Locale.getRoot())
    turn = threading.Lock()  # it holds the text that it is at

    def cut(sentence: str) -> list[str]:
        with turn:
            iterator.setText(sentence)
            ends = list(iterator)
        if not sentence or max(sentence) <= "\uffff":
            pieces = _between(sentence, ends)
        else:  # ICU counts in UTF-16
            units = sentence.encode("utf-16-le", "surrogatepass")
            raw = _between(units, [2 * end for end in ends])
            pieces = [piece.decode("utf-16-le", "surrogatepass") for piece in raw]
        return [piece for piece in pieces if not piece.isspace()]

    return cut


def _between(text: Text, ends: list[int]) -> list[Text]:
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
