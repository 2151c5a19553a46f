"""Models so small that a rule's result can be computed by hand, and golden models with something changed.

A toy has one number a character, one filter and one cell, and a word's vector x is one number: layer 0 shows it. Its
LSTM looks at nothing but its biases, so that every step of it is the same.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import torch
from golden.archive import DATA

import zh_elmo

ON, OFF = 100.0, -100.0  # biases with which a gate is open or shut


class Gates(NamedTuple):
    """Biases of the LSTM, as they lie in the file."""

    input: float = ON
    forget: float = 0.0
    memory: float = 0.5
    output: float = ON


_GATES = Gates()


class HighwayNumbers(NamedTuple):
    weight: float = 1.0
    bias: float = 0.0
    gate: float = 0.0  # its bias


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


# bilm-tf ------------------------------------------------------------------------------------------------------------


def bilm_tf(
    folder: Path,
    *,
    rows: Mapping[int, float] | None = None,
    kernel: Sequence[float] = (1.0,),
    highway: HighwayNumbers | None = None,
    activation: str = "relu",
    gates: Gates = _GATES,
    projection: float | None = None,
    layers: int = 1,
    **lstm: Any,
) -> Path:
    """rows: numbers of bytes and marks (258: begin of word, 260: padding); projection: of a memory of size 2, whose
    two numbers are the same."""
    cell = 1 if projection is None else 2
    table = np.zeros((261, 1))
    for row, number in (rows or {}).items():
        table[row] = number
    cnn: dict[str, Any] = {
        "activation": activation, "embedding": {"dim": 1}, "filters": [[len(kernel), 1]],
        "max_characters_per_token": 6, "n_characters": 262,
    }  # fmt: skip
    tensors = {"char_embed": table, "CNN/W_cnn_0": np.reshape(kernel, (1, -1, 1, 1)), "CNN/b_cnn_0": np.zeros(1)}
    if highway is not None:
        cnn["n_highway"] = 1
        group = "CNN_high_0/"
        tensors |= {group + "W_carry": np.zeros((1, 1)), group + "b_carry": np.array([highway.gate])}
        tensors |= {
            group + "W_transform": np.array([[highway.weight]]),
            group + "b_transform": np.array([highway.bias]),
        }
    for way in (0, 1):
        for layer in range(layers):
            name = f"RNN_{way}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/"
            bias = [gates.input, gates.memory, gates.forget, gates.output]
            tensors |= {name + "W_0": np.zeros((2, 4 * cell)), name + "B": np.repeat(bias, cell)}
            if projection is not None:
                tensors[name + "W_P_0"] = np.full((2, 1), projection / 2)
    options = {"lstm": {"projection_dim": 1, "dim": cell, "n_layers": layers, **lstm}, "char_cnn": cnn}
    return write_bilm_tf(folder, options, tensors)


def write_bilm_tf(folder: Path, options: Mapping[str, Any], tensors: Mapping[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "options.json").write_text(json.dumps(options))
    with h5py.File(folder / "weights.hdf5", "w") as file:
        for name, value in tensors.items():
            file[name] = np.asarray(value, np.float32)
    return folder


def tensors_of(name: str) -> dict[str, Any]:
    """The tensors of a golden HDF5 file."""
    found: dict[str, Any] = {}
    with h5py.File(DATA / name) as file:
        file.visititems(lambda key, node: found.update({key: node[...]} if isinstance(node, h5py.Dataset) else {}))
    return found


def changed_bilm_tf(
    folder: Path,
    base: str = "bilm_skip",
    *,
    options: Callable[[dict[str, Any]], Any] | None = None,
    tensors: Callable[[dict[str, Any]], Any] | None = None,
) -> Path:
    """A golden model with its options or tensors changed in place by these."""
    found, told = tensors_of(f"{base}/weights.hdf5"), json.loads((DATA / base / "options.json").read_text("utf-8"))
    for change, what in ((options, told), (tensors, found)):
        if change is not None:
            change(what)
    return write_bilm_tf(folder, told, found)


# ELMoForManyLangs ---------------------------------------------------------------------------------------------------

SPECIAL_WORDS = ("<oov>", "<bos>", "<eos>", "<pad>")
SPECIAL_CHARACTERS = ("<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>")


def many_langs(
    folder: Path,
    *,
    words: Mapping[str, float] | None = None,
    characters: Mapping[str, float] | None = None,
    kernel: Sequence[float] = (1.0,),
    highway: HighwayNumbers | None = None,
    activation: str = "relu",
    projection: Sequence[float] | None = None,
    gates: Gates = _GATES,
    state_projection: float = 1.0,
    clips: tuple[float | None, float | None] = (None, None),
    embedder: str = "cnn",
    room: int = 7,
    layers: int = 1,
) -> Path:
    """words, characters: their numbers; entries that every model has are 0 where they are not told; None: no table.
    room: characters of a word and its two marks."""
    table = dict.fromkeys(SPECIAL_WORDS, 0.0) | dict(words or {})
    letters = dict.fromkeys(SPECIAL_CHARACTERS, 0.0) | dict(characters or {})
    tokens, features = {}, 0
    if words is not None:
        tokens["word_emb_layer.embedding.weight"] = np.array(list(table.values()))[:, None]
        features += 1
    if characters is not None:
        features += 1
        tokens["char_emb_layer.embedding.weight"] = np.array(list(letters.values()))[:, None]
        tokens |= {"convolutions.0.weight": np.reshape(kernel, (1, 1, -1)), "convolutions.0.bias": np.zeros(1)}
        if highway is not None:
            tokens["highways._layers.0.weight"] = np.array([[highway.weight], [0.0]])
            tokens["highways._layers.0.bias"] = np.array([highway.bias, highway.gate])
    tokens |= {"projection.weight": np.reshape(projection or [1.0] * features, (1, features))}
    tokens["projection.bias"] = np.zeros(1)
    encoder = {}
    for name in (f"{way}_layer_{layer}." for way in ("forward", "backward") for layer in range(layers)):
        encoder |= {name + part: np.zeros((4, 1)) for part in ("input_linearity.weight", "state_linearity.weight")}
        encoder[name + "state_linearity.bias"] = np.array(gates)
        encoder[name + "state_projection.weight"] = np.full((1, 1), state_projection)
    config = {
        "encoder": {
            "name": "elmo", "projection_dim": 1, "cell_clip": clips[0], "proj_clip": clips[1], "dim": 1,
            "n_layers": layers,
        },
        "token_embedder": {
            "name": embedder, "activation": activation, "filters": [[len(kernel), 1]],
            "n_highway": int(highway is not None), "word_dim": int(words is not None),
            "char_dim": int(characters is not None), "max_characters_per_token": room,
        },
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    for name, entries in (("word.dic", table), ("char.dic", letters)):
        (folder / name).write_text("".join(f"{text}\t{row}\n" for row, text in enumerate(entries)), "utf-8")
    (folder / "config.json").write_text('{"config_path": "toy.json"}')
    (folder / "toy.json").write_text(json.dumps(config))
    save_pickle(folder / "token_embedder.pkl", tokens)
    save_pickle(folder / "encoder.pkl", encoder)
    return folder


def save_pickle(path: Path, tensors: Mapping[str, Any]) -> None:
    torch.save({name: torch.from_numpy(np.array(value, np.float32)) for name, value in tensors.items()}, path)


def copied(base: str, folder: Path) -> Path:
    """A golden folder to change."""
    return Path(shutil.copytree(DATA / base, folder, copy_function=shutil.copyfile))


# What comes out -----------------------------------------------------------------------------------------------------


def x(folder: Path, word: str) -> float:
    """A toy's vector of a word, without its sentence."""
    return float(zh_elmo.load(folder, dtype="float64").embed([[word]], layers=0)[0][0, 0])


def top(folder: Path, **how: Any) -> list[float]:
    """A toy's top layer, forward direction, over a sentence of two words."""
    found = zh_elmo.load(folder, dtype="float64").embed([["a", "a"]], layers=-1, **how)[0]
    return found[:, 0].tolist()
