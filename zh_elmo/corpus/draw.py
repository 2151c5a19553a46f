"""Tables, bars and curves in plain text: aligned by the width of characters on a terminal, no wider than the page."""

from __future__ import annotations

import locale
import sys
from collections.abc import Sequence
from math import log10
from typing import NamedTuple

from zh_elmo.files import one_line

PAGE = 100  # columns
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a Braille cell, by row and column
_EIGHTHS = " ▏▎▍▌▋▊▉"
_HEIGHT = 9  # lines of a curve


def can_draw() -> bool:
    """Can whoever reads standard output be shown Braille and blocks? Both the stream and the locale must be able to
    write them: `zh-elmo` writes UTF-8 whatever the locale says."""
    for encoding in (getattr(sys.stdout, "encoding", None), locale.getencoding()):
        try:
            (_EIGHTHS + "⠿").encode(encoding or "ascii")
        except (UnicodeEncodeError, LookupError):
            return False
    return True


def width(text: str) -> int:
    """Columns that it takes on a terminal; a Chinese character takes two."""
    from rich.cells import cell_len

    return cell_len(text)


def fit(text: str, columns: int) -> str:
    """At most so many columns, on one line; what is cut off is marked."""
    text = one_line(text, 1 << 16)
    if width(text) <= columns:
        return text
    kept, left = [], columns - 3
    for character in text:
        left -= width(character)
        if left < 0:
            break
        kept.append(character)
    return "".join(kept) + "..."


def fit_end(text: str, columns: int) -> str:
    """The same for paths, whose end says most."""
    text = one_line(text, 1 << 16)
    return text if width(text) <= columns else fit(text[::-1], columns)[::-1]


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """With blanks up to so many columns; right: blanks before it."""
    blanks = " " * max(0, columns - width(text))
    return blanks + text if right else text + blanks


def table(rows: Sequence[Sequence[str]], right: Sequence[bool], *, gap: str = "  ", indent: str = "  ") -> list[str]:
    """Rows as lines. right: which columns stand at the right, as numbers do."""
    if not rows:
        return []
    widths = [max(width(row[column]) for row in rows) for column in range(len(right))]
    lines = (gap.join(pad(cell, widths[n], right=right[n]) for n, cell in enumerate(row)) for row in rows)
    return [(indent + line).rstrip() for line in lines]


def beside(left: Sequence[str], other: Sequence[str], columns: int) -> list[str]:
    """Two blocks of lines side by side, the second one beginning at so many columns or later."""
    height = max(len(left), len(other))
    first, second = [*left, *[""] * (height - len(left))], [*other, *[""] * (height - len(other))]
    columns = max([columns, *(width(line) + 2 for line in left)])
    return [(pad(a, columns) + b).rstrip() for a, b in zip(first, second, strict=True)]


def percent(share: float) -> str:
    """As much of a share as tells it from nothing and from all."""
    value = 100 * share
    if 0 < value < 0.1:
        return "<0.1 %"
    return ">99.9 %" if 99.9 < value < 100 else f"{value:.1f} %"


def short(number: float) -> str:
    """1, 12, 1k, 1.5M: for the ends of an axis."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def bars(rows: Sequence[tuple[str, float]], *, columns: int = 20, blocks: bool = True) -> list[str]:
    """Shares as rows of bars, the longest one of `columns`."""
    most = max((share for _, share in rows), default=0) or 1
    drawn = [(name, _bar(share / most * columns, blocks), percent(share)) for name, share in rows]
    return table(
        [(name, pad(bar, columns), said) for name, bar, said in drawn], (True, False, True), gap=" ", indent="  "
    )


def _bar(length: float, blocks: bool) -> str:
    if not blocks:
        return "#" * round(length)
    whole, eighths = divmod(round(8 * length), 8)
    return "█" * whole + (_EIGHTHS[eighths] if eighths else "")


class Axis(NamedTuple):
    """One side of a plot."""

    low: float
    high: float
    log: bool = False
    unit: str = ""

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high one."""
        low, high = (log10(self.low), log10(self.high)) if self.log else (self.low, self.high)
        at = log10(max(value, self.low)) if self.log else value
        return min(1.0, max(0.0, (at - low) / (high - low))) if high > low else 1.0

    def said(self, share: float) -> str:
        """The value at a share of the way."""
        if self.log:
            return short(10 ** (log10(self.low) + share * (log10(self.high) - log10(self.low)))) + self.unit
        return short(self.low + share * (self.high - self.low)) + self.unit


def curve(
    title: str, xy: Sequence[tuple[float, float]], x: Axis, y: Axis, *, columns: int = 44, blocks: bool = True
) -> list[str]:
    """A line through points, `columns` wide with its axis, and its title above."""
    labels = [y.said(1.0), y.said(0.5), y.said(0.0)]
    margin = max(map(width, labels)) + 1
    across = columns - margin - 1
    dots = _Dots(across, blocks)
    places = [(x.place(a), y.place(b)) for a, b in xy]
    for (a, b), (c, d) in zip(places, [*places[1:], places[-1]], strict=True):
        dots.line(a, b, c, d)
    at = {0: labels[0], _HEIGHT // 2: labels[1], _HEIGHT - 1: labels[2]}
    side = "│" if blocks else "|"
    lines = [pad(at.get(n, ""), margin, right=True) + side + row for n, row in enumerate(dots.rows())]
    foot = " " * margin + ("└" + "─" * across if blocks else "+" + "-" * across)
    first, middle, last = x.said(0.0), x.said(0.5), x.said(1.0)
    gap = (across - width(middle)) // 2 - width(first)
    scale = first + " " * max(1, gap) + middle
    scale += pad(last, across - width(scale), right=True)
    return [line.rstrip() for line in (title, *lines, foot, " " * (margin + 1) + scale)]


class _Dots:
    """A grid of dots: eight in a Braille cell, or one star in a cell."""

    def __init__(self, columns: int, blocks: bool) -> None:
        self.blocks = blocks
        self.wide, self.high = (2 * columns, 4 * _HEIGHT) if blocks else (columns, _HEIGHT)
        self.on: set[tuple[int, int]] = set()

    def line(self, a: float, b: float, c: float, d: float) -> None:
        """From (a, b) to (c, d), all between 0 and 1."""
        steps = 1 + int(max(abs(c - a) * self.wide, abs(d - b) * self.high))
        for step in range(steps + 1):
            share = step / steps
            column = round((a + share * (c - a)) * (self.wide - 1))
            row = round((1 - b - share * (d - b)) * (self.high - 1))
            self.on.add((row, column))

    def rows(self) -> list[str]:
        if not self.blocks:
            return ["".join("*" if (r, c) in self.on else " " for c in range(self.wide)) for r in range(self.high)]
        found = []
        for r in range(0, self.high, 4):
            cells = []
            for c in range(0, self.wide, 2):
                bits = sum(_DOTS[i][j] for i in range(4) for j in range(2) if (r + i, c + j) in self.on)
                cells.append(chr(0x2800 + bits) if bits else " ")
            found.append("".join(cells))
        return found
