"""What processes that are started to work for another (spawned, so that they share nothing) must be told."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import wait


@contextmanager
def without_interrupts() -> Iterator[None]:
    """A process that is started here inherits that SIGINT is blocked: Ctrl-C on a terminal reaches the parent alone,
    which stops it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which the first start would do, and unblock SIGINT after it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent() -> None:
    """Stop as if asked (SIGTERM) as soon as the parent is gone, also by SIGKILL, so that no orphan computes on."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel,), daemon=True).start()


def _watch(sentinel: int) -> None:
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
