"""What a process that was started to work for another must know of it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import wait


def end_with_parent() -> None:
    """Stop as if asked (SIGTERM) as soon as the parent is gone, also by SIGKILL, so that no orphan computes on."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel,), daemon=True).start()


def _watch(sentinel: int) -> None:
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
