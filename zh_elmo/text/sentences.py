"""Sentence boundaries in normalised text: stops, quotes and brackets, ellipses, abbreviations, list numbers.

A newline always ends a sentence. While a quote or a bracket is open nothing ends; closing marks belong to the
sentence that ends before them; "……" ends one only before an opening quote or at the end. ；：，、 and ～ never do.
"""

from __future__ import annotations

import re
from collections import Counter

from zh_elmo.text.characters import HAN, composes, continues

Span = tuple[int, int]

MAX_CHARACTERS = 500  # of a sentence
OPENERS = dict(zip("“‘「『（(《〈【〔", "”’」』）)》〉】〕", strict=True))
_CLOSERS = "".join(OPENERS.values())
_CLOSING = frozenset([*_CLOSERS, '"'])
_QUOTES = '“‘「『"'
SPEECH = "“「"  # openers of quotations that are seen at one glance
PATIENCE = 300  # characters after which an open quote or bracket is taken for one that lost its partner
STOPS = "。！？!?"
_SPEECH_END = "".join(OPENERS[mark] for mark in SPEECH)
_MARKS = f'{STOPS}….\n"{"".join(OPENERS)}{_CLOSERS}'
_INTERESTING = re.compile(f"[{_MARKS}]")
_END_RUN = re.compile(f"[{STOPS}]+[{STOPS}…]*|…+[{STOPS}]*|[.]")
_CLOSING_RUN = re.compile(f'[{_CLOSERS}"]*')
# A whole sentence in which nothing is to be weighed, as most are: quotes and brackets close before they hold a mark,
# dots stand before letters and digits, and no closing mark or ellipsis is near.
_PAIRS = "|".join(f"[{opener}][^{_MARKS}]*+[{closer}]" for opener, closer in [*OPENERS.items(), ('"', '"')])
_BEGINNING = f'(?:[^{STOPS}….\n"{"".join(OPENERS)}]++|{_PAIRS}|[.](?=[A-Za-z0-9]))*+'
_SIMPLE = re.compile(f'{_BEGINNING}(?:[{STOPS}]++(?![…"{_CLOSERS}])|\n|\\Z)')
# The next most frequent: whole sentences in a quotation that holds no other quote or bracket.
_RUN = f"(?:[{STOPS}]+[{STOPS}…]*|…+[{STOPS}]*)"
_RUNS = re.compile(_RUN)
_INSIDE = f"(?:[^{_MARKS}]|[.](?=[A-Za-z0-9]))"
_SPOKEN = re.compile(
    f"{_BEGINNING}(?P<open>[{SPEECH}])(?P<body>{_INSIDE}*+(?:{_RUN}{_INSIDE}++)*+)"
    f'(?:(?P<last>{_RUN})[{_SPEECH_END}](?![{STOPS}…"{_CLOSERS}])|[{_SPEECH_END}])'
)
_GOES_ON = re.compile("[，、；：,;:的这那這]")  # after a quotation that ends in a stop
_SPEECH = re.compile(
    "[^，。！？；：、,.!?;:“‘「『\n]{0,3}?[说道问喊叫骂說問喝嚷答吼][^“‘「『：:\n]{0,2}?[。，！？,.!?]"
)
_ABBREVIATION = re.compile(r"(?:\b[A-Za-z]|\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|Nos|vs|etc|Vol|pp?|Fig|Inc|Ltd|Co|Jr|Sr))$")
_LIST_NUMBER = re.compile(r"(?:^|[\n。！？…!? ])(?:\d{1,3}|[A-Za-z])$")
_CAPITAL_OR_HAN = re.compile(rf"[A-Z{HAN}“‘「『（(《\"]")


def split(text: str, max_characters: int = MAX_CHARACTERS, counts: Counter[str] | None = None) -> list[Span]:
    """Spans of the sentences of `text` (normalised), without the white space between them; they cover all the rest.

    Sentences longer than `max_characters` are cut after ； or ， or anywhere but inside an ASCII word. To `counts` are
    added `sentences`, those of them that were `cut`, the `pieces` that these became; and stops that ended none, by
    reason: `in open` quotes or brackets, `in ellipsis`, `after quote` or `after bracket` of a sentence that goes on,
    `in abbreviation` (initials, titles, list numbers).
    """
    counted: dict[str, int] = {}
    spans: list[Span] = []
    start = 0
    while start < len(text):
        end = next_end(text, start, counted)
        if 0 < end - start <= max_characters and not (text[start].isspace() or text[end - 1].isspace()):
            spans.append((start, end))
        else:
            parts = pieces(text, start, end, max_characters)
            spans += parts
            if len(parts) > 1:
                counted["cut"] = counted.get("cut", 0) + 1
                counted["pieces"] = counted.get("pieces", 0) + len(parts)
        start = end
    if counts is not None:
        counts.update(counted, sentences=len(spans) - counted.get("pieces", 0) + counted.get("cut", 0))
    return spans


def next_end(text: str, start: int, counts: dict[str, int], *, hard: bool = False) -> int:
    """Where the sentence that begins at `start` ends. counts: see `split`. hard: it is known that something is to be
    weighed."""
    place = start
    in_open = after_quote = 0
    while hard or not (match := _SIMPLE.match(text, place)):
        hard = False
        match = _SPOKEN.match(text, place)
        if not match or not _is_pair(text, match.start("open"), match.end()):
            return _weighed_end(text, start, counts)
        in_open += len(_RUNS.findall(match["body"]))
        place = match.end()
        if match["last"]:
            if not quotation_goes_on(text, place):
                break
            after_quote += 1
    for why_not, number in (("in open", in_open), ("after quote", after_quote)):
        if number:
            counts[why_not] = counts.get(why_not, 0) + number
    return match.end()


def _is_pair(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] is a quotation whose marks belong together, near enough."""
    return OPENERS[text[start]] == text[end - 1] and end - 1 - start <= PATIENCE


def quotation_goes_on(text: str, after: int) -> bool:
    """Whether a quotation that ends in a stop is only a part of its sentence."""
    return bool(_GOES_ON.match(text, after) or _SPEECH.match(text, after))


def _weighed_end(text: str, start: int, counts: dict[str, int]) -> int:
    opened: list[tuple[str, int]] = []  # (what closes it, where it was opened)
    read = start  # up to where closing marks have been looked at already
    for match in _INTERESTING.finditer(text, start):
        place = match.start()
        if place < read:
            continue
        mark = text[place]
        if opened and place - opened[0][1] > PATIENCE:
            opened.clear()
        if mark in OPENERS:
            opened.append((OPENERS[mark], place))
        elif mark == "\n":
            return place + 1
        elif mark in _CLOSING:
            if _close(opened, mark) is None and mark == '"':
                opened.append((mark, place))
        elif mark != "." or _dot_ends(text, start, place, counts):
            read, why_not = _end(text, start, place, opened)
            if why_not is None:
                return read
            counts[why_not] = counts.get(why_not, 0) + 1
    return len(text)


def _close(opened: list[tuple[str, int]], mark: str) -> tuple[str, int] | None:
    """Take what `mark` closes, and what was left open inside of it, off the stack."""
    for depth in range(len(opened) - 1, -1, -1):
        if opened[depth][0] == mark:
            closed = opened[depth]
            del opened[depth:]
            return closed
    return None


def _end(text: str, start: int, place: int, opened: list[tuple[str, int]]) -> tuple[int, str | None]:
    """Marks that may end a sentence begin at `place`: (where to read on, why the sentence does not end there)."""
    last: tuple[str, int] | None = None  # what was closed after the marks
    ellipsis = True
    after = place
    while True:  # stops, closing marks, and stops again: “……吗？”。
        run = _END_RUN.match(text, after)
        if run is None or (after > place and run.group()[0] not in STOPS):
            break
        ellipsis = ellipsis and set(run.group()) == {"…"}
        after = run.end()
        for mark in _CLOSING_RUN.match(text, after).group():  # type: ignore[union-attr]  # matches nothing as well
            closed = _close(opened, mark)
            if closed is None and mark == '"':
                break  # a straight quote that opens
            last = closed or last
            after += 1
    if opened:
        return after, "in open"
    if ellipsis and last is None:
        ends = after == len(text) or text[after] in _QUOTES + "\n"
        return after, None if ends else "in ellipsis"
    if last is None or text[after - 1] not in _CLOSING:
        return after, None
    return after, _after(text, start, after, last)


def _after(text: str, start: int, after: int, closed: tuple[str, int]) -> str | None:
    """After "stop, closing mark": why the sentence goes on, which the quotation is only a part of."""
    closer, opened_at = closed
    if closer in "）)》〉】〕":
        return "after bracket" if opened_at > start else None  # opened inside the sentence
    return "after quote" if quotation_goes_on(text, after) else None


def _dot_ends(text: str, start: int, place: int, counts: dict[str, int]) -> bool:
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
    if not after.strip() or after[0] == "\n":
        return True
    if _ABBREVIATION.search(before) or _LIST_NUMBER.search(before):
        counts["in abbreviation"] = counts.get("in abbreviation", 0) + 1
        return False
    return True


def pieces(text: str, start: int, end: int, limit: int) -> list[Span]:
    """text[start:end] without outer white space, cut where it is longer than `limit`."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    parts: list[Span] = []
    while end - start > limit:
        cut = _cut(text, start, start + limit)
        parts += pieces(text, start, cut, limit)
        start = cut
        while start < end and text[start].isspace():
            start += 1
    return [*parts, (start, end)] if start < end else parts


def _cut(text: str, start: int, end: int) -> int:
    """The best place in (start, end] to cut: after ；, else after ，, else not inside an ASCII word or a cluster, else
    not among marks that NFC moves."""
    for marks in ("；;", "，,、：:"):
        place = max(text.rfind(mark, start + 1, end) for mark in marks)
        if place > start:
            return place + 1
    for glued in (_glued, _composed):
        place = end
        while place > start + 1 and glued(text, place):
            place -= 1
        if place > start + 1:
            return place
    return end


def _glued(text: str, place: int) -> bool:
    """Whether text[place - 1] and text[place] must not be parted."""
    left, right = text[place - 1], text[place]
    if continues(right):
        return True
    return (left.isascii() and left.isalnum() and right.isascii() and right.isalnum()) or not (
        right.isalnum() or right.isspace() or right.isascii() or "\u3000" <= right <= "\uffef"
    )


def _composed(text: str, place: int) -> bool:
    return composes(text[place])
