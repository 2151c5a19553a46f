"""The divisions of the scored words that the tables show, each of which adds up to the words that it divides."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from zh_elmo.text.pipeline import Pipeline
from zh_elmo.ud import oov
from zh_elmo.ud.conllu import Sentence

ALL = "all"
OFTEN, ONCE = "IV, twice or more", "IV, once"


class PreTraining(NamedTuple):
    """What the text of the biLM has seen."""

    types: Container[str]
    text: Pipeline


class Division(NamedTuple):
    """Labels of all words, one list a sentence, and the labels that count, in order; other words are not part of it."""

    labels: list[list[str]]
    slices: list[str]


def divide(
    sentences: Sequence[Sentence], train: Sequence[Sentence], text: Pipeline, seen: PreTraining | None
) -> dict[str, Division]:
    """The divisions of `sentences` by name. Slices without a word are left out, but for IV and OOV.

    vocabulary: IV and OOV. frequency: IV words by how often training has them. pre-training: OOV words by whether the
    biLM's text has them (only where `seen` tells). share: all words by the share of OOV words in their sentence.
    """
    training = oov.training_forms(train, text.gold)
    vocabulary = oov.vocabulary_bands(sentences, training, text.gold)
    often = {oov.IV: OFTEN, oov.ONCE: ONCE}
    frequency = [
        [often.get(label, label) for label in labels]
        for labels in oov.vocabulary_bands(sentences, training, text.gold, once=True)
    ]
    found = {
        "frequency": Division(frequency, [OFTEN, ONCE]),
        "share": Division(oov.share_bands(sentences, training, text.gold), list(oov.OOV_SHARES)),
    }
    if seen is not None:
        labels = oov.pretraining_bands(sentences, training, text.gold, seen.types, seen.text.gold)
        found["pre-training"] = Division(labels, [oov.SEEN, oov.UNSEEN])
    whole = {"vocabulary": Division(vocabulary, [oov.IV, oov.OOV])}
    return whole | {name: _without_empty(division) for name, division in found.items()}


def _without_empty(division: Division) -> Division:
    there = {label for labels in division.labels for label in labels}
    return division._replace(slices=[label for label in division.slices if label in there])
