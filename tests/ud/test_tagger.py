"""The tagger: learns, keeps its promises on batches, files, seeds, vectors, and refuses what is wrong."""

from __future__ import annotations

import hashlib
import itertools
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from toy_treebank import STEMS, ToyVectors, sentence, toy

from zh_elmo.files import BadInput
from zh_elmo.text.pipeline import Pipeline, TextSettings
from zh_elmo.ud.batches import Training
from zh_elmo.ud.conllu import Sentence
from zh_elmo.ud.tagger import Tagger, TaggerSettings

TEXT = Pipeline(TextSettings())
QUICK = Training(epochs=1, minimum_steps=40, batch_words=60, evaluations=2, learning_rate=0.02)
SMALL = TaggerSettings(word_size=8, character_size=8, vector_size=8, hidden=12, training=QUICK)
FEW = TaggerSettings(
    word_size=4, character_size=4, vector_size=4, hidden=4, training=Training(epochs=1, minimum_steps=4)
)


def train(settings: TaggerSettings = SMALL, seed: int = 1, **given: object) -> Tagger:
    data = {"train": toy(60, 1), "dev": toy(15, 2), "text": TEXT, "quiet": True} | given
    return Tagger.train(settings, data.pop("train"), data.pop("dev"), seed=seed, **data)


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return train()


def accuracy(tagger: Tagger, sentences: list[Sentence]) -> float:
    right = [
        word.upos == tag
        for one, tags in zip(sentences, tagger.tag([s.forms for s in sentences]), strict=True)
        for word, tag in zip(one.words, tags, strict=True)
    ]
    return sum(right) / len(right)


def test_learns_unknown_words_by_their_characters(tagger: Tagger) -> None:
    assert accuracy(tagger, toy(40, 9)) > 0.97
    assert accuracy(tagger, toy(40, 9, stems="牛羊马猪狗猫鸡鸭")) > 0.9  # stems that training never saw
    assert tagger.fitted is not None
    assert tagger.fitted.step == 40
    assert tagger.fitted.figures["score"] == tagger.fitted.figures["upos"] > 95


def test_other_columns(tagger: Tagger) -> None:
    test = toy(20, 5)
    for one, tags in zip(test, tagger.annotate([s.forms for s in test]), strict=True):
        assert tags.lemmas == one.forms
        assert [x == u[0] for x, u in zip(tags.xpos, tags.upos, strict=True)].count(False) <= 1
        assert set(tags.feats) <= {"Kind=Noun", "Kind=Verb", "Kind=Adj", "_"}


def test_columns_that_say_nothing_stay_empty() -> None:
    bare = [s.with_annotation(xpos=["_"] * len(s.words), lemmas=["x"] * len(s.words)) for s in toy(10, 1)]
    tags = train(FEW, train=bare, dev=[]).annotate([["甲子", "乙了"]])[0]
    assert tags.xpos == tags.lemmas == ["_", "_"]
    assert tags.feats != ["_", "_"]
    without = train(TaggerSettings(hidden=4, others=0, training=FEW.training), train=bare, dev=[])
    assert list(without.network.heads) == ["upos"]


def test_a_sentence_does_not_depend_on_its_companions(tagger: Tagger) -> None:
    sentences = [s.forms for s in toy(40, 3)] + [["子"], [], ["甲子"] * 400, ["，"]]
    together = tagger.probabilities(sentences)
    shuffled = random.Random(0).sample(range(len(sentences)), len(sentences))
    again = tagger.probabilities([sentences[i] for i in shuffled])
    for number, one in enumerate(sentences):
        alone = tagger.probabilities([one])[0]
        assert alone.shape == (len(one), len(tagger.tags))
        np.testing.assert_allclose(together[number], alone, atol=1e-5)
        np.testing.assert_allclose(again[shuffled.index(number)], alone, atol=1e-5)
    np.testing.assert_allclose(together[0].sum(1), 1, atol=1e-5)
    assert tagger.tag(sentences) == [tagger.tag([one])[0] for one in sentences]
    assert tagger.tag([]) == []


def test_words_are_normalised_before_they_are_looked_up(tagger: Tagger) -> None:
    assert (
        tagger.probabilities([["乾張子", "來了", "."]])[0] == tagger.probabilities([["干张子", "来了", "。"]])[0]
    ).all()


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    digests = []
    for number, seed in enumerate((1, 1, 2)):
        torch.manual_seed(number)  # what torch's generator has been through does not matter
        train(FEW, seed=seed).save(tmp_path / str(number))
        digests.append(hashlib.sha256((tmp_path / str(number) / "model.safetensors").read_bytes()).hexdigest())
    assert digests[0] == digests[1] != digests[2]


def test_resumes_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(SMALL, folder=tmp_path / "whole")
    original, count = torch.optim.Adam.step, itertools.count(1)

    def dies(self: torch.optim.Adam, *given: object) -> object:
        if next(count) == 31:
            raise MemoryError
        return original(self, *given)

    monkeypatch.setattr(torch.optim.Adam, "step", dies)
    with pytest.raises(MemoryError):
        train(SMALL, folder=tmp_path / "cut")
    resumed = train(SMALL, folder=tmp_path / "cut", resume=True)  # from step 20
    assert resumed.fitted is not None
    for name, tensor in whole.network.state_dict().items():
        assert torch.equal(tensor, resumed.network.state_dict()[name]), name
    with pytest.raises(BadInput, match="other data or settings"):
        train(SMALL, folder=tmp_path / "cut", resume=True, train=toy(61, 1))


def test_labels_that_training_never_saw_count_as_wrong() -> None:
    dev = [sentence([("甲子", "INTJ", 2, "nsubj"), ("乙了", "VERB", 0, "root")])] * 10
    fitted = train(dev=dev).fitted
    assert fitted is not None
    assert fitted.figures["upos"] == 50


def test_without_dev_the_last_state_is_kept() -> None:
    tagger = train(dev=[])
    assert tagger.fitted is not None
    assert tagger.fitted.figures == {}
    assert accuracy(tagger, toy(20, 9)) > 0.97


def test_sentences_of_one_word() -> None:
    single = [sentence([("甲子", "NOUN", 0, "root")]), sentence([("乙了", "VERB", 0, "root")])]
    tagger = train(train=single * 5, dev=single)
    assert tagger.tag([["甲子"], ["乙了"]]) == [["NOUN"], ["VERB"]]


# Vectors ------------------------------------------------------------------------------------------------------------

AMBIGUOUS = [f"{a}{b}" for a in STEMS[:12] for b in STEMS[12:24]]  # noun or verb by lot: only the vectors know
VERBS = {word for word in AMBIGUOUS if random.Random(word).random() < 0.5}


def ambiguous(sentences: int, seed: int) -> list[Sentence]:
    rng = np.random.default_rng(seed)
    rows = [rng.choice(AMBIGUOUS, 5).tolist() for _ in range(sentences)]
    return [sentence([(w, "VERB" if w in VERBS else "NOUN", i, "dep") for i, w in enumerate(row)]) for row in rows]


def test_vectors_tell_what_nothing_else_can(tmp_path: Path) -> None:
    vectors = ToyVectors(VERBS)
    data = {"train": ambiguous(20, 1), "dev": ambiguous(10, 2)}
    test = ambiguous(40, 3)
    plain, helped = train(**data), train(**data, vectors=vectors)
    assert accuracy(plain, test) < 0.8 < 0.95 < accuracy(helped, test)
    mix = helped.mix()
    assert mix is not None
    assert mix["s"][1] > mix["s"][0]
    assert sum(mix["s"]) == pytest.approx(1)
    assert plain.mix() is None
    helped.save(tmp_path / "tagger")
    forms = [s.forms for s in test]
    again = Tagger.load(tmp_path / "tagger", vectors)
    for one, other in zip(helped.probabilities(forms), again.probabilities(forms), strict=True):
        np.testing.assert_array_equal(one, other)


def test_arms_differ_in_the_vectors_alone() -> None:
    plain, helped = train(FEW), train(FEW, vectors=ToyVectors(set()))
    shapes = {name: tuple(p.shape) for name, p in plain.network.named_parameters()}
    with_vectors = {name: tuple(p.shape) for name, p in helped.network.named_parameters()}
    further = {name for name in with_vectors if ".vectors." in name}
    assert set(with_vectors) - further == set(shapes)
    assert {name for name in shapes if shapes[name] != with_vectors[name]} == {"lstm.layers.0.input"}


def test_vectors_get_the_words_as_they_stand() -> None:
    vectors = ToyVectors(set())
    train(FEW, train=[sentence([("蘋果", "NOUN", 0, "root")])], dev=[], vectors=vectors)
    assert vectors.asked == [["蘋果"]]


# Files and bad input ------------------------------------------------------------------------------------------------


def test_saves_and_loads(tagger: Tagger, tmp_path: Path) -> None:
    tagger.save(tmp_path / "tagger")
    assert sorted(p.name for p in (tmp_path / "tagger").iterdir()) == [
        "config.json",
        "model.safetensors",
        "vocabulary.json",
    ]
    again = Tagger.load(tmp_path / "tagger")
    forms = [s.forms for s in toy(10, 4)]
    assert again.annotate(forms) == tagger.annotate(forms)
    assert again.contents.settings == tagger.contents.settings
    assert again.text.settings == TEXT.settings
    again.save(tmp_path / "again")
    for name in ("config.json", "model.safetensors", "vocabulary.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "tagger" / name).read_bytes()


def test_wrong_vectors_are_refused(tagger: Tagger, tmp_path: Path) -> None:
    vectors = ToyVectors(set())
    train(FEW, vectors=vectors).save(tmp_path / "with")
    tagger.save(tmp_path / "without")
    with pytest.raises(BadInput, match="without vectors"):
        Tagger.load(tmp_path / "without", vectors)
    with pytest.raises(BadInput, match=r"trained with vectors \(2 x 6"):
        Tagger.load(tmp_path / "with")
    for name, value, message in (("width", 7, "2 x 7"), ("n_layers", 3, "3 x 6"), ("digest", "other", "another model")):
        other = ToyVectors(set())
        setattr(other, name, value)
        with pytest.raises(BadInput, match=message) as caught:
            Tagger.load(tmp_path / "with", other)
        assert "\n" not in str(caught.value)


def test_damaged_folders_are_refused(tagger: Tagger, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such") as caught:
        Tagger.load(tmp_path / "absent")
    assert caught.value.usage
    for name, content, message in (
        ("model.safetensors", b"no weights", "weights"),
        ("config.json", b"{", "not JSON"),
        ("config.json", None, r"no config\.json"),
        ("vocabulary.json", b'{"words": 1, "characters": {}, "labels": {}}', "words"),
        ("config.json", (b'"tagger"', b'"parser"'), "holds a parser, not a tagger"),
        ("config.json", (b'"hidden": 12', b'"hidden": 13'), "not the weights"),
    ):
        tagger.save(tmp_path / "tagger")
        path = tmp_path / "tagger" / name
        if isinstance(content, tuple):
            assert content[0] in path.read_bytes()
            path.write_bytes(path.read_bytes().replace(*content))
        elif content is None:
            path.unlink()
        else:
            path.write_bytes(content)
        with pytest.raises(BadInput, match=message) as caught:
            Tagger.load(tmp_path / "tagger")
        assert "\n" not in str(caught.value)


def test_weights_are_no_pickle(tagger: Tagger, tmp_path: Path) -> None:
    tagger.save(tmp_path / "tagger")
    assert load_file(tmp_path / "tagger" / "model.safetensors").keys() == tagger.network.state_dict().keys()


def test_bad_input(tagger: Tagger) -> None:
    for wrong in ("我买了", ["我买了"], [["我", ""]]):
        with pytest.raises(BadInput):
            tagger.tag(wrong)
    with pytest.raises(BadInput, match="no sentence"):
        train(train=[])
    with pytest.raises(BadInput, match="no UPOS"):
        train(train=[s.with_annotation(upos=["_"] * len(s.words)) for s in toy(3, 1)])
