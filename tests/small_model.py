"""A folder with a small random biLM that reads raw text character by character."""

from __future__ import annotations

from pathlib import Path

import torch

from zh_elmo.formats.own import save
from zh_elmo.lm.model import BiLM
from zh_elmo.lm.settings import Characters, Model
from zh_elmo.text.pipeline import Pipeline, TextSettings

WIDTH, LAYERS = 8, 3


def save_small(folder: Path, seed: int = 1) -> Path:
    settings = Model(characters=Characters(size=4, filters=((1, 4), (2, 4)), maximum=6), projection=4, cell=6, layers=2)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        bilm = BiLM(settings, list("我你他买吃苹果六斤了。"), ["我", "买", "了", "苹果", "。"])
        for parameter in bilm.parameters():
            parameter.data.normal_(std=0.5)
    save(folder, bilm, text=Pipeline(TextSettings(segmenter="characters")).describe(), facts={})
    return folder
