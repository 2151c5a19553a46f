"""Tasks to chunks, here or in processes of this machine. The chunks are the same to the byte."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path

from zh_elmo.corpus.chunk import pack, write
from zh_elmo.corpus.cut import Cutter, Task
from zh_elmo.corpus.tasks import Group, Key, Read, reading
from zh_elmo.corpus.work import Work
from zh_elmo.spawned import end_with_parent, without_interrupts

_AHEAD = 3  # tasks in flight for each process beside this one
_BEHIND = 16  # tasks for each process that may be done before one that is not

_Pending = Iterator[tuple[Key, int, Task | None]]


def cut(cutter: Cutter, work: Work, groups: Sequence[Group], *, workers: int) -> Iterator[tuple[Key, int]]:
    """See to it that `work` has the chunk of every task, and what is known of every group; yields the key of each in
    order, whether it is cut now or was there, and the characters that were read for it. This process is one of the
    workers: it cuts what the others have no room for. Raises OSError where one of them dies."""
    pending = _pending(work, groups)
    if workers > 1:
        yield from _shared(cutter, work, pending, workers)
        return
    for key, read, task in pending:
        if task is not None:
            write(work.path(key), pack(cutter(task)))
        yield key, read


def _pending(work: Work, groups: Sequence[Group]) -> _Pending:
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


@dataclass
class _Job:
    """A task on its way to a chunk."""

    key: Key
    read: int
    done: bool = False


def _shared(cutter: Cutter, work: Work, pending: _Pending, workers: int) -> Iterator[tuple[Key, int]]:
    others: list[_Other] = []
    waiting: deque[_Job] = deque()
    try:
        for number, (key, read, task) in enumerate(pending):
            if number == 1:  # for one task none need be started
                prepared = work.folder / "cutter"
                prepared.write_bytes(pickle.dumps(cutter))
                others += [_Other(prepared) for _ in range(workers - 1)]
            job = _Job(key, read, done=task is None)
            if task is not None:
                _begin(job, task, work.path(key), cutter, others)
            waiting.append(job)
            _listen(others, 0)
            while waiting and (waiting[0].done or len(waiting) > _BEHIND * workers):
                yield _first(waiting, others)
        while waiting:
            yield _first(waiting, others)
    finally:
        for other in others:
            other.end()


def _begin(job: _Job, task: Task, chunk: Path, cutter: Cutter, others: list[_Other]) -> None:
    """Give a task to the process that has most room for it, or cut it here."""
    free = [other for other in others if other.has_room]
    if free:
        min(free, key=lambda other: len(other.jobs)).give(job, task, chunk)
    else:
        write(chunk, pack(cutter(task)))
        job.done = True


def _first(waiting: deque[_Job], others: list[_Other]) -> tuple[Key, int]:
    job = waiting.popleft()
    while not job.done:
        _listen(others, None)
    return job.key, job.read


def _listen(others: list[_Other], seconds: float | None) -> None:
    """Hear what others have to say, within so many seconds."""
    by_connection = {other.connection: other for other in others}
    for connection in wait(by_connection, seconds) if others else ():
        by_connection[connection].hear()  # type: ignore[index]  # they are connections


class _Other:
    """This side of a worker process. Only names of files pass between the two: tasks lie in the folder of the work,
    since to send so much to a process that computes, or from one, takes long."""

    def __init__(self, cutter: Path) -> None:
        context = get_context("spawn")  # not forked: this process may have threads of torch
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, cutter), daemon=True)
        with without_interrupts():
            self._process.start()
        theirs.close()  # so that its end is seen as the end of the pipe
        self._ready = False
        self.jobs: deque[_Job] = deque()  # in flight

    @property
    def has_room(self) -> bool:
        return self._ready and len(self.jobs) < _AHEAD

    def give(self, job: _Job, task: Task, chunk: Path) -> None:
        chunk.with_suffix(".task").write_bytes(pickle.dumps(task))
        with suppress(OSError):  # it died: `hear` will tell
            self.connection.send(chunk)
        self.jobs.append(job)

    def hear(self) -> None:
        """Raises what it raised, and OSError where it died."""
        try:
            fault = self.connection.recv()
        except (EOFError, OSError):
            raise self._lost() from None
        if fault is not None:
            raise fault
        if self._ready:
            self.jobs.popleft().done = True
        self._ready = True

    def _lost(self) -> OSError:
        self._process.join(5)
        reasons = 'for lack of memory, or because the script that calls build has no `if __name__ == "__main__"`'
        return OSError(f"a worker process died (exit code {self._process.exitcode}), perhaps {reasons}; try one worker")

    def end(self) -> None:
        """At once: what it has not written whole is not there."""
        self._process.terminate()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self.connection.close()


# In the worker process ----------------------------------------------------------------------------------------------


def _serve(connection: Connection, prepared: Path) -> None:
    end_with_parent()
    cutter: Cutter = pickle.loads(prepared.read_bytes())
    with suppress(EOFError, OSError):  # the parent is gone, or has ended us
        connection.send(None)  # ready
        while True:
            connection.send(_fault(cutter, connection.recv()))


def _fault(cutter: Cutter, chunk: Path) -> Exception | None:
    """Cut a task; what went wrong with it."""
    given = chunk.with_suffix(".task")
    try:
        task: Task = pickle.loads(given.read_bytes())
        write(chunk, pack(cutter(task)))
        given.unlink()
    except Exception as error:
        return error
    return None
