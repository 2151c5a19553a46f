"""One worker process: it is handed calls, runs them one after another and tells what came of them."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

from zh_elmo.files import BadInput, explain, one_line
from zh_elmo.spawned import end_with_parent, without_interrupts

_PATIENCE = 60.0  # seconds that a stopped job has to write its checkpoint
_BLAS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


class Worker:
    """The parent's side of a worker process (spawned, so that it shares nothing)."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,))
        with _one_thread_each(), without_interrupts():
            self.process.start()
        theirs.close()  # so that the end of the process is seen as the end of the pipe

    @property
    def alive(self) -> bool:
        return self.process.is_alive()

    def begin(self, function: Callable[..., Any], arguments: tuple[Any, ...], threads: int) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # it died: `message` will tell
            self.connection.send((function, arguments, threads))

    def message(self) -> tuple[str, Any]:
        """("said", line), ("done", result), ("failed", (reason, traceback)) or ("lost", (reason, ""))."""
        try:
            kind, content = self.connection.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            self.process.join(5)
            return "lost", (_how_it_ended(self.process.exitcode), "")
        return str(kind), content

    def ask_to_stop(self) -> None:
        with suppress(OSError):
            self.process.terminate()

    def remaining(self) -> Iterator[tuple[str, Any]]:
        """What a stopped worker still says until it ends."""
        while self.connection.poll(_PATIENCE):
            try:
                yield self.connection.recv()
            except Exception:  # cut in the middle of a message: nothing more will come
                return

    def end(self) -> None:
        self.connection.close()
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _how_it_ended(code: int | None) -> str:
    if code == -signal.SIGKILL:
        return "its process was killed (SIGKILL); perhaps there was too little memory"
    return f"its process ended before the job did (exit code {code})"


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Numerical libraries of a new process start with one thread; a job with more sets them in torch."""
    before = {name: os.environ.get(name) for name in _BLAS}
    os.environ.update(dict.fromkeys(_BLAS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


# In the worker ------------------------------------------------------------------------------------------------------


class _Lines:
    """A text stream whose whole lines go to the parent."""

    encoding = "utf-8"

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say, self.rest = say, ""

    def write(self, text: str) -> int:
        *whole, self.rest = (self.rest + text).split("\n")
        for line in whole:
            if line.strip():
                self.say(line)
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


class _Working:
    """SIGTERM interrupts a job, and never what is said between jobs; the parent ends an idle worker by its pipe."""

    def __init__(self) -> None:
        self.on = False
        signal.signal(signal.SIGTERM, self._asked)

    def _asked(self, number: int, frame: object) -> None:
        if self.on:
            raise KeyboardInterrupt


def _serve(connection: Connection) -> None:
    working = _Working()
    end_with_parent()
    sys.stdout = sys.stderr = _Lines(lambda line: connection.send(("said", line)))
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            function, arguments, threads = connection.recv()
            connection.send(_perform(working, function, arguments, threads))


def _perform(
    working: _Working, function: Callable[..., Any], arguments: tuple[Any, ...], threads: int
) -> tuple[str, Any]:
    try:
        working.on = True
        try:
            _begin_afresh(threads)
            return "done", json.loads(json.dumps(function(*arguments)))  # the same as a record gives back
        finally:
            working.on = False
    except (KeyboardInterrupt, EOFError):
        raise
    except BaseException as error:
        return "failed", (_reason(error), traceback.format_exc())


def _begin_afresh(threads: int) -> None:
    """Torch as in a new process, but for `threads`, so that no result depends on which jobs a worker had before."""
    os.environ.update(OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))  # should it be imported by the job
    if "torch" not in sys.modules:
        return
    import torch

    torch.set_num_threads(threads)
    torch.set_flush_denormal(False)
    torch.manual_seed(0)


def _reason(error: BaseException) -> str:
    if isinstance(error, BadInput):
        return str(error)
    if isinstance(error, OSError):
        return explain(error)
    if isinstance(error, MemoryError):
        return "there was too little memory"
    return one_line(f"{type(error).__name__}: {error}")
