"""The labeller: learns spans, labels well-formed always, the same in any batch, after loading, for the same seed."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from toy_treebank import STEMS, ToyVectors, toy

from zh_elmo.files import BadInput
from zh_elmo.tasks.columns import Labelled
from zh_elmo.tasks.labelling import Labeller, LabellerSettings, figures
from zh_elmo.tasks.spans import first_fault
from zh_elmo.text.pipeline import Pipeline, TextSettings
from zh_elmo.ud.batches import Training

TEXT = Pipeline(TextSettings(script="keep", segmenter="words"))  # no dictionary to load
QUICK = Training(epochs=1, minimum_steps=40, batch_words=50, evaluations=2, learning_rate=0.02)
SIZES = {"word_size": 8, "character_size": 8, "vector_size": 8, "hidden": 12}
SMALL = LabellerSettings(**SIZES, training=QUICK)
FEW = Training(epochs=1, minimum_steps=4)


def phrases(sentences: int, seed: int, scheme: str = "BIO") -> list[Labelled]:
    """Noun phrases of the toy language, `adjective* noun`: SUBJ before the verb, OBJ after it."""
    found = []
    for one in toy(sentences, seed):
        labels = ["O"] * len(one.words)
        kinds = "".join({"ADJ": "a", "NOUN": "n"}.get(word.upos, "-") for word in one.words)
        for match in re.finditer("a*n", kinds):
            kind = "SUBJ" if match.start() == 0 else "OBJ"
            labels[match.start() : match.end()] = [f"B-{kind}"] + [f"I-{kind}"] * (match.end() - match.start() - 1)
            if scheme == "BIOES":
                labels[match.end() - 1] = f"{'E' if match.end() - match.start() > 1 else 'S'}-{kind}"
        found.append(Labelled(one.forms, labels))
    return found


def train(settings: LabellerSettings = SMALL, seed: int = 1, **given: object) -> Labeller:
    data = {"train": phrases(60, 1), "dev": phrases(15, 2), "text": TEXT, "quiet": True} | given
    return Labeller.train(settings, data.pop("train"), data.pop("dev"), seed=seed, **data)


@pytest.fixture(scope="module")
def labeller() -> Labeller:
    return train()


def f1(labeller: Labeller, test: list[Labelled], scheme: str = "BIO") -> float:
    return figures([s.labels for s in test], labeller.label([s.words for s in test]), scheme)["score"]


def test_learns_spans(labeller: Labeller) -> None:
    assert f1(labeller, phrases(40, 9)) > 95
    assert labeller.fitted is not None
    assert labeller.fitted.figures["score"] == labeller.fitted.figures["f1"] > 95
    bioes = LabellerSettings(**SIZES, scheme="BIOES", training=QUICK)
    other = train(bioes, train=phrases(60, 1, "BIOES"), dev=[])
    assert other.fitted is not None
    assert other.fitted.figures == {}
    assert f1(other, phrases(40, 9, "BIOES"), "BIOES") > 95


def test_labels_are_well_formed_even_when_hardly_trained() -> None:
    tiny = LabellerSettings(**SIZES, scheme="BIOES", training=FEW)
    labeller = train(tiny, train=[Labelled(["甲子", "乙了"], ["B-A", "E-A"])], dev=[])
    words = [sentence.words for sentence in phrases(20, 3)] + [["甲子"]]
    labels = labeller.label(words)
    assert [len(found) for found in labels] == [len(sentence) for sentence in words]
    assert [first_fault(found, "BIOES") for found in labels] == [None] * 21
    assert labels[-1] == ["O"]  # no other label may stand alone


def test_a_sentence_is_labelled_the_same_in_any_company(labeller: Labeller) -> None:
    words = [s.words for s in phrases(10, 4)]
    words.insert(3, [])
    together = labeller.label(words)
    assert together == [labeller.label([one])[0] for one in words]
    assert together[3] == []
    assert labeller.label([]) == []


def test_same_seed_same_weights_and_files(labeller: Labeller, tmp_path: Path) -> None:
    tiny = LabellerSettings(**SIZES, training=FEW)
    one, same, other = (train(tiny, seed).network.state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["head.weight"], other["head.weight"])
    labeller.save(tmp_path / "labeller")
    again = Labeller.load(tmp_path / "labeller")
    words = [s.words for s in phrases(10, 5)]
    assert again.label(words) == labeller.label(words)
    assert again.contents.settings == SMALL
    for name, tensor in labeller.network.state_dict().items():
        assert torch.equal(tensor, again.network.state_dict()[name]), name
    with pytest.raises(BadInput, match="without vectors"):
        Labeller.load(tmp_path / "labeller", ToyVectors(set()))


def test_checkpoints_know_their_data(tmp_path: Path) -> None:
    tiny = LabellerSettings(**SIZES, training=FEW)
    train(tiny, folder=tmp_path)
    assert train(tiny, folder=tmp_path, resume=True).fitted is not None
    with pytest.raises(BadInput, match="other data or settings"):
        train(tiny, folder=tmp_path, resume=True, dev=phrases(15, 3))


NAMES = [f"{a}{b}" for a in STEMS[:12] for b in STEMS[12:24]]  # entities or not by lot: only the vectors know
ENTITIES = {word for word in NAMES if random.Random(word).random() < 0.5}


def by_lot(sentences: int, seed: int) -> list[Labelled]:
    rows = np.random.default_rng(seed).choice(NAMES, (sentences, 5)).tolist()
    return [Labelled(row, ["B-A" if word in ENTITIES else "O" for word in row]) for row in rows]


def test_vectors_tell_what_words_cannot() -> None:
    data = {"train": by_lot(20, 1), "dev": []}
    plain, helped = train(**data), train(**data, vectors=ToyVectors(ENTITIES))
    assert f1(plain, by_lot(40, 3)) < 80 < 95 < f1(helped, by_lot(40, 3))
    mix = helped.mix()
    assert mix is not None
    assert mix["s"][1] > mix["s"][0]
    assert plain.mix() is None


def test_plain_labels() -> None:
    plain = LabellerSettings(**SIZES, scheme="plain", training=QUICK)
    tagged = [[Labelled(s.forms, [w.upos for w in s.words]) for s in toy(n, seed)] for n, seed in ((60, 1), (15, 2))]
    labeller = train(plain, train=tagged[0], dev=tagged[1])
    assert labeller.fitted is not None
    assert labeller.fitted.figures["score"] == labeller.fitted.figures["accuracy"] > 95


def test_bad_input(labeller: Labeller) -> None:
    with pytest.raises(BadInput, match="no sentence"):
        train(train=[Labelled([], [])])
    with pytest.raises(BadInput, match="sentence 1, word 1: I-A may not stand at the beginning"):
        train(train=[Labelled(["甲"], ["I-A"])])
    with pytest.raises(BadInput, match="sentence 61: 1 labels for 2 words"):
        train(dev=[Labelled(["甲", "乙"], ["O"])])
    for wrong in ("我买了", ["我买了"], [["我", ""]]):
        with pytest.raises(BadInput):
            labeller.label(wrong)
