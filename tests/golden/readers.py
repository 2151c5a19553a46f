"""Golden files of tensors: what zh_elmo's readers say is in them, number for number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from golden import plain
from golden.archive import DATA, Archive
from golden.comparison import EXACT, Comparison, Found
from golden.many_langs import FOLDERS

Arrays = Mapping[str, Any]
CHECKPOINTS = {
    "bilm_ckpt_char": "bilm_ckpt_char/model.ckpt-100",
    "bilm_ckpt_word": "bilm_ckpt_word/model.ckpt-100",
    "hub_like": "hub_like/variables/variables",
}


def compare(archive: Archive, read: Arrays) -> Iterator[Found]:
    """Every tensor of the file and no other."""
    assert sorted(read) == sorted(archive.names)
    for name in archive.names:
        golden = archive[name]
        assert read[name].dtype == golden.dtype, name
        yield Found("tensors", golden, read[name])


def compare_shapes(archive: Archive, read: Arrays, *, absent: str = "no file") -> Iterator[Found]:
    """names.json: what has which shape; `absent`: a file it tells of that is not among the golden ones."""
    there = [name for name in archive.names if not name.startswith(f"{absent} ")]
    assert sorted(read) == sorted(there)
    for name in archive.names:
        golden = archive[name]
        if name in read:
            yield Found("shapes", np.array(golden, np.int64), np.array(read[name].shape, np.int64))


def _pickle(file: str, *_: str) -> Arrays:
    from zh_elmo.formats.pickled import read_pickle

    return {name: stored.read() for name, stored in read_pickle(DATA / file).items()}


def _checkpoint(folder: str, *_: str) -> Arrays:
    from zh_elmo.formats.checkpoint import read_checkpoint

    return {name: stored.read() for name, stored in read_checkpoint(DATA / CHECKPOINTS[folder]).items()}


def _hdf5(file: str, *_: str) -> Arrays:
    from zh_elmo.formats.hdf5 import read_hdf5

    return {name: stored.read() for name, stored in read_hdf5(DATA / file).items()}


def _renamed(folder: str, *_: str) -> Arrays:
    """A checkpoint under the names of the HDF5 layout, without what that layout has no place for."""
    beyond = ("softmax/", "aggregation/")
    return {n: a for n, a in plain.renamed(_checkpoint(folder)).items() if not n.startswith(beyond)}


def _folder(name: str, *_: str) -> Arrays:
    """The pickles of an ELMoForManyLangs folder, by file and name."""
    files = [file.name for file in Path(DATA / name).glob("*.pkl") if "_softmax" not in file.name]
    return {f"{file} {tensor}": array for file in files for tensor, array in _pickle(f"{name}/{file}").items()}


def _exact(name: str, file: str, read: Callable[..., Arrays], what: str) -> Comparison:
    return Comparison(name, file, compare, partial(read, what), tolerance=EXACT)


def _shapes(folder: str, read: Callable[..., Arrays], what: str, absent: str = "no file") -> Comparison:
    file = f"{folder}/names.json"
    return Comparison(file, file, partial(compare_shapes, absent=absent), partial(read, what), tolerance=EXACT)


_PICKLES = sorted(
    str(path.relative_to(DATA)) for path in DATA.rglob("*") if path.suffix in (".pkl", ".th")
)  # fmt: skip
_WEIGHTS = sorted(str(path.relative_to(DATA)) for path in DATA.rglob("*weights.hdf5"))

COMPARISONS = [
    *(_exact(f"pickle {file}", file, _pickle, file) for file in _PICKLES),
    *(_exact(f"HDF5 {file}", file, _hdf5, file) for file in _WEIGHTS),
    *(
        _exact(f"checkpoint {folder}", f"{folder}/variables.npz", _checkpoint, folder)
        for folder in ("bilm_ckpt_char", "bilm_ckpt_word")
    ),
    *(
        _exact(f"dumped {folder}", f"{folder}/dumped_weights.hdf5", _renamed, folder)
        for folder in ("bilm_ckpt_char", "bilm_ckpt_word")
    ),
    _exact("checkpoint hub_like", "bilm_skip/weights.hdf5", _renamed, "hub_like"),
    _shapes("hub_like", _checkpoint, "hub_like"),
    _shapes("elmo_th", _pickle, "elmo_th/elmo_zip.th"),
    *(
        _shapes(folder, _folder, folder, "no file" if folder == "efml_word_char" else "classifier.pkl")
        for folder in FOLDERS
    ),
]
