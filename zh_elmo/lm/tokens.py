"""Spelled words -> token encodings: what the characters give, a table of words, or both."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zh_elmo.lm.characters import CharacterEncoder
from zh_elmo.lm.settings import Model


class TokenEncoder(nn.Module):
    """[n, P] from characters [n, L] and word ids [n].

    A table of `word_size` goes into the projection before the characters' features (ELMoForManyLangs); one of size P
    is added to what comes out of it, or is all there is (bilm-tf's word input).
    """

    def __init__(self, settings: Model, n_chars: int, n_words: int, unknown: int) -> None:
        """`unknown`: the row of the table that stays zero where the table is only added."""
        super().__init__()
        cares = bool(settings.characters.filters)
        self.characters = CharacterEncoder(settings.characters, n_chars) if cares else None
        self.joined = settings.word_size > 0
        features = settings.word_size + (self.characters.size if self.characters is not None else 0)
        self.projection = nn.Linear(features, settings.projection) if features and settings.project else None
        self.table: nn.Embedding | None = None
        if settings.word_table:
            added = cares and not self.joined
            size = settings.word_size or settings.projection
            self.table = nn.Embedding(n_words, size, padding_idx=unknown if added else None, sparse=True)
            if added:
                nn.init.zeros_(self.table.weight)  # at first a word is what its characters say

    def forward(self, chars: Tensor, ids: Tensor) -> Tensor:
        found = [] if self.characters is None else [self.characters(chars)]
        return self._together(found, ids)

    def nothing(self) -> Tensor:
        """[P]: what bilm-tf has for a word that is not there, behind the end of a sentence; zeros without characters.
        Only for models without a table beside the characters."""
        if self.characters is None:
            assert self.table is not None
            return torch.zeros_like(self.table.weight[0])
        features = self.characters.nothing()
        return (features if self.projection is None else self.projection(features))[0]

    def _together(self, found: list[Tensor], ids: Tensor) -> Tensor:
        if self.table is not None and self.joined:
            found = [self.table(ids), *found]
        if not found:
            assert self.table is not None
            alone: Tensor = self.table(ids)
            return alone
        x = torch.cat(found, dim=1)
        if self.projection is not None:
            x = self.projection(x)
        return x if self.table is None or self.joined else x + self.table(ids)
