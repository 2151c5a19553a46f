"""What lies at a path -> the loader for it, or one line that says what was looked for and what is there."""

from __future__ import annotations

from pathlib import Path

from zh_elmo.files import BadInput, existing
from zh_elmo.formats import own
from zh_elmo.formats.own import OwnModel

_HDF5 = (".h5", ".hdf5")
_UNMISTAKABLE = {own.WEIGHTS, own.CHARS, own.WORDS, own.TEXT}  # two of these are a model of ours, if a damaged one


def load_bilm(path: str | Path) -> OwnModel:
    """The biLM at `path`, whatever program wrote it; told apart by looking at the files, never by the name.

    Raises BadInput for what is no model, naming what was looked for and what was found.
    """
    place = existing(path, "model")
    if place.is_file():
        raise BadInput(_about_file(place), path=place)
    names = sorted(file.name for file in place.iterdir())
    if own.is_own(place) or len(_UNMISTAKABLE.intersection(names)) > 1:
        return own.open_model(place)
    if own.is_own(place / "model"):  # the folder of a pre-training
        return own.open_model(place / "model")
    raise BadInput(_foreign(place, names) or _nothing(names), path=place)


def _about_file(file: Path) -> str:
    if file.name in (*own.NEEDED, own.CARD):
        return f"one file of a model; give the folder that holds it: {file.parent}"
    if file.suffix.lower() in _HDF5:
        return _about_hdf5(file)
    return f"a file; a model is a folder with {', '.join(own.NEEDED)}"


def _about_hdf5(file: Path) -> str:
    """Weights of bilm-tf and vectors are both HDF5: the names inside tell them apart, where h5py can look."""
    try:
        import h5py

        with h5py.File(file, "r") as inside:
            names = set(inside)
    except ImportError:
        return "an HDF5 file: vectors, or weights of bilm-tf or AllenNLP, which this version does not read yet"
    except OSError as error:
        return f"not an HDF5 file that can be read ({error})"
    if {"0", "sentences", "sentence_to_index"} & names:
        return "this holds vectors that were made by a model, not a model"
    if any(name.startswith(("RNN_", "CNN", "char_embed", "embedding")) for name in names):
        return "weights of bilm-tf or AllenNLP, which this version does not read yet"
    return f"an HDF5 file that is no model; it holds {_some(sorted(names))}"


def _foreign(place: Path, names: list[str]) -> str:
    """What is said of a folder that another program wrote, or that is something else of ours; "" if it is neither."""
    there = set(names)
    not_yet = "which this version does not read yet"
    if {"meta.json", "features.bin"} <= there:
        return "a store of vectors that were made by a model, not a model"
    if {"manifest.json", "types.txt"} <= there:
        return "a corpus, not a model; `zh-elmo pretrain` makes a model of it"
    if {"encoder.pkl", "token_embedder.pkl"} <= there:
        return f"a model of ELMoForManyLangs, {not_yet}"
    if there & {"saved_model.pb", "tfhub_module.pb"}:
        return f"a module of TensorFlow Hub, {not_yet}"
    if any("options" in name and name.endswith(".json") for name in names):
        return f"a model of bilm-tf or AllenNLP, {not_yet}"
    if "checkpoints" in there:
        return "the folder of a training that has not ended: go on with `zh-elmo pretrain ... --resume`"
    return ""


def _nothing(names: list[str]) -> str:
    looked = f"a zh_elmo model ({', '.join(own.NEEDED)}); one of ELMoForManyLangs, bilm-tf, AllenNLP or TensorFlow Hub"
    return f"no model here; looked for {looked}; found {_some(names) or 'nothing'}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
