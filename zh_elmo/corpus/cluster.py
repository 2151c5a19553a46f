"""Tasks to chunks on a Ray cluster (Ray Data): groups are read, and tasks cut, wherever there is room.

Sources must lie where every machine can read them: in a shared folder, or in an object store. Chunks come back to the
machine that asked, into the same folder as those of the local engine; the corpus has the same bytes.
"""

from __future__ import annotations

import logging
import os
import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from zh_elmo.corpus.chunk import pack, write
from zh_elmo.corpus.cut import Cutter
from zh_elmo.corpus.tasks import Group, Key, Read, reading
from zh_elmo.corpus.work import Work
from zh_elmo.files import BadInput

_BLOCK = 8 << 20  # bytes of tasks that travel together, and are cut by one worker
_STORE = 256 << 20  # bytes of shared memory of a cluster of our own
_QUIET = ("ray", "ray.data", "ray.serve", "ray.tune", "ray.train")
_WHOLE, _FAILED = -1, -2  # in place of the number of a task: what is known of the group, why it cannot be read
_Row = dict[str, Any]  # of Arrow: group, number, characters read, and a pickle or a chunk


def cut(cutter: Cutter, work: Work, groups: Sequence[Group], *, workers: int) -> Iterator[tuple[Key, int]]:
    """See `processes.cut`. `workers` tasks are cut at a time. A cluster that RAY_ADDRESS names is used, else one of
    this machine is started and ended.

    Raises BadInput (usage) where Ray is missing, what the sources raise where they are read, OSError where the cluster
    fails.
    """
    left = {group.number: work.left(group.number) for group in groups}
    todo = [group for group in groups if left[group.number] is None]
    order = _Order(work, [group.number for group in groups], {group.number for group in todo})
    yield from order.ready()
    if not todo:
        return
    with _cluster(workers) as ray:
        try:
            for row in _rows(ray, cutter, work, todo, workers):
                order.take(row)
                yield from order.ready()
        except ray.exceptions.RayError as error:
            raise _plain(error) from None


class _Order:
    """Chunks as they come, in any order, to keys in order."""

    def __init__(self, work: Work, groups: list[int], todo: set[int]) -> None:
        self.work = work
        self._todo = todo
        self._groups = groups  # those that are not all given out, in order
        self._given = 0  # keys of the first of them
        self._read: dict[Key, int] = {}  # characters of chunks that are there

    def take(self, row: _Row) -> None:
        """A chunk is there, or a group is read, or cannot be."""
        group, number, payload = row["group"], row["number"], row["payload"]
        if number == _FAILED:
            raise pickle.loads(payload)
        if number == _WHOLE:
            self.work.keep(group, pickle.loads(payload))
        else:
            if payload:  # else it was there
                write(self.work.path((group, number)), payload)
            self._read[group, number] = row["read"]

    def ready(self) -> Iterator[tuple[Key, int]]:
        while self._groups:
            group = self._groups[0]
            known = self.work.groups.get(group)
            key = (group, self._given)
            if known is not None and self._given == known.tasks:
                self._groups, self._given = self._groups[1:], 0
            elif known is not None and group not in self._todo:  # all of an earlier build
                self._given += 1
                yield key, known.read if self._given == known.tasks else 0
            elif key in self._read:
                self._given += 1
                yield key, self._read.pop(key)
            else:
                return


def _rows(ray: Any, cutter: Cutter, work: Work, groups: Sequence[Group], workers: int) -> Iterator[_Row]:
    items = [{"job": pickle.dumps((group, work.numbers(group.number)))} for group in groups]
    read = ray.data.from_items(items, override_num_blocks=len(items)).flat_map(_read, num_cpus=0.5)
    return iter(read.map(_by(ray.put(cutter)), concurrency=workers, num_cpus=1).iter_rows())


def _read(item: _Row) -> Iterator[_Row]:
    """The tasks of a group, pickled, and at last what is known of it; where it cannot be read, why."""
    group, there = pickle.loads(item["job"])
    try:
        for number, part in enumerate(reading(group)):
            kind = _WHOLE if isinstance(part, Read) else number
            payload = b"" if kind in there else pickle.dumps(part)
            yield {"group": group.number, "number": kind, "read": part.read, "payload": payload}
    except (BadInput, OSError) as error:
        yield {"group": group.number, "number": _FAILED, "read": 0, "payload": pickle.dumps(error)}


def _by(cutter: Any) -> Callable[[_Row], _Row]:
    """What cuts a task; `cutter` is where the cluster keeps it."""

    def work(row: _Row) -> _Row:
        if row["number"] < 0 or not row["payload"]:
            return row
        return row | {"payload": pack(_here(cutter)(pickle.loads(row["payload"])))}

    return work


@cache
def _here(cutter: Any) -> Cutter:
    """The cutter with its tables, once in each process: a task of Ray runs in one of those that are there already."""
    import ray

    found: Cutter = ray.get(cutter)
    return found


@contextmanager
def _cluster(workers: int) -> Iterator[Any]:
    """Ray, quiet."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        import ray.data
    except ImportError:
        raise BadInput("--engine ray needs the package ray: pip install 'zh-elmo[ray]'", usage=True) from None
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.ERROR)
    ours = not ray.is_initialized()
    if ours:
        known: dict[str, Any] = {"address": "auto"} if os.environ.get("RAY_ADDRESS") else {
            "num_cpus": workers + 1, "object_store_memory": _STORE, "include_dashboard": False, "address": "local",
        }  # fmt: skip
        ray.init(log_to_driver=False, logging_level=logging.ERROR, configure_logging=False, **known)
    context = ray.data.DataContext.get_current()
    before = context.target_max_block_size, context.enable_progress_bars
    context.target_max_block_size, context.enable_progress_bars = _BLOCK, False
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"ray\.")  # of its own code, and of fewer tasks than workers
            yield ray
    finally:
        context.target_max_block_size, context.enable_progress_bars = before
        if ours:
            ray.shutdown()


def _plain(error: Exception) -> Exception:
    """What a worker raised, or one line of what went wrong with the cluster."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, BadInput | OSError):
            return cause if isinstance(cause, Exception) else OSError(str(cause))
        cause = getattr(cause, "cause", None) or cause.__cause__
    [first, *_] = str(error).strip().splitlines() or [type(error).__name__]
    return OSError(f"the Ray cluster failed ({type(error).__name__}: {first}); run the same command again to go on")
