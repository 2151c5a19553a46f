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
Hashes = NDArray[np.uint64]
Name = Literal["train", "heldout"]
SAME, NEAR = 1, 2  # flags of a paragraph that was there before
REPEATED = {SAME: "duplicate", NEAR: "near duplicate"}  # why it is dropped
PARTS: tuple[Name, ...] = ("train", "heldout")


class Share(NamedTuple):
    """What of a chunk goes into one part."""

    paragraphs: Mask
    ends: Mask  # of documents, kept where a paragraph of the part stands before them

    def ids(self, chunk: Chunk) -> Ids:
        """In the numbers of the chunk."""
        return taken(chunk, self.paragraphs | self.ends)


def taken(chunk: Chunk, paragraphs: Mask) -> Ids:
    """The ids of some paragraphs."""
    ids: Ids = chunk.ids if paragraphs.all() else chunk.ids[np.repeat(paragraphs, np.diff(chunk.bounds))]
    return ids


class Sorter:
    """Takes the hashes of all chunks in order, once. A paragraph is held out by its hash, whatever stands around it."""

    def __init__(self, settings: CorpusSettings) -> None:
        self._drop_duplicates = settings.drop_duplicates
        self._threshold = int(settings.held_out * 2**64)
        self._in_document = dict.fromkeys(PARTS, False)

    def __call__(self, hashes: Hashes, repeated: Flags) -> dict[Name, Share]:
        """repeated: for each paragraph 0, or a flag of REPEATED."""
        is_end = hashes == 0
        fresh = ~is_end & ~self.dropped(repeated)
        held_out = self.held_out(hashes)
        parts = zip(PARTS, (fresh & ~held_out, fresh & held_out), strict=True)
        return {name: Share(of, self._ends(name, of, is_end)) for name, of in parts}

    def held_out(self, hashes: Hashes) -> Mask:
        held_out: Mask = hashes < np.uint64(self._threshold)
        return held_out

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
