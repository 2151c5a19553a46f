"""A file of sentences -> a store or an HDF5 file of their vectors: the work of `zh-elmo embed`."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zh_elmo.embed.embedder import Embedder, Layers, Mix
from zh_elmo.embed.read import Kind, Read, kind_of, sentences
from zh_elmo.embed.store import META, Store
from zh_elmo.files import BadInput, existing, lines, sha256, sync_file, sync_folder
from zh_elmo.progress import Progress

HDF5 = (".h5", ".hdf5")
_COMMIT_EVERY = 20.0  # seconds: what a kill can cost
_SENTENCES_AT_ONCE = 1000  # lines of an HDF5 file's list of sentences
_HDF5_MARGIN = 1 << 20  # bytes that closing an HDF5 file may still need
StoredDtype = Literal["float16", "float32"]


class Written(NamedTuple):
    """What was embedded by this run."""

    path: Path
    kind: Kind  # for what the file was taken
    sentences: int
    words: int
    seconds: float


def write(
    embedder: Embedder,
    source: str | Path,
    out: str | Path,
    *,
    kind: Kind | None = None,
    layers: Layers = "all",
    mix: Mix = "mean",
    dtype: StoredDtype | None = None,
    resume: bool = False,
    quiet: bool = False,
) -> Written:
    """Embed every sentence of the file `source` into `out`: an HDF5 file if its name says so, else a store.

    kind: what `source` is; not given, found by looking (`read.kind_of`). A store has all layers, as float16 unless
    `dtype` says otherwise, and is committed every 20 seconds; `resume=True` goes on with one that was not ended. An
    HDF5 file has what `layers` and `mix` ask for (see `Embedder.embed`), as float32, and is there whole or not at all.
    Raises BadInput for a file without a sentence, and for a store of another file, model or normalisation.
    """
    source, out = existing(source, "file"), Path(out)
    if source.is_dir():
        raise BadInput("a folder stands where a file is due", path=source, usage=True)
    to_hdf5 = out.suffix.lower() in HDF5
    if to_hdf5 and resume:
        raise BadInput("an HDF5 file cannot be resumed; a store can", path=out, usage=True)
    if not to_hdf5 and layers != "all":
        raise BadInput("a store has all layers; layers and mixes are for HDF5 files (.h5)", path=out, usage=True)
    kind = kind or kind_of(source)
    if not any(read.words for read in sentences(source, kind, embedder.pipeline)):
        raise BadInput("no sentence in this file", path=source)
    facts = {
        "command": sys.argv,
        "source": {"name": source.name, "sha256": sha256(source), "kind": kind},
        "model": str(embedder.path or ""),
    }
    work = _Work(embedder, source, kind, quiet)
    if to_hdf5:
        work.to_hdf5(out, layers, mix, dtype or "float32", facts)
    else:
        work.to_store(out, dtype or "float16", facts, resume)
    return Written(out, kind, work.sentences, work.words, time.monotonic() - work.started)


class _Work:
    """One file on its way."""

    def __init__(self, embedder: Embedder, source: Path, kind: Kind, quiet: bool) -> None:
        self.embedder, self.source, self.kind, self.quiet = embedder, source, kind, quiet
        self.started = time.monotonic()
        self.sentences = self.words = 0

    def to_store(self, out: Path, dtype: StoredDtype, facts: dict[str, Any], resume: bool) -> None:
        embedder = self.embedder
        if resume and (out / META).is_file():
            store = Store.open(out, model=embedder.digest, text=embedder.text_digest, append=True)
        else:
            store = Store.create(
                out, n_layers=embedder.n_layers, width=embedder.width, dtype=dtype,
                model=embedder.digest, text=embedder.text_digest, facts=facts,
            )  # fmt: skip
        with _resumable(out), store:
            if store.meta.facts.get("source") != facts["source"]:
                raise BadInput(f"a store of another file than {self.source}", path=out)
            committed = time.monotonic()
            for words, vectors in self._vectors("all", "mean", skip=len(store)):
                store.append(words, vectors)
                if time.monotonic() - committed > _COMMIT_EVERY:
                    store.commit()
                    committed = time.monotonic()

    def to_hdf5(self, out: Path, layers: Layers, mix: Mix, dtype: StoredDtype, facts: dict[str, Any]) -> None:
        """Datasets "0", "1", ... of one sentence each, and `sentences`: the words of each as a JSON list."""
        h5py = _h5py()
        lines_of_words: list[str] = []
        with _beside(out) as path, h5py.File(path, "w", libver="latest") as file:
            file.attrs.update({"format": "zh_elmo vectors", "model": self.embedder.digest, "facts": json.dumps(facts)})
            told = file.create_dataset("sentences", (0,), h5py.string_dtype(), maxshape=(None,), chunks=(1000,))
            for words, vectors in self._vectors(layers, mix):
                _check_room(out, vectors.nbytes)
                file[str(self.sentences - 1)] = vectors.astype(dtype)
                lines_of_words.append(_json(words))
                if len(lines_of_words) >= _SENTENCES_AT_ONCE:
                    _extend(told, lines_of_words)
            _extend(told, lines_of_words)

    def _vectors(self, layers: Layers, mix: Mix, skip: int = 0) -> Iterator[tuple[list[str], NDArray[Any]]]:
        """(words, vectors) of every sentence but the first `skip`, with progress."""
        total = sum(len(line) + 1 for _, line in lines(self.source))  # characters: the words are not known before
        waiting: deque[Read] = deque()
        seen = 0

        def words() -> Iterator[list[str]]:
            for read in source:
                waiting.append(read)
                yield read.words

        with Progress(f"embed ({self.kind})", None, unit="words", quiet=self.quiet) as progress:
            source = sentences(self.source, self.kind, self.embedder.pipeline)
            for read in islice(source, skip):
                seen += read.characters
                self.sentences += 1
            total, seen = total - seen, 0
            normalise = self.kind != "text"  # raw text has come out of the pipeline normalised
            for vectors in self.embedder.embed_iter(words(), layers=layers, mix=mix, normalise=normalise):
                read = waiting.popleft()
                seen += read.characters
                self.sentences += 1
                self.words += len(read.words)
                if seen:
                    progress.total = self.words * max(total, seen) / seen  # as the part that is done foretells
                progress.advance(len(read.words))
                yield read.words, vectors


def _check_room(path: Path, size: int) -> None:
    """Raise OSError before the disk is full: h5py cannot close a file that it could not write, and crashes."""
    if shutil.disk_usage(path.parent).free < size + _HDF5_MARGIN:
        raise OSError(errno.ENOSPC, "no room for more vectors", str(path))


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        message = "an HDF5 file needs the package h5py: pip install 'zh-elmo[formats]'; a store (.store) needs nothing"
        raise BadInput(message, usage=True) from None
    return h5py


def _json(words: Sequence[str]) -> str:
    """A JSON list that UTF-8 can hold: lone surrogates are escaped."""
    text = json.dumps(list(words), ensure_ascii=False)
    return text if text.isascii() or not _has_surrogate(text) else json.dumps(list(words))


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in text)


def _extend(told: Any, lines_of_words: list[str]) -> None:
    """Move the lines to the end of the dataset."""
    begin = len(told)
    told.resize((begin + len(lines_of_words),))
    told[begin:] = np.array(lines_of_words, dtype=object)
    lines_of_words.clear()


@contextmanager
def _resumable(out: Path) -> Iterator[None]:
    """On a full disk what was committed stays, and the same command goes on from it."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise BadInput("the disk is full; make room and run the same command with --resume", path=out) from None


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A path to write to that becomes `target` when the block ends well (h5py writes to no stream)."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", suffix=".part", dir=target.parent) as folder:
        path = Path(folder) / target.name
        yield path
        sync_file(path)
        os.replace(path, target)
    sync_folder(target.parent)
