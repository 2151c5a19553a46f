"""Sentence boundaries of a long text at once: `sentences.split` by arrays, and one by one where marks are weighed."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from zh_elmo.text import sentences

Codes = npt.NDArray[np.uint32]
Places = npt.NDArray[np.int64]
Kinds = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

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
_SPEECH = _KINDS[[ord(mark) for mark in sentences.SPEECH]]
_SPACE = np.zeros(0x110000, bool)
_SPACE[[point for point in range(0x3001) if chr(point).isspace()]] = True
_ALNUM = np.zeros(0x110000, bool)
_ALNUM[[*range(48, 58), *range(65, 91), *range(97, 123)]] = True


class _Quotations(NamedTuple):
    """Quotations that hold stops and no other mark, of which `sentences._SPOKEN` is the rule one by one."""

    openers: Places  # [n] places among the events
    closers: Places
    full: Mask  # [n] whether a stop stands before the closer
    stops: Mask  # [n events] the stops that are in one
    runs: Places  # [n] runs of stops inside, without one before the closer

    @classmethod
    def of(cls, events: Kinds, places: Places, beside: Kinds) -> _Quotations:
        """beside: the kind of the character after each event."""
        size = len(events)
        is_stop, numbers = events == _STOP, np.arange(size + 1)
        other = np.append(np.where(is_stop, size, numbers[:-1]), size)  # the next event which is no stop
        other = np.minimum.accumulate(other[::-1])[::-1]
        openers = np.flatnonzero(np.isin(events, _SPEECH))
        closers = other[openers + 1]
        there = (closers < size) & (closers > openers + 1)
        openers, closers = openers[there], closers[there]
        full = places[closers - 1] == places[closers] - 1
        kept = (events[closers] == events[openers] + 1) & (places[closers] - places[openers] <= sentences.PATIENCE)
        kept &= ~(full & _closing(beside[closers], stops=True))
        openers, closers, full = openers[kept], closers[kept], full[kept]
        inside = np.zeros(size + 1, np.int8)
        inside[openers] += 1
        inside[closers] -= 1
        begins = is_stop & ~np.append(False, is_stop[:-1] & (np.diff(places) == 1))
        before = np.append(0, np.cumsum(begins))
        runs = before[closers] - before[openers] - full
        return cls(openers, closers, full, is_stop & (np.cumsum(inside)[:-1] > 0), runs)


def split(text: str, codes: Codes, max_characters: int, counts: Counter[str]) -> tuple[Places, Places]:
    """(starts, ends) of the spans that `sentences.split` gives, and the same `counts`. codes: those of `text`."""
    if not text:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    marks = _marks(text, codes)
    starts = np.concatenate(([0], marks.ends[:-1]))
    starts, ends = _weighed(text, starts, marks, counts)
    starts, ends = _trimmed(codes, starts, ends)
    counts["sentences"] += len(starts)
    return _capped(text, starts, ends, max_characters, counts)


class _Marks(NamedTuple):
    ends: Places  # of sentences, if nothing is to be weighed
    hard: Places  # marks that ask for weighing
    quotations: Places  # where those begin that are seen at one glance
    in_open: Places  # runs of stops in each that end no sentence
    after_quote: Mask  # whether it ends in a stop and the sentence goes on


def _marks(text: str, codes: Codes) -> _Marks:
    kinds = _KINDS[codes]
    places = np.flatnonzero(kinds)
    events = kinds[places]
    after = np.append(events[1:], 0)  # the next event
    beside = np.append(kinds, 0)[places + 1]  # the next character
    spoken = _Quotations.of(events, places, beside)
    at_closers = places[spoken.closers] + 1
    goes_on = spoken.full.copy()
    goes_on[goes_on] = [sentences.quotation_goes_on(text, place) for place in at_closers[goes_on].tolist()]
    stops = (events == _STOP) & (beside != _STOP) & ~spoken.stops
    # a mark that closes nothing, as all openers before it are closed or hard, belongs to the sentence
    lone = stops & (beside > _PAIR) & _closing(beside, stops=False)
    lone &= ~_closing(np.append(kinds, [0, 0])[places + 2], stops=True)
    followed = _closing(beside, stops=False)
    is_opener = (events >= _PAIR) & (events % 2 == 0)
    is_opener[spoken.openers] = False
    hard = (is_opener & (after != events + 1)) | (events == _ELLIPSIS) | (stops & followed & ~lone) | _unpaired(events)
    dots = np.flatnonzero(events == _DOT)
    hard[dots] = ~np.append(_ALNUM[codes[1:]], False)[places[dots]]
    ends = places[(stops & ~followed) | (events == _NEWLINE)] + 1
    ends = np.sort(np.concatenate((ends, places[lone] + 2, at_closers[spoken.full & ~goes_on])))
    if not len(ends) or ends[-1] != len(codes):
        ends = np.append(ends, len(codes))
    return _Marks(ends, places[hard], places[spoken.openers], spoken.runs, goes_on)


def _closing(kinds: Kinds, *, stops: bool) -> Mask:
    """Which characters may close something after a stop, or go on with it."""
    found: Mask = (kinds == _ELLIPSIS) | (kinds == _QUOTE) | ((kinds > _PAIR) & (kinds % 2 == 1))
    return found | (kinds == _STOP) if stops else found


def _unpaired(events: Kinds) -> Mask:
    """Straight quotes without a partner: the last one of an odd number with no other mark between."""
    quotes: Mask = events == _QUOTE
    if not quotes.any():
        return quotes
    before = np.concatenate(([False], quotes[:-1]))
    last = quotes & ~np.append(quotes[1:], False)
    places = np.arange(len(events))
    begins = np.maximum.accumulate(np.where(quotes & ~before, places, -1))
    unpaired: Mask = last & ((places - begins) % 2 == 0)
    return unpaired


def _weighed(text: str, starts: Places, marks: _Marks, counts: Counter[str]) -> tuple[Places, Places]:
    """The same with the sentences in which something is weighed taken one by one, until both ways meet at an end."""
    ends = marks.ends
    first = np.unique(np.searchsorted(ends, marks.hard, "right"))
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
    at_glance = keep[np.searchsorted(ends, marks.quotations, "right")]
    for why_not, numbers in (("in open", marks.in_open), ("after quote", marks.after_quote)):
        if number := int(numbers[at_glance].sum()):
            counts[why_not] += number
    if not more:
        return starts, ends
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
