"""Jobs in parallel worker processes: each begins when what it needs is done, and what was done before is not redone."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple

import zh_elmo
from zh_elmo.files import BadInput, read_json, write_json, write_text
from zh_elmo.suite.board import Board
from zh_elmo.suite.worker import Worker


class Job(NamedTuple):
    """A call that runs in a worker process.

    `function` is importable by its name and gives plain data (what JSON holds); the `needs` are names of other jobs.
    `key` is plain data that says what the result depends on beside the needs: a job whose key, needs and version of
    zh_elmo are those of an earlier run and whose `outputs` still lie there is not run again. None: it always runs.
    `folder` belongs to the job alone; half-done work in it is kept for a run with the same key, removed for another.
    `threads` are the cores that it occupies, `seconds` how long it may take, for the time left that is shown.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    needs: tuple[str, ...] = ()
    key: Any = None
    outputs: tuple[Path, ...] = ()
    folder: Path | None = None
    threads: int = 1
    seconds: float = 10.0


class Outcome(NamedTuple):
    """What came of all jobs, by name."""

    results: dict[str, Any]
    seconds: dict[str, float]
    failures: dict[str, str]  # one line each; jobs that could not run because of another are in it too
    reused: list[str]  # of `results`: done by an earlier run


def run(
    jobs: Sequence[Job], workers: int, *, records: Path | None = None, title: str = "jobs", quiet: bool = False
) -> Outcome:
    """Run `jobs` on `workers` cores; among those that may begin, the first listed begins first.

    A job that fails stops those that need it and no others; it is named in `failures` and its traceback is written to
    `records`. SIGINT and SIGTERM stop the running jobs (SIGTERM to each, which lets a training write a checkpoint) and
    raise KeyboardInterrupt; what was done stays done. Raises ValueError for a graph that is none.
    """
    _check(jobs)
    pool = _Pool(jobs, max(1, workers), records)
    with Board(title, {job.name: job.seconds for job in jobs}, pool.workers, quiet=quiet) as board, _terminable():
        try:
            pool.run(board)
        except BaseException:
            pool.stop()
            raise
        pool.close()
    return pool.outcome


def fingerprint(job: Job, needed: Mapping[str, str]) -> str:
    """Digest of all that the result of `job` depends on; "" where that is not known."""
    if job.key is None or not all(needed[name] for name in job.needs):
        return ""
    called = f"{job.function.__module__}.{job.function.__qualname__}"
    facts = [zh_elmo.__version__, called, job.key, {name: needed[name] for name in job.needs}]
    return hashlib.sha256(json.dumps(facts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _check(jobs: Sequence[Job]) -> None:
    names: set[str] = set()
    for job in jobs:
        unknown = [name for name in job.needs if name not in names]
        if unknown or job.name in names:
            raise ValueError(f"job {job.name}: {unknown or 'named twice'}; what a job needs is listed before it")
        names.add(job.name)


class _Pool:
    """State of one run: who waits, who works, what is done."""

    def __init__(self, jobs: Sequence[Job], workers: int, records: Path | None) -> None:
        self.workers, self.records = workers, records
        self.waiting = list(jobs)
        self.idle: list[Worker] = []
        self.busy: dict[str, tuple[Job, Worker, float]] = {}
        self.outcome = Outcome({}, {}, {}, [])
        self.prints: dict[str, str] = {}
        for job in jobs:
            self.prints[job.name] = fingerprint(job, self.prints)

    def run(self, board: Board) -> None:
        while self.waiting or self.busy:
            self._begin_what_can(board)
            if self.busy:
                self._listen(board)
            board.tick()

    def stop(self) -> None:
        """End every worker, letting it save; the done are recorded. Interrupted once more, it kills them."""
        try:
            for _, worker, _ in self.busy.values():
                worker.ask_to_stop()
            for job, worker, began in self.busy.values():
                for kind, content in worker.remaining():
                    if kind == "done":
                        self._record(job, "done", time.monotonic() - began, content)
        finally:
            self.close()

    def close(self) -> None:
        for worker in [*self.idle, *(worker for _, worker, _ in self.busy.values())]:
            worker.end()

    # Beginning ------------------------------------------------------------------------------------------------------

    def _begin_what_can(self, board: Board) -> None:
        for job in list(self.waiting):
            lost = [name for name in job.needs if name in self.outcome.failures]
            if lost:
                self.waiting.remove(job)
                self._fail(job, f"not run, since it needs {lost[0]}", board)
            elif all(name in self.outcome.results for name in job.needs):
                if self._reuse(job):
                    self.waiting.remove(job)
                    board.finished(job.name, None)
                elif self._free() >= min(job.threads, self.workers):
                    self.waiting.remove(job)
                    self._begin(job, board)

    def _free(self) -> int:
        return self.workers - sum(min(job.threads, self.workers) for job, _, _ in self.busy.values())

    def _begin(self, job: Job, board: Board) -> None:
        self._clear_other_work(job)
        self._record(job, "begun", 0.0, None)
        self.idle = [worker for worker in self.idle if worker.alive]
        worker = self.idle.pop() if self.idle else Worker()
        self.busy[job.name] = (job, worker, time.monotonic())
        board.began(job.name)
        worker.begin(job.function, job.arguments, min(job.threads, self.workers))

    def _reuse(self, job: Job) -> bool:
        record = self._recorded(job)
        same = bool(self.prints[job.name]) and record.get("fingerprint") == self.prints[job.name]
        if not (same and record.get("state") == "done" and all(path.exists() for path in job.outputs)):
            return False
        self.outcome.results[job.name] = record["result"]
        self.outcome.seconds[job.name] = record["seconds"]
        self.outcome.reused.append(job.name)
        return True

    def _clear_other_work(self, job: Job) -> None:
        """Remove what an earlier run with other settings left in the job's folder."""
        record = self._recorded(job)
        if job.folder is not None and record and record.get("fingerprint") != self.prints[job.name]:
            shutil.rmtree(job.folder, ignore_errors=True)

    # Listening ------------------------------------------------------------------------------------------------------

    def _listen(self, board: Board) -> None:
        """Wait up to a second for what workers say, and act on it."""
        by_connection = {worker.connection: name for name, (_, worker, _) in self.busy.items()}
        for connection in wait(list(by_connection), timeout=1.0):
            name = by_connection[connection]  # type: ignore[index]  # wait gives back what it was given
            job, worker, began = self.busy[name]
            kind, content = worker.message()
            if kind == "said":
                board.said(name, content)
                continue
            del self.busy[name]
            seconds = round(time.monotonic() - began, 2)  # as it is recorded, so that a later run tells the same
            if kind == "done":
                self._record(job, "done", seconds, content)
                self.outcome.results[name], self.outcome.seconds[name] = content, seconds
                board.finished(name, seconds)
            else:
                self._fail(job, content[0], board, content[1])
            if kind == "lost":
                worker.end()
            else:
                self.idle.append(worker)

    def _fail(self, job: Job, reason: str, board: Board, trace: str = "") -> None:
        self.outcome.failures[job.name] = reason
        board.failed(job.name, reason)
        if self.records is not None and trace:
            write_text(self.records / f"{_slug(job.name)}.error.txt", trace)

    # Records --------------------------------------------------------------------------------------------------------

    def _record(self, job: Job, state: str, seconds: float, result: Any) -> None:
        if self.records is None:
            return
        facts = {"job": job.name, "fingerprint": self.prints[job.name], "state": state, "seconds": round(seconds, 2)}
        write_json(self.records / f"{_slug(job.name)}.json", facts | {"result": result})
        if state == "begun":
            (self.records / f"{_slug(job.name)}.error.txt").unlink(missing_ok=True)

    def _recorded(self, job: Job) -> dict[str, Any]:
        path = None if self.records is None else self.records / f"{_slug(job.name)}.json"
        if path is None or not path.is_file():
            return {}
        try:
            found = read_json(path)
        except BadInput:
            return {}
        return found if isinstance(found, dict) else {}


def _slug(name: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", name)


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM raises KeyboardInterrupt as SIGINT does, so that workers are stopped in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
