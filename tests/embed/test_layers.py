"""No word sees what it must not: derivatives on the embedding path, in float64."""

from __future__ import annotations

import pytest
import torch

from zh_elmo.embed.layers import FIRST_WORD, START, STOP, unpack
from zh_elmo.embed.layers import layers_of as layers_and_states

LENGTHS = (3, 1, 4)


@pytest.fixture(params=[{}, {"layers": 1}, {"layers": 3, "skip": False}, {"cell_clip": 0.5, "projection_clip": 0.5}])
def exact_bilm(request, new_bilm):
    return new_bilm(**request.param).double().eval()


def layers_of(*arguments):
    return layers_and_states(*arguments)[0]


def batch(seed=0):
    """A table of encodings, each word of three sentences a row of its own."""
    torch.manual_seed(seed)
    rows = torch.arange(FIRST_WORD, FIRST_WORD + sum(LENGTHS)).split(LENGTHS)
    return torch.randn(FIRST_WORD + sum(LENGTHS), 8, dtype=torch.float64), list(rows)


def test_which_word_has_a_say_in_which_state(exact_bilm):
    table, sentences = batch()
    table.requires_grad_()
    layers = layers_of(exact_bilm, table, sentences)
    size = exact_bilm.width // 2
    for sentence, vectors in zip(sentences, unpack(layers, LENGTHS), strict=True):
        others = [row for row in range(len(table)) if row not in sentence.tolist() and row not in (START, STOP)]
        for layer in range(1, exact_bilm.n_layers):
            for place in range(len(sentence)):
                for forward in (True, False):
                    half = vectors[layer, place, :size] if forward else vectors[layer, place, size:]
                    (slope,) = torch.autograd.grad(half.sum(), table, retain_graph=True)
                    reach = slope.abs().amax(1)
                    seen = sentence[: place + 1] if forward else sentence[place:]
                    hidden = sentence[place + 1 :] if forward else sentence[:place]
                    assert (reach[seen] > 0).all()
                    assert (reach[hidden] == 0).all()
                    assert (reach[others] == 0).all()  # companions in the batch
                    assert reach[START if forward else STOP] > 0
                    assert reach[STOP if forward else START] == 0


def test_layer_0_is_the_word_itself_twice(exact_bilm):
    table, sentences = batch()
    for rows, vectors in zip(sentences, unpack(layers_of(exact_bilm, table, sentences), LENGTHS), strict=True):
        assert torch.equal(vectors[0], torch.cat([table[rows], table[rows]], dim=1))


def test_against_one_step_at_a_time(exact_bilm):
    """Each direction read word by word, with the state handed on by hand."""
    table, sentences = batch()
    size = exact_bilm.width // 2
    with torch.no_grad():
        for rows, vectors in zip(sentences, unpack(layers_of(exact_bilm, table, sentences), LENGTHS), strict=True):
            for direction, tokens in ((0, [START, *rows.tolist()]), (1, [STOP, *rows.flip(0).tolist()])):
                states, seen = exact_bilm.start(1), []
                for token in tokens:
                    outputs, states = exact_bilm.run(table[token].expand(2, 1, 1, -1), states)
                    seen.append(torch.stack([out[direction, 0, 0] for out in outputs]))
                due = torch.stack(seen[1:], dim=1)
                if direction == 1:
                    due = due.flip(1)
                half = vectors[1:, :, direction * size : (direction + 1) * size]
                assert (half - due).abs().max() < 1e-13


def test_reading_in_pieces_is_reading_in_one(exact_bilm, monkeypatch):
    table, sentences = batch()
    whole = layers_of(exact_bilm, table, sentences)
    monkeypatch.setattr("zh_elmo.embed.layers._PLACES_AT_ONCE", 6)
    with torch.no_grad():
        assert (layers_of(exact_bilm, table, sentences) - whole).abs().max() < 1e-13


def test_marks_stand_around_the_words(exact_bilm):
    table, sentences = batch()
    sentences = [*sentences, torch.zeros(0, dtype=torch.int64)]
    lengths = [*LENGTHS, 0]
    with torch.no_grad():
        within, _ = layers_and_states(exact_bilm, table, sentences)
        around, _ = layers_and_states(exact_bilm, table, sentences, marks=True)
    inner = [part[:, 1:-1] for part in unpack(around, [length + 2 for length in lengths])]
    assert (torch.cat(inner, dim=1) - within).abs().max() < 1e-13
    first = unpack(around, [length + 2 for length in lengths])[0]
    assert torch.equal(first[0, 0], table[START].repeat(2))
    assert torch.equal(first[0, -1], table[STOP].repeat(2))


def test_states_are_those_behind_the_far_mark_whatever_stands_beside(exact_bilm):
    """Two sentences one after the other are one sentence with both marks between them."""
    table, sentences = batch()
    size = exact_bilm.width // 2
    with torch.no_grad():
        _, ends = layers_and_states(exact_bilm, table, sentences, states=exact_bilm.start(3))
        then, _ = layers_and_states(exact_bilm, table, sentences[::-1], states=ends)
        for number, (first, second) in enumerate(zip(sentences, sentences[::-1], strict=True)):
            start, stop = torch.tensor([START]), torch.tensor([STOP])
            vectors = unpack(then, [len(s) for s in sentences[::-1]])[number][1:]
            joined = torch.cat([first, stop, start, second])
            forward = layers_of(exact_bilm, table, [joined])[1:, -len(second) :, :size]
            assert (vectors[..., :size] - forward).abs().max() < 1e-13
            joined = torch.cat([second, stop, start, first])
            backward = layers_of(exact_bilm, table, [joined])[1:, : len(second), size:]
            assert (vectors[..., size:] - backward).abs().max() < 1e-13
