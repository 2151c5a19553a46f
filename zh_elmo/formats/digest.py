"""A name for a biLM: what it gives depends on nothing else."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import torch

from zh_elmo.lm.model import BiLM
from zh_elmo.lm.settings import Model
from zh_elmo.recipe import plain


def digest(bilm: BiLM) -> str:
    """Hex SHA-256 of settings, characters, words and float32 weights; a copy of the model in float64 has the same.

    Settings count where they are not the default: one that is added later does not rename the models of today.
    """
    sha = hashlib.sha256()
    for part in (_told(plain(bilm.settings), plain(Model())), bilm.chars, bilm.words):
        sha.update(json.dumps(part, sort_keys=True).encode("ascii") + b"\n")
    for name, tensor in sorted(bilm.state_dict().items()):
        sha.update(f"{name} {list(tensor.shape)}\n".encode())
        sha.update(tensor.detach().to("cpu", torch.float32).contiguous().numpy().data)
    return sha.hexdigest()


def _told(settings: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The settings that differ from the defaults."""
    differing = {name: value for name, value in settings.items() if value != defaults.get(name)}
    for name, value in differing.items():
        if isinstance(value, dict):
            differing[name] = _told(value, defaults[name])
    return differing
