"""The product behind the face of its plain twin, so that one comparison serves both."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from golden import plain
from golden.archive import DATA
from numpy.typing import NDArray

import zh_elmo
from zh_elmo.embed.mix import ScalarMix
from zh_elmo.formats.bilm_tf import byte_ids
from zh_elmo.formats.find import load_bilm

Array = NDArray[Any]


class Product:
    """`zh_elmo.load(...)`, with carried state and without."""

    def __init__(self, dtype: str, path: str, **files: str) -> None:
        """path and files: below the golden data."""
        named = {what: DATA / file for what, file in files.items()}
        self.carrying, self.resetting = (
            quietly(zh_elmo.load, DATA / path, dtype=dtype, state=state, **named) for state in ("carry", "reset")
        )
        self.bilm = self.carrying.bilm

    def carry(self, sentences: Sequence[Sequence[str]], **how: Any) -> list[Array]:
        return quietly(self.carrying.embed, sentences, layers="all", **how)

    def fresh(self, sentences: Sequence[Sequence[str]], **how: Any) -> list[Array]:
        return quietly(self.resetting.embed, sentences, layers="all", **how)

    def reset(self) -> None:
        self.carrying.reset()

    def states(self) -> tuple[Array, Array]:
        h, c = (
            [torch.cat([*part], dim=1).numpy() for part in parts] for parts in zip(*self.carrying.states, strict=True)
        )
        return np.array(h), np.array(c)

    def encode(self, words: Sequence[str]) -> Array:
        with torch.no_grad():
            return self.bilm.encode(self.bilm.spell(words)).numpy()

    def sentence_marks(self) -> Array:
        with torch.no_grad():
            return self.bilm.encode(self.bilm.marks()).numpy()

    def byte_ids(self, words: Sequence[str], room: int) -> Array:
        return byte_ids(words, room)

    def known(self, words: Sequence[str], vocabulary: Sequence[str]) -> list[str]:
        """The entry of a bilm-tf vocabulary that each word is to the model."""
        names = ["<UNK>", "<S>", "</S>", *self.bilm.words]
        assert sorted(names) == sorted(set(vocabulary))
        return [names[i] for i in self.bilm.spell(words).ids]

    def nothing(self) -> Array:
        with torch.no_grad():
            return self.bilm.tokens.nothing().numpy()

    def mix(self, layers: Array, logits: Sequence[float], gamma: float, **how: Any) -> Array:
        return mixed(layers, logits, gamma, **how)


class Twin:
    """A plain model with the few more things that comparisons ask of both."""

    def __init__(self, model: plain.Plain) -> None:
        self.model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def sentence_marks(self) -> Array:
        return self.model.encode(self.model.marks)

    def byte_ids(self, words: Sequence[str], room: int) -> Array:
        return np.array([plain.byte_ids(word, room) for word in words])

    def known(self, words: Sequence[str], vocabulary: Sequence[str]) -> list[str]:
        return [word if word in vocabulary else "<UNK>" for word in words]

    def mix(self, layers: Array, logits: Sequence[float], gamma: float, **how: Any) -> Array:
        return plain.mix(layers, logits, gamma, **how)


class Predictor:
    """A biLM with its softmax."""

    def __init__(
        self, dtype: str, path: str, *, classifier: str | None = None, softmax: bool = True, **files: str
    ) -> None:
        """classifier: the file that is to stand as classifier.pkl; softmax=False: one that has none."""
        named = {what: DATA / file for what, file in files.items()}
        with tempfile.TemporaryDirectory() as room:
            folder = DATA / path
            if classifier is not None:
                folder = Path(room) / "model"
                shutil.copytree(DATA / path, folder, copy_function=shutil.copyfile)
                shutil.copyfile(DATA / path / classifier, folder / "classifier.pkl")
            self.bilm = load_bilm(folder, softmax=softmax, files=named).bilm.to(getattr(torch, dtype)).eval()

    def tops(self, forward: Sequence[str], backward: Sequence[str]) -> Array:
        with torch.no_grad():
            encoded = [self.bilm.encode(self.bilm.spell(words)) for words in (forward, backward)]
            outputs, _ = self.bilm.run(torch.stack(encoded)[:, :, None], self.bilm.start(1))
        return outputs[-1][:, :, 0].numpy()

    def losses(self, hidden: Array, targets: Sequence[str], columns: Sequence[str] | None = None) -> Array:
        softmax, ids = self.bilm.predictor(), self.bilm.spell(targets).ids
        with torch.no_grad():
            states = torch.from_numpy(hidden)
            if columns is None:
                return -softmax.log_probabilities(states)[torch.arange(len(ids)), ids].numpy()
            chosen = self.bilm.spell(columns).ids
            scores = states @ softmax.rows.weight[chosen].t() + softmax.bias.weight[chosen, 0]
            right = [chosen.tolist().index(i) for i in ids.tolist()]
            return -scores.log_softmax(1)[torch.arange(len(ids)), right].numpy()


def mixed(
    layers: Array, logits: Sequence[float], gamma: float, *, layer_norm: bool = False, mask: Array | None = None
) -> Array:
    """What the product's ScalarMix makes of layers [L, N, T, W]."""
    stacked = torch.from_numpy(np.ascontiguousarray(layers))
    scalar_mix = ScalarMix(len(layers), gamma=gamma, layer_norm=layer_norm).to(stacked.dtype)
    with torch.no_grad():
        scalar_mix.s.copy_(torch.tensor([float(logit) for logit in logits], dtype=torch.float64))
        scalar_mix.gamma.fill_(gamma)
        return scalar_mix(stacked, None if mask is None else torch.from_numpy(mask.astype(bool))).numpy()


def quietly(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Some golden words are longer than the models read, of which the product rightly warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*args, **kwargs)
