"""How far all jobs are: a live board on a terminal, plain lines in a log."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, TextIO

from zh_elmo.progress import duration

_LOG_EVERY = 15.0  # seconds between plain lines on what is running
_SHARE = re.compile(r"\((\d+) %\)")  # in a line of Progress
_OVERDUE = 0.1  # a job that takes longer than was thought takes this share of what it has taken longer still
_TRUST = 20.0  # seconds of agreement that the guesses begin with


class Board:
    """`with Board("suite", expected={"tagger": 20.0, ...}, workers=2) as board:`; told what begins and ends.

    `expected` are guesses of seconds. The time left is what they say for the jobs that are left, corrected by how
    those that are done compare with theirs, and for the running ones what their own progress says.
    """

    def __init__(
        self,
        title: str,
        expected: Mapping[str, float],
        workers: int,
        *,
        stream: TextIO | None = None,
        quiet: bool = False,
    ) -> None:
        self.title, self.expected, self.workers = title, dict(expected), workers
        self.stream, self.quiet = stream or sys.stderr, quiet
        self.left = dict(expected)
        self.running: dict[str, float] = {}
        self.lines: dict[str, str] = {}
        self.whole: dict[str, float] = {}  # seconds that a running job takes in all, by the share that it says is done
        self.took: dict[str, float] = {}
        self.failures = 0
        self._live: Any = None

    def __enter__(self) -> Board:
        self.started = self._last = time.monotonic()
        if not self.quiet and self.stream.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(file=self.stream), transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        state = "interrupted" if kind is not None else f"{self.failures} failed" if self.failures else "all done"
        self._print(f"{self._count()}, {state}, took {duration(time.monotonic() - self.started)}")

    def began(self, name: str) -> None:
        self.running[name] = time.monotonic()

    def said(self, name: str, line: str) -> None:
        """The last line that a job wrote; one of `Progress` tells how much of it is done."""
        self.lines[name] = line
        share = _SHARE.search(line)
        if share and int(share[1]):
            self.whole[name] = (time.monotonic() - self.running[name]) * 100 / int(share[1])

    def finished(self, name: str, seconds: float | None) -> None:
        """`seconds=None`: done by an earlier run."""
        if seconds is not None:
            self.took[name] = seconds
        self._leave(name, "was done before" if seconds is None else f"took {duration(seconds)}")

    def failed(self, name: str, reason: str) -> None:
        self.failures += 1
        self._leave(name, f"FAILED: {reason}")

    def tick(self) -> None:
        """Show how things stand, in a log not too often."""
        now = time.monotonic()
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text("\n".join([self._head(), *(f"  {line}" for line in self._bodies())])), refresh=True)
        elif now - self._last >= _LOG_EVERY:
            self._print("; ".join([self._head(), *self._bodies()]))

    def time_left(self) -> float:
        """Seconds; `_TRUST` seconds of jobs that took what was expected are added to what is known."""
        expected = sum(self.expected[name] for name in self.took)
        pace = (sum(self.took.values()) + _TRUST) / (expected + _TRUST)
        now = time.monotonic()
        left = [pace * self.left[name] for name in self.left if name not in self.running]
        for name, began in self.running.items():
            ran = now - began
            left.append(max(self.whole.get(name, pace * self.left[name]) - ran, _OVERDUE * ran))
        return max(sum(left) / self.workers, max(left, default=0.0))

    def _leave(self, name: str, how: str) -> None:
        for gone in (self.running, self.left, self.lines, self.whole):
            gone.pop(name, None)
        rest = f"; about {duration(self.time_left())} left" if self.left else ""
        self._print(f"{self._count()}, {name} {how}{rest}")

    def _print(self, line: str) -> None:
        if self.quiet:
            return
        self._last = time.monotonic()
        if self._live is not None:
            self._live.console.print(f"{self.title}: {line}", markup=False, highlight=False, soft_wrap=True)
        else:
            print(f"{self.title}: {line}", file=self.stream, flush=True)

    def _count(self) -> str:
        return f"{len(self.expected) - len(self.left)} of {len(self.expected)} jobs"

    def _head(self) -> str:
        so_far = duration(time.monotonic() - self.started)
        return f"{self._count()}, {so_far} so far, about {duration(self.time_left())} left"

    def _bodies(self) -> list[str]:
        now = time.monotonic()
        return [f"{name}: {self.lines.get(name) or duration(now - began)}" for name, began in self.running.items()]
