"""Folders of trained taggers and parsers: weights, settings, vocabulary, and what vectors and text they need."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from zh_elmo import __version__
from zh_elmo.files import BadInput, building, existing, open_bytes, read_json, write_bytes, write_json
from zh_elmo.recipe import Settings, convert, plain
from zh_elmo.text.pipeline import TextSettings
from zh_elmo.ud.inputs import Vectors
from zh_elmo.ud.network import VectorShape
from zh_elmo.ud.vocabulary import Labels, Vocabulary


class Contents(NamedTuple):
    """What a folder holds beside the weights."""

    settings: Any
    text: TextSettings
    vectors: VectorShape | None
    vocabulary: Vocabulary
    labels: dict[str, Labels]
    facts: dict[str, Any]  # what else the kind needs


def save_folder(folder: Path, kind: str, contents: Contents, network: nn.Module) -> None:
    """Write a folder whole; one that stood there is replaced."""
    config = {
        "kind": kind,
        "zh_elmo": __version__,
        "settings": plain(contents.settings),
        "text": plain(contents.text),
        "vectors": plain(contents.vectors),
        "facts": contents.facts,
    }
    labels = {column: labels.values for column, labels in contents.labels.items()}
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    with building(folder) as beside:
        write_json(beside / "config.json", config)
        write_json(beside / "vocabulary.json", contents.vocabulary.plain() | {"labels": labels})
        write_bytes(beside / "model.safetensors", save(tensors))


class _Config(Settings):
    kind: str
    zh_elmo: str
    settings: dict[str, Any]
    text: TextSettings
    vectors: VectorShape | None
    facts: dict[str, Any]


class _Lists(Settings):
    words: dict[str, int]
    characters: dict[str, int]
    labels: dict[str, list[str]]


def open_folder(folder: Path, kind: str, settings: type[Settings], vectors: Vectors | None) -> Contents:
    """Read all but the weights. Raises BadInput where a file is missing or damaged, the folder is of another kind, or
    `vectors` are not of the shape (or, where both say so, not of the model) that it was trained with."""
    existing(folder, kind)
    config = convert(_json(folder / "config.json", kind), _Config, folder / "config.json")
    if config.kind != kind:
        raise BadInput(f"holds a {config.kind}, not a {kind}", path=folder)
    _check_vectors(folder, kind, config.vectors, vectors)
    lists = convert(_json(folder / "vocabulary.json", kind), _Lists, folder / "vocabulary.json")
    return Contents(
        convert(config.settings, settings, folder / "config.json"),
        config.text,
        config.vectors,
        Vocabulary(lists.words, lists.characters),
        {column: Labels(values) for column, values in lists.labels.items()},
        config.facts,
    )


def fill(network: nn.Module, folder: Path) -> None:
    """Load the weights of a folder; raises BadInput where they are missing, damaged or of another shape."""
    path = existing(folder / "model.safetensors", "weights")
    with open_bytes(path) as stream:
        content = stream.read()
    try:
        tensors: dict[str, Tensor] = load(content)
        network.load_state_dict(tensors)
    except (SafetensorError, RuntimeError) as error:
        raise BadInput(
            f"not the weights that config.json describes ({str(error).splitlines()[0]})", path=path
        ) from None
    network.eval()


def vector_shape(vectors: Vectors | None) -> VectorShape | None:
    """Shape of `vectors`, with the digest of their model where they have one."""
    if vectors is None:
        return None
    return VectorShape(n_layers=vectors.n_layers, width=vectors.width, digest=str(getattr(vectors, "digest", "")))


def _check_vectors(folder: Path, kind: str, due: VectorShape | None, vectors: Vectors | None) -> None:
    given = vector_shape(vectors)
    if due is None and given is None:
        return
    if due is None:
        raise BadInput(f"this {kind} was trained without vectors; give it none", path=folder)
    wanted = f"{due.n_layers} x {due.width} numbers a word"
    if given is None:
        raise BadInput(f"this {kind} was trained with vectors ({wanted}); give it the same", path=folder)
    if (given.n_layers, given.width) != (due.n_layers, due.width):
        found = f"{given.n_layers} x {given.width}"
        raise BadInput(f"this {kind} was trained with vectors of {wanted}, not {found}", path=folder)
    if due.digest and given.digest and due.digest != given.digest:
        message = f"this {kind} was trained with vectors of another model (digest {due.digest}, not {given.digest})"
        raise BadInput(message, path=folder)


def _json(path: Path, kind: str) -> Any:
    if not path.is_file():
        raise BadInput(f"no {path.name}; the folder of a {kind} is expected", path=path.parent, usage=True)
    return read_json(path)
