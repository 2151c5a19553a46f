"""Token encodings -> every layer's vectors of whole sentences, both directions, from a given state or from zero."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from zh_elmo.lm.lstm import State
from zh_elmo.lm.model import BiLM

START, STOP, FIRST_WORD = range(3)  # rows of a table of encodings: `<s>`, `</s>`, then the words
_PLACES_AT_ONCE = 1024  # words that the LSTM reads in one piece: enough for full speed, and memory stays small


def layers_of(
    bilm: BiLM,
    table: Tensor,
    sentences: Sequence[Tensor],
    *,
    states: Sequence[State] | None = None,
    marks: bool = False,
) -> tuple[Tensor, list[State]]:
    """All layers of a batch of sentences, and the state that each of them leaves.

    table [n, P] holds encodings: row 0 of `<s>`, row 1 of `</s>`, the words' after them; sentences are rows of it,
    [length] int64 each. states: one for each LSTM layer, row i for sentence i; None: zero. Returns [n_layers, sum of
    lengths, 2 P], sentence after sentence, with marks=True both marks around each (lengths + 2); the first P numbers
    are the forward direction's. Layer 0 is the encoding, twice beside itself (Peters et al. 2018, 3.2). The states are
    those after the last step that was read, which is that of the far mark where states or marks are asked for.

    A sentence lies at the start of its row and padding after it, in both directions, and what has ended is not read
    on: neither padding nor companions have a say. Gradients flow to `table` where it wants any.
    """
    if bilm.settings.lstm == "two-way":
        return _two_way(bilm, table, sentences, marks), []
    lengths = torch.tensor([len(s) for s in sentences], device=table.device)
    steps = lengths + (2 if marks or states is not None else 1)  # of each sentence that are read
    tokens = table[_rows(sentences, int(steps.max()), table.device)]
    outputs, ends = _run(bilm, tokens, steps.tolist(), states)

    shown = lengths + 2 if marks else lengths
    sentence = torch.repeat_interleave(torch.arange(len(sentences), device=table.device), shown)
    ends_at = shown.cumsum(0)
    place = torch.arange(int(ends_at[-1]), device=table.device) - (ends_at - shown)[sentence]
    forward = place if marks else place + 1  # the step after which a word has been read
    backward = lengths[sentence] + 1 - forward
    vectors = [torch.cat([tokens[0, forward, sentence]] * 2, dim=-1)]
    vectors += [torch.cat([out[0, forward, sentence], out[1, backward, sentence]], dim=-1) for out in outputs]
    return torch.stack(vectors), ends


def _rows(sentences: Sequence[Tensor], steps: int, device: torch.device) -> Tensor:
    """Rows of the table as both directions read them, [2, T, B]; the far mark stands behind each sentence."""
    rows = torch.full((2, len(sentences), steps + 1), STOP, device=device)
    rows[0, :, 0] = START
    for b, sentence in enumerate(sentences):
        rows[0, b, 1 : len(sentence) + 1] = sentence
        rows[1, b, 1 : len(sentence) + 1] = sentence.flip(0)
        rows[1, b, len(sentence) + 1] = START
    return rows[:, :, :steps].transpose(1, 2)


def _run(
    bilm: BiLM, tokens: Tensor, steps: Sequence[int], states: Sequence[State] | None
) -> tuple[list[Tensor], list[State]]:
    """The LSTM layers over tokens [2, T, B, P], `steps` of each row -> outputs [2, T, B, P] and the states at the ends.

    Read piece by piece, the longest rows first, so that a batch shrinks as its sentences end; with the state carried on
    this is the same as reading them alone, takes little memory and nothing for padding. Where gradients are wanted all
    is read in one piece, padding too, since no gradient flows into a carried state; the states are then of no use.
    """
    batch = tokens.shape[2]
    now = list(states) if states is not None else bilm.start(batch)
    if torch.is_grad_enabled():
        return bilm.run(tokens, now)
    order = sorted(range(batch), key=lambda b: -steps[b])
    tokens = tokens[:, :, order]
    now = [State(state.h[:, order], state.c[:, order]) for state in now]
    outputs = [torch.empty_like(tokens) for _ in now]
    begin, active = 0, batch
    while active:
        end = min(steps[order[active - 1]], begin + max(1, _PLACES_AT_ONCE // active))
        part = [State(state.h[:, :active], state.c[:, :active]) for state in now]
        read, after = bilm.run(tokens[:, begin:end, :active], part)
        for layer, (out, state) in enumerate(zip(read, after, strict=True)):
            outputs[layer][:, begin:end, :active] = out
            now[layer].h[:, :active], now[layer].c[:, :active] = state
        begin = end
        while active and steps[order[active - 1]] <= begin:
            active -= 1
    back = torch.tensor(order, device=tokens.device).argsort()
    return [out[:, :, back] for out in outputs], [State(state.h[:, back], state.c[:, back]) for state in now]


def _two_way(bilm: BiLM, table: Tensor, sentences: Sequence[Tensor], marks: bool) -> Tensor:
    """[1, sum of lengths, 2 P]: each sentence by itself, whatever stands beside it."""
    lengths = torch.tensor([len(s) + 2 for s in sentences])
    rows = _rows(sentences, int(lengths.max()), table.device)[0].t()
    return _shown(bilm.layers[0](table[rows], lengths), sentences, marks)


def two_way_padded(
    bilm: BiLM, table: Tensor, padding: Tensor, sentences: Sequence[Tensor], *, marks: bool = False
) -> Tensor:
    """[1, sum of lengths, 2 P] as ELMoForManyLangs computes them: shorter sentences are filled up with `padding` [P],
    which both directions read, so that the vectors depend on the longest sentence of the batch."""
    longest = max(map(len, sentences)) + 2
    tokens = table[_rows(sentences, longest, table.device)[0].t()]
    lengths = torch.tensor([len(s) + 2 for s in sentences], device=table.device)
    tokens[torch.arange(longest, device=table.device) >= lengths[:, None]] = padding
    return _shown(bilm.layers[0](tokens), sentences, marks)


def _shown(read: Tensor, sentences: Sequence[Tensor], marks: bool) -> Tensor:
    """[B, T, 2 P] with marks at both ends of each sentence -> [1, sum of what is shown, 2 P]."""
    around = 0 if marks else 1
    return torch.cat([row[around : len(s) + 2 - around] for row, s in zip(read, sentences, strict=True)])[None]


def first_rows(bilm: BiLM, carried: Sequence[State], number: int) -> list[State]:
    """The state of the first `number` rows of a batch; those that were never there before are zero."""
    known = carried or bilm.start(0)
    missing = number - known[0].h.shape[1]
    zeros = bilm.start(max(missing, 0))
    return [
        State(*(torch.cat([there[:, :number], new.to(there)], dim=1) for there, new in zip(*pair, strict=True)))
        for pair in zip(known, zeros, strict=True)
    ]


def put_rows(carried: Sequence[State], ends: Sequence[State]) -> list[State]:
    """The carried state after a batch; rows that the batch lacked keep theirs."""
    if not carried:
        return list(ends)
    return [
        State(*(torch.cat([end, there[:, end.shape[1] :].to(end)], dim=1) for end, there in zip(*pair, strict=True)))
        for pair in zip(ends, carried, strict=True)
    ]


def unpack(layers: Tensor, lengths: Sequence[int]) -> list[Tensor]:
    """[..., sum of lengths, width] -> one [..., length, width] for each sentence."""
    ends = np.cumsum(lengths).tolist()
    return [layers.narrow(-2, end - length, length) for end, length in zip(ends, lengths, strict=True)]
