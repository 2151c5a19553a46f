"""A folder of ELMoForManyLangs (HIT-SCIR; 0.0.4 on PyPI) -> a biLM."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PureWindowsPath
from typing import Any, Literal, NamedTuple, Protocol

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from zh_elmo.files import BadInput, lines, read_json
from zh_elmo.formats.bilm_tf import LONGEST
from zh_elmo.formats.opened import Opened
from zh_elmo.formats.pickled import read_pickle
from zh_elmo.formats.places import (
    Place,
    character_rows,
    filled,
    rows,
    same,
    size_of,
    torch_convolution,
    torch_highways,
    torch_lstm,
)
from zh_elmo.formats.stored import Stored
from zh_elmo.lm.model import BiLM
from zh_elmo.lm.settings import Characters, Model
from zh_elmo.recipe import Count, Size, convert

KIND = "ELMoForManyLangs"
CONFIG, TOKENS, ENCODER, CLASSIFIER = "config.json", "token_embedder.pkl", "encoder.pkl", "classifier.pkl"
WORDS, CHARS = "word.dic", "char.dic"
OOV, PAD, BOS, EOS, BOW, EOW = "<oov>", "<pad>", "<bos>", "<eos>", "<bow>", "<eow>"
# The configuration that came with the program: by its authors' word (issue 26 there) that of all published models
SAMPLE_NAMES = ("cnn_50_100_512_4096_sample.json", "cnn_0_100_512_4096_sample.json")
SAMPLE: dict[str, Any] = {
    "encoder": {
        "name": "elmo", "projection_dim": 512, "cell_clip": 3, "proj_clip": 3, "dim": 4096, "n_layers": 2,
    },
    "token_embedder": {
        "name": "cnn", "activation": "relu",
        "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
        "n_highway": 2, "word_dim": 100, "char_dim": 50, "max_characters_per_token": 50,
    },
    "classifier": {"name": "sampled_softmax", "n_samples": 8192},
    "dropout": 0.1,
}  # fmt: skip


class Encoder(msgspec.Struct):
    """`encoder` of the configuration."""

    name: str
    projection_dim: Size
    dim: Size
    n_layers: Size
    cell_clip: float | None = None
    proj_clip: float | None = None


class TokenEmbedder(msgspec.Struct):
    """`token_embedder` of the configuration."""

    name: str
    word_dim: Count
    char_dim: Count
    activation: Literal["relu", "tanh"] = "relu"
    filters: tuple[tuple[Size, Size], ...] = ()
    n_highway: Count = 0
    max_characters_per_token: int = 50


class Configuration(msgspec.Struct):
    """What the configuration says about the model; the trainer's own keys are not looked at."""

    encoder: Encoder
    token_embedder: TokenEmbedder


class Configured(NamedTuple):
    """A configuration, where it is from, and what a user should hear of that."""

    configuration: Configuration
    asked_by: str
    files: tuple[Path, ...]
    notes: list[str]


class Dictionary(NamedTuple):
    """char.dic or word.dic."""

    path: Path
    ids: dict[str, int]
    notes: list[str]

    def id(self, text: str) -> int:
        if text not in self.ids:
            raise BadInput(f"lacks {text}, which every sentence needs", path=self.path)
        return self.ids[text]


def is_folder(names: set[str]) -> bool:
    return {ENCODER, TOKENS} <= names


def open_folder(folder: Path, *, softmax: bool = False) -> Opened:
    """The model in a folder of ELMoForManyLangs; with `softmax` its classifier too, which few have.

    Raises BadInput for what is missing, damaged or does not fit together.
    """
    tokens, encoder = read_pickle(folder / TOKENS), read_pickle(folder / ENCODER)
    found = _configured(folder, tokens, encoder)
    word_dic = read_dictionary(folder / WORDS) if found.configuration.token_embedder.word_dim or softmax else None
    char_dic = read_dictionary(folder / CHARS) if found.configuration.token_embedder.char_dim else None
    _check_sizes(word_dic, tokens, "word_emb_layer.embedding.weight")
    _check_sizes(char_dic, tokens, "char_emb_layer.embedding.weight")
    stored = {f"{TOKENS}/{name}": tensor for name, tensor in tokens.items()}
    stored |= {f"{ENCODER}/{name}": tensor for name, tensor in encoder.items()}
    n_words = len(word_dic.ids) if word_dic is not None else 0
    classifier = _classifier(folder, found.configuration) if softmax else {}
    try:
        settings = settings_of(found.configuration, n_words=n_words)
    except ValueError as error:
        raise BadInput(f"{error} (as {found.asked_by} says)", path=folder) from None
    tables = Tables(word_dic, char_dic, tokens)
    where = places(settings, tables)
    bilm = filled(settings, tables.chars, tables.words, stored, where, asked_by=found.asked_by)
    if softmax:
        bilm = _with_softmax(bilm, classifier, tables)
    files = [folder / ENCODER, folder / TOKENS, *found.files, *(d.path for d in (word_dic, char_dic) if d is not None)]
    notes = [*found.notes, *(note for d in (word_dic, char_dic) if d is not None for note in d.notes)]
    return Opened(bilm, KIND, folder, tuple(files), {}, {}, "float32", notes=tuple(notes))


# The configuration ------------------------------------------------------------------------------------------------


def _configured(folder: Path, tokens: Mapping[str, Stored], encoder: Mapping[str, Stored]) -> Configured:
    """The configuration where config.json points to, by its last part in this folder, or the one that came with the
    program, if the tensors have its sizes; else what the tensors say."""
    named = _config_path(folder)
    if named:
        last = PureWindowsPath(named).name  # both kinds of slash
        for path in (folder / named, folder / last):
            inside = os.path.normpath(path).startswith(os.path.normpath(folder) + os.sep)
            if inside and path.is_file():
                return Configured(_read(path), str(path), (folder / CONFIG, path), [])
    found = _configurations(folder)
    if len(found) == 1:
        note = f"no {CONFIG} that names a configuration here: taken is {found[0].name}"
        return Configured(_read(found[0]), str(found[0]), (found[0],), [note])
    where = f"{CONFIG} names {named}, which is not here" if named else f"no {CONFIG} that names a configuration"
    sample = convert(SAMPLE, Configuration, SAMPLE_NAMES[0])
    inferred = _inferred(tokens, encoder)
    if inferred == sample:
        note = f"{where}: taken is {SAMPLE_NAMES[0]}, the configuration of all published models"
        return Configured(sample, f"{SAMPLE_NAMES[0]} (zh_elmo's own copy)", (), [note])
    assumed = "relu, clips of 3 and 50 characters a word"
    note = f"{where}: sizes were read from the tensors, and assumed are {assumed}"
    return Configured(inferred, "the shapes of the other tensors", (), [note])


def _configurations(folder: Path) -> list[Path]:
    """Files of the folder that read like a configuration, under whatever name."""
    found = []
    for path in sorted(folder.glob("*.json")):
        if path.is_file() and path.name != CONFIG:
            raw = read_json(path)
            if isinstance(raw, dict) and {"encoder", "token_embedder"} <= raw.keys():
                found.append(path)
    return found


def _config_path(folder: Path) -> str:
    if not (folder / CONFIG).is_file():
        return ""
    raw = read_json(folder / CONFIG)
    named = raw.get("config_path") if isinstance(raw, dict) else None
    if named is None:
        return ""
    if not isinstance(named, str) or "\0" in named:
        raise BadInput(f"config_path must be a path, not {json.dumps(named)[:40]}", path=folder / CONFIG)
    return named


def _read(path: Path) -> Configuration:
    raw = read_json(path)
    if not isinstance(raw, dict):
        raise BadInput("expected an object with `encoder` and `token_embedder`", path=path)
    found = convert(raw, Configuration, path)
    if not all(clip is None or 0 <= clip < math.inf for clip in (found.encoder.cell_clip, found.encoder.proj_clip)):
        raise BadInput("cell_clip and proj_clip must be numbers, 0 or more, or null", path=path)
    return found


def _inferred(tokens: Mapping[str, Stored], encoder: Mapping[str, Stored]) -> Configuration:
    if "encoder.weight_ih_l0" in encoder:
        name, cell = "lstm", size_of(encoder, "encoder.weight_hh_l0", 1)
        layers = sum(key.startswith("encoder.weight_ih_l") and key.endswith("_reverse") for key in encoder)
    else:
        name, cell = "elmo", size_of(encoder, "forward_layer_0.state_projection.weight", 1)
        layers = sum(key.startswith("forward_layer_") and "state_projection" in key for key in encoder)
    size = size_of(tokens, "projection.bias", 0)
    of_encoder = Encoder(name, size, cell, layers, cell_clip=3.0, proj_clip=3.0)
    chars, words = "char_emb_layer.embedding.weight", "word_emb_layer.embedding.weight"
    n_filters = sum(key.startswith("convolutions.") and key.endswith(".bias") for key in tokens)
    filters = [
        (size_of(tokens, f"convolutions.{i}.weight", 2), size_of(tokens, f"convolutions.{i}.weight", 0))
        for i in range(n_filters)
    ]
    highways = sum(key.startswith("highways._layers.") and key.endswith(".bias") for key in tokens)
    of_tokens = TokenEmbedder(
        "cnn", word_dim=size_of(tokens, words, 1) if words in tokens else 0,
        char_dim=size_of(tokens, chars, 1) if chars in tokens else 0, filters=tuple(filters), n_highway=highways,
    )  # fmt: skip
    return Configuration(of_encoder, of_tokens)


def settings_of(configuration: Configuration, *, n_words: int) -> Model:
    """The biLM's settings. Raises ValueError for what cannot run in the program either."""
    encoder, tokens = configuration.encoder, configuration.token_embedder
    if encoder.name.lower() not in ("elmo", "lstm"):
        raise ValueError(f"an encoder {encoder.name!r}; known are elmo and lstm")
    if tokens.name.lower() not in ("cnn", "lstm"):
        raise ValueError(f"a token embedder {tokens.name!r}; known are cnn and lstm")
    cuts = tokens.name.lower() == "cnn"
    if not cuts and tokens.char_dim:
        raise ValueError(
            "a token embedder `lstm` with characters: ELMoForManyLangs itself fails on it, so no such model can exist"
        )
    if tokens.max_characters_per_token < 3:
        raise ValueError(f"max_characters_per_token {tokens.max_characters_per_token} leaves no room for a character")
    if tokens.max_characters_per_token > LONGEST:
        raise ValueError(f"max_characters_per_token is over {LONGEST:,}: no word is so long")
    two_way = encoder.name.lower() == "lstm"
    return Model(
        characters=Characters(
            size=tokens.char_dim or 1, filters=tokens.filters if tokens.char_dim else (), activation=tokens.activation,
            highways=tokens.n_highway, maximum=tokens.max_characters_per_token - 2, padded=True, minimum_count=1,
        ),
        vocabulary=max(4, n_words), word_table=tokens.word_dim > 0, word_size=tokens.word_dim, cut_words=cuts,
        marks=(BOS, EOS), projection=encoder.projection_dim, cell=encoder.dim, layers=encoder.n_layers,
        lstm="two-way" if two_way else "projected", cell_clip=encoder.cell_clip or 0.0,
        projection_clip=encoder.proj_clip or 0.0, softmax=False,
    )  # fmt: skip


# Dictionaries -----------------------------------------------------------------------------------------------------


def read_dictionary(path: Path) -> Dictionary:
    """char.dic or word.dic: `text TAB id` a line, blanks at both ends cut off; an id alone belongs to U+3000, which is
    a blank itself; the last line of a text counts; a text with a TAB in it ends at the last one.

    The notes tell of lines that the program would have read otherwise. Raises BadInput with the line of a wrong id.
    """
    ids: dict[str, int] = {}
    twice = 0
    for number, line in lines(path):
        text, _, last = line.strip().rpartition("\t")
        if not last.isascii() or not last.isdecimal() or len(last) > 9:
            raise BadInput(f"expected a text, a TAB and a number, not {line[:40]!r}", path=path, line=number)
        text = text or "\u3000"
        twice += text in ids
        ids[text] = int(last)
    notes = [f"{path}: {twice} texts stand there twice; the last of each counts"] if twice else []
    return Dictionary(path, ids, notes)


def _check_sizes(dictionary: Dictionary | None, stored: Mapping[str, Stored], table: str) -> None:
    """Raise BadInput where the dictionary has ids that the table has no row for."""
    if dictionary is None:
        return
    if table in stored:
        n_rows = size_of(stored, table, 0)
        most = max(dictionary.ids.values(), default=-1)
        if most >= n_rows:
            message = f"has the id {most:,}, but {stored[table].path} has {n_rows:,} rows ({table})"
            raise BadInput(f"{message}: they do not belong together", path=dictionary.path)


class TableRows(Protocol):
    """Rows of the program's tables in our order, and how many there are."""

    word_order: NDArray[np.int64]
    char_order: NDArray[np.int64]
    n_words: int
    n_chars: int


class Tables:
    """The tables of a folder."""

    def __init__(self, words: Dictionary | None, chars: Dictionary | None, stored: Mapping[str, Stored]) -> None:
        self.words: list[str] = []
        self.chars: list[str] = []
        self.word_order = self.char_order = np.zeros(0, np.int64)
        self.n_words = self.n_chars = 0
        if words is not None:
            self.words = [word for word in words.ids if word not in (OOV, BOS, EOS)]
            first = [words.id(text) for text in (OOV, BOS, EOS)]
            self.word_order = np.array([*first, *(words.ids[word] for word in self.words)], np.int64)
            table = "word_emb_layer.embedding.weight"
            self.n_words = size_of(stored, table, 0) if table in stored else max(words.ids.values()) + 1
        if chars is not None:
            self.chars = [text for text in chars.ids if len(text) == 1]
            # the row of a word begins with <eow> and ends with <bow> (issue 38 there)
            marks = [chars.id(text) for text in (PAD, OOV, EOW, BOW, BOS, EOS)]
            self.char_order = character_rows(*marks, *(chars.ids[c] for c in self.chars))
            self.n_chars = size_of(stored, "char_emb_layer.embedding.weight", 0)


def places(settings: Model, tables: TableRows) -> Iterator[Place]:
    """Names (file/name) and shapes in token_embedder.pkl and encoder.pkl for a biLM of these settings."""
    characters, features = settings.characters, settings.word_size
    if settings.word_table:
        shape = (tables.n_words, settings.word_size)
        yield rows(f"{TOKENS}/word_emb_layer.embedding.weight", shape, "tokens.table.weight", tables.word_order)
    if characters.filters:
        shape = (tables.n_chars, characters.size)
        name = f"{TOKENS}/char_emb_layer.embedding.weight"
        yield rows(name, shape, "tokens.characters.embedding.weight", tables.char_order)
        yield from torch_convolution(f"{TOKENS}/convolutions.", characters.filters, characters.size)
        of_filters = sum(number for _, number in characters.filters)
        yield from torch_highways(f"{TOKENS}/highways._layers.", characters.highways, of_filters)
        features += of_filters
    yield same(f"{TOKENS}/projection.weight", (settings.projection, features), "tokens.projection.weight")
    yield same(f"{TOKENS}/projection.bias", (settings.projection,), "tokens.projection.bias")
    yield from _two_way(settings) if settings.lstm == "two-way" else torch_lstm(f"{ENCODER}/", settings)


def _two_way(settings: Model) -> Iterator[Place]:
    size, cell = settings.projection, settings.cell
    for layer in range(settings.layers):
        for way in ("", "_reverse"):
            read = size if layer == 0 else 2 * cell
            for part, shape in (
                ("weight_ih", (4 * cell, read)), ("weight_hh", (4 * cell, cell)), ("bias_ih", (4 * cell,)),
                ("bias_hh", (4 * cell,)),
            ):  # fmt: skip
                yield same(f"{ENCODER}/encoder.{part}_l{layer}{way}", shape, f"layers.0.lstm.{part}_l{layer}{way}")
    yield same(f"{ENCODER}/projection.weight", (size, cell), "layers.0.projection.weight")
    yield same(f"{ENCODER}/projection.bias", (size,), "layers.0.projection.bias")


# The output layer -------------------------------------------------------------------------------------------------


def _with_softmax(bilm: BiLM, classifier: Mapping[str, Stored], tables: Tables) -> BiLM:
    """The same biLM with the rows of the program's output layer: one of three kinds."""
    weights, bias = _output(bilm, classifier, tables)
    settings = msgspec.structs.replace(bilm.settings, softmax=True)
    whole = BiLM(settings, bilm.chars, bilm.words)
    state = dict(bilm.state_dict())
    state["softmax.rows.weight"] = torch.from_numpy(np.ascontiguousarray(weights, np.float32))
    state["softmax.bias.weight"] = torch.from_numpy(np.ascontiguousarray(bias, np.float32)).view(-1, 1)
    whole.load_state_dict(state, assign=True)
    whole.eval().requires_grad_(False)
    return whole


def _classifier(folder: Path, configuration: Configuration) -> dict[str, Stored]:
    """classifier.pkl; the program trains it on the second LSTM layer, however many there are."""
    if configuration.encoder.n_layers != 2 and (folder / CLASSIFIER).is_file():
        layers = configuration.encoder.n_layers
        message = f"ELMoForManyLangs trains it on the second LSTM layer, which is not the top one of {layers}"
        raise BadInput(message, path=folder / CLASSIFIER)
    return read_pickle(folder / CLASSIFIER)


def _output(
    bilm: BiLM, classifier: Mapping[str, Stored], tables: Tables
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Rows [V, P] and biases [V] in our order."""
    order, size = tables.word_order, bilm.settings.projection

    def read(name: str, *shape: int) -> NDArray[np.float32]:
        found = classifier[name]
        if found.shape != shape or found.dtype.kind != "f":
            raise BadInput(f"{name} has shape {list(found.shape)}; expected {list(shape)}", path=found.path)
        return np.array(found.read(), np.float32)

    for weight, bias in (("column_emb.weight", "column_bias.weight"), ("hidden2tag.weight", "hidden2tag.bias")):
        if weight in classifier and bias in classifier:
            number = classifier[weight].shape[0]
            biases = read(bias, *((number, 1) if bias.startswith("column") else (number,)))
            return read(weight, number, size)[order], biases.reshape(-1)[order]
    if "corr.weight" in classifier and "M" in classifier:
        correction = read("corr.weight", *classifier["corr.weight"].shape)
        with torch.no_grad():
            words = bilm.encode(bilm.spell(bilm.words)).numpy()
            marks = bilm.encode(bilm.marks()).numpy()
        columns = np.concatenate([read("oov_column", size, 1).T, marks, words])
        moved = correction @ read("M", size, correction.shape[1]).T
        return columns + moved[order], np.zeros(len(columns), np.float32)
    path = next((one.path for one in classifier.values()), None)
    raise BadInput("no output layer that is known: sampled_softmax, softmax or cnn_softmax", path=path)
