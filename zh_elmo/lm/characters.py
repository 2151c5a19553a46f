"""Words -> token encodings: convolutions over characters, highways, projection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from zh_elmo.lm.settings import Characters

PAD, UNKNOWN, BEGIN, END, BOS, EOS = range(6)
SPECIAL = ("<pad>", "<unk>", "<w>", "</w>", "<s>", "</s>")  # ids of characters before the real ones


def alphabet(counts: Mapping[str, int], minimum: int) -> list[str]:
    """Characters seen `minimum` times or more, by falling frequency, ties by code point."""
    kept = [c for c, n in counts.items() if n >= minimum]
    return sorted(kept, key=lambda c: (-counts[c], c))


class Speller:
    """Words -> ids of characters, or of the bytes of UTF-8: begin mark, at most `maximum` of them, end mark, padding.

    Bytes are cut where they are cut, inside a character too; a lone surrogate has none.
    """

    def __init__(self, chars: Sequence[str], settings: Characters) -> None:
        self.ids = {c: i for i, c in enumerate(chars, len(SPECIAL))}
        self.maximum, self.bytes = settings.maximum, settings.unit == "byte"

    def __call__(self, words: Iterable[str]) -> Tensor:
        """[n_words, longest + 2] int64."""
        spelled = [[BEGIN, *self._inner(word), END] for word in words]
        longest = max(map(len, spelled), default=2)
        return torch.tensor([s + [PAD] * (longest - len(s)) for s in spelled], dtype=torch.int64).view(-1, longest)

    def _inner(self, word: str) -> list[int]:
        if self.bytes:
            return [byte + len(SPECIAL) for byte in word.encode("utf-8", "ignore")[: self.maximum]]
        get = self.ids.get
        return [get(c, UNKNOWN) for c in word[: self.maximum]]


class Highway(nn.Module):
    """y = t * relu(W x + b) + (1 - t) * x with t = sigmoid(W' x + b') (Srivastava et al. 2015, eq. 3)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, 2 * size)
        with torch.no_grad():
            self.linear.bias[size:] = -1.0  # mostly carries x on at the start

    def forward(self, x: Tensor) -> Tensor:
        candidate, gate = self.linear(x).chunk(2, dim=-1)
        return torch.lerp(x, torch.relu(candidate), torch.sigmoid(gate))


class CharacterEncoder(nn.Module):
    """Characters [n, L] -> features [n, F] (Kim et al. 2016, sections 2.2 and 2.3).

    The convolution is linear, so it is multiplied once for every distinct character of the batch; a word only adds
    up the rows of its characters and takes the maximum over places: those that lie wholly inside its marks or, with
    `settings.padded`, all of the word filled up with padding. There, all places of nothing but padding are the same,
    so one of them will do, and words need no more padding than the widest filter.
    """

    def __init__(self, settings: Characters, n_chars: int) -> None:
        super().__init__()
        self.filters = list(settings.filters)
        self.padded, self.room = settings.padded, settings.maximum + 2
        self.size = sum(number for _, number in self.filters)
        self.embedding = nn.Embedding(
            n_chars + len(SPECIAL), settings.size, padding_idx=None if settings.padded else PAD
        )
        self.kernels = nn.ParameterList(
            nn.Parameter(torch.empty(settings.size, width * number).normal_(std=(width * settings.size) ** -0.5))
            for width, number in self.filters
        )
        self.bias = nn.Parameter(torch.zeros(self.size))
        self.activation = {"relu": torch.relu, "tanh": torch.tanh}[settings.activation]
        self.highways = nn.ModuleList(Highway(self.size) for _ in range(settings.highways))

    def forward(self, chars: Tensor) -> Tensor:
        lengths = (chars != PAD).sum(1)
        if self.padded:
            widest = max(width for width, _ in self.filters)
            missing = min(self.room, chars.shape[1] + widest) - chars.shape[1]
            chars = nn.functional.pad(chars, (0, missing), value=PAD)
        distinct, where = torch.unique(chars, return_inverse=True)
        characters = self.embedding(distinct)
        pooled = [
            self._pool(characters @ kernel, where, lengths, width, number)
            for kernel, (width, number) in zip(self.kernels, self.filters, strict=True)
        ]
        return self._finish(torch.cat(pooled, dim=1))

    def nothing(self) -> Tensor:
        """Features [1, F] of a word whose characters, marks and padding all have zero vectors: what bilm-tf computes
        behind the end of a sentence."""
        return self._finish(torch.zeros_like(self.bias)[None])

    def _finish(self, pooled: Tensor) -> Tensor:
        x: Tensor = self.activation(pooled + self.bias)
        for highway in self.highways:
            x = highway(x)
        return x

    def _pool(self, rows: Tensor, where: Tensor, lengths: Tensor, width: int, number: int) -> Tensor:
        """Maximum over places of sum_k rows[where[place + k], k]: rows [distinct, width * number] -> [n, number]."""
        longest = where.shape[1]
        if longest < width:  # words shorter than the filter: it sees padding, whose rows are zero
            empty = rows.new_zeros(1, rows.shape[1])
            where = nn.functional.pad(where, (0, width - longest), value=rows.shape[0])
            rows, longest = torch.cat([rows, empty]), width
        places = longest - width + 1
        taken = [
            nn.functional.embedding(where[:, k : k + places], rows[:, k * number : (k + 1) * number])
            for k in range(width)
        ]
        summed = torch.stack(taken).sum(0) if width > 1 else taken[0]
        if not self.padded:
            inside = torch.arange(places, device=where.device) < (lengths - width + 1).clamp(min=1)[:, None]
            summed = summed.masked_fill(~inside[..., None], -torch.inf)
        return summed.amax(1)
