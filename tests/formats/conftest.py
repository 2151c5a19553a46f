"""A small random biLM with awkward characters and words, and a folder that holds it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from zh_elmo.formats.own import save
from zh_elmo.lm.model import BiLM
from zh_elmo.lm.settings import Characters, Model
from zh_elmo.text.pipeline import Pipeline, TextSettings

CHARS = ["我", "\\", "\n", "\r", "\ufeff", "\ud800", "\u2028", "\u0085", "😀", "a", "u", " ", "<"]
WORDS = ["我", "<s>", "<unk>", "a\\u000a", "\\", "a b", " ", "\n", "\ufeff", "a\rb"]
FACTS = {
    "corpus": {"words": 1234567, "digest": "abc"},
    "held_out_perplexity": {"forward": 300.5, "backward": 310.25, "mean": 305.3},
    "licence": "CC0-1.0",
    "command": ["zh-elmo", "pretrain"],
    "settings": {"model": {"layers": 2}},
}


def random_bilm(seed: int = 1, **changes: object) -> BiLM:
    characters = Characters(size=4, filters=((1, 4), (2, 4)), maximum=6)
    settings = Model(**({"characters": characters, "projection": 6, "cell": 10} | changes))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        bilm = BiLM(settings, CHARS, WORDS)
        for parameter in bilm.parameters():
            parameter.data.normal_()
    return bilm


@pytest.fixture
def bilm() -> BiLM:
    return random_bilm()


@pytest.fixture
def text() -> dict[str, object]:
    return Pipeline(TextSettings(segmenter="characters")).describe()


@pytest.fixture
def folder(tmp_path: Path, bilm: BiLM, text: dict[str, object]) -> Path:
    save(tmp_path / "model", bilm, text=text, facts=FACTS)
    return tmp_path / "model"
