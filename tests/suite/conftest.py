"""Results written by hand, small enough to check every figure by eye; and a treebank, a corpus and a biLM, all tiny."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from zh_elmo import data
from zh_elmo.corpus.build import build
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.corpus.store import Corpus
from zh_elmo.fit import Plan
from zh_elmo.formats import own
from zh_elmo.lm.pretrain import new_bilm
from zh_elmo.lm.settings import Characters, Model, Pretrain, SoftmaxSettings
from zh_elmo.suite import jobs, plots
from zh_elmo.suite.jobs import Job, Outcome
from zh_elmo.text.pipeline import TextSettings
from zh_elmo.ud import conllu
from zh_elmo.ud.batches import Training
from zh_elmo.ud.conllu import Sentence
from zh_elmo.ud.parser import ParserSettings
from zh_elmo.ud.tagger import TaggerSettings


@pytest.fixture
def results() -> dict[str, Any]:
    """Two arms, one treebank, one seed."""
    upos = {
        ("none", "all"): (80.0, 70.04, 89.96),
        ("none", "IV"): (90.0, 81.0, 97.0),
        ("none", "OOV"): (60.0, 40.0, 80.0),
        ("elmo", "all"): (88.0, 80.0, 95.0),
        ("elmo", "IV"): (91.0, 82.0, 98.0),
        ("elmo", "OOV"): (82.0, 70.0, 92.0),
        ("none", "0-20 %"): (90.0, 85.0, 95.0),
        ("elmo", "0-20 %"): (91.0, 85.0, 96.0),
        ("none", "over 20 %"): (70.0, 60.0, 80.0),
        ("elmo", "over 20 %"): (85.0, 80.0, 90.0),
    }
    scores = [
        {"treebank": "zh_toy", "arm": arm, "slice": words, "metric": "UPOS", "f1": f1, "low": low, "high": high}
        for (arm, words), (f1, low, high) in upos.items()
    ]
    scores.append(
        {"treebank": "zh_toy", "arm": "elmo", "slice": "OOV", "metric": "LAS", "f1": None, "low": None, "high": None}
    )
    words = [
        {
            "form": "苹果",
            "oov": True,
            "gold": {"upos": "NOUN", "head": 0, "deprel": "root"},
            "arms": {
                "none": {"upos": "VERB", "head": 0, "deprel": "root"},
                "elmo": {"upos": "NOUN", "head": 0, "deprel": "root"},
            },
        }
    ]
    return {
        "title": "Toy <suite> & 玩具",
        "created": "2026-01-02 03:04",
        "command": "zh-elmo eval toy",
        "versions": {"zh_elmo": "0.1", "torch": "2.13.0"},
        "suite": {"title": "Toy", "seeds": [1]},
        "treebanks": {
            "zh_toy": {
                "about": "A toy, CC0",
                "scored": "test",
                "sentences": 12,
                "oov_rate": 0.25,
                "slices": {"all": 1200, "IV": 900, "OOV": 300, "0-20 %": 800, "over 20 %": 400},
                "groups": {"vocabulary": ["IV", "OOV"], "share": ["0-20 %", "over 20 %"]},
                "files": {"test": {"name": "zh_toy-ud-test.conllu", "sha256": "ab12", "sentences": 12, "words": 1200}},
            }
        },
        "cells": [
            {"treebank": "zh_toy", "arm": "none", "seed": 1, "mix": {}, "training_seconds": {"tagger": 61.4}},
            {
                "treebank": "zh_toy",
                "arm": "elmo",
                "seed": 1,
                "mix": {"tagger": {"s": [0.2, 0.3, 0.5], "gamma": 2.0}, "parser": {"s": [0.6, 0.3, 0.1], "gamma": 3.2}},
            },
        ],
        "scores": scores,
        "comparisons": [
            {
                "treebank": "zh_toy",
                "first": "none",
                "second": "elmo",
                "slice": words,
                "metric": "UPOS",
                "difference": difference,
                "low": difference - 1,
                "high": difference + 1,
                "p": p,
            }
            for words, difference, p in [("all", 8.0, 0.0005), ("IV", -1.0, 0.25), ("OOV", 22.0, 0.001)]
        ],
        "examples": [{"treebank": "zh_toy", "sent_id": "s<1>", "text": "苹果", "words": words}],
        "notes": ["So elmo is ahead & <b>"],
        "failures": {"zh_toy static 1: tagger": "no <gensim>"},
    }


def split(role: str) -> list[Sentence]:
    return conllu.read(data.treebank("zh_sample")[role])


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A treebank of a few sentences, in a folder."""
    folder = tmp_path_factory.mktemp("treebanks") / "toy"
    for role, number in (("train", 40), ("dev", 8), ("test", 12)):
        conllu.write(folder / f"toy-ud-{role}.conllu", split(role)[::7][:number])
    return folder


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sentences of the sample's training split as a corpus."""
    folder = tmp_path_factory.mktemp("corpus")
    text = folder / "text.txt"
    text.write_text("".join(f"{sentence.text}\n" for sentence in split("train")), "utf-8")
    build(CorpusSettings(text=TextSettings(segmenter="characters")), [text], folder / "corpus", quiet=True)
    return folder / "corpus"


@pytest.fixture(scope="session")
def pretraining() -> Pretrain:
    """Settings of a biLM that is made in no time."""
    characters = Characters(size=4, filters=[(1, 4), (2, 4)], highways=0)
    model = Model(characters=characters, vocabulary=200, projection=6, cell=8)
    return Pretrain(model=model, softmax=SoftmaxSettings(negatives=16), training=Plan(steps=3))


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory, corpus: Path, pretraining: Pretrain) -> Path:
    """A biLM that has learned nothing."""
    folder = tmp_path_factory.mktemp("model") / "model"
    text = Corpus.open(corpus)
    own.save(folder, new_bilm(pretraining, text), text=text.manifest["text"], facts={"corpus": {"digest": text.digest}})
    return folder


@pytest.fixture(scope="session")
def small() -> dict[str, Any]:
    """Settings of a tagger and a parser that are trained in no time."""
    sizes = {"word_size": 8, "character_size": 4, "vector_size": 8, "hidden": 8}
    training = Training(epochs=1, minimum_steps=6, evaluations=2)
    return {
        "tagger": TaggerSettings(**sizes, training=training),
        "parser": ParserSettings(**sizes, arc_size=8, label_size=4, training=training),
        "text": TextSettings(segmenter="characters"),
    }


@contextmanager
def _in_this_process() -> Iterator[None]:
    """Jobs run here, one after another, and pages have no pictures."""

    def run(listed: Sequence[Job], workers: int, **_: Any) -> Outcome:
        outcome = Outcome({}, {}, {}, [])
        for job in listed:
            assert all(name in outcome.results for name in job.needs)
            outcome.results[job.name] = json.loads(json.dumps(job.function(*job.arguments)))
            outcome.seconds[job.name] = 1.0
            assert all(path.exists() for path in job.outputs)
        return outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "run", run)
        patch.setattr(plots, "available", lambda: False)
        yield


@pytest.fixture(scope="module")
def here() -> Iterator[None]:
    with _in_this_process():
        yield
