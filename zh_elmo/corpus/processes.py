"""Tasks to chunks, here or in processes of this machine. The chunks are the same to the byte."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from zh_elmo.corpus.chunk import pack, write
from zh_elmo.corpus.cut import Cutter, Task
from zh_elmo.corpus.work import Work

_AHEAD = 3  # tasks in flight for each worker


def cut(cutter: Cutter, work: Work, tasks: Iterator[Task], *, workers: int) -> Iterator[int]:
    """See to it that `work` has the chunk of every task; yields the characters read for each, in order, whether it is
    cut now or was there."""
    if workers <= 1:
        for number, task in enumerate(tasks):
            if not work.has(number):
                write(work.path(number), pack(cutter(task)))
            work.number = number + 1
            yield task.read
        return
    # Not forked: the parent may have threads of torch.
    with ProcessPoolExecutor(workers, get_context("spawn"), _begin_worker, (cutter,)) as pool:
        try:
            yield from _in_order(pool.submit, work, tasks, workers * _AHEAD)
        except BrokenProcessPool:
            reasons = 'for lack of memory, or because the script that calls build has no `if __name__ == "__main__"`'
            raise OSError(f"a worker process died, perhaps {reasons}; try one worker") from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _in_order(submit: Callable[..., Future[None]], work: Work, tasks: Iterator[Task], ahead: int) -> Iterator[int]:
    """At most `ahead` tasks in flight."""
    waiting: deque[tuple[Future[None] | None, int]] = deque()
    for number, task in enumerate(tasks):
        there = work.has(number)
        waiting.append((None if there else submit(_work, task, work.path(number)), task.read))
        work.number = number + 1
        while waiting and (len(waiting) >= ahead or waiting[0][0] is None):
            yield _done(*waiting.popleft())
    while waiting:
        yield _done(*waiting.popleft())


def _done(future: Future[None] | None, read: int) -> int:
    if future is not None:
        future.result()
    return read


_cutter: Cutter | None = None  # of a worker process


def _begin_worker(cutter: Cutter) -> None:
    global _cutter
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is told, and ends us
    _cutter = cutter


def _work(task: Task, path: Path) -> None:
    assert _cutter is not None
    write(path, pack(_cutter(task)))
