"""Chunks of words to shards: duplicates dropped, a part held out, ids by frequency at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from zh_elmo.corpus.chunk import Chunk
from zh_elmo.corpus.cut import DUPLICATE, EXAMPLE
from zh_elmo.corpus.index import TypeIndex, by_frequency, words_in
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.corpus.store import DOCUMENT_END, SENTENCE_END
from zh_elmo.files import BadInput

SHARD = 1 << 24  # ids
_AT_ONCE = 1 << 20  # ids that are renumbered in memory
_EXAMPLES = 3

Ids = NDArray[np.uint32]


class Part:
    """The ids of one part, provisional, in a file; and, where `counted`, how often each occurs."""

    def __init__(self, path: Path, *, counted: bool) -> None:
        self.path, self.counted = path, counted
        self.stream: IO[bytes] = open(path, "wb")  # noqa: SIM115  (open for the whole build; closed by Writer)
        self.counts = np.zeros(1024, np.int64)
        self.documents = self.paragraphs = self.sentences = self.words = 0
        self.in_document = False
        self.pieces: list[Ids] = []  # of the chunk at hand, in the chunk's own ids

    def paragraph(self, ids: Ids) -> None:
        self.pieces.append(ids)
        self.paragraphs += 1
        self.in_document = True

    def end_document(self) -> None:
        if self.in_document:
            self.pieces.append(np.array([DOCUMENT_END], np.uint32))
            self.documents += 1
            self.in_document = False

    def flush(self, ids: Ids, n_types: int) -> None:
        """Write what the pieces have become in provisional ids, and count it."""
        self.pieces = []
        self.stream.write(ids.astype("<u4").tobytes())
        words = ids[ids < DOCUMENT_END]
        self.sentences += int(np.count_nonzero(ids == SENTENCE_END))
        self.words += len(words)
        if self.counted:
            if len(self.counts) < n_types:
                self.counts = np.concatenate([self.counts, np.zeros(n_types // 2, np.int64)])
                self.counts.resize(max(len(self.counts), n_types), refcheck=False)
            seen, numbers = np.unique(words, return_counts=True)
            self.counts[seen] += numbers

    def facts(self) -> dict[str, int]:
        """Numbers for the manifest."""
        return {name: getattr(self, name) for name in ("documents", "paragraphs", "sentences", "words")}


class Writer:
    """Takes chunks in order, and which of their paragraphs were there before; `finish` writes shard-NNNN.bin,
    heldout.bin and types.txt into the folder."""

    def __init__(self, folder: Path, settings: CorpusSettings) -> None:
        self.folder, self.settings = folder, settings
        self.train = Part(folder / "train.part", counted=True)
        self.heldout = Part(folder / "heldout.part", counted=False)
        self.index = TypeIndex(folder / "words.part")
        self.characters = self.paragraphs = 0
        self.drops: dict[str, dict[str, Any]] = {}  # reason -> number of paragraphs, a few examples
        self.changes = Counter[str]()
        self.facts: dict[str, Counter[str]] = {}

    def add(self, chunk: Chunk, repeated: NDArray[np.uint8]) -> None:
        """Sort the paragraphs of a chunk into training, held-out and dropped ones. repeated: 1 for a paragraph that was
        there before."""
        self.characters += chunk.characters
        for reason, example in chunk.dropped:
            self._drop(reason, example)
        self.changes.update(chunk.changes)
        for name, counts in chunk.facts.items():
            self.facts.setdefault(name, Counter()).update(counts)
        threshold = int(self.settings.held_out * 2**64)
        bounds, drop = chunk.bounds.tolist(), self.settings.drop_duplicates
        for number, (digest, again) in enumerate(zip(chunk.hashes.tolist(), repeated.tolist(), strict=True)):
            start, end = bounds[number], bounds[number + 1]
            if digest == 0:
                self.train.end_document()
                self.heldout.end_document()
            elif again and drop:
                self._drop(DUPLICATE, _beginning(chunk, chunk.ids[start:end]))
            else:
                self.paragraphs += 1
                (self.heldout if digest < threshold else self.train).paragraph(chunk.ids[start:end])
        self._flush(chunk)

    def _drop(self, reason: str, example: str) -> None:
        self.paragraphs += 1
        facts = self.drops.setdefault(reason, {"paragraphs": 0, "examples": []})
        facts["paragraphs"] += 1
        if len(facts["examples"]) < _EXAMPLES:
            facts["examples"].append(example)

    def _flush(self, chunk: Chunk) -> None:
        """From the chunk's ids to provisional ones; types of dropped paragraphs get none."""
        parts = [part for part in (self.train, self.heldout) if part.pieces]
        joined = {part: np.concatenate(part.pieces) for part in parts}
        used = np.unique(np.concatenate([np.empty(0, np.uint32), *joined.values()]))
        used = used[used < DOCUMENT_END]
        provisional = np.zeros(len(chunk.types), np.uint32)
        words = [chunk.types[number] for number in used.tolist()]
        provisional[used] = self.index.numbers(chunk.type_hashes[used], words)
        for part, ids in joined.items():
            part.flush(_renumbered(ids, provisional), len(self.index))

    def finish(self) -> dict[str, Any]:
        """Write the corpus; numbers for the manifest. Raises BadInput where there is nothing to train on."""
        self.train.stream.close()
        self.heldout.stream.close()
        self.index.close()
        if not self.train.words:
            what = "all text is held out" if self.heldout.words else "no sentence is left"
            reasons = "; ".join(f"{facts['paragraphs']:,} {reason}" for reason, facts in self.drops.items())
            raise BadInput(
                f"{what} of {self.characters:,} characters, {self.paragraphs:,} paragraphs; "
                f"dropped: {reasons or 'nothing'}"
            )
        final = self._types()
        for number, block in enumerate(_blocks(self.train.path)):
            _write(self.folder / f"shard-{number:04d}.bin", [block], final)
        _write(self.folder / "heldout.bin", _blocks(self.heldout.path), final)
        for path in (self.train.path, self.heldout.path, self.index.path):
            path.unlink()
        counts = self.train.counts[: len(self.index)]
        return {
            "characters": self.characters,
            "paragraphs": self.paragraphs,
            "types": int(np.count_nonzero(counts)),
            "types_held_out_only": int(np.count_nonzero(counts == 0)),
            "train": self.train.facts(),
            "heldout": self.heldout.facts(),
            **self.changes,
            **{name: dict(sorted(counts.items())) for name, counts in sorted(self.facts.items())},
        }

    def _types(self) -> Ids:
        """Write types.txt, by falling frequency in training and by code point; the final id of each provisional one."""
        counts = np.resize(self.train.counts, len(self.index))
        order = by_frequency(self.index.path, counts)
        words = words_in(self.index.path, order, len(order))
        with open(self.folder / "types.txt", "w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(f"{word}\t{counts[place]}\n" for word, place in zip(words, order.tolist(), strict=True))
        final = np.empty(len(order), np.uint32)
        final[order] = np.arange(len(order), dtype=np.uint32)
        return final


def _beginning(chunk: Chunk, ids: Ids) -> str:
    """How a paragraph begins, from its words."""
    return "".join(chunk.types[word] for word in ids[:EXAMPLE] if word < DOCUMENT_END)[:EXAMPLE]


def _renumbered(ids: Ids, table: Ids) -> Ids:
    """Word ids through `table`; marks stay."""
    words = ids < DOCUMENT_END
    result = np.array(ids)
    result[words] = table[ids[words]]
    return result


def _blocks(path: Path) -> Iterator[Ids]:
    """The ids of a file in blocks of at most SHARD, cut at the ends of sentences where there is one."""
    if not path.stat().st_size:
        return
    ids = np.memmap(path, "<u4", mode="r")
    start = 0
    while start < len(ids):
        end = min(start + SHARD, len(ids))
        if end < len(ids):
            ends = np.flatnonzero(ids[start:end] >= DOCUMENT_END)
            whole = ends[ids[start + 1 :][ends] != DOCUMENT_END]  # a document end stays with its last sentence
            end = start + int(whole[-1]) + 1 if len(whole) else end
        yield ids[start:end]
        start = end


def _write(path: Path, blocks: Iterable[Ids], table: Ids) -> None:
    """Provisional ids as final ones, a little at a time."""
    with open(path, "wb") as stream:
        for block in blocks:
            for start in range(0, len(block), _AT_ONCE):
                stream.write(_renumbered(block[start : start + _AT_ONCE], table).astype("<u4").tobytes())
