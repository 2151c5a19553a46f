"""Which script a text is in, and conversion to the wanted one, one character for one, so that offsets stay.

The installed `opencc` is the reference, reached by a table wherever that gives the same (`script_tables`), with a small
table of our own over its known errors (`script_words`). Nothing that is in the wanted script already is converted: on
simplified text every change that `t2s` makes is wrong (萧乾 would become 萧干).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal, NamedTuple, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from zh_elmo.files import BadInput
from zh_elmo.text import script_library, script_tables
from zh_elmo.text.script_library import Convert
from zh_elmo.text.script_library import package as package
from zh_elmo.text.script_tables import SHORT, SIMPLIFIED, TRADITIONAL, decoded, encoded
from zh_elmo.text.script_tables import by_library as by_library

Script = Literal["hans", "hant"]
Target = Literal["keep", "simplified", "traditional", "traditional-hk", "traditional-opencc"]  # traditional: Taiwan
Share = Literal["none", "some", "all"]
Span = tuple[int, int]
_Mask = npt.NDArray[np.bool_]
_Places = npt.NDArray[np.int64]
_Number = TypeVar("_Number", int, _Places)

_CONFIGS = {"simplified": "t2s", "traditional": "s2tw", "traditional-hk": "s2hk", "traditional-opencc": "s2t"}
_SHARES: tuple[Share, ...] = get_args(Share)
_NONE, _SOME, _ALL = range(3)  # places in it
_TELLS = 3  # characters of one script only that let a line decide for itself, whatever its document is


# Which script is it? -------------------------------------------------------------------------------------------------


def count(text: str) -> tuple[int, int]:
    """How many characters of `text` occur in traditional text only, and how many in simplified text only."""
    if text.isascii():
        return 0, 0
    tables = script_tables.tables()
    if len(text) <= SHORT:
        return len(tables.traditional.findall(text)), len(tables.simplified.findall(text))
    kinds = tables.kinds[encoded(text)]
    return int(np.count_nonzero(kinds == TRADITIONAL)), int(np.count_nonzero(kinds == SIMPLIFIED))


class Lines(NamedTuple):
    """`count` of every line of a text."""

    ends: _Places  # after the line feed, and at the end of the text
    traditional: _Places
    simplified: _Places


def by_line(codes: script_tables.Codes) -> Lines:
    """The same for every line of a text, given by its code points."""
    ends = np.append(np.flatnonzero(codes == ord("\n")) + 1, len(codes))
    kinds = script_tables.tables().kinds[codes]
    counts = (np.searchsorted(np.flatnonzero(kinds == kind), ends) for kind in (TRADITIONAL, SIMPLIFIED))
    return Lines(ends, *(np.diff(of_kind, prepend=0) for of_kind in counts))


def detect(text: str) -> Script | None:
    """The script that more of the telling characters belong to; None where they are equal or none."""
    traditional, simplified = count(text)
    if traditional == simplified:
        return None
    return "hant" if traditional > simplified else "hans"


def share(text: str, target: Target = "simplified") -> Share:
    """How much of a line is to be converted: nothing where it has no character of the other script only, or next to
    none; all where those are at least as many as the ones of the wanted script; else (mixed: the rarer script has over
    a tenth) some of it, its characters of the other script."""
    return "none" if target == "keep" else _of_line(*_sides(count(text), target))


def verdict(traditional: int, simplified: int, target: Target = "simplified") -> Share:
    """How much of a document is to be converted, by its `count`s (those of its parts may be added up).

    `none` and `all` where at most a tenth of the telling characters are of the other or of the wanted script; else it
    is mixed (`some`), and each line decides.
    """
    if target == "keep":
        return "none"
    other, wanted = _sides((traditional, simplified), target)
    if other * 9 <= wanted:
        return "none"
    return "all" if wanted * 9 <= other else "some"


def _sides(counts: tuple[_Number, _Number], target: Target) -> tuple[_Number, _Number]:
    """(of the other script, of the wanted script)."""
    traditional, simplified = counts
    return (traditional, simplified) if target == "simplified" else (simplified, traditional)


def _of_line(other: int, wanted: int) -> Share:
    if other == 0:
        return "none"
    if other >= wanted:
        return "all"
    return "some" if other * 9 > wanted else "none"


def _in_document(other: int, wanted: int, document: Share) -> Share:
    """A line in a document: one that has only characters of the wanted script stays; one of three telling characters
    or more, or in a mixed document, decides for itself; any other follows its document."""
    if other == 0:
        return "all" if document == "all" and wanted == 0 else "none"
    return _of_line(other, wanted) if document == "some" or other + wanted >= _TELLS else document


# Conversion ----------------------------------------------------------------------------------------------------------


def converter(target: Target) -> Converter:
    """The conversion of documents to `target`; it pickles. Raises BadInput for what is no target."""
    return Converter(target)


class Converter:
    """A document to the wanted script: character k of the result is character k of the document."""

    def __init__(self, target: Target) -> None:
        _check(target)
        self.target: Target = target

    def __reduce__(self) -> tuple[type[Converter], tuple[Target]]:
        return Converter, (self.target,)

    def __call__(self, text: str, protected: Iterable[Span] = ()) -> str:
        """`text` is a whole document; each of its lines may be an exception (`line`). `protected` stays as it is."""
        if self.target == "keep" or text.isascii():
            return text
        if "\n" not in text:
            return _restored(text, convert(text, share(text, self.target), self.target), protected)
        return _restored(text, self.documents(text, by_line(encoded(text)), [text.count("\n") + 1]), protected)

    def line(self, text: str, document: Share, protected: Iterable[Span] = ()) -> str:
        """One line, or one more part, of a document whose `verdict` is known."""
        if self.target == "keep" or text.isascii():
            return text
        wanted = _in_document(*_sides(count(text), self.target), document)
        return _restored(text, convert(text, wanted, self.target), protected)

    def documents(self, text: str, lines: Lines, sizes: Sequence[int], final: _Mask | None = None) -> str:
        """Documents of so many lines each, one after the other in `text`, as if each were converted alone.
        final: the lines that stay whatever they hold."""
        if self.target == "keep":
            return text
        other, wanted = _sides((lines.traditional, lines.simplified), self.target)
        starts = np.cumsum(sizes) - np.asarray(sizes)
        verdicts = _verdicts(np.add.reduceat(other, starts), np.add.reduceat(wanted, starts))
        shares = _shares(other, wanted, np.repeat(verdicts, sizes))
        if final is not None:
            shares[final] = _NONE
        return self._by_runs(text, lines.ends, shares)

    def _by_runs(self, text: str, ends: _Places, shares: _Places) -> str:
        """Runs of lines of which the same share is to be converted, at once."""
        last = np.flatnonzero(np.append(np.diff(shares), 1))  # line of each run
        pieces, start = [], 0
        for end, wanted in zip(ends[last].tolist(), shares[last].tolist(), strict=True):
            pieces.append(convert(text[start:end], _SHARES[wanted], self.target))
            start = end
        return "".join(pieces)


def to_simplified(text: str) -> str:
    """`text`, taken as one line whatever it holds, with its traditional parts in simplified script."""
    return convert(text, share(text))


def convert(text: str, wanted: Share, target: Target = "simplified") -> str:
    """All of `text`, or only its characters of the other script, to `target`, without asking which script it is in."""
    if wanted == "none" or target == "keep" or text.isascii():
        return text
    converted = script_tables.simplified(text) if target == "simplified" else _library(target)(text)
    if wanted == "all":
        return converted
    codes = encoded(text)
    other = script_tables.tables().kinds[codes] == (TRADITIONAL if target == "simplified" else SIMPLIFIED)
    return decoded(np.where(other, encoded(converted), codes))


def to_traditional(text: str) -> str:
    """What the library's `s2t` gives: OpenCC's own standard of traditional characters."""
    return _library("traditional-opencc")(text)


def fold(text: str) -> str:
    """`text` with the characters that conversion may or may not change brought to one form, for comparing editions of
    one text across scripts; not for reading (乾坤 becomes 干坤)."""
    tables = script_tables.tables()
    return text.translate(tables.folds) if tables.foldable.search(text) else text


@cache
def _library(target: Target) -> Convert:
    return script_library.aligned(_CONFIGS[target])


def _check(target: str) -> None:
    if target in get_args(Target):
        return
    due = f"due is one of {', '.join(get_args(Target))}"
    config = target.removesuffix(".json")
    called = "simplified" if config in ("tw2s", "hk2s") else {c: name for name, c in _CONFIGS.items()}.get(config)
    if called:
        raise BadInput(f"script = {target!r} of OpenCC is called {called!r} here; {due}", usage=True)
    if config.startswith(("s2", "t2", "tw2", "hk2")) and re.search("(?<!j)p$", config):
        why = "also exchanges words, and with them lengths (U盘 becomes 隨身碟): words could not be found"
        raise BadInput(f"script = {target!r} {why} in the text again; write {_plain(config)!r}", usage=True)
    raise BadInput(f"script = {target!r}: {due}", usage=True)


def _plain(config: str) -> Target:
    """The target nearest to a configuration of OpenCC that exchanges words."""
    if config.endswith("2sp"):
        return "simplified"
    return "traditional-hk" if config == "s2hkp" else "traditional"


def _verdicts(other: _Places, wanted: _Places) -> _Places:
    """`verdict` of many documents, as places in _SHARES."""
    return np.where(other * 9 <= wanted, _NONE, np.where(wanted * 9 <= other, _ALL, _SOME))


def _shares(other: _Places, wanted: _Places, documents: _Places) -> _Places:
    """`_in_document` of many lines, each with the verdict of its document."""
    of_line = np.where(other >= wanted, _ALL, np.where(other * 9 > wanted, _SOME, _NONE))
    alone = np.where((documents == _SOME) | (other + wanted >= _TELLS), of_line, documents)
    return np.where(other > 0, alone, np.where((documents == _ALL) & (wanted == 0), _ALL, _NONE))


def _restored(text: str, converted: str, protected: Iterable[Span]) -> str:
    for start, end in protected:
        converted = converted[:start] + text[start:end] + converted[end:]
    return converted
