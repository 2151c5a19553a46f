"""Chunks of words to shards: types numbered, words counted, ids by frequency at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from zh_elmo.corpus.chunk import FIRST_WORD, SENTENCE_MARK, Chunk
from zh_elmo.corpus.cut import EXAMPLE
from zh_elmo.corpus.index import TypeIndex
from zh_elmo.corpus.order import WordFile
from zh_elmo.corpus.parts import PARTS, REPEATED, Flags, Ids, Sorter
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.corpus.store import DOCUMENT_END, SENTENCE_END
from zh_elmo.files import BadInput

SHARD = 1 << 24  # ids after which a shard ends, with the task or the document
_EXAMPLES = 3
_MARKS = np.array([SENTENCE_END, DOCUMENT_END], np.uint32)  # of the ids of a chunk, as they are in a shard

Flagged = Iterable[tuple[Chunk, Flags]]  # every chunk in order, without types, and what `Sorter` wants to know of it


class Writer:
    """`number` every chunk in order, which can be done while others are still cut; then `count` all of them, then
    `write` them: shard-NNNN.bin, heldout.bin and types.txt in the folder."""

    def __init__(self, folder: Path, settings: CorpusSettings) -> None:
        self.folder, self.settings = folder, settings
        self.index = TypeIndex(folder / "words.part")
        self.characters = self.paragraphs = 0
        self.drops: dict[str, dict[str, Any]] = {}  # reason -> number of paragraphs, a few examples
        self.changes = Counter[str]()
        self.facts: dict[str, Counter[str]] = {}
        self.parts = {name: Counter[str]() for name in PARTS}
        self._numbers = _Rows(folder / "numbers.part")  # of each chunk, what its types are called here
        self._words: WordFile | None = None  # when all are numbered
        self._counts = np.empty(0, np.int64)  # of each type, in training
        self._held_out = np.empty(0, bool)  # of each type, whether it is held out as well

    def number(self, chunk: Chunk) -> None:
        """Number the types of a chunk."""
        self._numbers.add(self.index.numbers(chunk.type_hashes, chunk.types))

    def count(self, chunks: Flagged) -> None:
        """Count what is kept and what is dropped. Raises BadInput where there is nothing to train on."""
        self.index.close()
        self._words = WordFile(self.index.path, len(self.index))
        self._counts = np.zeros(len(self.index), np.int64)
        self._held_out = np.zeros(len(self.index), bool)
        sort = Sorter(self.settings)
        for (chunk, repeated), numbers in zip(chunks, self._numbers, strict=True):
            self._look_at(chunk)
            self._look_at_repeated(chunk, np.where(sort.dropped(repeated), repeated, 0), numbers)
            for name, kept in sort(chunk, repeated).items():
                there = np.bincount(kept.ids, minlength=FIRST_WORD + len(numbers))
                words = there[FIRST_WORD:]
                if name == "train":
                    self._counts[numbers] += words
                else:
                    self._held_out[numbers[words > 0]] = True
                self.parts[name].update(
                    documents=kept.documents,
                    paragraphs=kept.paragraphs,
                    sentences=int(there[SENTENCE_MARK]),
                    words=int(words.sum()),
                )
                self.paragraphs += kept.paragraphs
        self._check()

    def write(self, chunks: Flagged) -> dict[str, Any]:
        """Write the corpus; numbers for the manifest."""
        final = self._types()
        sort = Sorter(self.settings)
        shards = _Shards(self.folder)
        with open(self.folder / "heldout.bin", "wb") as heldout:
            for (chunk, repeated), numbers in zip(chunks, self._numbers, strict=True):
                kept = sort(chunk, repeated)
                table = np.concatenate((_MARKS, final[numbers]))
                shards.add(table[kept["train"].ids])
                heldout.write(table[kept["heldout"].ids].astype("<u4").tobytes())
        shards.close()
        for path in (self.index.path, self._numbers.path):
            path.unlink()
        return {
            "characters": self.characters,
            "paragraphs": self.paragraphs,
            "types": int(np.count_nonzero(self._counts)),
            "types_held_out_only": int(np.count_nonzero(self._held_out & (self._counts == 0))),
            **{name: dict(counts) for name, counts in self.parts.items()},
            **self.changes,
            **{name: dict(sorted(counts.items())) for name, counts in sorted(self.facts.items())},
        }

    def _look_at(self, chunk: Chunk) -> None:
        """What was done to a chunk, and what was left out of it."""
        self.characters += chunk.characters
        for reason, example in chunk.dropped:
            self._drop(reason, 1, [example])
        self.changes.update(chunk.changes)
        for name, counts in chunk.facts.items():
            self.facts.setdefault(name, Counter()).update(counts)

    def _look_at_repeated(self, chunk: Chunk, repeated: Flags, numbers: Ids) -> None:
        for flag, reason in REPEATED.items():
            places = np.flatnonzero(repeated == flag)
            if len(places):
                self._drop(reason, len(places), (self._beginning(chunk, int(place), numbers) for place in places))

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

    def _types(self) -> Ids:
        """Write types.txt, by falling frequency in training and by code point; the final id of each number."""
        words = self._words
        assert words is not None
        used = np.flatnonzero((self._counts > 0) | self._held_out).astype(np.uint32)
        order = words.by_frequency(self._counts, used)
        with open(self.folder / "types.txt", "wb") as stream:
            start = 0
            for some in words.lists(order):
                counts = self._counts[order[start : start + len(some)]].tolist()
                stream.write(b"".join([b"%s\t%d\n" % line for line in zip(some, counts, strict=True)]))
                start += len(some)
        final = np.zeros(len(self.index), np.uint32)
        final[order] = np.arange(len(order), dtype=np.uint32)
        return final


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
