"""Our own model folder: weights in safetensors, settings and words as text, a card; read strictly, written whole."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from zh_elmo.files import (
    BadInput,
    building,
    existing,
    lines,
    read_json,
    sync_folder,
    write_bytes,
    write_json,
    write_text,
)
from zh_elmo.formats.card import card
from zh_elmo.formats.digest import digest
from zh_elmo.formats.opened import Opened
from zh_elmo.formats.places import skeleton
from zh_elmo.lm.model import BiLM
from zh_elmo.lm.settings import Model
from zh_elmo.recipe import Settings, convert, plain

FORMAT = "zh_elmo biLM"
WEIGHTS, CONFIG, CHARS, WORDS, TEXT, CARD = (
    "model.safetensors", "config.json", "chars.txt", "words.txt", "text.json", "README.md",
)  # fmt: skip
NEEDED = (WEIGHTS, CONFIG, CHARS, WORDS, TEXT)
_DTYPES = {"float32": torch.float32, "float16": torch.float16}
_STORED = ("F32", "F16")  # as safetensors names them


class Config(Settings):
    """What `config.json` says."""

    format: Literal["zh_elmo biLM"]
    version: Literal[1]
    dtype: Literal["float32", "float16"]  # of the weights on the disk
    digest: str  # of what is stored, see `formats.digest`
    model: Model
    facts: dict[str, Any]  # how the model was made: data, perplexity, licence, command, versions


# Writing ------------------------------------------------------------------------------------------------------------


def save(
    folder: str | Path,
    bilm: BiLM,
    *,
    text: dict[str, Any],
    facts: dict[str, Any],
    dtype: Literal["float32", "float16"] = "float32",
) -> None:
    """Write a model folder, whole or not at all.

    In a folder that is there already, a model of ours is replaced and other files stay; where one of the files to be
    written is somebody else's, BadInput. float16 halves the size; vectors then differ by about one part in 3,000.
    `text` is what `text.Pipeline.describe()` gives; empty where nobody knows how the corpus was treated. Raises
    BadInput, too, where weights are not finite, or too large for float16.
    """
    if text and not isinstance(text.get("settings"), dict):
        raise ValueError("text must be what text.Pipeline.describe() gives, or empty")
    target = Path(folder)
    _refuse_to_overwrite(target)
    facts = json.loads(json.dumps(facts, default=str))  # for people: what JSON does not know, as it reads
    tensors = {name: _stored(name, tensor, dtype) for name, tensor in bilm.state_dict().items()}
    # named by what will be read: the rounded weights
    rounded = _fill(skeleton(bilm.settings, bilm.chars, bilm.words), {n: t.float() for n, t in tensors.items()})
    config = Config(
        format="zh_elmo biLM", version=1, dtype=dtype, digest=digest(rounded), model=bilm.settings, facts=facts
    )
    with _whole(target) as new:
        # one entry only: safetensors writes several in any order, and the same model must give the same bytes
        write_bytes(new / WEIGHTS, to_bytes(tensors, metadata={"format": "pt"}))
        write_json(new / CONFIG, plain(config))
        _write_entries(new / CHARS, bilm.chars)
        _write_entries(new / WORDS, bilm.words)
        write_json(new / TEXT, text)
        write_text(new / CARD, card(rounded, text=text, facts=facts, dtype=dtype))


def is_own(folder: Path) -> bool:
    """Whether `folder` says that it is a model of ours."""
    try:
        raw = read_json(folder / CONFIG)
    except (BadInput, OSError):
        return False
    return isinstance(raw, dict) and raw.get("format") == FORMAT


def _refuse_to_overwrite(folder: Path) -> None:
    there = [name for name in (*NEEDED, CARD) if (folder / name).exists()]
    if there and not is_own(folder):
        message = f"holds {there[0]}, which is not of a zh_elmo model; give another folder"
        raise BadInput(message, path=folder, usage=True)


@contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    """A new folder whose files take their places in `folder` when the block ends well.

    Where `folder` is there already, they are moved in one by one; should the machine stop between two moves, the digest
    in the settings, which come last, tells.
    """
    if not folder.is_dir():
        with building(folder) as new:
            yield new
        return
    staged = folder / ".model"
    with building(staged) as new:
        yield new
    for file in sorted(staged.iterdir(), key=lambda file: file.name == CONFIG):
        os.replace(file, folder / file.name)
    staged.rmdir()
    sync_folder(folder)


def _stored(name: str, tensor: Tensor, dtype: str) -> Tensor:
    stored = tensor.detach().to("cpu", _DTYPES[dtype]).contiguous().clone()
    if not torch.isfinite(stored).all():
        what = "not finite" if not torch.isfinite(tensor).all() else f"too large for {dtype}"
        raise BadInput(f"weights of {name} are {what}: the model was not saved")
    return stored


# An entry is a line of its own; what would break the line, or the reading of it, is written as \uXXXX
_AWKWARD = re.compile("[\\\\\n\r\ufeff\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u([0-9a-f]{4})")


def _write_entries(path: Path, entries: Sequence[str]) -> None:
    text = "".join(_AWKWARD.sub(lambda m: f"\\u{ord(m[0]):04x}", entry) + "\n" for entry in entries)
    write_text(path, text)


def _read_entries(path: Path) -> list[str]:
    entries: dict[str, None] = {}
    for number, line in lines(path):
        entry = _ESCAPED.sub(lambda m: chr(int(m[1], 16)), line)
        if not entry or entry in entries:
            raise BadInput("an empty line" if not entry else f"{entry} stands here twice", path=path, line=number)
        entries[entry] = None
    return list(entries)


# Reading ------------------------------------------------------------------------------------------------------------


def open_model(folder: str | Path) -> Opened:
    """Read a model folder; weights become float32, and the model is in evaluation mode without gradients.

    Raises BadInput, naming file and reason, for anything that is missing, damaged or does not fit together.
    """
    path = existing(folder, "model folder")
    missing = [name for name in NEEDED if not (path / name).is_file()]
    if missing:
        raise BadInput(f"not a whole model: {', '.join(missing)} missing", path=path)
    config = _read_config(path / CONFIG)
    text = read_json(path / TEXT)
    if not isinstance(text, dict) or (text and not isinstance(text.get("settings"), dict)):
        raise BadInput('expected an object with "settings", or an empty one', path=path / TEXT)
    bilm = _read_weights(path / WEIGHTS, config, _read_entries(path / CHARS), _read_entries(path / WORDS))
    if digest(bilm) != config.digest:
        raise BadInput("damaged: weights, words or settings are not those that were saved (other digest)", path=path)
    bilm.eval().requires_grad_(False)
    files = tuple(path / name for name in NEEDED)
    return Opened(bilm, "zh_elmo", path, files, text, config.facts, config.dtype, config.digest)


def _read_config(path: Path) -> Config:
    raw = read_json(path)
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise BadInput(f'not the settings of a zh_elmo model: "format" is not "{FORMAT}"', path=path)
    if raw.get("version") != 1:
        raise BadInput(f"version {raw.get('version')}: written by another zh_elmo; this one reads 1", path=path)
    try:
        return convert(raw, Config, path)
    except BadInput as error:
        raise error if error.path else BadInput(str(error), path=path) from None


def _read_weights(path: Path, config: Config, chars: list[str], words: list[str]) -> BiLM:
    """The biLM of these settings with the weights of the file; shapes are compared before any memory is taken."""
    with _safetensors(path), safe_open(path, framework="pt") as file:
        names = set(file.keys())
        if config.model.layers + config.model.characters.highways > len(names):
            raise BadInput(f"holds only {len(names)} tensors; {CONFIG} asks for more layers than that", path=path)
        try:
            bilm = skeleton(config.model, chars, words)
        except (RuntimeError, OverflowError) as error:
            raise BadInput(f"sizes that no model has ({error})", path=path.parent / CONFIG) from None
        due = bilm.state_dict()
        _compare(path, names, set(due))
        for name in sorted(due):
            part = file.get_slice(name)
            if part.get_dtype() not in _STORED:
                raise BadInput(f"{name} has type {part.get_dtype()}; expected {' or '.join(_STORED)}", path=path)
            if part.get_shape() != list(due[name].shape):
                expected = f"{CONFIG}, {CHARS} and {WORDS} ask for {list(due[name].shape)}"
                raise BadInput(f"{name} has shape {part.get_shape()}; {expected}", path=path)
        tensors = {name: file.get_tensor(name).float().clone() for name in due}
    for name, tensor in tensors.items():
        if not torch.isfinite(tensor).all():
            raise BadInput(f"{name} holds numbers that are not finite", path=path)
    return _fill(bilm, tensors)


def _compare(path: Path, found: set[str], due: set[str]) -> None:
    for names, what in ((due - found, "lacks"), (found - due, "holds unknown")):
        if names:
            shown = ", ".join(sorted(names)[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
            raise BadInput(f"{what} {shown}", path=path)


def _fill(bilm: BiLM, tensors: dict[str, Tensor]) -> BiLM:
    bilm.load_state_dict(tensors, assign=True)
    return bilm


@contextmanager
def _safetensors(path: Path) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, ValueError) as error:
        raise BadInput(f"not a safetensors file that can be read, or a part of one ({error})", path=path) from None
