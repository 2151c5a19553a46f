"""Token encodings of words, each computed once and kept while there is room; the longest unused go first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

import torch
from torch import Tensor

from zh_elmo.lm.model import BiLM

_BLOCK = 512  # words that are encoded together: of like length, so that hardly any character is padding


class Encodings:
    """A bounded memory of what `bilm.encode` gives; `bilm` must stay as it is."""

    def __init__(self, bilm: BiLM, capacity: int) -> None:
        self.bilm, self.capacity = bilm, capacity
        self._marks = encode(bilm, None)
        self._kept = self._marks.new_empty(0, self._marks.shape[1])
        self._rows: OrderedDict[str, int] = OrderedDict()  # word -> row of _kept, longest unused first
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._rows)

    def table(self, words: Sequence[str]) -> Tensor:
        """Encodings [2 + n, P] of the marks `<s>`, `</s>` and of n distinct words."""
        with self._lock:
            if len(words) > self.capacity:
                return torch.cat([self._marks, encode(self.bilm, words)])
            new = [word for word in words if word not in self._rows]
            for word in words:
                if word in self._rows:
                    self._rows.move_to_end(word)
            if new:
                self._keep(new, encode(self.bilm, new))
            return torch.cat([self._marks, self._kept[[self._rows[word] for word in words]]])

    def _keep(self, words: Sequence[str], encodings: Tensor) -> None:
        """Give each word a row: a fresh one while there is room, else that of the word unused for longest."""
        rows = list(range(len(self._rows), min(len(self._rows) + len(words), self.capacity)))
        rows += [self._rows.popitem(last=False)[1] for _ in range(len(words) - len(rows))]
        if max(rows) >= len(self._kept):
            room = min(self.capacity, max(2 * len(self._kept), max(rows) + 1, _BLOCK))
            self._kept = torch.cat([self._kept, self._kept.new_empty(room - len(self._kept), self._kept.shape[1])])
        self._kept[rows] = encodings
        self._rows.update(zip(words, rows, strict=True))


def encode(bilm: BiLM, words: Sequence[str] | None) -> Tensor:
    """[n, P] for distinct words, or [2, P] for the marks `<s>` and `</s>`; gradients flow where they are on."""
    if words is None:
        return bilm.encode(bilm.marks())
    order = sorted(range(len(words)), key=lambda i: len(words[i]))
    blocks = [
        bilm.encode(bilm.spell([words[i] for i in order[begin : begin + _BLOCK]]))
        for begin in range(0, len(order), _BLOCK)
    ]
    back = torch.empty(len(order), dtype=torch.int64)
    back[order] = torch.arange(len(order))
    return torch.cat(blocks)[back] if blocks else encode(bilm, None)[:0]
