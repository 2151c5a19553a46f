"""Chunks of words to shards: types numbered, words counted, ids by frequency at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from zh_elmo.corpus.chunk import FIRST_WORD, SENTENCE_MARK, Chunk
from zh_elmo.corpus.cut import EXAMPLE
from zh_elmo.corpus.index import TypeIndex
from zh_elmo.corpus.order import WordFile
from zh_elmo.corpus.parts import PARTS, REPEATED, Flags, Hashes, Ids, Mask, Name, Sorter, taken
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.corpus.store import DOCUMENT_END, SENTENCE_END
from zh_elmo.files import BadInput

SHARD = 1 << 24  # ids after which a shard ends, with the task or the document
_EXAMPLES = 3
_MARKS = np.array([SENTENCE_END, DOCUMENT_END], np.uint32)  # of the ids of a chunk, as they are in a shard

_UNITS = ("documents", "paragraphs", "sentences", "words")
_TYPES = 1 << 16  # room for so many at first

# Of each chunk in order: hashes of its paragraphs, their flags (`parts.REPEATED`), and how to have all but its types.
Flagged = tuple[Hashes, Flags, Callable[[], Chunk]]


class Writer:
    """`number` every chunk in order, which can be done while others are still cut; then `sort`, when it is known which
    paragraphs were there before; then `write`: shard-NNNN.bin, heldout.bin and types.txt in the folder."""

    few = 1 << 32  # words of which a count fits 32 bits

    def __init__(self, folder: Path, settings: CorpusSettings, threads: int = 1) -> None:
        self.folder, self.settings, self.threads = folder, settings, threads
        self.index = TypeIndex(folder / "words.part")
        self.characters = self.paragraphs = 0
        self.drops: dict[str, dict[str, Any]] = {}  # reason -> number of paragraphs, a few examples
        self.changes = Counter[str]()
        self.facts: dict[str, Counter[str]] = {}
        self.parts = {name: Counter[str]() for name in PARTS}
        self._numbers = _Rows(folder / "numbers.part")  # of each chunk, what its types are called here
        self._words: WordFile | None = None  # when all are numbered
        # how often each type is there; half the memory as long as no count can be large
        self._counts: dict[Name, NDArray[Any]] = {name: np.zeros(_TYPES, np.uint32) for name in PARTS}
        self._sorter = Sorter(settings)

    def number(self, chunk: Chunk) -> None:
        """Number the types of a chunk, and count its words as if none of its paragraphs had been there before."""
        numbers = self.index.numbers(chunk.type_hashes, chunk.types)
        self._numbers.add(numbers)
        self.characters += chunk.characters
        for reason, example in chunk.dropped:
            self._drop(reason, 1, [example])
        self.changes.update(chunk.changes)
        for name, counts in chunk.facts.items():
            self.facts.setdefault(name, Counter()).update(counts)
        held_out, is_end = self._sorter.held_out(chunk.hashes), chunk.hashes == 0
        for name, of in zip(PARTS, (~is_end & ~held_out, ~is_end & held_out), strict=True):
            self._count(name, taken(chunk, of), numbers, 1)

    def _count(self, name: Name, ids: Ids, numbers: Ids, sign: int) -> None:
        """Count ids of a chunk in one part, or take them off again."""
        there = np.bincount(ids, minlength=FIRST_WORD + len(numbers))
        words = sign * there[FIRST_WORD:]
        self.parts[name].update(sentences=sign * int(there[SENTENCE_MARK]), words=int(words.sum()))
        counts = self._counts[name]
        if len(self.index) > len(counts):
            counts.resize(len(self.index) + (len(self.index) >> 2), refcheck=False)
        if counts.dtype == np.uint32 and self.parts[name]["words"] >= self.few:
            counts = self._counts[name] = counts.astype(np.int64)
        counts[numbers] = counts[numbers] + words

    def sort(self, sources: Iterable[Flagged]) -> None:
        """Count what is kept, and what was there before. Raises BadInput where there is nothing to train on."""
        self.index.close()
        self._words = WordFile(self.index.path, len(self.index))
        sort = Sorter(self.settings)
        for (hashes, repeated, load), numbers in zip(sources, self._numbers, strict=True):
            for name, share in sort(hashes, repeated).items():
                number, ends = int(np.count_nonzero(share.paragraphs)), int(np.count_nonzero(share.ends))
                self.parts[name].update(documents=ends, paragraphs=number)
                self.paragraphs += number
            dropped = sort.dropped(repeated)
            if dropped.any():
                self._take_off(load(), np.where(dropped, repeated, 0), sort.held_out(hashes), numbers)
        self._check()

    def _take_off(self, chunk: Chunk, repeated: Flags, held_out: Mask, numbers: Ids) -> None:
        """What was there before is not counted after all."""
        for name, of in zip(PARTS, (~held_out, held_out), strict=True):
            self._count(name, taken(chunk, (repeated > 0) & of), numbers, -1)
        for flag, reason in REPEATED.items():
            places = np.flatnonzero(repeated == flag)
            if len(places):
                self._drop(reason, len(places), (self._beginning(chunk, int(place), numbers) for place in places))

    def write(self, sources: Iterable[Flagged]) -> dict[str, Any]:
        """Write the corpus; numbers for the manifest."""
        order = self._order()
        final = np.zeros(len(self.index), np.uint32)
        final[order] = np.arange(len(order), dtype=np.uint32)
        sort = Sorter(self.settings)
        shards = _Shards(self.folder)
        with self._beside(self._write_types, order), open(self.folder / "heldout.bin", "wb") as heldout:
            for (hashes, repeated, load), numbers in zip(sources, self._numbers, strict=True):
                shares, chunk = sort(hashes, repeated), load()
                table = np.concatenate((_MARKS, final[numbers]))
                shards.add(table[shares["train"].ids(chunk)])
                heldout.write(table[shares["heldout"].ids(chunk)].astype("<u4").tobytes())
        shards.close()
        for path in (self.index.path, self._numbers.path):
            path.unlink()
        train, held_out = (self._counts[name] for name in PARTS)
        return {
            "characters": self.characters,
            "paragraphs": self.paragraphs,
            "types": int(np.count_nonzero(train)),
            "types_held_out_only": int(np.count_nonzero((held_out > 0) & (train == 0))),
            **{name: {unit: self.parts[name][unit] for unit in _UNITS} for name in PARTS},
            **self.changes,
            **{name: dict(sorted(counts.items())) for name, counts in sorted(self.facts.items())},
        }

    def _beginning(self, chunk: Chunk, paragraph: int, numbers: Ids) -> str:
        """How a paragraph begins, from its words."""
        assert self._words is not None
        ids = chunk.ids[chunk.bounds[paragraph] : chunk.bounds[paragraph + 1]][:EXAMPLE]
        words = self._words.lists(numbers[ids[ids >= FIRST_WORD] - FIRST_WORD])
        return b"".join(map(b"".join, words)).decode("utf-8", "surrogatepass")[:EXAMPLE]

    def _drop(self, reason: str, number: int, examples: Iterable[str]) -> None:
        self.paragraphs += number
        facts = self.drops.setdefault(reason, {"paragraphs": 0, "examples": []})
        facts["paragraphs"] += number
        facts["examples"] += islice(examples, min(number, _EXAMPLES - len(facts["examples"])))

    def _check(self) -> None:
        if self.parts["train"]["words"]:
            return
        what = "all text is held out" if self.parts["heldout"]["words"] else "no sentence is left"
        reasons = "; ".join(f"{facts['paragraphs']:,} {reason}" for reason, facts in self.drops.items())
        raise BadInput(
            f"{what} of {self.characters:,} characters, {self.paragraphs:,} paragraphs; dropped: {reasons or 'nothing'}"
        )

    def _order(self) -> Ids:
        """The numbers of the types, by falling frequency in training and by code point: places in it are final ids."""
        assert self._words is not None
        self._counts = {name: counts[: len(self.index)].astype(np.int64) for name, counts in self._counts.items()}
        counts, held_out = (self._counts[name] for name in PARTS)
        used = np.flatnonzero((counts > 0) | (held_out > 0)).astype(np.uint32)
        return self._words.by_frequency(counts, used)

    def _write_types(self, order: Ids) -> None:
        assert self._words is not None
        with open(self.folder / "types.txt", "wb") as stream:
            stream.writelines(self._words.lines(order, self._counts["train"]))

    @contextmanager
    def _beside(self, work: Callable[[Ids], None], order: Ids) -> Iterator[None]:
        """Where there is a core for it, work is done in a thread while the context lasts; else before."""
        if self.threads == 1:
            work(order)
            yield
            return
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(work, order)
            yield
            done.result()


class _Rows:
    """Arrays on the disk, to be read again and again in the order in which they were added."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stream: IO[bytes] = open(path, "wb")  # noqa: SIM115  (open until it is read)
        self._sizes: list[int] = []

    def add(self, row: Ids) -> None:
        self._stream.write(row.astype("<u4").tobytes())
        self._sizes.append(len(row))

    def __iter__(self) -> Iterator[Ids]:
        self._stream.close()
        with open(self.path, "rb") as stream:
            for size in self._sizes:
                yield np.frombuffer(stream.read(4 * size), "<u4")


class _Shards:
    """Ids to shard-0000.bin and so on, each of SHARD ids or a little more; a document end stays with its document."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._number = self._size = 0
        self._stream: IO[bytes] | None = None

    def add(self, ids: Ids) -> None:
        if self._size >= SHARD and len(ids):
            ends = int(ids[0] == DOCUMENT_END)
            self._write(ids[:ends])
            self.close()
            ids = ids[ends:]
        self._write(ids)

    def _write(self, ids: Ids) -> None:
        if not len(ids):
            return
        if self._stream is None:
            self._stream = open(self.folder / f"shard-{self._number:04d}.bin", "wb")  # noqa: SIM115  (until it is full)
        self._stream.write(ids.astype("<u4").tobytes())
        self._size += len(ids)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream, self._number, self._size = None, self._number + 1, 0
