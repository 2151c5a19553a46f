"""What of a build is done already: chunks in a folder beside the corpus, which a later build goes on from."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from zh_elmo.corpus.chunk import Chunk, is_whole, read_hashes, unpack
from zh_elmo.corpus.near import Sketches
from zh_elmo.corpus.tasks import Key, Read
from zh_elmo.files import BadInput, write_json

_STATE = "state.json"


class Work:
    """A folder `.NAME.build` beside the corpus NAME, of one process at a time.

    It belongs to one set of sources and settings, told by a digest: what lies there of another is cleared away.
    """

    def __init__(self, out: Path, about: Any) -> None:
        """`about`: all that chunks depend on, as JSON. Raises BadInput while another process builds the same corpus."""
        self.folder = out.parent / f".{out.name}.build"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock: IO[bytes] = open(self.folder / "lock", "wb")  # noqa: SIM115  (held as long as this lives)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise BadInput("another process builds this corpus", path=out) from None
        self.groups: dict[int, Read] = {}  # those that are read, by number
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        if self._state() != digest:
            try:
                self._empty()
                write_json(self.folder / _STATE, digest)
            except OSError:
                self.__exit__(OSError)
                raise

    def __enter__(self) -> Work:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Keep the chunks where the same command can go on from them: not when all is done or the text is bad."""
        if kind is None or issubclass(kind, BadInput) or not any(self.folder.glob("*.chunk")):
            shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()

    def path(self, key: Key) -> Path:
        """Where the chunk of a task lies, or will."""
        return self.folder / f"{key[0]:06d}-{key[1]:06d}.chunk"

    def has(self, key: Key) -> bool:
        """Whether that chunk is there, whole."""
        path = self.path(key)
        return path.is_file() and is_whole(path.read_bytes())

    def keep(self, group: int, read: Read) -> None:
        """All of a group is read."""
        self.groups[group] = read
        write_json(self._of(group), read.plain())

    def left(self, group: int) -> Read | None:
        """What an earlier build knew of a group, if all its chunks are still there."""
        try:
            read = Read.restored(json.loads(self._of(group).read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        if not all(self.has((group, number)) for number in range(read.tasks)):
            return None
        self.groups[group] = read
        return read

    def numbers(self, group: int) -> set[int]:
        """The tasks of a group whose chunks are there."""
        found = {int(path.stem.partition("-")[2]) for path in self.folder.glob(f"{group:06d}-*.chunk")}
        return {number for number in found if self.has((group, number))}

    def keys(self) -> Iterator[Key]:
        """Of all chunks, in order, once all groups are kept."""
        return ((group, number) for group in sorted(self.groups) for number in range(self.groups[group].tasks))

    def chunk(self, key: Key, *, types: bool = True, check: bool = True) -> Chunk:
        """The chunk of a task, which must be there; see `unpack`. Raises BadInput where it is not whole; check=False:
        that has been seen."""
        raw = self.path(key).read_bytes()
        if check and not is_whole(raw):
            raise BadInput("damaged since it was written; run the same command again", path=self.path(key))
        return unpack(raw, types=types)

    def hashes(self) -> Iterator[tuple[NDArray[np.uint64], Sketches]]:
        """What duplicates are told by, of each chunk in order: hashes of all its paragraphs, signatures of some."""
        return (read_hashes(self.path(key)) for key in self.keys())

    def _of(self, group: int) -> Path:
        return self.folder / f"{group:06d}.json"

    def _state(self) -> str:
        try:
            state = json.loads((self.folder / _STATE).read_text("utf-8"))
        except (OSError, ValueError):
            return ""
        return state if isinstance(state, str) else ""

    def _empty(self) -> None:
        for path in self.folder.iterdir():
            if path.name != "lock":
                path.unlink()
