"""A corpus as contiguous streams: every update has the same shape, and no place is padding.

A sentence of n words makes n + 1 predictions in each direction: `<s> w1 .. wn` predicts `w1 .. wn </s>`, and
`</s> wn .. w1` predicts `wn .. w1 <s>`. Sentences keep their order inside a document and are reversed in place for the
backward direction, so that one window holds nearly the same words for both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zh_elmo.corpus.store import DOCUMENT_END, SENTENCE_END
from zh_elmo.files import BadInput
from zh_elmo.lm.settings import StreamSettings

Ids = NDArray[np.int64]
_UNIT = 64  # sentences of a document that stay together when the corpus is shuffled


class Sentences(NamedTuple):
    """The sentences of a corpus part as one array of words."""

    words: NDArray[np.uint32]  # type ids, marks left out
    starts: Ids  # of each sentence in `words`
    lengths: Ids
    units: Ids  # number of the run of sentences that a sentence is shuffled with


def sentences(ids: NDArray[np.uint32]) -> Sentences:
    """Cut shards of type ids at their marks."""
    is_word = ids < DOCUMENT_END
    ends = np.flatnonzero(ids == SENTENCE_END)
    stops = np.cumsum(is_word)[ends].astype(np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), stops])[: len(ends)]
    documents = np.cumsum(ids == DOCUMENT_END)[ends]
    first = np.searchsorted(documents, documents)  # first sentence of each one's document
    new = (np.arange(len(ends)) - first) % _UNIT == 0
    return Sentences(ids[is_word], starts, stops - starts, np.cumsum(new))


class Window(NamedTuple):
    """One update: type ids [2, T, B], direction 0 forward and 1 backward; the next word of each place likewise."""

    inputs: Ids
    targets: Ids
    first: bool  # the streams begin here: no state comes in


class Streams:
    """Windows of an endlessly repeated corpus, each a function of its number alone."""

    def __init__(self, part: NDArray[np.uint32], n_types: int, settings: StreamSettings, seed: int) -> None:
        """`part` as in the shards; `<s>` and `</s>` get the type ids n_types and n_types + 1."""
        self.sentences = sentences(part)
        if not len(self.sentences.lengths):
            raise BadInput("the corpus has no sentence to train on")
        self.begin, self.end, self.seed = n_types, n_types + 1, seed
        self.batch, self.steps = settings.batch, settings.window
        places = int(self.sentences.lengths.sum() + len(self.sentences.lengths))
        self.stream = max(places // (self.batch * self.steps), 1) * self.steps  # places of one stream in an epoch
        self.per_epoch = self.stream // self.steps
        self._epoch = -1

    def window(self, number: int) -> Window:
        epoch, index = divmod(number, self.per_epoch)
        if epoch != self._epoch:
            self._lay_out(epoch)
        places = (np.arange(self.batch) * self.stream)[None, :] + (index * self.steps + np.arange(self.steps))[:, None]
        inputs = np.stack([flow[places] for flow in self._flows]).astype(np.int64)
        following = np.stack([flow[places + 1] for flow in self._flows]).astype(np.int64)
        # a sentence's mark at its start stands where the other mark is predicted
        following[0][following[0] == self.begin] = self.end
        following[1][following[1] == self.end] = self.begin
        return Window(inputs, following, index == 0)

    def _lay_out(self, epoch: int) -> None:
        """Shuffle the units and write both directions as one long line each."""
        words, starts, lengths, units = self.sentences
        rank = np.random.default_rng([self.seed, epoch]).permutation(int(units[-1]) + 1)
        order = np.argsort(rank[units], kind="stable")
        lengths, starts = lengths[order], starts[order]
        heads = np.cumsum(lengths + 1) - (lengths + 1)  # where each sentence's mark goes
        offset = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)  # place in sentence
        goes = np.repeat(heads + 1, lengths) + offset
        flows = []
        for mark, take in (
            (self.begin, np.repeat(starts, lengths) + offset),
            (self.end, np.repeat(starts + lengths - 1, lengths) - offset),
        ):
            flow = np.full(len(words) + len(lengths), mark, np.int32)
            flow[goes] = words[take]
            # the place after the last one begins a sentence; a corpus smaller than one window is repeated
            needed = self.batch * self.stream + 1
            flows.append(np.append(flow, np.int32(mark)) if len(flow) + 1 >= needed else np.resize(flow, needed))
        self._flows, self._epoch = flows, epoch
