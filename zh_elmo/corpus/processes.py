"""Tasks to chunks, here or in processes of this machine. The chunks are the same to the byte."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from zh_elmo.corpus.chunk import pack, write
from zh_elmo.corpus.cut import Cutter, Task
from zh_elmo.corpus.tasks import Group, Key, Read, reading
from zh_elmo.corpus.work import Work
from zh_elmo.parent import end_with_parent

_AHEAD = 3  # tasks in flight for each process beside this one
_BEHIND = 16  # tasks for each process that may be done before one that is not

_Waiting = tuple[Future[None] | None, Key, int]


def cut(cutter: Cutter, work: Work, groups: Sequence[Group], *, workers: int) -> Iterator[tuple[Key, int]]:
    """See to it that `work` has the chunk of every task, and what is known of every group; yields the key of each in
    order, whether it is cut now or was there, and the characters that were read for it. This process is one of the
    workers: it cuts what the others have no room for."""
    pending = _pending(work, groups)
    if workers <= 1:
        for key, read, task in pending:
            if task is not None:
                write(work.path(key), pack(cutter(task)))
            yield key, read
        return
    # Not forked: the parent may have threads of torch.
    with ProcessPoolExecutor(workers - 1, get_context("spawn"), _begin_worker, (cutter,)) as pool:
        try:
            yield from _shared(cutter, pool, work, pending, workers)
        except BrokenProcessPool:
            reasons = 'for lack of memory, or because the script that calls build has no `if __name__ == "__main__"`'
            raise OSError(f"a worker process died, perhaps {reasons}; try one worker") from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _pending(work: Work, groups: Sequence[Group]) -> Iterator[tuple[Key, int, Task | None]]:
    """(key, characters read, what is to be cut) of every task; None where its chunk is there already."""
    for group in groups:
        left = work.left(group.number)
        if left is not None:  # need not even be read again
            yield from (((group.number, number), 0, None) for number in range(left.tasks - 1))
            yield (group.number, left.tasks - 1), left.read, None
            continue
        for number, item in enumerate(reading(group)):
            key = (group.number, number)
            if isinstance(item, Read):
                work.keep(group.number, item)
            else:
                yield key, item.read, None if work.has(key) else item


def _shared(
    cutter: Cutter, pool: Executor, work: Work, pending: Iterator[tuple[Key, int, Task | None]], workers: int
) -> Iterator[tuple[Key, int]]:
    others: list[Future[None]] = []  # done as soon as one of the other processes is there
    waiting: deque[_Waiting] = deque()
    for number, (key, read, task) in enumerate(pending):
        if number == 1:  # for one task none need be started
            others = [pool.submit(_nothing) for _ in range(workers - 1)]
        future = None
        if task is not None and any(map(_is_done, others)) and _in_flight(waiting) < _AHEAD * (workers - 1):
            future = pool.submit(_work, task, work.path(key))
        elif task is not None:
            write(work.path(key), pack(cutter(task)))
        waiting.append((future, key, read))
        while waiting and (len(waiting) > _BEHIND * workers or _is_done(waiting[0][0])):
            yield _done(*waiting.popleft())
    while waiting:
        yield _done(*waiting.popleft())


def _in_flight(waiting: Iterable[_Waiting]) -> int:
    return sum(not _is_done(future) for future, _, _ in waiting)


def _is_done(future: Future[None] | None) -> bool:
    return future is None or future.done()


def _done(future: Future[None] | None, key: Key, read: int) -> tuple[Key, int]:
    if future is not None:
        future.result()
    return key, read


_cutter: Cutter | None = None  # of a worker process


def _begin_worker(cutter: Cutter) -> None:
    global _cutter
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is told, and ends us
    _cutter = cutter


def _nothing() -> None:
    """What the first process to be ready does at once."""


def _work(task: Task, path: Path) -> None:
    assert _cutter is not None
    write(path, pack(_cutter(task)))
