"""Which paragraphs of a chunk are for training, which are held out, which were there before."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zh_elmo.corpus.chunk import Chunk
from zh_elmo.corpus.settings import CorpusSettings

Ids = NDArray[np.uint32]
Flags = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Name = Literal["train", "heldout"]
SAME, NEAR = 1, 2  # flags of a paragraph that was there before
REPEATED = {SAME: "duplicate", NEAR: "near duplicate"}  # why it is dropped
PARTS: tuple[Name, ...] = ("train", "heldout")


class Kept(NamedTuple):
    """What of a chunk goes into one part."""

    ids: Ids  # in the numbers of the chunk
    paragraphs: int
    documents: int  # that end here


class Sorter:
    """Takes all chunks in order, once. A paragraph is held out by its hash, whatever stands around it."""

    def __init__(self, settings: CorpusSettings) -> None:
        self._drop_duplicates = settings.drop_duplicates
        self._threshold = int(settings.held_out * 2**64)
        self._in_document = dict.fromkeys(PARTS, False)

    def __call__(self, chunk: Chunk, repeated: Flags) -> dict[Name, Kept]:
        """repeated: for each paragraph 0, or a flag of REPEATED."""
        is_end = chunk.hashes == 0
        fresh = ~is_end & ~self.dropped(repeated)
        held_out = chunk.hashes < np.uint64(self._threshold)
        sizes = np.diff(chunk.bounds)
        kept: dict[Name, Kept] = {}
        for name, of in zip(PARTS, (fresh & ~held_out, fresh & held_out), strict=True):
            ends = self._ends(name, of, is_end)
            ids = chunk.ids[np.repeat(of | ends, sizes)]
            kept[name] = Kept(ids, int(np.count_nonzero(of)), int(np.count_nonzero(ends)))
        return kept

    def dropped(self, repeated: Flags) -> Mask:
        """The paragraphs that are left out as duplicates."""
        dropped: Mask = (repeated == NEAR) | ((repeated == SAME) & self._drop_duplicates)
        return dropped

    def _ends(self, name: Name, of: Mask, is_end: Mask) -> Mask:
        """The document ends that have a paragraph of the part before them, and after the end before."""
        so_far = np.cumsum(of) + self._in_document[name]
        at_ends = so_far[is_end]
        ends = is_end.copy()
        ends[is_end] = np.diff(at_ends, prepend=0) > 0
        if len(of):
            self._in_document[name] = bool(so_far[-1] > (at_ends[-1] if len(at_ends) else 0))
        return ends
