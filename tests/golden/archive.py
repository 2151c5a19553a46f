"""A golden file that remembers which of its arrays were looked at, so that none is left out of a comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DATA = Path(__file__).parent / "data"
_SENTENCES = json.loads((DATA / "sentences.json").read_text("utf-8"))
BATCHES: list[list[list[str]]] = _SENTENCES["batches"]
TEXT = [line.split() for line in (DATA / "text.txt").read_text("utf-8").splitlines()]
TABBED = [line.split("\t") for line in (DATA / "text_tab.txt").read_text("utf-8").splitlines()]


class Archive:
    """The arrays of a .npz, .hdf5, .pkl, .th or .json file, or of a .txt of ELMoForManyLangs, by name."""

    def __init__(self, name: str) -> None:
        """`name`: the file, below the golden data."""
        path = DATA / name
        self._arrays = _READERS[path.suffix](path)
        self.names = list(self._arrays)
        self.unread = set(self.names)

    def __getitem__(self, name: str) -> NDArray[Any]:
        self.unread.discard(name)
        return self._arrays[name]

    def __contains__(self, name: str) -> bool:
        return name in self._arrays


def _npz(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def _hdf5(path: Path) -> dict[str, Any]:
    import h5py

    found: dict[str, Any] = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, node: found.update({name: node[...]} if isinstance(node, h5py.Dataset) else {}))
    return found


def _pickle(path: Path) -> dict[str, Any]:
    import torch

    return {name: tensor.numpy() for name, tensor in torch.load(path, weights_only=True).items()}


def _json(path: Path) -> dict[str, Any]:
    """Objects of objects become one, with the names joined by spaces."""
    found = {}
    for name, value in json.loads(path.read_text("utf-8")).items():
        found.update({f"{name} {inner}": v for inner, v in value.items()} if isinstance(value, dict) else {name: value})
    return found


def _text(path: Path) -> dict[str, Any]:
    """Blocks of `word TAB numbers`, one for each sentence, named by the words joined with tabs."""
    found = {}
    for block in path.read_text("utf-8").split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if line]
        if rows:
            found["\t".join(row[0] for row in rows)] = np.array([row[1:] for row in rows], np.float64)
    return found


_READERS = {
    ".npz": _npz, ".hdf5": _hdf5, ".pkl": _pickle, ".th": _pickle, ".json": _json, ".txt": _text,
}  # fmt: skip
