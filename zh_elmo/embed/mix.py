"""Layers to one vector a word: gamma * sum_j s_j h_j (Peters et al. 2018, equation 1), given or learned by a task."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from zh_elmo.files import BadInput


def mix(layers: Tensor | Sequence[Tensor], weights: Tensor | Sequence[float], gamma: Tensor | float = 1.0) -> Tensor:
    """gamma * sum_j weights[j] * layers[j]: layers [n_layers, ..., width] (or a list of [..., width]) -> [..., width].

    The weights are taken as they are: no softmax. Raises BadInput where their number is not that of the layers.
    """
    stacked = layers if isinstance(layers, Tensor) else torch.stack(list(layers))
    weights = torch.as_tensor(weights, dtype=stacked.dtype, device=stacked.device)
    if weights.shape != stacked.shape[:1]:
        raise BadInput(f"{len(stacked)} layers need {len(stacked)} weights, not {weights.numel()}")
    return torch.einsum("l,l...->...", weights, stacked) * gamma


def checked_weights(weights: Sequence[float], n_layers: int) -> list[float]:
    """Weights a person gave, one a layer and finite; raises BadInput otherwise."""
    try:
        values = [float(w) for w in weights]
    except (TypeError, ValueError):
        raise BadInput(f"expected a weight for each of the {n_layers} layers, not {weights!r}") from None
    if len(values) != n_layers or not all(map(math.isfinite, values)):
        raise BadInput(f"expected {n_layers} finite weights, one for each layer, not {values}")
    return values


class ScalarMix(nn.Module):
    """Learns how much of each layer a task wants (Peters et al. 2018, equation 1).

    `initial` are normalised weights (they sum to 1; default: all the same), not what goes into the softmax. With
    `trainable=False` they stay as they are and may be 0. `layer_norm` brings each layer to mean 0 and variance 1 first,
    over all words of the batch together, as AllenNLP's `do_layer_norm` does: vectors then depend on the batch.
    """

    def __init__(
        self,
        n_layers: int,
        *,
        initial: Sequence[float] | None = None,
        gamma: float = 1.0,
        layer_norm: bool = False,
        trainable: bool = True,
    ) -> None:
        super().__init__()
        self.n_layers, self.layer_norm, self.trainable = n_layers, layer_norm, trainable
        logits = torch.zeros(n_layers) if initial is None else _logits(initial, n_layers, trainable)
        self.s = nn.Parameter(logits, requires_grad=trainable)
        self.gamma = nn.Parameter(torch.tensor(float(gamma)), requires_grad=trainable)

    def forward(self, layers: Tensor | Sequence[Tensor], mask: Tensor | None = None) -> Tensor:
        """layers [n_layers, ..., width] or a list of [..., width]; mask [...] is False where there is no word (looked
        at for `layer_norm` only) -> [..., width]."""
        stacked = layers if isinstance(layers, Tensor) else torch.stack(list(layers))
        if len(stacked) != self.n_layers:
            raise BadInput(f"a mix of {self.n_layers} layers was given {len(stacked)}")
        if self.layer_norm:
            stacked = layer_normalised(stacked, mask)
        return mix(stacked, self.s.softmax(0).to(stacked.dtype), self.gamma.to(stacked.dtype))

    def weights(self) -> tuple[list[float], float]:
        """The normalised weights s_j (they sum to 1), lowest layer first, and gamma."""
        return self.s.detach().double().softmax(0).tolist(), self.gamma.item()

    def l2(self) -> Tensor:
        """Sum of the squares of what goes into the softmax: added to the loss, times a small number, it draws the
        weights towards the average of all layers (Peters et al. 2018, section 3.3). Zero where nothing is learned."""
        return self.s.square().sum() if self.trainable else self.s.new_zeros(())


def _logits(initial: Sequence[float], n_layers: int, trainable: bool) -> Tensor:
    weights = checked_weights(initial, n_layers)
    if min(weights) < 0 or abs(sum(weights) - 1) > 1e-4:
        raise BadInput(f"initial weights of a mix are normalised: 0 or more, with the sum 1, not {weights}")
    if trainable and min(weights) == 0:
        raise BadInput("a weight that begins at 0 can never be learned: begin with a small one, or trainable=False")
    logits = torch.tensor(weights, dtype=torch.float64).log()
    if trainable:
        logits -= logits.mean()  # the softmax does not mind, the L2 term does
    return logits.float()


def layer_normalised(layers: Tensor, mask: Tensor | None) -> Tensor:
    """AllenNLP 0.9, modules/scalar_mix.py: one mean and variance a layer, over all words and all numbers of a word."""
    inside = torch.ones_like(layers[0, ..., :1]) if mask is None else mask[..., None].to(layers.dtype)
    number = inside.sum() * layers.shape[-1]
    over = tuple(range(1, layers.dim()))
    mean = (layers * inside).sum(over, keepdim=True) / number
    variance = ((layers - mean) * inside).square().sum(over, keepdim=True) / number
    return (layers - mean) / torch.sqrt(variance + 1e-12)
