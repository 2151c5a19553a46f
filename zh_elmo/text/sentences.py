"""Sentence boundaries in normalised text: stops, quotes and brackets, ellipses, abbreviations, list numbers.

A newline always ends a sentence. While a quote or a bracket is open nothing ends; closing marks belong to the
sentence that ends before them; "……" ends one only before an opening quote or at the end. ；：，、 and ～ never do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from zh_elmo.text.characters import HAN

Span = tuple[int, int]

_OPENERS = dict(zip("“‘「『（(《〈【〔", "”’」』）)》〉】〕", strict=True))
_CLOSING = frozenset([*_OPENERS.values(), '"'])
_QUOTES = '“‘「『"'
_PATIENCE = 300  # characters after which an open quote or bracket is taken for one that lost its partner
_INTERESTING = re.compile(f'[。！？!?….\n"{"".join(_OPENERS)}{"".join(_OPENERS.values())}]')
_END_RUN = re.compile("[。！？!?]+[。！？!?…]*|…+[。！？!?]*|[.]")
_CLOSERS = re.compile(f"[{''.join(_CLOSING)}]*")
_GOES_ON = re.compile("[，、；：,;:的这那這]")  # after a quotation that ends in a stop
_SPEECH = re.compile(
    "[^，。！？；：、,.!?;:“‘「『\n]{0,3}?[说道问喊叫骂說問喝嚷答吼][^“‘「『：:\n]{0,2}?[。，！？,.!?]"
)
_ABBREVIATION = re.compile(r"(?:\b[A-Za-z]|\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|Nos|vs|etc|Vol|pp?|Fig|Inc|Ltd|Co|Jr|Sr))$")
_LIST_NUMBER = re.compile(r"(?:^|[\n。！？…!? ])(?:\d{1,3}|[A-Za-z])$")
_CAPITAL_OR_HAN = re.compile(rf"[A-Z{HAN}“‘「『（(《\"]")


def split(text: str, max_characters: int = 500) -> list[Span]:
    """Spans of the sentences of `text` (normalised), without the white space between them; they cover all the rest.

    Sentences longer than `max_characters` are cut after ； or ， or anywhere but inside an ASCII word.
    """
    spans: list[Span] = []
    start = 0
    for end in _boundaries(text):
        spans += _pieces(text, start, end, max_characters)
        start = end
    return spans + _pieces(text, start, len(text), max_characters)


def _boundaries(text: str) -> Iterator[int]:
    """Where sentences end, in rising order."""
    opened: list[tuple[str, int]] = []  # (what closes it, where it was opened)
    start = 0  # of the sentence
    read = 0  # up to where closing marks have been looked at already
    for match in _INTERESTING.finditer(text):
        place = match.start()
        if place < read:
            continue
        mark = text[place]
        if opened and place - opened[0][1] > _PATIENCE:
            opened.clear()
        if mark in _OPENERS:
            opened.append((_OPENERS[mark], place))
        elif mark == "\n":
            opened.clear()
            start = place + 1
            yield start
        elif mark in _CLOSING:
            if _close(opened, mark) is None and mark == '"':
                opened.append((mark, place))
        elif mark != "." or _dot_ends(text, start, place):
            read, ends = _end(text, start, place, opened)
            if ends:
                start = read
                yield start


def _close(opened: list[tuple[str, int]], mark: str) -> tuple[str, int] | None:
    """Take what `mark` closes, and what was left open inside of it, off the stack."""
    for depth in range(len(opened) - 1, -1, -1):
        if opened[depth][0] == mark:
            closed = opened[depth]
            del opened[depth:]
            return closed
    return None


def _end(text: str, start: int, place: int, opened: list[tuple[str, int]]) -> tuple[int, bool]:
    """Marks that may end a sentence begin at `place`: (where to read on, whether the sentence ends there)."""
    end = _END_RUN.match(text, place).end()  # type: ignore[union-attr]  # it begins with one
    last: tuple[str, int] | None = None
    after = end
    for mark in _CLOSERS.match(text, end).group():  # type: ignore[union-attr]  # matches the empty string as well
        closed = _close(opened, mark)
        if closed is None and mark == '"':
            break  # a straight quote that opens
        last = closed or last
        after += 1
    if opened:
        return after, False
    if set(text[place:end]) == {"…"} and last is None:
        return after, after == len(text) or text[after] in _QUOTES + "\n"
    return after, last is None or _ends_after(text, start, after, last)


def _ends_after(text: str, start: int, after: int, closed: tuple[str, int]) -> bool:
    """After "stop, closing mark": not where the quotation is part of a sentence that goes on."""
    closer, opened_at = closed
    if closer in "）)》〉】〕":
        return opened_at <= start  # a bracket opened inside the sentence does not end it
    return not (_GOES_ON.match(text, after) or _SPEECH.match(text, after))


def _dot_ends(text: str, start: int, place: int) -> bool:
    """A dot after Chinese is a stop if no letter or digit follows; after Latin only before a space and a capital or
    Chinese, or at the end, and not in an initial, a title, or the number of a list item."""
    before, after = text[max(start, place - 8) : place], text[place + 1 : place + 3]
    if not before or before[-1] == ".":
        return False
    if not (before[-1].isascii() and before[-1].isalnum()):
        return not (after[:1] == "." or (after[:1].isascii() and after[:1].isalnum()))
    if after[:1] not in ("", " ", "\n"):
        return False
    if after.strip() and not _CAPITAL_OR_HAN.match(after.lstrip()):
        return False
    at_end = not after.strip() or after[0] == "\n"
    return at_end or not (_ABBREVIATION.search(before) or _LIST_NUMBER.search(before))


def _pieces(text: str, start: int, end: int, limit: int) -> list[Span]:
    """text[start:end] without outer white space, cut where it is longer than `limit`."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    pieces: list[Span] = []
    while end - start > limit:
        cut = _cut(text, start, start + limit)
        pieces += _pieces(text, start, cut, limit)
        start = cut
        while start < end and text[start].isspace():
            start += 1
    return [*pieces, (start, end)] if start < end else pieces


def _cut(text: str, start: int, end: int) -> int:
    """The best place in (start, end] to cut: after ；, else after ，, else not inside an ASCII word or a cluster."""
    for marks in ("；;", "，,、：:"):
        place = max(text.rfind(mark, start + 1, end) for mark in marks)
        if place > start:
            return place + 1
    place = end
    while place > start + 1 and _glued(text, place):
        place -= 1
    return place if place > start + 1 else end


def _glued(text: str, place: int) -> bool:
    """Whether text[place - 1] and text[place] must not be parted."""
    left, right = text[place - 1], text[place]
    return (left.isascii() and left.isalnum() and right.isascii() and right.isalnum()) or not (
        right.isalnum() or right.isspace() or right.isascii() or "\u3000" <= right <= "\uffef"
    )
