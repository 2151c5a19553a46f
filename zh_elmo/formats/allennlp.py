"""AllenNLP's `Elmo`: its state dict, alone or inside a task's model -> a biLM; names and shapes of allennlp 0.9,
modules/elmo.py, elmo_lstm.py and highway.py."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from zh_elmo.files import BadInput
from zh_elmo.formats.bilm_tf import (
    ALL_BYTES,
    CharCnn,
    Embedding,
    Lstm,
    Options,
    Read,
    count,
    read_options,
    settings_of,
)
from zh_elmo.formats.places import (
    Place,
    filled,
    rows,
    same,
    shown,
    size_of,
    torch_convolution,
    torch_highways,
    torch_lstm,
)
from zh_elmo.formats.stored import Stored
from zh_elmo.lm.settings import Model

_LSTM = "_elmo_lstm._elmo_lstm."
_TOKENS = "_elmo_lstm._token_embedder."
_CONVOLUTION, _HIGHWAYS = f"{_TOKENS}char_conv_", f"{_TOKENS}_highways._layers."
_OTHER = re.compile(r"(?:^|\.)_lm\.|_contextualizer\.|_transformer")
_CLIP = 3.0  # of all models that were published


def is_state_dict(names: Mapping[str, Any]) -> bool:
    """Whether these are names of an `Elmo`, or of a model that has one."""
    return any(_LSTM in name for name in names)


def other_architecture(names: Mapping[str, Any]) -> str:
    """A name that only AllenNLP's own language models have (other architectures), or ""."""
    return next((name for name in names if _OTHER.search(name)), "")


def open_state_dict(stored: Mapping[str, Stored], options_file: Path | None) -> Read:
    """The biLM in a state dict, whatever stands before its names. Without an options file sizes come from the tensors.
    The mixes are left to `mixes`."""
    tensors = _without_prefix(stored)
    inferred = _inferred(tensors)
    options: Options = inferred
    if options_file is None:
        asked_by = "the shapes of the other tensors"
        assumed = "relu, clips of 3 and 50 bytes a word"
        notes = [f"no options.json: sizes were read from the tensors, and assumed are {assumed}"]
    else:
        options, asked_by, notes = read_options(options_file), str(options_file), []
    path = next(iter(stored.values())).path
    for what, has, asks in (
        ("LSTM layers", inferred.lstm.n_layers, options.lstm.n_layers),
        ("highways", inferred.char_cnn.n_highway, options.char_cnn.n_highway or 0 if options.char_cnn else None),
    ):
        if asks is not None and has != asks:
            raise BadInput(f"has {has} {what}, but {asked_by} asks for {asks}: they do not belong together", path=path)
    try:
        # the names that settings_of looks for are those of the HDF5 file
        names = ["RNN_0/Cell0/W_P_0", *(["CNN_proj/W_proj"] if f"{_TOKENS}_projection.weight" in tensors else [])]
        settings, heard = settings_of(options, names, words=False, softmax=False, n_words=0)
    except ValueError as error:
        raise BadInput(f"{error}: not the options of {path}", path=options_file or path) from None
    return Read(filled(settings, [], [], tensors, places(settings), asked_by=asked_by), [*notes, *heard])


def places(settings: Model) -> Iterator[Place]:
    """Names and shapes of an `Elmo` for a biLM of these settings."""
    characters = settings.characters
    features = sum(number for _, number in characters.filters)
    # row 0 is that of words that are not there
    yield rows(
        f"{_TOKENS}_char_embedding_weights", (len(ALL_BYTES), characters.size), "tokens.characters.embedding.weight",
        ALL_BYTES + 1,
    )  # fmt: skip
    yield from torch_convolution(_CONVOLUTION, characters.filters, characters.size)
    yield from torch_highways(_HIGHWAYS, characters.highways, features)
    if settings.project:
        yield same(f"{_TOKENS}_projection.weight", (settings.projection, features), "tokens.projection.weight")
        yield same(f"{_TOKENS}_projection.bias", (settings.projection,), "tokens.projection.bias")
    yield from torch_lstm(_LSTM, settings)


def mixes(stored: Mapping[str, Stored]) -> list[dict[str, Any]]:
    """The mixes of an `Elmo`: {"weights": what goes into the softmax, one a layer; "gamma"} of each."""
    found = []
    for number in range(len(stored)):
        gamma = [name for name in stored if name.endswith(f"scalar_mix_{number}.gamma")]
        if not gamma:
            break
        prefix = gamma[0].removesuffix("gamma")
        weights: list[float] = []
        while f"{prefix}scalar_parameters.{len(weights)}" in stored:
            weights.append(_number(stored[f"{prefix}scalar_parameters.{len(weights)}"]))
        found.append({"weights": weights, "gamma": _number(stored[gamma[0]])})
    return found


def _number(tensor: Stored) -> float:
    if tensor.shape not in ((), (1,)) or tensor.dtype.kind != "f":
        raise BadInput(f"{tensor.name} is no single number: shape {list(tensor.shape)}", path=tensor.path)
    return float(tensor.read().reshape(()))


def _without_prefix(stored: Mapping[str, Stored]) -> dict[str, Stored]:
    prefixes = {name[: name.index(_LSTM)] for name in stored if _LSTM in name}
    if len(prefixes) != 1:
        path = next(iter(stored.values())).path
        raise BadInput(f"holds {len(prefixes)} ELMo models: under {shown(prefixes)}; one is due", path=path)
    (prefix,) = prefixes
    return {name.removeprefix(prefix): tensor for name, tensor in stored.items() if name.startswith(prefix)}


class _Inferred(Options):
    char_cnn: CharCnn


def _inferred(stored: Mapping[str, Stored]) -> _Inferred:
    projection = f"{_LSTM}forward_layer_0.state_projection.weight"
    lstm = Lstm(
        projection_dim=size_of(stored, projection, 0), dim=size_of(stored, projection, 1),
        n_layers=count(stored, _LSTM + "forward_layer_{}.state_projection.weight"), use_skip_connections=True,
        cell_clip=_CLIP, proj_clip=_CLIP,
    )  # fmt: skip
    filters = [
        (size_of(stored, f"{_CONVOLUTION}{i}.weight", 2), size_of(stored, f"{_CONVOLUTION}{i}.weight", 0))
        for i in range(count(stored, _CONVOLUTION + "{}.weight"))
    ]
    if not filters:
        size_of(stored, f"{_CONVOLUTION}0.weight", 0)  # says that it lacks
    table = size_of(stored, f"{_TOKENS}_char_embedding_weights", 1)
    highways = count(stored, _HIGHWAYS + "{}.weight")
    return _Inferred(lstm, CharCnn(Embedding(table), tuple(filters), n_highway=highways))
