"""A small random biLM whose recurrence forgets, so that rounding does not grow."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from zh_elmo.embed.embedder import Embedder
from zh_elmo.lm.model import BiLM
from zh_elmo.lm.settings import Characters, Model
from zh_elmo.text.pipeline import TextSettings

CHARS = list("我你他们的是了不在有个人这中大来上国到说买吃苹果六斤。，abc")
WORDS = ["我", "买", "了", "苹果", "。", "吃", "的", "是"]


@pytest.fixture
def new_bilm() -> Callable[..., BiLM]:
    def build(seed: int = 1, **changes: object) -> BiLM:
        characters = Characters(size=6, filters=((1, 8), (2, 8), (3, 8)), maximum=8)
        settings = Model(**({"characters": characters, "projection": 8, "cell": 16, "layers": 2} | changes))
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            bilm = BiLM(settings, CHARS, WORDS)
            for name, parameter in bilm.named_parameters():
                if "recurrent" in name:
                    parameter.data.mul_(0.5)
                elif name == "tokens.table.weight":
                    parameter.data.normal_()
        return bilm

    return build


@pytest.fixture
def embedder(new_bilm: Callable[..., BiLM]) -> Embedder:
    return Embedder(new_bilm(), TextSettings(segmenter="characters"))


@pytest.fixture
def exact(new_bilm: Callable[..., BiLM]) -> Embedder:
    return Embedder(new_bilm(), TextSettings(segmenter="characters"), dtype="float64")
