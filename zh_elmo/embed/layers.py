"""Token encodings -> every layer's vectors of whole sentences, both directions, no state from anywhere else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from zh_elmo.lm.model import BiLM

START, STOP, FIRST_WORD = range(3)  # rows of a table of encodings: `<s>`, `</s>`, then the words
_PLACES_AT_ONCE = 1024  # words that the LSTM reads in one piece: enough for full speed, and memory stays small


def layers_of(bilm: BiLM, table: Tensor, sentences: Sequence[Tensor]) -> Tensor:
    """All layers of a batch of sentences.

    table [n, P] holds encodings: row 0 of `<s>`, row 1 of `</s>`, the words' after them; sentences are rows of it,
    [length] int64 each, one word or more. Returns [n_layers, sum of lengths, 2 P], sentence after sentence; the first
    P numbers are the forward direction's. Layer 0 is the encoding, twice beside itself (Peters et al. 2018, 3.2).

    A sentence lies at the start of its row and padding after it, in both directions: what is read later cannot reach
    what came before, so that neither padding nor companions have a say. Gradients flow to `table` where it wants any.
    """
    lengths = torch.tensor([len(s) for s in sentences], device=table.device)
    batch, steps = len(sentences), int(lengths.max()) + 1
    rows = torch.full((2, batch, steps), STOP, device=table.device)
    rows[0, :, 0] = START
    for b, sentence in enumerate(sentences):
        rows[0, b, 1 : len(sentence) + 1] = sentence
        rows[1, b, 1 : len(sentence) + 1] = sentence.flip(0)
    tokens = table[rows.transpose(1, 2)]

    sentence = torch.repeat_interleave(torch.arange(batch, device=table.device), lengths)
    ends = lengths.cumsum(0)
    place = torch.arange(int(ends[-1]), device=table.device) - (ends - lengths)[sentence]
    forward, backward = place + 1, lengths[sentence] - place  # the step after which a word has been read
    outputs = _run(bilm, tokens, steps)
    vectors = [torch.cat([tokens[0, forward, sentence]] * 2, dim=-1)]
    vectors += [torch.cat([out[0, forward, sentence], out[1, backward, sentence]], dim=-1) for out in outputs]
    return torch.stack(vectors)


def _run(bilm: BiLM, tokens: Tensor, steps: int) -> list[Tensor]:
    """The LSTM layers over tokens [2, T, B, P], from zero states.

    Read piece by piece with the state carried on, which is the same and takes little memory; in one piece where
    gradients are wanted, since none flows into a carried state.
    """
    batch = tokens.shape[2]
    piece = steps if torch.is_grad_enabled() else max(1, _PLACES_AT_ONCE // batch)
    states = bilm.start(batch)
    pieces = []
    for begin in range(0, steps, piece):
        out, states = bilm.run(tokens[:, begin : begin + piece], states)
        pieces.append(out)
    return [torch.cat(layer, dim=1) for layer in zip(*pieces, strict=True)]


def unpack(layers: Tensor, lengths: Sequence[int]) -> list[Tensor]:
    """[..., sum of lengths, width] -> one [..., length, width] for each sentence."""
    ends = np.cumsum(lengths).tolist()
    return [layers.narrow(-2, end - length, length) for end, length in zip(ends, lengths, strict=True)]
