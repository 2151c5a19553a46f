"""A file of sentences -> a store, an HDF5 file or a text file of their vectors: the work of `zh-elmo embed`."""

from __future__ import annotations

import errno
import time
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from numpy.typing import NDArray

from zh_elmo import __version__
from zh_elmo.embed.embedder import Embedder, Layers, Mix
from zh_elmo.embed.hdf5_write import writing_hdf5
from zh_elmo.embed.layouts import HDF5, Layout
from zh_elmo.embed.read import Kind, Read, kind_of, sentences
from zh_elmo.embed.store import META, Store
from zh_elmo.embed.text_write import TEXT, writing_text
from zh_elmo.files import BadInput, existing, lines, sha256
from zh_elmo.progress import Progress

_COMMIT_EVERY = 20.0  # seconds: what a kill can cost
StoredDtype = Literal["float16", "float32"]


class Written(NamedTuple):
    """What was embedded by this run."""

    path: Path
    kind: Kind  # for what the file was taken
    sentences: int
    words: int
    seconds: float


class _How(NamedTuple):
    """What `embed_iter` is asked for."""

    layers: Layers
    mix: Mix
    warmup: bool
    batch_size: int | None


def write(
    embedder: Embedder,
    source: str | Path,
    out: str | Path,
    *,
    kind: Kind | None = None,
    layers: Layers = "all",
    mix: Mix = "mean",
    layout: Layout | None = None,
    dtype: StoredDtype | None = None,
    warmup: bool = False,
    batch_size: int | None = None,
    resume: bool = False,
    command: str = "",
    quiet: bool = False,
) -> Written:
    """Embed every sentence of the file `source` into `out`: an HDF5 file (.h5, .hdf5) or ELMoForManyLangs' text (.txt)
    if its name says so, else a store.

    kind: what `source` is; not given, found by looking (`read.kind_of`). A store has all layers, as float16 unless
    `dtype` says otherwise, and is committed every 20 seconds; `resume=True` goes on with one that was not ended. The
    other files have what `layers` and `mix` ask for, as float32, and are there whole or not at all; `layout` is that of
    an HDF5 file (`hdf5_write`; default: own). `layers`, `mix`, `warmup` and `batch_size` are those of `Embedder.embed`;
    `command` is noted in the file.
    Raises BadInput for a file without a sentence, for what the kind of `out` cannot hold, and for a store of another
    file, model or normalisation.
    """
    source, out = existing(source, "file"), Path(out)
    if source.is_dir():
        raise BadInput("a folder stands where a file is due", path=source, usage=True)
    how = _How(layers, mix, warmup, batch_size)
    _check(embedder, out, how, layout, dtype, resume)
    kind = kind or kind_of(source)
    if not any(read.words for read in sentences(source, kind, embedder.cut)):
        raise BadInput("no sentence in this file", path=source)
    if kind == "text" and embedder.text is None:
        warnings.warn(
            f"{source}: raw text is cut into words by {embedder.pipeline.settings.segmenter}, and nobody says how this "
            "model's corpus was; words of your own cutting may fit it better",
            stacklevel=2,
        )
    if kind == "text":
        embedder.compare_versions()
    facts = {
        "command": command,
        "zh_elmo": __version__,
        "source": {"name": source.name, "sha256": sha256(source), "kind": kind},
        "model": str(embedder.path or ""),
        "how": {"state": embedder.state, "normalize": embedder.normalize, **how._asdict(), "mix": _plain(mix)},
    }
    work = _Work(embedder, source, kind, how, quiet)
    suffix = out.suffix.lower()
    if suffix in HDF5:
        work.to_hdf5(out, layout or "own", dtype or "float32", facts)
    elif suffix == TEXT:
        work.to_text(out)
    else:
        work.to_store(out, dtype or "float16", facts, resume)
    return Written(out, kind, work.sentences, work.words, time.monotonic() - work.started)


def _check(
    embedder: Embedder, out: Path, how: _How, layout: Layout | None, dtype: StoredDtype | None, resume: bool
) -> None:
    """Raise BadInput (usage) for what does not go together."""
    suffix, layers = out.suffix.lower(), how.layers
    per_word = "text" if suffix == TEXT else "the layout elmoformanylangs" if layout == "elmoformanylangs" else None
    wrong = None
    if isinstance(layers, int) and not -embedder.n_layers <= layers < embedder.n_layers:
        wrong = f"the model has {embedder.n_layers} layers, from 0 to {embedder.n_layers - 1}; there is no {layers}"
    elif layout is not None and suffix not in HDF5:
        wrong = f"the layout {layout} is one of HDF5 files (.h5)"
    elif suffix in HDF5 and resume:
        wrong = "an HDF5 file cannot be resumed; a store can"
    elif suffix == TEXT and (resume or dtype):
        wrong = "a text file has 8 decimals and cannot be resumed; a store can"
    elif suffix not in (*HDF5, TEXT) and layers != "all":
        wrong = "a store has all layers; layers and mixes are for HDF5 files (.h5) and text (.txt)"
    elif per_word and layers == "all":
        wrong = f"{per_word} holds one vector a word: one layer, or the mean"
    elif layout == "bilm-tf" and layers != "all":
        wrong = "the layout bilm-tf holds all layers; the layout own holds any"
    elif how.batch_size is not None and embedder.state == "reset":
        wrong = "batches have a size with state carry alone; with state reset no vector depends on them"
    elif resume and embedder.state == "carry":
        wrong = "with state carry a store cannot be resumed, since the state is not in it"
    if wrong:
        raise BadInput(wrong, path=out, usage=True)


def _plain(mix: Mix) -> str | list[float]:
    return mix if isinstance(mix, str) else [float(weight) for weight in mix]


class _Work:
    """One file on its way."""

    def __init__(self, embedder: Embedder, source: Path, kind: Kind, how: _How, quiet: bool) -> None:
        self.embedder, self.source, self.kind, self.how, self.quiet = embedder, source, kind, how, quiet
        self.started = time.monotonic()
        self.sentences = self.words = 0
        self.line = ""  # of the sentence at hand, if it is one

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
            for words, vectors in self._vectors(skip=len(store)):
                store.append(words, vectors)
                if time.monotonic() - committed > _COMMIT_EVERY:
                    store.commit()
                    committed = time.monotonic()

    def to_hdf5(self, out: Path, layout: Layout, dtype: StoredDtype, facts: dict[str, Any]) -> None:
        with writing_hdf5(out, layout=layout, dtype=dtype, model=self.embedder.digest, facts=facts) as file:
            for words, vectors in self._vectors():
                file.add(words, vectors, self.line)

    def to_text(self, out: Path) -> None:
        with writing_text(out) as file:
            for words, vectors in self._vectors():
                file.add(words, vectors)

    def _vectors(self, skip: int = 0) -> Iterator[tuple[list[str], NDArray[Any]]]:
        """(words, vectors) of every sentence but the first `skip`, with progress."""
        total = sum(len(line) + 1 for _, line in lines(self.source))  # characters: the words are not known before
        waiting: deque[Read] = deque()
        seen = 0

        def words() -> Iterator[list[str]]:
            for read in source:
                waiting.append(read)
                yield read.words

        with Progress(f"embed ({self.kind})", None, unit="words", quiet=self.quiet) as progress:
            source = sentences(self.source, self.kind, self.embedder.cut)
            for read in islice(source, skip):
                seen += read.characters
                self.sentences += 1
            total, seen = total - seen, 0
            normalize = self.kind != "text"  # raw text has come out of `cut` as the model is to see it
            for vectors in self.embedder.embed_iter(words(), normalize=normalize, **self.how._asdict()):
                read = waiting.popleft()
                seen += read.characters
                self.sentences += 1
                self.words += len(read.words)
                if seen:
                    progress.total = self.words * max(total, seen) / seen  # as the part that is done foretells
                progress.advance(len(read.words))
                self.line = read.line
                yield read.words, vectors


@contextmanager
def _resumable(out: Path) -> Iterator[None]:
    """On a full disk what was committed stays, and the same command goes on from it."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise BadInput("the disk is full; make room and run the same command with --resume", path=out) from None
