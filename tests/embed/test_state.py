"""Carried state and warming up: what old programs did by accident or for a reason, asked for by name."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from zh_elmo.embed.embedder import Embedder
from zh_elmo.files import BadInput

FIRST = [["我", "买", "了"], ["苹果"], ["他", "吃", "的", "是", "米"]]
SECOND = [["是", "的"], ["有", "人", "来"]]


@pytest.fixture
def carrying(new_bilm):
    return Embedder(new_bilm(), dtype="float64", state="carry")


@pytest.fixture
def resetting(new_bilm):
    return Embedder(new_bilm(), dtype="float64")


def gap(these, those):
    return max(np.abs(a - b).max() for a, b in zip(these, those, strict=True))


def test_the_first_call_is_the_same_and_the_second_another(carrying, resetting):
    assert gap(carrying.embed(FIRST), resetting.embed(FIRST)) < 1e-12
    assert gap(carrying.embed(FIRST), resetting.embed(FIRST)) > 1e-3
    carrying.reset()
    assert gap(carrying.embed(FIRST), resetting.embed(FIRST)) < 1e-12


def test_rows_go_on_each_by_itself(carrying, new_bilm):
    """Row i of a batch begins where row i ended, however many rows there are."""
    together = [*carrying.embed(FIRST), *carrying.embed(SECOND), *carrying.embed(FIRST)]
    for row, sentences in enumerate(zip(FIRST, SECOND, FIRST, strict=False)):
        alone = Embedder(new_bilm(), dtype="float64", state="carry")
        for number, sentence in enumerate(sentences):
            place = row + (0, len(FIRST), len(FIRST) + len(SECOND))[number]
            assert gap(alone.embed([sentence]), [together[place]]) < 1e-12
    alone = Embedder(new_bilm(), dtype="float64", state="carry")
    assert gap([alone.embed([FIRST[2]])[0], alone.embed([FIRST[2]])[0]], [together[2], together[7]]) < 1e-12


def test_new_rows_begin_with_zero(carrying, resetting):
    carrying.embed(SECOND)
    assert gap(carrying.embed(FIRST)[2:], resetting.embed(FIRST[2:])) < 1e-12


def test_batches_of_a_size_are_calls_of_that_size(carrying, new_bilm):
    by_call = Embedder(new_bilm(), dtype="float64", state="carry")
    due = [*by_call.embed(FIRST[:2]), *by_call.embed([FIRST[2], SECOND[0]]), *by_call.embed(SECOND[1:])]
    assert gap(carrying.embed([*FIRST, *SECOND], batch_size=2), due) < 1e-12
    carrying.reset()
    assert gap(carrying.embed_iter([*FIRST, *SECOND], batch_size=2), due) < 1e-12


def test_an_empty_sentence_moves_the_state(carrying, new_bilm):
    without = Embedder(new_bilm(), dtype="float64", state="carry")
    (empty,) = carrying.embed([[]])
    assert empty.shape == (0, carrying.width)
    assert gap(carrying.embed(SECOND), without.embed(SECOND)) > 1e-3


def test_warming_up_the_first_batch(carrying, new_bilm):
    twice = Embedder(new_bilm(), dtype="float64", state="carry")
    twice.embed(FIRST[:2])
    due = twice.embed([*FIRST, *SECOND], batch_size=2)
    assert gap(carrying.embed([*FIRST, *SECOND], batch_size=2, warmup=True), due) < 1e-12


def test_warming_up_each_sentence_by_itself(resetting, new_bilm):
    warm = resetting.embed([*FIRST, []], warmup=True)
    for sentence, vectors in zip(FIRST, warm, strict=False):
        twice = Embedder(new_bilm(), dtype="float64", state="carry")
        twice.embed([sentence])
        assert gap(twice.embed([sentence]), [vectors]) < 1e-12
    assert gap(resetting.embed(FIRST), warm[:3]) > 1e-3


def test_states_are_told(carrying):
    assert carrying.states == []
    carrying.embed(FIRST)
    carrying.embed(SECOND)
    assert [tuple(state.h.shape) for state in carrying.states] == [(2, 3, 8)] * 2
    assert [tuple(state.c.shape) for state in carrying.states] == [(2, 3, 16)] * 2


@pytest.mark.parametrize("marks", [False, True])
def test_marks(resetting, carrying, marks):
    for embedder in (resetting, carrying):
        vectors = embedder.embed([*FIRST, []], layers="all", marks=marks)
        assert [v.shape[1] for v in vectors] == [3 + 2 * marks, 1 + 2 * marks, 5 + 2 * marks, 2 * marks]


def test_two_way_alone_and_padded(new_bilm):
    made = {"lstm": "two-way", "softmax": False}
    alone = Embedder(new_bilm(**made), dtype="float64")
    assert alone.n_layers == 1
    assert gap(alone.embed(FIRST), [alone.embed([s])[0] for s in FIRST]) < 1e-12
    padded = Embedder(new_bilm(**made), dtype="float64", state="carry")
    assert gap(padded.embed(FIRST)[2:], alone.embed(FIRST)[2:]) < 1e-12  # the longest has no padding
    assert gap(padded.embed(FIRST)[:1], alone.embed(FIRST)[:1]) > 1e-4
    for embedder in (alone, padded):
        assert embedder.embed([FIRST[0]], marks=True)[0].shape == (5, alone.width)


def test_wrong_use_is_said(resetting, new_bilm):
    with pytest.raises(BadInput, match='batch_size belongs to state="carry"'):
        resetting.embed(FIRST, batch_size=2)
    with pytest.raises(BadInput, match="state must be 'reset' or 'carry', not 'stateful'") as error:
        Embedder(new_bilm(), state="stateful")
    assert error.value.usage
    with pytest.raises(BadInput, match="batch_size must be 1 or more"):
        Embedder(new_bilm(), state="carry").embed(FIRST, batch_size=0)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda embedder: pickle.loads(pickle.dumps(embedder))])
def test_a_copy_goes_on_from_the_same_state_by_itself(carrying, again):
    carrying.embed(FIRST)
    twin = again(carrying)
    assert twin.state == "carry"
    due = twin.embed(SECOND)
    assert gap(carrying.embed(SECOND), due) < 1e-12
    assert gap(twin.embed(SECOND), due) > 1e-3
