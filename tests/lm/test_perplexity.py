"""Perplexity by the full softmax against a hand computation, one word at a time."""

from __future__ import annotations

import math

import pytest
import torch
from small_corpus import SmallCorpus, settings

from zh_elmo.files import BadInput
from zh_elmo.lm.model import UNK
from zh_elmo.lm.perplexity import corpus_perplexity, perplexity
from zh_elmo.lm.pretrain import new_bilm

HELD_OUT = "我 买 了 西瓜 。\n他 爱 公园 。\n好"


def model():
    corpus = SmallCorpus(held_out=HELD_OUT)
    bilm = new_bilm(settings(), corpus).double()
    torch.manual_seed(7)
    with torch.no_grad():
        for parameter in bilm.parameters():
            parameter.normal_(std=0.4)
    return bilm, corpus


def by_hand(bilm, sentence: list[str], direction: int) -> float:
    """Negative log likelihood of one sentence in one direction, from the layers' equations and a plain softmax."""
    marks = bilm.encode(bilm.marks())
    tokens = [marks[direction], *bilm.encode(bilm.spell(sentence[:: 1 - 2 * direction]))]
    goals = [*bilm.spell(sentence[:: 1 - 2 * direction]).ids.tolist(), 2 - direction]
    sizes = bilm.settings.projection, bilm.settings.cell
    states = [(torch.zeros(sizes[0]).double(), torch.zeros(sizes[1]).double()) for _ in bilm.layers]
    total = 0.0
    for x, goal in zip(tokens, goals, strict=True):
        for number, layer in enumerate(bilm.layers):
            h, c = states[number]
            gates = x @ layer.input[direction] + h @ layer.recurrent[direction] + layer.bias[direction, 0]
            i, f, g, o = gates.chunk(4)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = (torch.sigmoid(o) * torch.tanh(c)) @ layer.projection[direction]
            states[number] = h, c
            x = h + x if number else h
        logits = bilm.softmax.rows.weight @ x + bilm.softmax.bias.weight[:, 0]
        total -= float(torch.log_softmax(logits, 0)[goal])
    return total


def test_against_a_hand_computation():
    bilm, corpus = model()
    with torch.no_grad():
        figures = corpus_perplexity(bilm, corpus, quiet=True)
        sums = [sum(by_hand(bilm, line.split(), way) for line in HELD_OUT.split("\n")) for way in (0, 1)]
    words, predictions = 10, 13
    assert figures["words"] == words
    assert figures["predictions"] == predictions
    assert math.isclose(figures["forward"], math.exp(sums[0] / predictions), rel_tol=1e-10)
    assert math.isclose(figures["backward"], math.exp(sums[1] / predictions), rel_tol=1e-10)
    assert math.isclose(figures["mean"], math.sqrt(figures["forward"] * figures["backward"]), rel_tol=1e-10)
    characters = len(HELD_OUT.replace(" ", "").replace("\n", ""))
    assert math.isclose(figures["bits_per_character"], sum(sums) / 2 / math.log(2) / characters, rel_tol=1e-10)


def test_unknown_words_are_counted_and_keep_their_characters():
    bilm, corpus = model()
    figures = corpus_perplexity(bilm, corpus, quiet=True)
    unknown = [w for w in HELD_OUT.split() if bilm.word_ids.get(w, UNK) == UNK]
    assert "西瓜" in unknown
    assert figures["unknown"] == len(unknown) / 10


def test_a_limit_takes_whole_sentences_spread_over_the_part():
    bilm, corpus = model()
    assert perplexity(bilm, corpus.ids("train"), corpus.types, limit=9)["words"] < 20


def test_measuring_changes_nothing():
    bilm, corpus = model()
    bilm.train()
    first = corpus_perplexity(bilm, corpus, quiet=True)
    assert bilm.training
    assert corpus_perplexity(bilm, corpus, quiet=True) == first


def test_nothing_to_measure_is_refused():
    bilm, corpus = model()
    with pytest.raises(BadInput, match="no sentence"):
        perplexity(bilm, corpus.ids("train")[:0], corpus.types)
