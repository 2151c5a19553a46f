"""Vectors of sentences read back from an HDF5 file of any layout, ours or another program's.

own, bilm-tf, allennlp, elmoformanylangs: as in `hdf5_write`
sentences         the sentence itself is the key, and a slash in it makes nested groups (AllenNLP 0.4.0 to 0.5.1, and
                  `--use-sentence-keys`)
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from zh_elmo.embed.hdf5_text import Lines
from zh_elmo.embed.layouts import (
    INDEX,
    LAYOUT,
    LAYOUTS,
    LOCKS,
    SENTENCES,
    Layout,
    import_h5py,
    is_escaped,
    unescaped,
)
from zh_elmo.files import BadInput, existing

Found = Layout | Literal["sentences"]
_NUMBER = re.compile("0|[1-9][0-9]{0,17}")
_BY_NUMBER = {"own", "bilm-tf", "allennlp"}
_WEIGHTS = {"RNN_0", "char_embed"}  # names in a model's weight file
_SQUEEZED, _SMALL = 100, 1 << 20  # times that compression may have made numbers smaller; bytes where it may be more


class Vectors:
    """The vectors of an HDF5 file, by number and by sentence; a `Source` for `zh_elmo.Elmo` if it has all layers.

        with Vectors("vectors.h5") as vectors:
            vectors[3]                          # [n_words, width] or [n_layers, n_words, width], as it is stored
            vectors.words(3)                    # ["我", "买", "了"], or None where the file does not say
            vectors.find(["我", "买", "了"])      # [3, 17]: every place of the sentence

    `layout` is one of `hdf5_write`'s or "sentences"; `keys` are the names of the datasets. Integer keys stand in the
    order of their numbers; other keys in the order in which they were written if the file remembers it (ours does),
    else in HDF5's own, by name. Opened without a lock, so that file systems without locks are no obstacle. Links out of
    the file are not followed, and no size is believed that has no bytes behind it.
    """

    layout: Found
    keys: list[str]

    def __init__(self, path: str | Path) -> None:
        """Raises BadInput for what is no HDF5 file, a damaged one, or one without vectors of sentences."""
        self.path = existing(path, "file")
        if self.path.is_dir():
            raise BadInput("a folder stands where an HDF5 file is due", path=path, usage=True)
        with open(self.path, "rb") as stream:
            self._bytes = stream.seek(0, 2)
        self._sentences: dict[str, str] | None = None  # key -> sentence, as AllenNLP tells it
        self._found: dict[str, list[int]] | None = None
        with self._reading():
            self._file = _opened(self.path)
        try:
            with self._reading():
                self._look()
                self.width = self._size(0)[-1]
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, number: int) -> NDArray[Any]:
        """Vectors of a sentence: [n_words, width] or [n_layers, n_words, width]; raises IndexError as a list does."""
        with self._reading():
            dataset = self._dataset(self.keys[self._number(number)])
            found: NDArray[Any] = dataset[()]
        return found.astype(found.dtype.newbyteorder("="), copy=False)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[number] for number in range(len(self)))

    def words(self, number: int) -> list[str] | None:
        """The words of a sentence; None where the file does not tell them, or not how they were parted."""
        number = self._number(number)
        if self.layout == "own":
            with self._reading():
                return self._words_told(self._text[SENTENCES][number])
        if self.layout == "bilm-tf":
            return None
        text = self._said(number)
        if text is None:
            return None
        ways = [text.split(" ")] if self._ours else [text.split()]  # AllenNLP cuts a line at any white space
        if self.layout == "elmoformanylangs":
            ways = [text.split("\t"), *([] if self._ours else [text.split(" "), text.split()])]
            ways = [[unescaped(word) for word in words] for words in ways]
        length = self._size(number)[-2]
        return next((words for words in ways if len(words) == length), None if length else [])

    def find(self, sentence: Sequence[str]) -> list[int]:
        """The numbers of all places of a sentence, in order; empty if it is not here.

        sentence: its words, or a string of them with TABs, else with spaces, between them. In AllenNLP's files a
        sentence that came twice is told at its last place alone. Raises BadInput where the file names no sentences.
        """
        if self.layout == "bilm-tf":
            message = "its vectors have numbers alone; the sentences are the lines of the file that was embedded"
            raise BadInput(message, path=self.path)
        given = sentence if isinstance(sentence, str) else "\t".join(sentence)
        places = self._places().get(self._plain(given), [])
        if not isinstance(sentence, str):
            return [n for n in places if self._is(n, list(sentence))]
        told = {n: (self.words(n), None if self.layout == "own" else self._said(n)) for n in places}
        for way in ("\t".join, " ".join):
            if found := [n for n, (words, _) in told.items() if words is not None and way(words) == given]:
                return found
        return [n for n, (words, text) in told.items() if text == given or words is None]

    @property
    def n_layers(self) -> int:
        """Layers of each word; raises BadInput where the file has one vector a word, of one layer or a mix."""
        shape = self._size(0)
        if len(shape) == 2:
            raise BadInput("holds one vector a word, not all layers; embed again with --layers all", path=self.path)
        return shape[0]

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[NDArray[Any]]:
        """[n_layers, n_words, width], float32, of each sentence, found by its words, at its first place; raises
        BadInput where one is not here, or the file has not all layers or no words."""
        n_layers, found = self.n_layers, []
        for words in sentences:
            places = self.find(words)
            if not places:
                raise BadInput(f"holds no vectors of the sentence {' '.join(words)[:80]}", path=self.path)
            vectors = self[places[0]]
            if vectors.ndim != 3 or (vectors.shape[0], vectors.shape[2]) != (n_layers, self.width):
                key = self.keys[places[0]]
                message = f"{key[:60]!r} has the shape {vectors.shape}, not ({n_layers}, words, {self.width})"
                raise BadInput(message, path=self.path)
            found.append(vectors.astype(np.float32, copy=False))
        return found

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Vectors:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Vectors:
        return self  # a copy of a network that reads from here reads from here too

    def __reduce__(self) -> tuple[type[Vectors], tuple[str]]:
        return Vectors, (str(self.path.absolute()),)

    def __repr__(self) -> str:
        return f"<Vectors of {len(self)} sentences, layout {self.layout}, from {self.path}>"

    # What lies in the file --------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Tell the layout; list the keys."""
        names = list(self._file)
        found = {name: self._lines(name) for name in (SENTENCES, INDEX) if name in names}
        self._text = text = {name: lines for name, lines in found.items() if lines is not None}
        numbers = [name for name in names if _NUMBER.fullmatch(name)]
        told: Any = self._told_layout()
        self._ours = told is not None
        others = [] if told in _BY_NUMBER else self._walk([name for name in names if name not in (*text, *numbers)])
        if others or told == "elmoformanylangs":
            # together, since the file's own order may be that of the input
            self.keys = self._walk([name for name in names if name not in text]) if numbers else others
            self.layout = told or self._named_by(self.keys)
        else:
            self.keys = sorted(numbers, key=int)
            self.layout = told or ("own" if SENTENCES in text else "allennlp" if INDEX in text else "bilm-tf")
        # of words, not of sentences: what `dump_token_embeddings` writes
        is_table = names == ["embedding"]
        self._check_found(is_model=not self._ours and (is_table or not _WEIGHTS.isdisjoint(names)))

    def _check_found(self, is_model: bool) -> None:
        if not self.keys or is_model:
            what = "a model's weights, not vectors of sentences" if is_model else "no vectors of sentences"
            raise BadInput(f"holds {what}; files of `zh-elmo embed` do", path=self.path)
        if self.layout == "own" and len(self._text.get(SENTENCES, ())) != len(self.keys):
            raise BadInput(f"damaged: `{SENTENCES}` is not of {len(self.keys)} sentences", path=self.path)
        if self.layout == "allennlp" and INDEX not in self._text:
            raise BadInput(f"damaged: no `{INDEX}`", path=self.path)

    def _named_by(self, keys: list[str]) -> Found:
        """ELMoForManyLangs writes neither `.` nor `/`, and one vector a word."""
        if any("/" in key for key in keys):
            return "sentences"
        if any("\t" in key or is_escaped(key) for key in keys):
            return "elmoformanylangs"
        is_theirs = not any("." in key for key in keys) and len(self._size(0, keys)) == 2
        return "elmoformanylangs" if is_theirs else "sentences"

    def _walk(self, names: list[str]) -> list[str]:
        """The paths of all arrays of vectors below `names`, groups entered where they stand, each once."""
        h5py = import_h5py()
        found: list[str] = []
        seen = {h5py.h5o.get_info(self._file.id).addr}
        waiting = names[::-1]
        while waiting:
            name = waiting.pop()
            thing = self._thing(name)
            if _is_vectors(thing):
                found.append(name)
            elif isinstance(thing, h5py.h5g.GroupID) and (address := h5py.h5o.get_info(thing).addr) not in seen:
                seen.add(address)
                waiting += [f"{name}/{below}" for below in h5py.Group(thing)][::-1]
        return found

    def _thing(self, name: str) -> Any:
        """The low-level object of a group or dataset, by bytes, since a name need not be UTF-8; None for a link to
        somewhere else, which is not followed."""
        h5py = import_h5py()
        if self._file.id.links.get_info(_bytes(name)).type != h5py.h5l.TYPE_HARD:
            return None
        return h5py.h5o.open(self._file.id, _bytes(name))

    def _dataset(self, name: str) -> Any:
        """An array of vectors whose bytes are all there; raises BadInput otherwise."""
        thing = self._thing(name)
        if not _is_vectors(thing):
            raise BadInput(f"{name[:60]!r} is no array of numbers of 2 or 3 axes in this file", path=self.path)
        self._check_bytes(name, thing)
        return import_h5py().Dataset(thing)

    def _check_bytes(self, name: str, dataset: Any) -> None:
        h5d = import_h5py().h5d
        made, size = dataset.get_create_plist(), dataset.get_type().get_size()
        if made.get_layout() == h5d.VIRTUAL or made.get_external_count():
            raise BadInput(f"{name[:60]!r} lies in another file; copy it here first", path=self.path)
        stored, whole = min(dataset.get_storage_size(), self._bytes), math.prod(dataset.shape) * size
        if whole and made.get_layout() == h5d.CHUNKED:
            whole = max(whole, math.prod(made.get_chunk()) * size)
        if whole > (max(stored * _SQUEEZED, _SMALL) if made.get_nfilters() and stored else stored):
            message = f"damaged: {name[:60]!r} is said to have {whole:,} bytes, and {stored:,} are there"
            raise BadInput(message, path=self.path)

    def _size(self, number: int, keys: list[str] | None = None) -> tuple[int, ...]:
        """The shape of the vectors of a sentence."""
        with self._reading():
            shape: tuple[int, ...] = self._dataset((keys or self.keys)[number]).shape
        return shape

    def _number(self, number: int) -> int:
        if not -len(self) <= number < len(self):
            raise IndexError(f"sentence {number} of a file of {len(self)}")
        return number % len(self)

    # What the file says of words --------------------------------------------------------------------------------------

    def _places(self) -> dict[str, list[int]]:
        """Text of a sentence, as `_plain` makes it -> its numbers; made when first needed."""
        if self._found is None:
            found: dict[str, list[int]] = {}
            for number, text in self._all_said():
                found.setdefault(self._plain(text), []).append(number)
            self._found = found
        return self._found

    def _all_said(self) -> Iterator[tuple[int, str]]:
        if self.layout == "own":
            with self._reading():
                lines = list(self._text[SENTENCES])
            yield from enumerate("\t".join(self._words_told(line)) for line in lines)
            return
        for number in range(len(self)):
            if (text := self._said(number)) is not None:
                yield number, unescaped(text) if self.layout == "elmoformanylangs" else text

    def _said(self, number: int) -> str | None:
        """The text of a sentence of another program's file, as it stands there."""
        if self.layout != "allennlp":
            return self.keys[number]
        if self._sentences is None:
            with self._reading():
                told = self._from_json(self._text[INDEX][0], dict)
            self._sentences = {str(key): sentence for sentence, key in told.items()}
        return self._sentences.get(self.keys[number])

    def _is(self, number: int, words: list[str]) -> bool:
        told = self.words(number)
        return self._size(number)[-2] == len(words) if told is None else told == words

    def _plain(self, text: str) -> str:
        """`text` with one space between words, whatever was there; where a key was a path, as HDF5 takes paths."""
        if self.layout == "sentences":
            text = "/".join(part for part in text.split("/") if part not in ("", "."))
        return " ".join(text.split())

    def _words_told(self, line: str) -> list[str]:
        words: list[str] = self._from_json(line, list)
        if not all(isinstance(word, str) for word in words):
            raise BadInput(f"damaged: a line of `{SENTENCES}` is not a JSON list of words", path=self.path)
        return words

    def _from_json(self, text: str, kind: type[Any]) -> Any:
        try:
            told = json.loads(text)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, kind):
            name = SENTENCES if kind is list else INDEX
            raise BadInput(f"damaged: a line of `{name}` is not a JSON {kind.__name__}", path=self.path)
        return told

    def _lines(self, name: str) -> Lines | list[str] | None:
        """A dataset of text, one line or (`sentences`) many; None if it is none."""
        h5py = import_h5py()
        thing = self._thing(name)
        if not isinstance(thing, h5py.h5d.DatasetID) or thing.get_type().get_class() != h5py.h5t.STRING:
            return None
        if thing.rank != 1 or (name == INDEX and thing.shape != (1,)):
            return None
        self._check_bytes(name, thing)
        if thing.get_type().is_variable_str():
            return Lines(self.path, name, thing, self._file.userblock_size)
        return [line.decode("utf-8", "surrogatepass") for line in h5py.Dataset(thing)[()].tolist()]

    def _told_layout(self) -> Layout | None:
        """What our files say: of a fixed length, so that no more is read than is there."""
        if LAYOUT not in self._file.attrs:
            return None
        attribute = self._file.attrs.get_id(LAYOUT)
        kind = attribute.get_type()
        if attribute.shape != () or kind.get_class() != import_h5py().h5t.STRING or kind.is_variable_str():
            return None
        said = bytes(self._file.attrs[LAYOUT])
        return next((layout for layout in LAYOUTS if layout.encode() == said), None)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """What h5py says of a file that it cannot read, as one line that names the file."""
        try:
            yield
        except (OSError, RuntimeError, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
            said = " ".join(str(error).split()) or type(error).__name__
            if isinstance(error, OSError) and "unable to lock" in said:
                message = f"cannot be opened without a lock ({said}); set {LOCKS} in the environment"
            elif "write" in said and "already open" in said:
                message = f"still open in, or never closed by, the program that wrote it ({said})"
            else:
                message = f"not an HDF5 file that can be read ({said})"
            raise BadInput(message, path=self.path) from None


def _opened(path: Path) -> Any:
    """The file, without a lock; where this process has it open already, libhdf5 wants the same word on locks again."""
    h5py = import_h5py()
    ways = (False, None, True, "best-effort")
    for locking in ways:
        try:
            return h5py.File(path, "r", locking=locking)
        except OSError as error:
            if locking == ways[-1] or "don't match" not in str(error):
                raise
    return None


def _is_vectors(thing: Any) -> bool:
    """Whether it is a dataset of numbers, for layers and words or for words alone."""
    h5py = import_h5py()
    if not isinstance(thing, h5py.h5d.DatasetID):
        return False
    return thing.get_type().get_class() in (h5py.h5t.FLOAT, h5py.h5t.INTEGER) and thing.rank in (2, 3)


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")
