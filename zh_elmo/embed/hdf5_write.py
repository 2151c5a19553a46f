"""Vectors of sentences to an HDF5 file in one of four layouts, sentence by sentence; the file is there whole or not at
all.

    own               datasets "0", "1", ...; `sentences`: the words of each, a JSON list a line
    bilm-tf           datasets "0", "1", ..., all layers
    allennlp          datasets "0", "1", ...; `sentence_to_index`: one JSON object, sentence -> "number"
    elmoformanylangs  a dataset for each sentence, named by its words (`layouts.key_of`), one vector a word

Where the block is left by an exception there is no file, and one that stood there before stays as it was: a name that
exists is a file that is whole. Work that must survive an interruption goes to a `Store`, which keeps all it committed.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from zh_elmo.embed.layouts import (
    FORMAT,
    INDEX,
    LAYOUT,
    LAYOUTS,
    LOCKS,
    SENTENCES,
    Layout,
    has_surrogate,
    import_h5py,
    key_of,
)
from zh_elmo.files import BadInput, sync_file, sync_folder

_AT_ONCE = 1000  # sentences between two flushes: what libhdf5 may hold back stays well below the margin
_MARGIN = 1 << 20  # bytes that closing an HDF5 file may still need
# Ours in the format of 2016 that every current HDF5 reads; theirs as old as it gets, for the programs of 2018.
_VERSIONS = {"own": ("v110", "v110")}
_OLDEST = ("earliest", "v110")
# Two computations of one sentence from the same state differ less than this, from other states more.
_SAME, _SAME_SHARE = 2e-5, 1e-4


@contextmanager
def writing_hdf5(
    out: str | Path,
    *,
    layout: Layout = "own",
    dtype: Literal["float16", "float32"] = "float32",
    model: str = "",
    facts: Mapping[str, Any] | None = None,
) -> Iterator[Writer]:
    """A writer whose file becomes `out` when the block ends well: `file.add(words, vectors)`.

    `model` (a digest) and `facts` are kept as attributes, which other programs do not look at. Memory stays bounded,
    but `allennlp` keeps the text, since it is written as one string. Raises BadInput for a layout that is none, float16
    in a layout of others, and where h5py is missing; OSError where the disk is full.
    """
    if layout not in LAYOUTS:
        raise BadInput(f"a layout is one of {', '.join(LAYOUTS)}, not {layout!r}", usage=True)
    if layout != "own" and dtype != "float32":
        raise BadInput(f"the layout {layout} is float32; the layout own can be float16", path=out, usage=True)
    out = Path(out)
    with beside(out) as path, created(path, _VERSIONS.get(layout, _OLDEST), layout == "elmoformanylangs") as file:
        file.attrs.update({"format": FORMAT, "model": model, "facts": json.dumps(dict(facts or {}))})
        file.attrs[LAYOUT] = np.bytes_(layout)
        writer = _WRITERS[layout](file, out, dtype)
        yield writer
        writer.finish()
    writer.tell()


class Writer:
    """An HDF5 file of vectors that is being written. `writing_hdf5` makes one."""

    ranks: tuple[int, ...] = (2, 3)  # of the vectors of a sentence

    def __init__(self, file: Any, out: Path, dtype: Literal["float16", "float32"]) -> None:
        self.out, self.sentences = out, 0
        self._file, self._dtype = file, dtype
        self._shape: tuple[int, ...] | None = None  # of a word
        self._held_back = 0  # bytes of text that are not written yet

    def add(self, words: Sequence[str], vectors: NDArray[Any], line: str = "") -> None:
        """The next sentence: its words, and their vectors [n_words, width] or [n_layers, n_words, width]. `line`: what
        it was read from, by which AllenNLP names it; not given: the words with a space between them.

        Raises BadInput where the shape is not the words', another than before or not the layout's, for a number that is
        not finite in the file's dtype, and for a sentence that the layout cannot hold.
        """
        shape = (*vectors.shape[:-2], vectors.shape[-1]) if vectors.ndim in self.ranks else None
        if shape is None or vectors.shape[-2] != len(words) or shape != (self._shape or shape):
            due = self._shape and f"({', '.join(map(str, (*self._shape[:-1], len(words), self._shape[-1])))})"
            due = due or f"{' or '.join(map(str, self.ranks))} axes, the last but one of {len(words)} words,"
            raise BadInput(f"vectors of shape {due} are due, not {vectors.shape}", path=self.out)
        self._shape = shape
        with np.errstate(over="ignore"):
            stored = np.ascontiguousarray(vectors, self._dtype)
        if not np.isfinite(stored).all():
            raise BadInput(f"a vector is not finite as {self._dtype}: {' '.join(words)[:80]}", path=self.out)
        check_room(self.out, stored.nbytes + self._held_back)
        self._line = line or " ".join(words)
        self._keep(list(words), stored)
        self.sentences += 1
        if self.sentences % _AT_ONCE == 0:
            self._file.flush()

    def _keep(self, words: list[str], vectors: NDArray[Any]) -> None:
        self._file[str(self.sentences)] = vectors

    def finish(self) -> None:
        """What stands at the end."""

    def tell(self) -> None:
        """Warn of what is not in the file."""


class _OwnWriter(Writer):
    def __init__(self, file: Any, out: Path, dtype: Literal["float16", "float32"]) -> None:
        super().__init__(file, out, dtype)
        text = import_h5py().string_dtype()
        self._told = file.create_dataset(SENTENCES, (0,), text, maxshape=(None,), chunks=(_AT_ONCE,))
        self._lines: list[str] = []

    def _keep(self, words: list[str], vectors: NDArray[Any]) -> None:
        super()._keep(words, vectors)
        self._lines.append(_json(words))
        self._held_back += 4 * len(self._lines[-1])
        if len(self._lines) >= _AT_ONCE:
            self.finish()

    def finish(self) -> None:
        """Move the lines to the end of the dataset."""
        begin = len(self._told)
        self._told.resize((begin + len(self._lines),))
        self._told[begin:] = np.array(self._lines, dtype=object)
        self._lines.clear()
        self._held_back = 0


class _BilmTfWriter(Writer):
    ranks = (3,)


class _AllenNlpWriter(Writer):
    def __init__(self, file: Any, out: Path, dtype: Literal["float16", "float32"]) -> None:
        super().__init__(file, out, dtype)
        self._index: dict[str, str] = {}

    def _keep(self, words: list[str], vectors: NDArray[Any]) -> None:
        super()._keep(words, vectors)
        sentence = self._line
        self._index[sentence] = str(self.sentences)  # a repeated sentence keeps its last number, as there
        self._held_back += 6 * len(sentence) + 16

    def finish(self) -> None:
        told = self._file.create_dataset(INDEX, (1,), import_h5py().string_dtype())
        told[0] = json.dumps(self._index)


class _ManyLangsWriter(Writer):
    ranks = (2,)
    blank = repeated = 0

    def _keep(self, words: list[str], vectors: NDArray[Any]) -> None:
        if not words:
            self.blank += 1
            return
        key = key_of(words)
        if key not in self._file:
            self._file[key] = vectors
        elif np.allclose(self._file[key][()], vectors, _SAME_SHARE, _SAME):
            self.repeated += 1
        else:
            raise BadInput(
                f"the sentence {' '.join(words)[:60]!r} comes twice with other vectors, and its key can stand once; "
                "use a layout with integer keys (own, allennlp), or state reset",
                path=self.out,
            )

    def tell(self) -> None:
        parts = []
        if self.blank:
            parts.append(f"{self.blank} without words, which have no key, are left out")
        if self.repeated:
            parts.append(f"{self.repeated} that come again are stored once")
        if parts:
            warnings.warn(f"{self.out}: of {self.sentences} sentences {' and '.join(parts)}", stacklevel=4)


_WRITERS: dict[Layout, type[Writer]] = {
    "own": _OwnWriter,
    "bilm-tf": _BilmTfWriter,
    "allennlp": _AllenNlpWriter,
    "elmoformanylangs": _ManyLangsWriter,
}


@contextmanager
def created(path: Path, versions: tuple[str, str] = _OLDEST, in_order: bool = False) -> Iterator[Any]:
    """A new HDF5 file, open to write; `in_order`: it remembers in which order its datasets were made.

    Nobody else knows the name yet, so no lock is asked for. Raises BadInput where one is taken all the same (the
    environment can force it) and the file system has none.
    """
    h5py = import_h5py()
    try:
        file = h5py.File(path, "w", libver=versions, track_order=in_order, locking=False)
    except OSError as error:
        if "lock" not in str(error):
            raise
        raise BadInput(f"this file system gives no locks to HDF5; set {LOCKS} in the environment", path=path) from None
    with file:
        yield file


@contextmanager
def beside(target: Path) -> Iterator[Path]:
    """A path to write to that becomes `target` when the block ends well (h5py writes to no stream)."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", suffix=".part", dir=target.parent) as folder:
        path = Path(folder) / target.name
        yield path
        sync_file(path)
        os.replace(path, target)
    sync_folder(target.parent)


def check_room(path: Path, size: int) -> None:
    """Raise OSError before the disk is full: h5py cannot close a file that it could not write, and crashes."""
    if shutil.disk_usage(path.parent).free < size + _MARGIN:
        raise OSError(errno.ENOSPC, "no room for more vectors", str(path))


def _json(words: list[str]) -> str:
    """A JSON list that UTF-8 can hold: lone surrogates are escaped."""
    text = json.dumps(words, ensure_ascii=False)
    return json.dumps(words) if has_surrogate(text) else text
