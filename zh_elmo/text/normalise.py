"""NFC plus a small table, never NFKC; for every output character the input span that it came from is kept.

Policy: surrogates joined, line ends to LF, invisible characters removed, white space runs to one space, full-width
letters and digits to ASCII (full-width punctuation stays), radicals to ideographs, private use of old Chinese code
tables mended, NFC; on request half-width Chinese punctuation to full width and one kind of quotes. Idempotent.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import groupby
from math import inf
from typing import Literal, NamedTuple

from zh_elmo.files import BadInput
from zh_elmo.text import characters
from zh_elmo.text.punctuation import full_width, requote

Edit = tuple[int, int, str]  # text[start:end] becomes the string
Block = tuple[int, int, int, int]  # output[0:1] came from input[2:3] as a whole; empty where the input was removed
Drop = Literal["space", "control", "zero-width", "selector", "tag", "noncharacter"]


class Normalised(NamedTuple):
    """The text, and where it is not its input: outside of the blocks, which are in order, it goes on one by one."""

    text: str
    blocks: tuple[Block, ...] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The input span of output[start:end], which must not be empty."""
        if not self.blocks:
            return start, end
        return self._origin(start)[0], self._origin(end - 1)[1]

    def parts(self, place: int) -> bool:
        """Whether output[place - 1] and output[place] came from one piece of the input, so that no word may begin
        there (one character of the input that NFC writes as two, or a letter with marks that it has no character for).
        """
        return bool(self.blocks) and 0 < place < len(self.text) and self._origin(place - 1)[1] > self._origin(place)[0]

    def _origin(self, place: int) -> tuple[int, int]:
        """The input span of output[place]."""
        number = bisect_right(self.blocks, (place, inf, inf, inf)) - 1
        if number < 0:
            return place, place + 1
        _, end, from_start, from_end = self.blocks[number]
        if place < end:
            return from_start, from_end
        return from_end + place - end, from_end + place - end + 1


_SURROGATE = re.compile("[\ud800-\udfff](?:(?<=[\ud800-\udbff])[\udc00-\udfff])?")
_TAGS = re.compile(f"[{characters.TAGS}]")
_JOINERS_OR_TAGS = re.compile(f"{characters.JOINER}+|[{characters.TAGS}]+")
_EMOJI = re.compile(f"[{characters.EMOJI}]")
_SPACES = re.compile(r" (?: +|(?<=\n )|(?=\n)|(?<=\A )|\Z)")  # begins with a literal, which is found fast
_FOLDED = re.compile(f"[{''.join(map(chr, characters.FOLDS))}]")
# Characters beyond the basic plane, one by one in a class, make the search ten times slower: looked for as one range.
_BEYOND = re.compile("[\U0001fffe-\U0010ffff]")
_BASIC = "".join(re.findall("[\0-,.-\uffff](?:-[\0-\uffff])?", characters.REMOVED))  # ranges and single ones
_REMOVED_IN_BASIC = re.compile(f"[{_BASIC}][{_BASIC}]*")  # not [...]+, which `re` finds three times slower
_REMOVED = re.compile(f"[{characters.REMOVED}]+")
_REMOVED_BEYOND = frozenset(  # variation selectors, and two non-characters a plane
    filter(
        _REMOVED.fullmatch,
        map(chr, (*range(0xE0000, 0xE1000), *range(0x1FFFE, 0x110000, 0x10000), *range(0x1FFFF, 0x110000, 0x10000))),
    )
)
_TOUCHED = re.compile(
    f"[{_BASIC}{characters.JOINER}{characters.SURROGATES}{_FOLDED.pattern[1:-1]}{_BEYOND.pattern[1:-1]}]"
)
# What no step has anything to do with, whatever stands beside it: common ideographs, most ASCII, Chinese punctuation.
_PLAIN = re.compile("[\u3400-\u9fff \"-'*+/-9<=>@-~，。、；：？！（）“”‘’《》〈〉【】〔〕…—·～％]*")
_KINDS: dict[Drop, re.Pattern[str]] = {
    "control": re.compile("[\0-\x1f\x7f-\x9f]"),
    "selector": re.compile("[\u180b-\u180d\ufe00-\ufe0f\U000e0100-\U000e01ef]"),
    "tag": _TAGS,
    "noncharacter": re.compile(
        f"[\ufdd0-\ufdef{''.join(chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(17))}]"
    ),
    "zero-width": re.compile(f"[{characters.REMOVED}{characters.JOINER}]"),
}
_CLUSTER = 30  # characters; longer ones are noise (UAX 15, stream-safe text format)
# What NFC may change lies in runs of other characters than ASCII and common ideographs, or stands before such a run.
_NOT_INERT = re.compile("[^\0-\x7f\u3400-\u9fff][^\0-\x7f\u3400-\u9fff]*")


def normalise(
    text: str,
    *,
    punctuation: Literal["keep", "full"] = "keep",
    quotes: Literal["keep", "curly", "corner"] = "keep",
) -> Normalised:
    """Normalise `text`, of any number of lines. Raises BadInput where it is not a str."""
    if not isinstance(text, str):
        raise BadInput(f"text is due (str), not {type(text).__name__}; decode bytes first")
    if quotes != "corner" and _PLAIN.fullmatch(text) and not _has_spaces(text):  # nearly every line of a corpus
        return tuple.__new__(Normalised, (text, ()))  # half the time of Normalised(text)
    now = clean(Normalised(text))
    if quotes != "keep":
        now = Normalised(requote(now.text, quotes), now.blocks)
    return widened(now) if punctuation == "full" else now


def widened(now: Normalised) -> Normalised:
    """Half-width Chinese punctuation to full width, until nothing is left to do."""
    while edits := full_width(now.text):  # ends soon: each round leaves fewer half-width marks
        now = edited(now, edits)
    return now


def clean(now: Normalised) -> Normalised:
    """Steps 1 to 8 of the policy, each where there is something to do."""
    if _TOUCHED.search(now.text):
        now = _by_characters(now)
    if _has_spaces(now.text):  # before NFC, which may take a space and its marks for one cluster, with one span
        now = edited(now, _spaces(now.text))
    if not unicodedata.is_normalized("NFC", now.text):
        now = edited(now, _compositions(now.text))
    return now


def _by_characters(now: Normalised) -> Normalised:
    """Steps 1 to 7 but for runs of spaces."""
    if _SURROGATE.search(now.text):
        now = edited(now, ((*m.span(), _scalar(m.group())) for m in _SURROGATE.finditer(now.text)))
    if "\r\n" in now.text:
        now = edited(now, ((*m.span(), "\n") for m in re.finditer("\r\n", now.text)))
    for one in set(_FOLDED.findall(now.text)):  # few, each replaced faster than str.translate looks at all characters
        now = Normalised(now.text.replace(one, chr(characters.FOLDS[ord(one)])), now.blocks)
    now = edited(now, ((*match.span(), "") for match in _REMOVED_IN_BASIC.finditer(now.text)))
    if not _REMOVED_BEYOND.isdisjoint(_BEYOND.findall(now.text)):
        now = edited(now, ((*match.span(), "") for match in _REMOVED.finditer(now.text)))
    if characters.JOINER in now.text or _TAGS.search(now.text):
        now = edited(now, _joiners_and_tags(now.text))
    return now


def dropped(raw: str, now: Normalised) -> Iterator[tuple[int, Drop]]:
    """Every character of `raw` that is in no span of what became of it, as (where, what kind of character it is)."""
    position = 0  # of the input: everything before is accounted for
    for start, end, from_start, from_end in now.blocks:
        if start == end:
            yield from ((place, kind_of(raw, place)) for place in range(max(position, from_start), from_end))
        position = max(position, from_end)


def kind_of(raw: str, place: int) -> Drop:
    """What kind of character is at a place that is in no word: one that was removed, or white space between words."""
    character = raw[place]
    if "\ud800" <= character <= "\udfff":  # half of what was removed
        start = place - (character >= "\udc00")
        character = _scalar(raw[start : start + 2])
    if chr(characters.FOLDS.get(ord(character), ord(character))) in " \n":
        return "space"
    return next(kind for kind, found in _KINDS.items() if found.match(character))


def _has_spaces(text: str) -> bool:
    """Whether there is a run of spaces, or one at the beginning or the end of a line."""
    return " " in text and ("  " in text or text[0] == " " or text[-1] == " " or "\n " in text or " \n" in text)


def _scalar(surrogates: str) -> str:
    """A pair as the character that it stands for, a lone half as U+FFFD."""
    return surrogates.encode("utf-16", "surrogatepass").decode("utf-16") if len(surrogates) == 2 else "\ufffd"


def _joiners_and_tags(text: str) -> Iterator[Edit]:
    """Zero-width joiners that join no two emoji, and tag characters that follow no flag, go."""
    for match in _JOINERS_OR_TAGS.finditer(text):
        start, end = match.span()
        if text[start] != characters.JOINER:
            if text[start - 1 : start] != characters.BLACK_FLAG:
                yield start, end, ""
        elif start > 0 and _EMOJI.match(text, start - 1) and _EMOJI.match(text, end):
            if end - start > 1:
                yield start, end - 1, ""
        else:
            yield start, end, ""


def _compositions(text: str) -> Iterator[Edit]:
    """NFC cluster by cluster: a starter with its marks and jamo."""
    for match in _NOT_INERT.finditer(text):
        start, last = match.span()
        start -= start > 0 and characters.composes(text[start])
        if unicodedata.is_normalized("NFC", text[start:last]):
            continue
        for end in range(start + 1, last + 1):
            if end < last and characters.composes(text[end]):
                continue
            yield from _composition(text[start:end], start)
            start = end


def _composition(cluster: str, start: int) -> Iterator[Edit]:
    """One cluster, which stands at `start`."""
    composed = unicodedata.normalize("NFC", cluster if len(cluster) <= _CLUSTER else _in_order(cluster))
    number = min(len(cluster), len(composed))
    if composed == cluster:
        return
    if len(cluster) > _CLUSTER:  # mark by mark, and none that is one too many, so that it can be cut anywhere
        for place in range(number):
            begin, end = place * len(cluster) // number, (place + 1) * len(cluster) // number
            yield start + begin, start + end, composed[place]
    elif composed[0] == unicodedata.normalize("NFC", cluster[0]):  # the marks after it are in another order
        yield start, start + 1, composed[0]
        if cluster[1:] != composed[1:]:
            yield start + 1, start + len(cluster), composed[1:]
    else:
        yield start, start + len(cluster), composed


def _in_order(cluster: str) -> str:
    """Its marks as NFC orders them, which `unicodedata` does in time that grows with the square of their number."""
    apart = "".join(unicodedata.normalize("NFD", character) for character in cluster)
    runs = groupby(apart, lambda character: unicodedata.combining(character) > 0)
    return "".join(character for _, run in runs for character in sorted(run, key=unicodedata.combining))


def _spaces(text: str) -> Iterator[Edit]:
    """Runs of spaces to one; none at the beginning or the end of a line."""
    for match in _SPACES.finditer(text):
        start, end = match.span()
        inside = start > 0 and end < len(text) and text[start - 1] != "\n" and text[end] != "\n"
        yield start, end, " " if inside else ""


# Spans ---------------------------------------------------------------------------------------------------------------


def edited(now: Normalised, edits: Iterable[Edit]) -> Normalised:
    """Apply edits, in order and apart from each other; each new character has the whole span of what it replaces."""
    given = list(edits)
    if not given:
        return now
    pieces: list[str] = []
    position = 0
    for start, end, new in given:
        pieces += (now.text[position:start], new)
        position = end
    text = "".join(pieces) + now.text[position:]
    moving = [edit for edit in given if not (edit[1] - edit[0] == 1 == len(edit[2]))]  # one to one: spans stay
    return Normalised(text, tuple(_composed(now, moving)) if moving else now.blocks)


def _composed(now: Normalised, edits: list[Edit]) -> Iterator[Block]:
    """The blocks after the edits: old ones, moved by the edits before them, and one for each edit, which takes the
    place of those that it covers."""
    left = list(reversed(now.blocks))
    moved = 0
    for start, end, new in edits:
        while left and left[-1][1] <= start:
            yield _moved(left.pop(), moved)
        if left and left[-1][0] < start:  # goes on into the edit
            yield _moved((left[-1][0], start, *left[-1][2:]), moved)
        yield start + moved, start + moved + len(new), *now.span(start, end)
        while left and left[-1][1] <= end and left[-1][0] < end:
            left.pop()
        if left and left[-1][0] < end:  # goes on after the edit
            left[-1] = (end, *left[-1][1:])
        moved += len(new) - (end - start)
    while left:
        yield _moved(left.pop(), moved)


def _moved(block: Block, by: int) -> Block:
    start, end, *origin = block
    return start + by, end + by, *origin  # type: ignore[return-value]  # two of them
