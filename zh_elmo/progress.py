"""How far along, how fast, how long still: a bar on a terminal, a plain line now and then in a log."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, TextIO

_LOG_EVERY = 10.0  # seconds between plain lines


def duration(seconds: float) -> str:
    """12 s; 3 min 05 s; 2 h 07 min."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class Progress:
    """`with Progress("pretrain", total=100_000, unit="words") as p: p.advance(512, loss="5.4")`.

    `total=None` is for work whose size is not known: rate and count are shown, no time left. `begin` is what an
    earlier run had done; it counts towards the total, not towards the rate.
    """

    def __init__(
        self,
        title: str,
        total: float | None = None,
        *,
        unit: str = "",
        begin: float = 0,
        stream: TextIO | None = None,
        quiet: bool = False,
    ) -> None:
        self.title, self.total, self.unit, self.done, self.begin = title, total, unit, begin, begin
        self.stream = stream or sys.stderr
        self.quiet = quiet
        self.shown: dict[str, Any] = {}
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        self.started = self._last = time.monotonic()
        if not self.quiet and self.stream.isatty():
            self._open_bar()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if not self.quiet:
            self._line(final=kind is None)

    def advance(self, amount: float = 1, **shown: Any) -> None:
        """Count `amount` more units; keyword arguments are shown beside (`loss="5.4"`)."""
        self.done += amount
        if self.total is not None:
            self.total = max(self.total, self.done)  # which may be an estimate
        self.shown.update(shown)
        if self.quiet:
            return
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, rest=self._rest())
        elif time.monotonic() - self._last >= _LOG_EVERY:
            self._last = time.monotonic()
            self._line(final=False)

    @property
    def rate(self) -> float:
        """Units a second since the start of this run."""
        return (self.done - self.begin) / max(time.monotonic() - self.started, 1e-9)

    def _open_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = [TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[rest]}")]
        self._bar = Bar(*columns, console=Console(file=self.stream), transient=True)
        self._task = self._bar.add_task(self.title, total=self.total, rest="")
        self._bar.start()

    def _rest(self) -> str:
        parts = [self._count(), f"{self.rate:,.0f} {self.unit}/s".replace(" /", "/")]
        if self.total and self.done < self.total and self.done > self.begin:
            parts.append(f"{duration((self.total - self.done) / self.rate)} left")
        return ", ".join(parts + [f"{name} {value}" for name, value in self.shown.items()])

    def _count(self) -> str:
        if self.total is None:
            return f"{self.done:,.0f} {self.unit}".strip()
        share = f" ({100 * self.done / self.total:.0f} %)" if self.total else ""
        return f"{self.done:,.0f} of {self.total:,.0f} {self.unit}".strip() + share

    def _line(self, final: bool) -> None:
        took = f", took {duration(time.monotonic() - self.started)}" if final else ""
        print(f"{self.title}: {self._rest()}{took}", file=self.stream, flush=True)
