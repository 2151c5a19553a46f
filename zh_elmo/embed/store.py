"""Vectors on disk: append-only, with a committed length, read at random through a memory map, found by their words.

    meta.json       format, sizes, what made it, and how much is committed; replaced whole at each commit
    features.bin    [n_layers, n_words, width] of one sentence after the other
    index.bin       for each sentence three uint64: where its words end (counted in words), where its line ends in
                    sentences.jsonl (in bytes), and the start of a hash of that line
    sentences.jsonl the words of each sentence, a JSON list a line

What lies behind the committed lengths is the rest of a run that was killed: never read, and overwritten later.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import mmap
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from zh_elmo.files import BadInput, building, existing, read_json, write_bytes, write_json
from zh_elmo.recipe import Settings, convert, plain

FORMAT = "zh_elmo store"
META, FEATURES, INDEX, SENTENCES = "meta.json", "features.bin", "index.bin", "sentences.jsonl"
_ENTRY = np.dtype([("words", "<u8"), ("text", "<u8"), ("hash", "<u8")])
_DTYPES: dict[str, np.dtype[Any]] = {"float16": np.dtype("<f2"), "float32": np.dtype("<f4")}


class Meta(Settings):
    """What `meta.json` says."""

    format: Literal["zh_elmo store"]
    version: Literal[1]
    n_layers: int
    width: int
    dtype: Literal["float16", "float32"]
    model: str  # digest of the model
    text: str  # digest of the normalisation
    facts: dict[str, Any]
    sentences: int = 0  # committed
    words: int = 0
    text_bytes: int = 0

    def __post_init__(self) -> None:
        if min(self.n_layers, self.width) < 1 or min(self.sentences, self.words, self.text_bytes) < 0:
            raise ValueError("sizes must be 1 or more, and what is committed 0 or more")


class Store:
    """Vectors of sentences; a `Source` for `Elmo`, taggers and parsers for the sentences that it holds.

    `Store.create` and `Store.open(..., append=True)` write, one process at a time: `append`, `commit`, `close`. As a
    context manager a store is committed where the block ends well.
    """

    def __init__(self, folder: Path, meta: Meta, files: Sequence[IO[bytes]] = ()) -> None:
        """See `create` and `open`; `files` are the three to write to, locked."""
        self.folder, self.meta = folder, meta
        self.width, self.n_layers = meta.width, meta.n_layers
        self._dtype = _DTYPES[meta.dtype]
        self._row_bytes = meta.n_layers * meta.width * self._dtype.itemsize  # of a word
        self._by_hash: dict[int, list[int]] | None = None
        self._written = meta  # committed or not
        self._files = list(files)
        self._check_sizes()
        for file, size in zip(files, self._sizes().values(), strict=False):
            file.truncate(size)
            file.seek(size)
        self._map()

    @classmethod
    def create(
        cls,
        folder: str | Path,
        *,
        n_layers: int,
        width: int,
        model: str,
        text: str = "",
        dtype: Literal["float16", "float32"] = "float16",
        facts: Mapping[str, Any] | None = None,
    ) -> Store:
        """An empty store, open to append. `model` and `text` are the digests of what makes the vectors
        (`Embedder.digest`, `Embedder.text_digest`). Raises BadInput (usage) where there is something at `folder`."""
        place = Path(folder)
        if place.exists() and not (place.is_dir() and not any(place.iterdir())):
            raise BadInput("there is something already; give a new folder, or go on with it", path=place, usage=True)
        meta = Meta(
            format="zh_elmo store", version=1, n_layers=n_layers, width=width, dtype=dtype, model=model, text=text,
            facts=dict(facts or {}),
        )  # fmt: skip
        with building(place) as new:
            for name in (FEATURES, INDEX, SENTENCES):
                write_bytes(new / name, b"")
            write_json(new / META, plain(meta))
        return cls(place, meta, _locked(place))

    @classmethod
    def open(
        cls, folder: str | Path, *, model: str | None = None, text: str | None = None, append: bool = False
    ) -> Store:
        """A store that is there, as it was last committed.

        Raises BadInput for what is no store or a damaged one, where `model` or `text` are given and are not those that
        made it, and, with `append=True`, while another process appends.
        """
        place = existing(folder, "store")
        if not (place / META).is_file():
            raise BadInput(f"not a store of vectors: no {META}", path=place)
        with ExitStack() as stack:
            files = _locked(place) if append else []
            for file in files:
                stack.callback(file.close)
            meta = _read_meta(place / META)  # only now: until the lock was ours another process may have committed
            for what, given, made_by in (("model", model, meta.model), ("normalisation", text, meta.text)):
                if given is not None and given != made_by:
                    raise BadInput(
                        f"made with another {what} ({made_by[:12]}) than the one given ({given[:12]}); "
                        "give that one, or embed again into another folder",
                        path=place,
                    )
            store = cls(place, meta, files)
            stack.pop_all()
        return store

    # Reading ----------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.meta.sentences

    def __getitem__(self, number: int) -> NDArray[np.float32]:
        """Vectors of a committed sentence, float32 [n_layers, n_words, width], a copy."""
        # torch converts float16 several times faster than numpy does
        return torch.from_numpy(self._rows(number)).to(torch.float32, copy=True).numpy()

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        return (self[number] for number in range(len(self)))

    def view(self, number: int) -> NDArray[Any]:
        """The same as it lies on the disk (float16 or float32), not copied; not to be written to."""
        rows = self._rows(number)
        rows.flags.writeable = False
        return rows

    def sentence(self, number: int) -> list[str]:
        """The words of a committed sentence."""
        words: list[str] = json.loads(self._line(self._number(number)))
        return words

    def find(self, words: Sequence[str]) -> int | None:
        """The number of the first committed sentence with these words, as they were given; None if there is none."""
        if isinstance(words, str):
            raise BadInput(f"a list of words is due, not the string {words[:40]!r}")
        line = _line(words)
        return next((n for n in self._sentences_by_hash().get(_hash(line), ()) if self._line(n) == line), None)

    def __contains__(self, words: Sequence[str]) -> bool:
        return self.find(words) is not None

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[NDArray[Any]]:
        """[n_layers, n_words, width] of each sentence, found by its words; raises BadInput where one is not here."""
        found = [self.find(words) for words in sentences]
        if None in found:
            missing = sentences[found.index(None)]
            raise BadInput(f"holds no vectors of the sentence {' '.join(missing)[:80]}", path=self.folder)
        return [self[number] for number in found if number is not None]

    # Writing ----------------------------------------------------------------------------------------------------------

    def append(self, words: Sequence[str], vectors: NDArray[Any]) -> None:
        """Add a sentence: its words, and its vectors [n_layers, n_words, width]. It can be read after `commit`.

        Raises BadInput where the shape is another, or where a number is not finite or too large for float16.
        """
        if not self._files:
            raise BadInput("open for reading only; open it with append=True", path=self.folder)
        shape = (self.n_layers, len(words), self.width)
        if vectors.shape != shape:
            raise BadInput(f"vectors of shape {shape} are due, not {vectors.shape}", path=self.folder)
        with np.errstate(over="ignore"):
            stored = np.ascontiguousarray(vectors, self._dtype)
        if not np.isfinite(stored).all():
            raise BadInput(f"a vector is not finite as {self.meta.dtype}: {' '.join(words)[:80]}", path=self.folder)
        line = _line(words)
        meta = self._written
        self._written = msgspec.structs.replace(
            meta,
            sentences=meta.sentences + 1,
            words=meta.words + len(words),
            text_bytes=meta.text_bytes + len(line),
        )
        entry = np.array([(self._written.words, self._written.text_bytes, _hash(line))], _ENTRY)
        for file, content in zip(self._files, (stored.tobytes(), entry.tobytes(), line), strict=True):
            file.write(content)

    def commit(self) -> None:
        """Make what was appended last: on the disk first, then counted."""
        if self._written == self.meta:
            return
        for file in self._files:
            file.flush()
            os.fsync(file.fileno())
        write_json(self.folder / META, plain(self._written))
        self.meta = self._written
        self._map()

    def close(self) -> None:
        """End without a commit: what was appended since the last one is dropped."""
        for file in self._files:
            with suppress(OSError):  # a full disk has been told of already
                file.close()
        self._files = []
        self._written = self.meta

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._files:
            self.commit()
        self.close()

    # How it is done ---------------------------------------------------------------------------------------------------

    def _sizes(self) -> dict[str, int]:
        """Committed bytes of each file."""
        meta = self.meta
        return {
            FEATURES: meta.words * self._row_bytes,
            INDEX: meta.sentences * _ENTRY.itemsize,
            SENTENCES: meta.text_bytes,
        }

    def _check_sizes(self) -> None:
        for name, size in self._sizes().items():
            file = self.folder / name
            there = file.stat().st_size if file.is_file() else -1
            if there < size:
                found = "is missing" if there < 0 else f"has {there:,} bytes"
                raise BadInput(f"damaged: {name} {found}, of which {size:,} were committed", path=self.folder)

    def _map(self) -> None:
        """Look at what is committed."""
        self._features = _mapped(self.folder / FEATURES, self._sizes()[FEATURES]).view(self._dtype)
        self._text = _mapped(self.folder / SENTENCES, self._sizes()[SENTENCES])
        self._index = _mapped(self.folder / INDEX, self._sizes()[INDEX]).view(_ENTRY)
        self._by_hash = None
        for column, committed in (("words", self.meta.words), ("text", self.meta.text_bytes)):
            ends = self._index[column]
            if (ends[1:] < ends[:-1]).any() or (int(ends[-1]) if len(ends) else 0) != committed:
                raise BadInput(f"damaged: {INDEX} does not fit {META}", path=self.folder)

    def _sentences_by_hash(self) -> dict[int, list[int]]:
        """Numbers of the sentences with a hash; made when first needed."""
        if self._by_hash is None:
            self._by_hash = {}
            for number, value in enumerate(self._index["hash"].tolist()):
                self._by_hash.setdefault(value, []).append(number)
        return self._by_hash

    def _number(self, number: int) -> int:
        if not -len(self) <= number < len(self):
            raise IndexError(f"sentence {number} of a store of {len(self)}")
        return number % len(self)

    def _rows(self, number: int) -> NDArray[Any]:
        number = self._number(number)
        begin = int(self._index["words"][number - 1]) if number else 0
        end = int(self._index["words"][number])
        per_word = self.n_layers * self.width
        rows: NDArray[Any] = self._features[begin * per_word : end * per_word]
        return rows.reshape(self.n_layers, end - begin, self.width)

    def _line(self, number: int) -> bytes:
        begin = int(self._index["text"][number - 1]) if number else 0
        return self._text[begin : int(self._index["text"][number])].tobytes()


def _read_meta(path: Path) -> Meta:
    raw = read_json(path)
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise BadInput(f'not the settings of a store: "format" is not "{FORMAT}"', path=path)
    return convert(raw, Meta, path)


def _locked(folder: Path) -> list[IO[bytes]]:
    """The three files, open to write, for this process alone."""
    files: list[IO[bytes]] = []
    try:
        for name in (FEATURES, INDEX, SENTENCES):
            files.append(open(folder / name, "r+b"))  # noqa: SIM115 (stays open)
        fcntl.flock(files[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException as error:
        for file in files:
            file.close()
        if isinstance(error, BlockingIOError):
            raise BadInput("somebody else is writing to this store", path=folder) from None
        if isinstance(error, FileNotFoundError):
            raise BadInput(f"damaged: {Path(error.filename).name} is missing", path=folder) from None
        raise
    return files


def _mapped(path: Path, size: int) -> NDArray[np.uint8]:
    """The first `size` bytes of a file; copy-on-write, so that torch takes them without a warning."""
    if not size:
        return np.empty(0, np.uint8)
    with open(path, "rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY), np.uint8)


def _line(words: Sequence[str]) -> bytes:
    """The line of a sentence in sentences.jsonl; what UTF-8 cannot hold, a lone surrogate, is escaped as JSON does."""
    try:
        return (json.dumps(list(words), ensure_ascii=False) + "\n").encode("utf-8")
    except UnicodeEncodeError:
        return (json.dumps(list(words)) + "\n").encode("ascii")


def _hash(line: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(line, digest_size=8).digest(), "little")
