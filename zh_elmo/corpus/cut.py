"""Paragraphs to word ids, the part of a build that runs in worker processes: a pure function of the paragraphs."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from zh_elmo.corpus.chunk import Chunk
from zh_elmo.corpus.exclude import Excluded
from zh_elmo.corpus.filters import fault
from zh_elmo.corpus.index import hashes as type_hashes
from zh_elmo.corpus.readers import Final
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.corpus.store import DOCUMENT_END, SENTENCE_END
from zh_elmo.text.pipeline import LONGEST_WORD, Pipeline

DUPLICATE = "duplicate"  # why a paragraph is dropped
EXAMPLE = 60  # characters of a dropped paragraph that the manifest shows


class Task(NamedTuple):
    """What a worker is handed: paragraphs, with the empty string for the end of a document."""

    paragraphs: list[str]
    characters: int  # of all of them
    read: int  # the same with what is around the text: tags, line ends


class Cutter:
    """Settings and tables, sent to each worker once."""

    def __init__(self, settings: CorpusSettings, excluded: Excluded) -> None:
        self.settings = settings
        self.excluded = excluded
        self.pipeline = Pipeline(settings.text)
        self.salt = settings.seed.to_bytes(8, "little")

    def __call__(self, task: Task) -> Chunk:
        index: defaultdict[str, int] = defaultdict()
        index.default_factory = index.__len__  # a new word is numbered by how many there are
        ids: list[int] = []
        bounds, hashes = [0], []
        dropped: list[tuple[str, str]] = []
        changes = {"sentences_too_short": 0, "sentences_cut": 0, "words_cut": 0}
        for paragraph in task.paragraphs:
            if not paragraph:
                ids.append(DOCUMENT_END)
                hashes.append(0)
            else:
                sentences = self.pipeline.forms(paragraph, final=isinstance(paragraph, Final))
                joined = "".join(map("".join, sentences))
                reason = self._fault(joined) or self._append(sentences, index, ids, changes)
                if reason:
                    dropped.append((reason, paragraph[:EXAMPLE]))
                    continue
                hashes.append(self._hash(joined))
            bounds.append(len(ids))
        types = list(index)
        return Chunk(
            types=types,
            type_hashes=type_hashes(types),
            ids=np.array(ids, np.uint32),
            bounds=np.array(bounds, np.int64),
            hashes=np.array(hashes, np.uint64),
            characters=task.characters,
            read=task.read,
            dropped=dropped,
            changes=changes,
        )

    def _fault(self, joined: str) -> str | None:
        """Why a paragraph is dropped, from all its words."""
        if not joined:
            return "nothing visible"
        if self.excluded and self.excluded.holds(joined):
            return "holds a sentence of an excluded treebank"
        return fault(joined, self.settings.filters)

    def _append(
        self, sentences: list[list[str]], index: defaultdict[str, int], ids: list[int], changes: dict[str, int]
    ) -> str | None:
        """Put the sentences of a paragraph behind `ids`; a reason where none of them is long enough."""
        before = len(ids)
        for sentence in sentences:
            changes["words_cut"] += list(map(len, sentence)).count(LONGEST_WORD)
            changes["sentences_cut"] += len(sentence) > self.settings.maximum
            for start in range(0, len(sentence), self.settings.maximum):
                words = sentence[start : start + self.settings.maximum]
                if len(words) < self.settings.minimum:
                    changes["sentences_too_short"] += 1
                    continue
                ids += map(index.__getitem__, words)
                ids.append(SENTENCE_END)
        return "sentences too short" if len(ids) == before else None

    def _hash(self, joined: str) -> int:
        """Never 0, which stands for a document end."""
        digest = hashlib.blake2b(joined.encode(), digest_size=8, salt=self.salt).digest()
        return int.from_bytes(digest, "little") or 1
