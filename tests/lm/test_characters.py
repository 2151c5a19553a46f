"""The character encoder equals a plain convolution over padded words."""

from __future__ import annotations

import torch

from zh_elmo.lm.characters import BEGIN, END, PAD, UNKNOWN, CharacterEncoder, Speller, alphabet
from zh_elmo.lm.settings import Characters

SETTINGS = Characters(size=4, filters=[(1, 3), (2, 5), (4, 2)], highways=2, maximum=3)


def plain(encoder: CharacterEncoder, chars: torch.Tensor) -> torch.Tensor:
    """One word, one place, one filter at a time."""
    rows = []
    for word in chars:
        word = word[word != PAD]
        x = encoder.embedding.weight[word]
        pooled = []
        for kernel, (width, number) in zip(encoder.kernels, encoder.filters, strict=True):
            padded = torch.cat([x, x.new_zeros(max(width - len(x), 0), 4)])
            slices = kernel.view(4, width, number)
            places = [sum(padded[p + k] @ slices[:, k] for k in range(width)) for p in range(len(padded) - width + 1)]
            pooled.append(torch.stack(places).amax(0))
        y = torch.relu(torch.cat(pooled) + encoder.bias)
        for highway in encoder.highways:
            candidate, gate = (highway.linear.weight @ y + highway.linear.bias).chunk(2)
            y = torch.sigmoid(gate) * torch.relu(candidate) + (1 - torch.sigmoid(gate)) * y
        rows.append(encoder.projection.weight @ y + encoder.projection.bias)
    return torch.stack(rows)


def test_equals_a_plain_convolution():
    torch.manual_seed(1)
    encoder = CharacterEncoder(SETTINGS, 10, 6).double()
    chars = Speller("甲乙丙丁", 3)(["甲", "乙丙", "", "甲乙丙丁", "戊"])
    assert torch.allclose(encoder(chars), plain(encoder, chars), atol=1e-12)


def test_padding_and_companions_change_nothing():
    torch.manual_seed(1)
    encoder = CharacterEncoder(SETTINGS, 10, 6).double()
    spell = Speller("甲乙丙丁", 3)
    alone, together = encoder(spell(["甲"])), encoder(spell(["甲", "甲乙丙"]))
    assert torch.allclose(alone[0], together[0], atol=1e-14)


def test_spelling():
    spell = Speller("甲乙", 2)
    assert spell(["甲乙甲", "丙", ""]).tolist() == [
        [BEGIN, 6, 7, END], [BEGIN, UNKNOWN, END, PAD], [BEGIN, END, PAD, PAD],
    ]  # fmt: skip
    assert spell([]).shape == (0, 2)


def test_alphabet_is_by_frequency_then_code_point():
    assert alphabet({"b": 2, "a": 2, "c": 5, "d": 1}, 2) == ["c", "a", "b"]
