"""A name for a biLM: what it gives depends on nothing else."""

from __future__ import annotations

import hashlib
import json

import torch

from zh_elmo.lm.model import BiLM
from zh_elmo.recipe import plain


def digest(bilm: BiLM) -> str:
    """Hex SHA-256 of settings, characters, words and float32 weights; a copy of the model in float64 has the same."""
    sha = hashlib.sha256()
    for part in (plain(bilm.settings), bilm.chars, bilm.words):
        sha.update(json.dumps(part, sort_keys=True).encode("ascii") + b"\n")
    for name, tensor in sorted(bilm.state_dict().items()):
        sha.update(f"{name} {list(tensor.shape)}\n".encode())
        sha.update(tensor.detach().to("cpu", torch.float32).contiguous().numpy().data)
    return sha.hexdigest()
