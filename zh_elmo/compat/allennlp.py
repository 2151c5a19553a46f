"""The calls of AllenNLP 0.9: `ElmoEmbedder` (gone since 1.0) and `ScalarMix`, state dict and all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from zh_elmo.embed.embedder import Vectors, load
from zh_elmo.embed.mix import checked_weights, layer_normalised, mix
from zh_elmo.files import BadInput


class ElmoEmbedder:
    """`ElmoEmbedder(model)` in place of `ElmoEmbedder(options_file, weight_file)`.

    Differences to the original: the state is zero before each sentence, so that its vectors are the same in every call
    and beside every other sentence; words are normalised as the model's corpus was; an empty sentence has the shape
    of this model, not (3, 0, 1024).
    """

    def __init__(self, model: str | Path) -> None:
        """`model`: anything that `zh_elmo.load` opens; raises BadInput where there is none, or a damaged one."""
        self._embedder = load(model)

    def embed_sentence(self, sentence: Sequence[str]) -> Vectors:
        """Words of one sentence -> [n_layers, n_words, width] float32, layer 0 the token encoding."""
        return self.embed_batch([sentence])[0]

    def embed_batch(self, batch: Sequence[Sequence[str]]) -> list[Vectors]:
        """[n_layers, n_words, width] of each sentence, without padding, in the order of the input."""
        return self._embedder.embed(batch, layers="all")

    def embed_sentences(self, sentences: Iterable[Sequence[str]], batch_size: int = 64) -> Iterator[Vectors]:
        """Like `embed_batch`, lazily, for any number of sentences. `batch_size` is taken for the sake of the call:
        batches are made by number of words, and no vector depends on them."""
        return self._embedder.embed_iter(sentences, layers="all")


class ScalarMix(nn.Module):
    """gamma * sum_k softmax(s)_k h_k, as `allennlp.modules.scalar_mix.ScalarMix`: a state dict of either fits the other
    (`gamma` and `scalar_parameters.0` ..., of shape [1] each)."""

    def __init__(
        self,
        mixture_size: int,
        do_layer_norm: bool = False,
        initial_scalar_parameters: Sequence[float] | None = None,
        trainable: bool = True,
    ) -> None:
        """`initial_scalar_parameters` go into the softmax, one a layer (`zh_elmo.embed.mix.ScalarMix` takes what comes
        out of it); default: 0. Raises BadInput where their number is not `mixture_size`."""
        super().__init__()
        self.mixture_size, self.do_layer_norm = mixture_size, do_layer_norm
        given = [0.0] * mixture_size if initial_scalar_parameters is None else initial_scalar_parameters
        self.scalar_parameters = nn.ParameterList(
            nn.Parameter(torch.tensor([value]), requires_grad=trainable)
            for value in checked_weights(given, mixture_size)
        )
        self.gamma = nn.Parameter(torch.ones(1), requires_grad=trainable)

    def forward(self, tensors: Sequence[Tensor], mask: Tensor | None = None) -> Tensor:
        """`tensors`: a list of [..., width], one a layer; mask [...] is False (or 0) where there is no word, looked at
        with `do_layer_norm` only -> [..., width]. Raises BadInput for another number of layers."""
        if len(tensors) != self.mixture_size:
            raise BadInput(f"a mix of {self.mixture_size} layers was given {len(tensors)}")
        stacked = torch.stack(list(tensors))
        if self.do_layer_norm:
            stacked = layer_normalised(stacked, mask)
        return mix(stacked, torch.cat(list(self.scalar_parameters)).softmax(0), self.gamma)
