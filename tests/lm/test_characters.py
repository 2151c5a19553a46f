"""The character encoder equals a plain convolution over padded words."""

from __future__ import annotations

import msgspec
import pytest
import torch

from zh_elmo.lm.characters import BEGIN, END, PAD, UNKNOWN, CharacterEncoder, Speller, alphabet
from zh_elmo.lm.settings import Characters

SETTINGS = Characters(size=4, filters=[(1, 3), (2, 5), (4, 2)], highways=2, maximum=3)


PADDED = msgspec.structs.replace(SETTINGS, padded=True, maximum=6)


def plain(encoder: CharacterEncoder, chars: torch.Tensor) -> torch.Tensor:
    """One word, one place, one filter at a time."""
    rows = []
    for word in chars:
        word = word[word != PAD]
        if encoder.padded:
            word = torch.cat([word, word.new_full((encoder.room - len(word),), PAD)])
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
        rows.append(y)
    return torch.stack(rows)


def test_equals_a_plain_convolution():
    torch.manual_seed(1)
    encoder = CharacterEncoder(SETTINGS, 10).double()
    chars = Speller("甲乙丙丁", SETTINGS)(["甲", "乙丙", "", "甲乙丙丁", "戊"])
    assert torch.allclose(encoder(chars), plain(encoder, chars), atol=1e-12)


@pytest.mark.parametrize("words", [["甲"], ["甲乙丙丁", ""], ["甲乙丙丁甲", "乙"], ["甲乙丙丁甲乙丙", "丙丁甲"]])
def test_padding_inside_equals_a_plain_convolution_over_words_filled_up(words):
    torch.manual_seed(1)
    encoder = CharacterEncoder(PADDED, 10).double()
    chars = Speller("甲乙丙丁", PADDED)(words)
    assert torch.allclose(encoder(chars), plain(encoder, chars), atol=1e-12)
    without = CharacterEncoder(SETTINGS, 10).double()
    without.load_state_dict(encoder.state_dict())
    assert not torch.allclose(encoder(chars)[-1], without(chars)[-1], atol=1e-3)  # the padding has a say


def test_padding_and_companions_change_nothing():
    torch.manual_seed(1)
    encoder = CharacterEncoder(SETTINGS, 10).double()
    spell = Speller("甲乙丙丁", SETTINGS)
    alone, together = encoder(spell(["甲"])), encoder(spell(["甲", "甲乙丙"]))
    assert torch.allclose(alone[0], together[0], atol=1e-14)


def test_spelling():
    spell = Speller("甲乙", Characters(maximum=2))
    assert spell(["甲乙甲", "丙", ""]).tolist() == [
        [BEGIN, 6, 7, END], [BEGIN, UNKNOWN, END, PAD], [BEGIN, END, PAD, PAD],
    ]  # fmt: skip
    assert spell([]).shape == (0, 2)


def test_alphabet_is_by_frequency_then_code_point():
    assert alphabet({"b": 2, "a": 2, "c": 5, "d": 1}, 2) == ["c", "a", "b"]


def test_bytes_are_cut_inside_a_character_and_lone_surrogates_have_none():
    spell = Speller([], Characters(unit="byte", maximum=4))
    first, second = "中".encode(), "国".encode()
    assert spell(["中国", "\ud800a", ""]).tolist() == [
        [BEGIN, *(b + 6 for b in first), second[0] + 6, END],
        [BEGIN, ord("a") + 6, END, PAD, PAD, PAD],
        [BEGIN, END, PAD, PAD, PAD, PAD],
    ]
