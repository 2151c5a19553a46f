"""ELMo in a task's network: words -> the task's own mix of the layers (Peters et al. 2018, section 3.3)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from zh_elmo.embed.embedder import Embedder
from zh_elmo.embed.encodings import encode
from zh_elmo.embed.layers import FIRST_WORD, layers_of
from zh_elmo.embed.mix import ScalarMix
from zh_elmo.embed.padding import pad
from zh_elmo.embed.words import checked
from zh_elmo.files import BadInput
from zh_elmo.lm.model import BiLM


class Source(Protocol):
    """Where layers come from: an Embedder, a Store, or anything of the kind."""

    width: int
    n_layers: int

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[NDArray[Any]]:
        """[n_layers, n_words, width] for each sentence."""


class Representations(NamedTuple):
    """What `Elmo` gives for a batch of sentences."""

    outputs: list[Tensor]  # [n_sentences, longest, width] for each mix; zeros where there is no word
    mask: Tensor  # [n_sentences, longest], True where there is a word


class Elmo(nn.Module):
    """Sentences -> `outputs` mixes of the layers, each with its own learned weights s_j and gamma.

    The language model is frozen and no part of the module: `parameters()` and `state_dict()` hold the mixes alone.
    With `requires_grad=True` (the source must be an Embedder) the module has a copy of the biLM that learns along, and
    the Embedder stays as it is. `l2` times the sum of the squares of the mixes' s_j is what `l2()` gives, for the loss.
    """

    def __init__(
        self,
        source: Source,
        *,
        outputs: int = 1,
        dropout: float = 0.5,
        layer_norm: bool = False,
        l2: float = 0.0,
        initial: Sequence[float] | None = None,
        requires_grad: bool = False,
    ) -> None:
        """`initial` are normalised weights, one a layer, with which each mix begins; `layer_norm` as in `ScalarMix`."""
        super().__init__()
        if not hasattr(source, "n_layers"):
            raise BadInput(f"an Embedder (zh_elmo.load) or a store is due, not {type(source).__name__}")
        if not isinstance(outputs, int) or outputs < 1:
            raise BadInput(f"outputs must be a whole number, 1 or more, not {outputs!r}")
        if not isinstance(dropout, int | float) or not 0 <= dropout < 1:
            raise BadInput(f"dropout must be at least 0 and below 1, not {dropout!r}")
        self.source, self.width, self.l2_weight = source, source.width, l2
        self.mixes = nn.ModuleList(
            ScalarMix(source.n_layers, initial=initial, layer_norm=layer_norm) for _ in range(outputs)
        )
        self.dropout = nn.Dropout(dropout)
        self.bilm: BiLM | None = None
        if requires_grad:
            if not isinstance(source, Embedder):
                raise BadInput("only the biLM of an Embedder can learn along, not vectors that are stored")
            self.bilm = copy.deepcopy(source.bilm).requires_grad_(True)
            if self.bilm.softmax is not None:
                self.bilm.softmax.requires_grad_(False)  # has no part in the vectors
            for module in self.bilm.modules():
                if isinstance(module, nn.Embedding):
                    module.sparse = False  # a task's optimiser need not know of sparse gradients

    def forward(self, sentences: Sequence[Sequence[str]]) -> Representations:
        """Sentences, a list of words each. Raises BadInput for what is not, and for no sentence at all."""
        words = list(checked(sentences))
        if not words:
            raise BadInput("no sentence in the batch")
        layers, mask = self._frozen(words) if self.bilm is None else self._learning(words)
        outputs = [self.dropout(scalar_mix(layers, mask)) * mask[..., None] for scalar_mix in self.mixes]
        return Representations(outputs, mask)

    def l2(self) -> Tensor:
        """The term to add to the task's loss."""
        return self.l2_weight * torch.stack([scalar_mix.l2() for scalar_mix in self._scalar_mixes()]).sum()

    def weights(self) -> list[tuple[list[float], float]]:
        """(normalised weights s_j from the lowest layer on, gamma) of each mix."""
        return [scalar_mix.weights() for scalar_mix in self._scalar_mixes()]

    def _scalar_mixes(self) -> list[ScalarMix]:
        return [module for module in self.mixes if isinstance(module, ScalarMix)]

    def _frozen(self, words: list[list[str]]) -> tuple[Tensor, Tensor]:
        """Layers [n_layers, n_sentences, longest, width] and mask, from the source."""
        padded, real = pad(self.source(words))
        like = self._scalar_mixes()[0].gamma
        layers = torch.from_numpy(padded).to(like.device, like.dtype).transpose(0, 1)
        return layers, torch.from_numpy(real).to(like.device)

    def _learning(self, words: list[list[str]]) -> tuple[Tensor, Tensor]:
        """The same with gradients, from the copy of the biLM."""
        assert self.bilm is not None
        assert isinstance(self.source, Embedder)
        forms = [self.source.normalised(sentence) for sentence in words]
        distinct = {word: row for row, word in enumerate(dict.fromkeys(w for s in forms for w in s), FIRST_WORD)}
        lengths = [len(sentence) for sentence in forms]
        device = next(self.bilm.parameters()).device
        mask = torch.arange(max(lengths), device=device) < torch.tensor(lengths, device=device)[:, None]
        table = torch.cat([encode(self.bilm, None), encode(self.bilm, list(distinct))])
        padded = table.new_zeros(self.source.n_layers, len(forms), max(lengths), self.width)
        full = [i for i, length in enumerate(lengths) if length]
        if full:
            rows = [torch.tensor([distinct[word] for word in forms[i]], device=device) for i in full]
            padded[:, mask], _ = layers_of(self.bilm, table, rows)
        return padded, mask
