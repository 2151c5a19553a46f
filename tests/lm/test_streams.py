"""Streams: the next word in reading order, boundaries, order, constant shape, tiny corpora."""

from __future__ import annotations

import numpy as np
import pytest
from small_corpus import TEXT, SmallCorpus

from zh_elmo.files import BadInput
from zh_elmo.lm.settings import StreamSettings
from zh_elmo.lm.streams import Streams, sentences

CORPUS = SmallCorpus()
N = len(CORPUS.types)


def flow(streams: Streams, direction: int, what: str) -> list[int]:
    """One epoch of one stream, place after place."""
    windows = [getattr(streams.window(k), what) for k in range(streams.per_epoch)]
    return np.concatenate([w[direction] for w in windows])[:, 0].tolist()


def test_sentences_are_cut_at_marks():
    found = sentences(CORPUS.ids("train"))
    cuts = zip(found.starts, found.lengths, strict=True)
    words = [[CORPUS.types[i] for i in found.words[start : start + length]] for start, length in cuts]
    assert words == [line.split() for line in TEXT.split("\n") if line]
    assert found.units.tolist() == [1, 1, 2, 2, 2, 3, 3]


@pytest.mark.parametrize(("direction", "begin", "end"), [(0, N, N + 1), (1, N + 1, N)])
def test_targets_are_the_next_word_in_reading_order(direction, begin, end):
    streams = Streams(CORPUS.ids("train"), N, StreamSettings(batch=1, window=3), seed=1)
    inputs, targets = flow(streams, direction, "inputs"), flow(streams, direction, "targets")
    for place in range(len(inputs) - 1):
        following = inputs[place + 1]
        assert targets[place] == (end if following == begin else following)


def test_every_sentence_stands_once_an_epoch_in_both_directions():
    streams = Streams(CORPUS.ids("train"), N, StreamSettings(batch=1, window=1), seed=1)
    lines = sorted(line.split() for line in TEXT.split("\n") if line)
    for direction, mark in ((0, N), (1, N + 1)):
        read: list[list[str]] = []
        for i in flow(streams, direction, "inputs"):
            if i == mark:
                read.append([])
            else:
                read[-1].append(CORPUS.types[i])
        assert sorted(s[:: 1 - 2 * direction] for s in read) == lines


def test_documents_stay_together_and_epochs_differ():
    streams = Streams(CORPUS.ids("train"), N, StreamSettings(batch=1, window=1), seed=1)
    firsts = []
    for epoch in range(6):
        inputs = [int(streams.window(epoch * streams.per_epoch + k).inputs[0, 0, 0]) for k in range(streams.per_epoch)]
        text = " ".join(CORPUS.types[i] if i < N else "|" for i in inputs)
        assert "| 他 买 了 六 斤 苹果 。 | 苹果 很 好吃 。 | 她 在 苹果 公司 工作 。" in text
        firsts.append(text)
    assert len(set(firsts)) > 1


def test_a_window_is_a_function_of_its_number():
    one, other = (Streams(CORPUS.ids("train"), N, StreamSettings(batch=2, window=4), seed=3) for _ in range(2))
    later = [one.window(k) for k in range(20)]
    for k in (17, 3, 11):
        assert np.array_equal(other.window(k).inputs, later[k].inputs)
    assert [w.first for w in later[: one.per_epoch + 1]] == [True, *[False] * (one.per_epoch - 1), True]


def test_two_short_lines_give_a_full_window():
    corpus = SmallCorpus("我 。\n好", "")
    window = Streams(corpus.ids("train"), len(corpus.types), StreamSettings(batch=4, window=8), seed=1).window(0)
    assert window.inputs.shape == window.targets.shape == (2, 8, 4)


def test_no_sentence_is_refused():
    with pytest.raises(BadInput, match="no sentence"):
        Streams(np.zeros(0, np.uint32), 5, StreamSettings(), seed=1)


def test_long_documents_are_shuffled_in_runs():
    corpus = SmallCorpus("\n".join(["我 好 。"] * 150), "")
    assert np.bincount(sentences(corpus.ids("train")).units).tolist() == [0, 64, 64, 22]
