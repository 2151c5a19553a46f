"""Schedules, word numbers and the flat layout of a batch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zh_elmo.files import BadInput
from zh_elmo.ud.batches import Schedule, Training, by_length, cut
from zh_elmo.ud.inputs import NO_TAG, Inputs, WordDropout
from zh_elmo.ud.vocabulary import LONGEST, ROOT, UNKNOWN, UNSEEN, Labels, Vocabulary

LENGTHS = st.lists(st.integers(1, 60), min_size=1, max_size=40)


@settings(deadline=None, max_examples=50)
@given(LENGTHS, st.data())
def test_cut_leaves_no_piece_empty(lengths: list[int], data: st.DataObject) -> None:
    parts = data.draw(st.integers(1, len(lengths)))
    pieces = cut(np.array(lengths), parts)
    assert len(pieces) == parts
    assert all(begin < end for begin, end in pieces)
    assert [i for begin, end in pieces for i in range(begin, end)] == list(range(len(lengths)))


@settings(deadline=None, max_examples=50)
@given(LENGTHS, st.integers(1, 100), st.integers(0, 3))
def test_each_epoch_has_each_sentence_once(lengths: list[int], words: int, seed: int) -> None:
    sizes = np.array(lengths)
    schedule = Schedule(sizes, words, seed)
    for epoch in range(2):
        steps = range(epoch * schedule.batches, (epoch + 1) * schedule.batches)
        rows = [schedule.rows(step) for step in steps]
        assert sorted(np.concatenate(rows).tolist()) == list(range(len(lengths)))
        assert all((np.diff(sizes[row]) <= 0).all() for row in rows)  # longest first


def test_schedule_depends_on_seed_and_step_alone() -> None:
    sizes = np.random.default_rng(0).integers(1, 30, 200)
    forward, backward, other = Schedule(sizes, 100, 1), Schedule(sizes, 100, 1), Schedule(sizes, 100, 2)
    steps = 3 * forward.batches
    there = [forward.rows(step).tolist() for step in range(steps)]
    assert there == [backward.rows(step).tolist() for step in reversed(range(steps))][::-1]
    assert there != [other.rows(step).tolist() for step in range(steps)]
    assert there[: forward.batches] != there[forward.batches : 2 * forward.batches]


def test_plan_counts_epochs_and_has_a_floor() -> None:
    training = Training(epochs=4, minimum_steps=50, evaluations=3)
    assert training.plan(20, seed=7, dev=True).steps == 80
    plan = training.plan(2, seed=7, dev=True)
    assert (plan.steps, plan.evaluate_every, plan.keep, plan.seed) == (50, 17, "best", 7)
    assert training.plan(2, seed=7, dev=False).keep == "last"


def test_by_length_bounds_the_padded_size() -> None:
    lengths = np.array([3, 50, 1, 7, 7, 2])
    batches = by_length(lengths, 14)
    assert [row.tolist() for row in batches] == [[1], [3, 4], [0, 5, 2]]


def test_vocabulary() -> None:
    vocabulary = Vocabulary.build([["苹果", "吃", "苹果"], ["吃", "梨"]])
    assert vocabulary.words == {"吃": 2, "苹果": 2}  # 梨 occurs once: known by its character
    assert vocabulary.word_numbers(["梨", "吃", "桃"]).tolist() == [UNKNOWN, 3, UNKNOWN]
    numbers, sizes = vocabulary.character_numbers(["苹果", "桃" * 30 + "梨"])
    assert sizes.tolist() == [2, LONGEST]
    known = {c: i for i, c in enumerate(vocabulary.characters, 3)}
    assert numbers[0, :3].tolist() == [known["苹"], known["果"], 0]
    assert numbers[1, -2:].tolist() == [UNKNOWN, known["梨"]]  # the last character is always read
    assert vocabulary.word_dropout(0.25)[UNKNOWN + 2 :].tolist() == pytest.approx([1 / 9, 1 / 9])
    assert Vocabulary(**vocabulary.plain()).word_numbers(["吃"]).tolist() == [3]


def test_labels() -> None:
    labels = Labels.build(["b", "a", "b"])
    assert labels.values == ["a", "b"]
    assert labels.numbers(["b", "c"]).tolist() == [1, UNSEEN]
    assert labels.names([1, 0]) == ["b", "a"]


@pytest.mark.parametrize("root", [False, True])
def test_layout_of_a_batch(root: bool) -> None:
    forms = [["吃"], ["我", "吃", "梨"], ["梨", "吃"]]
    vocabulary = Vocabulary.build([*forms, ["我"]])
    tags = [np.array([9] * len(words)) for words in forms]
    inputs = Inputs(forms, vocabulary, raw=forms, tags=tags, root=root)
    batch = inputs.batch(np.array([1, 2, 0]))
    r = int(root)
    assert batch.sizes.tolist() == [3 + r, 2 + r, 1 + r]
    first = [ROOT] * r
    number = dict(zip(["我", "吃", "梨"], vocabulary.word_numbers(["我", "吃", "梨"]).tolist(), strict=True))
    assert batch.words.tolist() == [
        *first,
        *map(number.get, "我吃梨"),
        *first,
        *map(number.get, "梨吃"),
        *first,
        number["吃"],
    ]
    assert batch.tags is not None
    assert batch.tags.tolist()[: 1 + r] == [NO_TAG] * r + [9]
    assert batch.alive == [3] * (1 + r) + [2, 1]
    forward, backward = batch.words[batch.order]
    begin = 3 * r  # after the step of the artificial roots
    assert forward[begin : begin + 3].tolist() == [number["我"], number["梨"], number["吃"]]
    assert backward[:3].tolist() == [number["梨"], number["吃"], number["吃"]]  # the last words
    for direction in range(2):
        assert batch.order[direction][batch.steps[direction]].tolist() == list(range(len(batch.words)))


def test_dropout_is_repeatable_and_leaves_unknown_words_alone() -> None:
    forms = [["我", "吃", "梨"]] * 30
    vocabulary = Vocabulary.build(forms)
    inputs = Inputs(forms, vocabulary, raw=forms)
    rows = np.arange(30)
    lost = inputs.batch(rows, WordDropout(vocabulary, 30.0, (1, 2))).words
    assert 20 < int((lost == UNKNOWN).sum()) < 70  # half of 90
    assert lost.tolist() == inputs.batch(rows, WordDropout(vocabulary, 30.0, (1, 2))).words.tolist()
    assert lost.tolist() != inputs.batch(rows, WordDropout(vocabulary, 30.0, (1, 3))).words.tolist()
    assert not (inputs.batch(rows).words == UNKNOWN).any()


class Wrong:
    n_layers, width = 1, 4

    def __init__(self, shape: tuple[int, ...], count: int) -> None:
        self.shape, self.count = shape, count

    def __call__(self, sentences: object) -> list[np.ndarray]:
        return [np.zeros(self.shape)] * self.count


@pytest.mark.parametrize(("shape", "count"), [((1, 2, 5), 1), ((2, 2, 4), 1), ((1, 3, 4), 1), ((1, 2, 4), 2)])
def test_vectors_of_another_shape_are_refused(shape: tuple[int, ...], count: int) -> None:
    forms = [["我", "吃"]]
    with pytest.raises(BadInput, match="vectors"):
        Inputs(forms, Vocabulary.build(forms), raw=forms, vectors=Wrong(shape, count))
