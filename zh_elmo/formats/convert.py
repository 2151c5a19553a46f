"""A model in the files of another program: our own folder, ELMoForManyLangs' folder, bilm-tf's HDF5 or checkpoint."""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch

from zh_elmo.files import BadInput, building, write_bytes, write_json, write_text
from zh_elmo.formats import bilm_tf, many_langs, own
from zh_elmo.formats.checkpoint_write import training_names, write_checkpoint
from zh_elmo.formats.equivalent import for_bilm_tf, for_many_langs
from zh_elmo.formats.find import load_bilm
from zh_elmo.formats.opened import Opened
from zh_elmo.formats.places import Place, emptied
from zh_elmo.lm.model import BiLM
from zh_elmo.lm.settings import Model
from zh_elmo.recipe import plain

Format = Literal["own", "elmoformanylangs", "bilm-tf", "checkpoint"]
FORMATS: tuple[Format, ...] = get_args(Format)
_SAMPLE = "configuration.json"  # name of the configuration in a folder of ELMoForManyLangs
_BREAKS = "\t\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"  # where ELMoForManyLangs' reader of dictionaries ends a line
_NEVER = -1e4  # bias of a word that is not predicted
_ALLENNLP_BYTES = 50  # a word, marks included: the only number that it takes


def convert(
    path: str | Path,
    out: str | Path,
    to: Format,
    *,
    dtype: Literal["float32", "float16"] = "float32",
    lossy: bool = False,
    files: dict[str, Path] | None = None,
) -> list[str]:
    """Write the model at `path` to the folder `out` in another format; returns what a user should hear.

    The vectors stay the same to 1e-5 (float32). dtype: of the weights in a folder of ours. lossy: see
    `equivalent.for_many_langs`. files: as in `load_bilm`.
    Raises BadInput where a model cannot be represented, with the reason, and where `out` is there already.
    """
    folder = Path(out)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise BadInput("there is something already; give a new folder", path=folder, usage=True)
    try:
        opened = load_bilm(path, softmax=True, words=True, files=files)
    except BadInput:  # most came without one; another fault is said again
        opened = load_bilm(path, words=True, files=files)
    notes = list(opened.notes)
    if to == "own":
        facts = {**opened.facts, "converted": {"from": opened.kind, "files": [file.name for file in opened.files]}}
        own.save(
            folder,
            opened.bilm,
            text=opened.text,
            facts=facts if opened.kind != "zh_elmo" else opened.facts,
            dtype=dtype,
        )
        return notes
    if dtype != "float32":
        raise BadInput(f"{to} has its weights as float32", path=folder, usage=True)
    return [*notes, *_left_behind(opened, to), *save_as(opened.bilm, folder, to, lossy=lossy)]


def _left_behind(opened: Opened, to: Format) -> list[str]:
    """What the other format has no place for."""
    lost = []
    if opened.text:
        settings = opened.text["settings"]
        how = ", ".join(f"{key} {settings[key]}" for key in ("script", "punctuation", "quotes", "segmenter"))
        lost.append(
            f"how words are normalised and cut ({how}) is not in its files: give it words as the corpus has them"
        )
    if opened.bilm.softmax is not None and to == "bilm-tf":
        lost.append("its files have no softmax")
    if opened.facts.get("mixes"):
        lost.append("its files have no learned mixes; zh-elmo info tells them")
    return lost


def save_as(bilm: BiLM, folder: str | Path, to: Format, *, lossy: bool = False) -> list[str]:
    """Write a biLM to a new folder in another program's format; returns what a user should hear (see `convert`)."""
    writers: dict[str, Callable[[BiLM, Path, bool], list[str]]] = {
        "elmoformanylangs": _many_langs, "bilm-tf": _bilm_tf, "checkpoint": _checkpoint,
    }  # fmt: skip
    if to not in writers:
        raise BadInput(f"{to} is no format; there are {', '.join(FORMATS)}", usage=True)
    return writers[to](bilm, Path(folder), lossy)


# ELMoForManyLangs -----------------------------------------------------------------------------------------------------


class _Numbered:
    """Tables as they are written: rows in an order of ours, given as `many_langs.Tables`."""

    def __init__(self, bilm: BiLM) -> None:
        self.words = [many_langs.OOV, many_langs.BOS, many_langs.EOS, *bilm.words]
        if many_langs.PAD not in bilm.words:
            self.words.append(many_langs.PAD)
        self.n_words = len(self.words)
        self.word_order = np.arange(len(bilm.words) + 3)
        special = [many_langs.PAD, many_langs.OOV, many_langs.EOW, many_langs.BOW, many_langs.BOS, many_langs.EOS]
        self.chars = [*special, *bilm.chars]  # the marks of a word are swapped there
        self.n_chars = len(self.chars)
        self.char_order = np.arange(self.n_chars)


def _many_langs(bilm: BiLM, folder: Path, lossy: bool) -> list[str]:
    shaped = for_many_langs(bilm, lossy=lossy)
    tables = _Numbered(shaped)
    words, chars = _dictionary(tables.words, "word"), _dictionary(tables.chars, "character")
    stored: dict[str, dict[str, Any]] = {many_langs.TOKENS: {}, many_langs.ENCODER: {}}
    for name, array in emptied(shaped, many_langs.places(shaped.settings, tables)):
        file, _, inside = name.partition("/")
        stored[file][inside] = array
    with building(folder) as new:
        write_json(new / many_langs.CONFIG, {"config_path": _SAMPLE, "model": folder.name})
        write_json(new / _SAMPLE, _configuration(shaped.settings))
        write_text(new / many_langs.WORDS, words)
        write_text(new / many_langs.CHARS, chars)
        for file, arrays in stored.items():
            _pickle(new / file, arrays)
        if shaped.softmax is not None:
            _pickle(new / many_langs.CLASSIFIER, _classifier(shaped, tables.n_words))
    lost = len(bilm.words) - len(shaped.words)
    return (
        [f"{lost} words longer than {bilm.settings.characters.maximum} characters lost their own vectors"]
        if lost
        else []
    )


def _dictionary(texts: Sequence[str], what: str) -> str:
    """char.dic or word.dic. Raises BadInput for a text that the program would not read back."""
    for text in texts:
        if text != "\u3000" and (not text or text != text.strip() or any(c in _BREAKS for c in text)):
            raise BadInput(f"a dictionary of ELMoForManyLangs cannot hold the {what} {text!r}")
    return "".join(f"{text}\t{number}\n" for number, text in enumerate(texts))


def _configuration(settings: Model) -> dict[str, Any]:
    reads = settings.characters
    return {
        "encoder": {
            "name": "lstm" if settings.lstm == "two-way" else "elmo", "projection_dim": settings.projection,
            "cell_clip": settings.cell_clip, "proj_clip": settings.projection_clip, "dim": settings.cell,
            "n_layers": settings.layers,
        },
        "token_embedder": {
            "name": "cnn" if settings.cut_words else "lstm", "activation": reads.activation,
            "filters": plain(reads.filters), "n_highway": reads.highways, "word_dim": settings.word_size,
            "char_dim": reads.size if reads.filters else 0, "max_characters_per_token": reads.maximum + 2,
        },
        "classifier": {"name": "sampled_softmax", "n_samples": 8192},
        "dropout": 0.1,
    }  # fmt: skip


def _classifier(bilm: BiLM, n_words: int) -> dict[str, Any]:
    softmax = bilm.predictor()
    rows = np.zeros((n_words, bilm.settings.projection), np.float32)
    bias = np.full((n_words, 1), _NEVER, np.float32)  # of `<pad>`, if this model had none
    rows[: len(softmax.rows.weight)] = softmax.rows.weight.float().numpy()
    bias[: len(softmax.bias.weight)] = softmax.bias.weight.float().numpy()
    return {"oov_column": rows[:1].T.copy(), "column_emb.weight": rows, "column_bias.weight": bias}


def _pickle(path: Path, arrays: dict[str, Any]) -> None:
    made = io.BytesIO()
    torch.save(OrderedDict((name, torch.from_numpy(array)) for name, array in arrays.items()), made)
    write_bytes(path, made.getbuffer())


# bilm-tf --------------------------------------------------------------------------------------------------------------


def _bilm_tf(bilm: BiLM, folder: Path, lossy: bool) -> list[str]:
    shaped = for_bilm_tf(bilm)
    arrays = {_as_written(name): array for name, array in emptied(shaped, _places(shaped))}
    with building(folder) as new:
        write_json(new / "options.json", _options(shaped.settings))
        _hdf5(new / "weights.hdf5", arrays)
        _vocabulary(new, shaped)
    return _who_reads(shaped.settings)


def _checkpoint(bilm: BiLM, folder: Path, lossy: bool) -> list[str]:
    shaped = for_bilm_tf(bilm, softmax=True)
    settings = shaped.settings
    arrays = {
        training_names(name, layers=settings.layers): array for name, array in emptied(shaped, _places(shaped))
    }  # fmt: skip
    options = _options(settings)
    if "char_cnn" in options:
        options["char_cnn"]["n_characters"] = 261  # what training asks for
    with building(folder) as new:
        write_json(new / "options.json", {**options, **_TRAINING, "n_tokens_vocab": len(shaped.words) + 3})
        write_checkpoint(new / _CHECKPOINT, arrays)
        write_text(new / "checkpoint", f'model_checkpoint_path: "{_CHECKPOINT}"\n')
        _vocabulary(new, shaped)
    if settings.softmax:
        return []
    return ["without a softmax: zh_elmo reads this checkpoint; bilm-tf's own programs, which ask for one, do not"]


_CHECKPOINT = "model.ckpt-0"
# What bilm-tf's programs want to find in options.json besides the model: the values of its README
_TRAINING = {
    "dropout": 0.1, "all_clip_norm_val": 10.0, "n_epochs": 10, "n_train_tokens": 768648884, "batch_size": 128,
    "unroll_steps": 20, "n_negative_samples_batch": 8192,
}  # fmt: skip


def _places(shaped: BiLM) -> Iterator[Place]:
    """Where the tensors go, for a vocabulary that begins with the marks, as all of bilm-tf's do."""
    n_words = len(shaped.words) + 3
    order = np.array([2, 0, 1, *range(3, n_words)])
    return bilm_tf.places(shaped.settings, row_before=False, order=order, lines_=n_words, table="softmax/W")


def _vocabulary(folder: Path, shaped: BiLM) -> None:
    if shaped.words:
        words = (*bilm_tf.MARKS, bilm_tf.UNKNOWN, *shaped.words)
        write_text(folder / "vocab.txt", "".join(f"{word}\n" for word in words))


def _hdf5(path: Path, arrays: dict[str, Any]) -> None:
    try:
        import h5py
    except ImportError:
        message = "HDF5 files need the package h5py: pip install 'zh-elmo[formats]'"
        raise BadInput(message, path=path, usage=True) from None
    # in memory first: on a full disk h5py crashes, and torch blames itself
    made = io.BytesIO()
    with h5py.File(made, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array)
    write_bytes(path, made.getbuffer())


def _as_written(name: str) -> str:
    """The name in an HDF5 file of bilm-tf for one that `bilm_tf.places` has."""
    way, _, rest = name.partition("/Cell")
    if not rest:
        return name
    layer, _, part = rest.partition("/")
    return f"{way}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/{part}"


def _options(settings: Model) -> dict[str, Any]:
    reads = settings.characters
    options: dict[str, Any] = {
        "bidirectional": True,
        "lstm": {
            "use_skip_connections": settings.skip, "projection_dim": settings.projection, "dim": settings.cell,
            "n_layers": settings.layers, "cell_clip": settings.cell_clip or None,
            "proj_clip": settings.projection_clip or None,
        },
    }  # fmt: skip
    if reads.filters:
        options["char_cnn"] = {
            "activation": reads.activation, "embedding": {"dim": reads.size}, "filters": plain(reads.filters),
            "n_highway": reads.highways, "max_characters_per_token": reads.maximum + 2, "n_characters": 262,
        }  # fmt: skip
    return options


def _who_reads(settings: Model) -> list[str]:
    """What keeps the original programs from reading such a file."""
    reads, features = settings.characters, sum(number for _, number in settings.characters.filters)
    notes = []
    if reads.filters:
        if settings.project and features <= settings.projection:
            notes.append("bilm-tf itself wants filters that give more numbers than the projection; AllenNLP does not")
        reasons = {
            f"words of {reads.maximum + 2} bytes": reads.maximum + 2 != _ALLENNLP_BYTES,
            "an LSTM without projection": settings.lstm == "plain",
            "filters without projection": not settings.project,
            "no skip connections": not settings.skip and settings.layers > 1,
        }
        cannot = [reason for reason, holds in reasons.items() if holds]
        if cannot:
            notes.append(f"AllenNLP cannot read this model ({', '.join(cannot)}); bilm-tf and zh_elmo can")
    return notes
