"""Sentence boundaries of a long text at once: `sentences.split` by arrays, and one by one where marks are weighed."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

import numpy as np
import numpy.typing as npt

from zh_elmo.text import sentences

Codes = npt.NDArray[np.uint32]
Places = npt.NDArray[np.int64]

_STOP, _NEWLINE, _ELLIPSIS, _DOT, _QUOTE, _PAIR = 1, 2, 3, 4, 5, 16  # an opener is _PAIR + 2 k, what closes it 1 more


def _table() -> npt.NDArray[np.uint8]:
    kinds = np.zeros(0x110000, np.uint8)
    for mark in sentences.STOPS:
        kinds[ord(mark)] = _STOP
    for mark, kind in (("\n", _NEWLINE), ("…", _ELLIPSIS), (".", _DOT), ('"', _QUOTE)):
        kinds[ord(mark)] = kind
    for number, (opener, closer) in enumerate(sentences.OPENERS.items()):
        kinds[ord(opener)], kinds[ord(closer)] = _PAIR + 2 * number, _PAIR + 2 * number + 1
    return kinds


_KINDS = _table()
_SPACE = np.zeros(0x110000, bool)
_SPACE[[point for point in range(0x3001) if chr(point).isspace()]] = True
_ALNUM = np.zeros(0x110000, bool)
_ALNUM[[*range(48, 58), *range(65, 91), *range(97, 123)]] = True


def split(text: str, codes: Codes, max_characters: int, counts: Counter[str]) -> tuple[Places, Places]:
    """(starts, ends) of the spans that `sentences.split` gives, and the same `counts`. codes: those of `text`."""
    if not text:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    ends, hard = _ends_and_hard(codes)
    starts = np.concatenate(([0], ends[:-1]))
    starts, ends = _weighed(text, starts, ends, hard, counts)
    starts, ends = _trimmed(codes, starts, ends)
    counts["sentences"] += len(starts)
    return _capped(text, starts, ends, max_characters, counts)


def _ends_and_hard(codes: Codes) -> tuple[Places, Places]:
    """Where sentences end if nothing is to be weighed, and the marks that ask for weighing."""
    kinds = _KINDS[codes]
    places = np.flatnonzero(kinds)
    events = kinds[places]
    after = np.append(events[1:], 0)  # the next event
    beside = np.append(kinds, 0)[places + 1]  # the next character
    stops = (events == _STOP) & (beside != _STOP)
    followed = (beside == _ELLIPSIS) | (beside == _QUOTE) | ((beside > _PAIR) & (beside % 2 == 1))
    opener = (events >= _PAIR) & (events % 2 == 0)
    hard = (opener & (after != events + 1)) | (events == _ELLIPSIS) | (stops & followed) | _unpaired(events)
    dots = np.flatnonzero(events == _DOT)
    hard[dots] = ~np.append(_ALNUM[codes[1:]], False)[places[dots]]
    ends = places[(stops & ~followed) | (events == _NEWLINE)] + 1
    if not len(ends) or ends[-1] != len(codes):
        ends = np.append(ends, len(codes))
    return ends, places[hard]


def _unpaired(events: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Straight quotes without a partner: the last one of an odd number with no other mark between."""
    quotes: npt.NDArray[np.bool_] = events == _QUOTE
    if not quotes.any():
        return quotes
    before = np.concatenate(([False], quotes[:-1]))
    last = quotes & ~np.append(quotes[1:], False)
    places = np.arange(len(events))
    begins = np.maximum.accumulate(np.where(quotes & ~before, places, -1))
    unpaired: npt.NDArray[np.bool_] = last & ((places - begins) % 2 == 0)
    return unpaired


def _weighed(text: str, starts: Places, ends: Places, hard: Places, counts: Counter[str]) -> tuple[Places, Places]:
    """The same with the sentences in which something is weighed taken one by one, until both ways meet at an end."""
    first = np.unique(np.searchsorted(ends, hard, "right"))
    if not len(first):
        return starts, ends
    keep = np.ones(len(ends), bool)
    all_starts = [*starts.tolist(), len(text)]
    more: list[tuple[int, int]] = []
    place = 0
    for row, start in zip(first.tolist(), starts[first].tolist(), strict=True):
        if start < place:
            continue
        place, is_hard = start, True
        while True:
            end = sentences.next_end(text, place, counts, hard=is_hard)
            more.append((place, end))
            place = end + text.startswith("\n", end)  # a line feed alone is no sentence
            there = bisect_left(all_starts, place, row)
            if all_starts[there] == place:
                break
            is_hard = False
        keep[row:there] = False
    extra = np.array(more, np.int64)
    starts, ends = np.concatenate((starts[keep], extra[:, 0])), np.concatenate((ends[keep], extra[:, 1]))
    order = np.argsort(starts, kind="stable")
    return starts[order], ends[order]


def _trimmed(codes: Codes, starts: Places, ends: Places) -> tuple[Places, Places]:
    """Without the white space around each; those that are nothing else are left out."""
    rows = np.arange(len(starts))
    while len(rows := rows[_SPACE[codes[ends[rows] - 1]]]):
        ends[rows] -= 1
        rows = rows[starts[rows] < ends[rows]]
    keep = starts < ends
    starts, ends = starts[keep], ends[keep]
    rows = np.arange(len(starts))
    while len(rows := rows[_SPACE[codes[starts[rows]]]]):  # ends at the latest at the last character, which is none
        starts[rows] += 1
    return starts, ends


def _capped(text: str, starts: Places, ends: Places, limit: int, counts: Counter[str]) -> tuple[Places, Places]:
    long = np.flatnonzero(ends - starts > limit)
    if not len(long):
        return starts, ends
    pieces: list[tuple[int, int]] = []
    for start, end in zip(starts[long].tolist(), ends[long].tolist(), strict=True):
        parts = sentences.pieces(text, start, end, limit)
        pieces += parts
        counts["cut"] += 1
        counts["pieces"] += len(parts)
    extra = np.array(pieces, np.int64)
    keep = np.ones(len(starts), bool)
    keep[long] = False
    starts, ends = np.concatenate((starts[keep], extra[:, 0])), np.concatenate((ends[keep], extra[:, 1]))
    order = np.argsort(starts, kind="stable")
    return starts[order], ends[order]
