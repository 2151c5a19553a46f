"""bilm-tf: HDF5 weights (AllenNLP reads the same), training checkpoints and TensorFlow Hub modules -> a biLM.

The three have the same tensors under different names; `canonical` brings them to one. Names and shapes: bilm-tf
(allenai/bilm-tf), bilm/model.py and bilm/training.py.
"""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from zh_elmo.files import BadInput, lines, read_json
from zh_elmo.formats.places import (
    Array,
    Place,
    character_rows,
    filled,
    rows,
    same,
    shown,
    size_of,
    transposed,
)
from zh_elmo.formats.stored import Stored
from zh_elmo.lm.model import BiLM
from zh_elmo.lm.settings import Characters, Model
from zh_elmo.recipe import Count, Size, convert

BEGIN_OF_SENTENCE, END_OF_SENTENCE, BEGIN_OF_WORD, END_OF_WORD, PADDING = range(256, 261)  # ids after the 256 bytes
MARKS = ("<S>", "</S>")
UNKNOWN = "<UNK>"
_ROWS = 261  # of the table of characters; 262 with a row of zeros for words that are not there
_NOT_THERE = 0
ALL_BYTES = character_rows(
    PADDING, _NOT_THERE, BEGIN_OF_WORD, END_OF_WORD, BEGIN_OF_SENTENCE, END_OF_SENTENCE, *range(256)
)
LONGEST = 10_000  # characters or bytes of a word that a model may ask for: memory grows with it
_CLIP = 3.0  # of all models that were published


class Lstm(msgspec.Struct):
    """`lstm` of options.json."""

    projection_dim: Size
    dim: Size
    n_layers: Size = 1
    use_skip_connections: bool = False
    cell_clip: float | None = None
    proj_clip: float | None = None


class Embedding(msgspec.Struct):
    """`char_cnn.embedding`."""

    dim: Size


class CharCnn(msgspec.Struct):
    """`char_cnn` of options.json."""

    embedding: Embedding
    filters: tuple[tuple[Size, Size], ...]
    activation: Literal["relu", "tanh"] = "relu"
    n_highway: Count | None = None
    max_characters_per_token: int = 50
    n_characters: int | None = None

    def __post_init__(self) -> None:
        if not self.filters:
            raise ValueError("char_cnn.filters is empty")
        if self.max_characters_per_token < max(3, *(width for width, _ in self.filters)):
            raise ValueError("char_cnn.max_characters_per_token is too small for marks and filters")
        if self.max_characters_per_token > LONGEST:
            raise ValueError(f"char_cnn.max_characters_per_token is over {LONGEST:,}: no word is so long")


class Options(msgspec.Struct):
    """What options.json says about the model; the trainer's own keys are not looked at."""

    lstm: Lstm
    char_cnn: CharCnn | None = None


class Vocabulary(NamedTuple):
    """A vocabulary file: one word a line."""

    path: Path
    ids: dict[str, int]  # word -> line number
    size: int  # lines

    def order(self) -> tuple[NDArray[np.int64], list[str]]:
        """Lines in our order (`<unk>`, the marks, the rest), and the words of the rest."""
        words = [word for word in self.ids if word and word not in (UNKNOWN, *MARKS)]
        first = [self.ids[word] for word in (UNKNOWN, *MARKS)]
        return np.array([*first, *(self.ids[word] for word in words)], np.int64), words


# Names ------------------------------------------------------------------------------------------------------------

_TAIL = re.compile(
    r"(?:^|/)(char_embed|embedding|CNN/[Wb]_cnn_\d+|CNN_high_\d+/[Wb]_(?:carry|transform)|CNN_proj/[Wb]_proj"
    r"|softmax/[Wb]|RNN_[01]/.+)$"
)
_LSTM = re.compile(
    r"(?P<way>RNN_[01])/(?:RNN|rnn)/(?:(?:MultiRNNCell/Cell|multi_rnn_cell/cell_)(?P<layer>\d+)/)?(?:rnn/)?"
    r"(?:LSTMCell|lstm_cell)/(?P<part>W_0|B|W_P_0|kernel|bias|weights|biases|projection/kernel|projection/weights)$"
)
_PARTS = {
    "kernel": "W_0", "weights": "W_0", "bias": "B", "biases": "B", "projection/kernel": "W_P_0",
    "projection/weights": "W_P_0",
}  # fmt: skip
_FORWARD_ONLY = re.compile(r"(?:^|/)(?:RNN|rnn)/(?:MultiRNNCell|multi_rnn_cell)/")
_TRAINING = re.compile(r"/(?:Adagrad|Adam|Adam_1|ExponentialMovingAverage)$|(?:^|/)Variable(?:_\d+)?$|^aggregation/")


def canonical(stored: Mapping[str, Stored]) -> dict[str, Stored]:
    """The model's tensors by one name each, such as `RNN_0/Cell1/W_0`, whatever scope and release wrote them; what
    belongs to training, and the state, is left out.

    Raises BadInput for a model of one direction only, and where two tensors have the same name.
    """
    found: dict[str, Stored] = {}
    for name, tensor in stored.items():
        tail = _TAIL.search(name)
        if tail is None or _TRAINING.search(name):
            continue
        plain = tail[1]
        if plain.startswith("RNN_"):
            parts = _LSTM.search(plain)
            if parts is None:
                continue
            part = _PARTS.get(parts["part"], parts["part"])
            plain = f"{parts['way']}/Cell{int(parts['layer'] or 0)}/{part}"
        if plain in found:
            raise BadInput(f"holds {plain} twice: as {found[plain].name} and as {name}", path=tensor.path)
        found[plain] = tensor
    if "RNN_1/Cell0/W_0" not in found:
        forward = [name for name in stored if _FORWARD_ONLY.search(name)] or [n for n in found if n[:5] == "RNN_0"]
        if forward:
            message = f"a language model of the forward direction only ({forward[0]}): no biLM"
            raise BadInput(message, path=stored[forward[0]].path if forward[0] in stored else found[forward[0]].path)
    return found


def is_weights(stored: Mapping[str, Any]) -> bool:
    """Whether these are names of a biLM's weights."""
    return any(_FORWARD_ONLY.search(name) or _LSTM.search(name) for name in stored)


# Settings ---------------------------------------------------------------------------------------------------------


def read_options(path: Path) -> Options:
    """options.json. Raises BadInput naming the key."""
    raw = read_json(path)
    if not isinstance(raw, dict):
        raise BadInput("expected an object with `lstm` and `char_cnn`", path=path)
    options = convert(raw, Options, path)
    if not all(clip is None or 0 <= clip < math.inf for clip in (options.lstm.cell_clip, options.lstm.proj_clip)):
        raise BadInput("cell_clip and proj_clip must be numbers, 0 or more, or null", path=path)
    return options


def infer_options(stored: Mapping[str, Stored]) -> tuple[Options, list[str]]:
    """What the shapes of the (canonical) tensors say, and what had to be assumed."""
    projected = "RNN_0/Cell0/W_P_0" in stored
    cell = size_of(stored, "RNN_0/Cell0/B", 0) // 4
    size = size_of(stored, "RNN_0/Cell0/W_P_0", 1) if projected else cell
    lstm = Lstm(
        projection_dim=size, dim=cell, n_layers=count(stored, "RNN_0/Cell{}/W_0"), use_skip_connections=True,
        cell_clip=_CLIP, proj_clip=_CLIP,
    )  # fmt: skip
    assumed = ["clips of 3", "skip connections"]
    if "char_embed" not in stored:
        return Options(lstm), assumed
    filters = [
        (size_of(stored, f"CNN/W_cnn_{i}", 1), size_of(stored, f"CNN/W_cnn_{i}", 3))
        for i in range(count(stored, "CNN/W_cnn_{}"))
    ]
    cnn = CharCnn(
        Embedding(size_of(stored, "char_embed", 1)), tuple(filters), n_highway=count(stored, "CNN_high_{}/W_carry")
    )
    return Options(lstm, cnn), [*assumed, "relu", "50 bytes a word, marks included"]


def count(stored: Mapping[str, Stored], pattern: str) -> int:
    """How many tensors there are of a name with a number in it, from 0 on."""
    number = 0
    while pattern.format(number) in stored:
        number += 1
    return number


def settings_of(
    options: Options, names: Collection[str], *, words: bool, softmax: bool, n_words: int
) -> tuple[Model, list[str]]:
    """The biLM's settings, and what a user should hear of them. names: of the tensors there are; words: input by a
    table of words, not characters. Raises ValueError where the parts do not fit together."""
    lstm, cnn, notes = options.lstm, options.char_cnn, []
    if 0 in (lstm.cell_clip, lstm.proj_clip):
        notes.append("a clip of 0 is taken for no clipping, as AllenNLP does; bilm-tf clips everything to 0")
    characters = Characters(filters=())
    if not words:
        if cnn is None:
            raise ValueError("options without char_cnn, but a model that reads characters")
        characters = Characters(
            size=cnn.embedding.dim, filters=cnn.filters, activation=cnn.activation, highways=cnn.n_highway or 0,
            unit="byte", maximum=cnn.max_characters_per_token - 2, padded=True, minimum_count=1,
        )  # fmt: skip
    model = Model(
        characters=characters, vocabulary=max(4, n_words), word_table=words, marks=MARKS,
        project="CNN_proj/W_proj" in names, projection=lstm.projection_dim, cell=lstm.dim,
        lstm="projected" if "RNN_0/Cell0/W_P_0" in names else "plain", layers=lstm.n_layers,
        skip=lstm.use_skip_connections, cell_clip=lstm.cell_clip or 0.0, projection_clip=lstm.proj_clip or 0.0,
        softmax=softmax,
    )  # fmt: skip
    return model, notes


# Where the tensors go -------------------------------------------------------------------------------------------------


def places(settings: Model, *, row_before: bool, order: NDArray[np.int64], lines_: int, table: str) -> Iterator[Place]:
    """Canonical names and shapes for a biLM of these settings. row_before: the table of characters begins with a row
    of zeros. `order`: lines of the vocabulary in our order; `lines_`: how many it has; `table`: name of the rows of
    the softmax."""
    size = settings.projection
    if settings.characters.filters:
        yield rows(
            "char_embed", (_ROWS + row_before, settings.characters.size), "tokens.characters.embedding.weight",
            ALL_BYTES + row_before,
        )  # fmt: skip
        yield from _convolution(settings.characters)
        if settings.project:
            features = sum(number for _, number in settings.characters.filters)
            yield transposed("CNN_proj/W_proj", (features, size), "tokens.projection.weight")
            yield same("CNN_proj/b_proj", (size,), "tokens.projection.bias")
    else:
        yield rows("embedding", (lines_, size), "tokens.table.weight", order)
    for direction in range(2):
        for layer in range(settings.layers):
            yield from _cell(settings, direction, layer)
    if settings.softmax:
        yield rows(table, (lines_, size), "softmax.rows.weight", order)
        yield Place(
            "softmax/b", (lines_,), (("softmax.bias.weight", (slice(None), 0)),), lambda a: [a[order]],
            lambda blocks: np.bincount(order, blocks[0], lines_),
        )  # fmt: skip


def _convolution(characters: Characters) -> Iterator[Place]:
    start = 0
    for i, (width, number) in enumerate(characters.filters):
        yield Place(
            f"CNN/W_cnn_{i}", (1, width, characters.size, number), ((f"tokens.characters.kernels.{i}", (...,)),),
            lambda a: [a[0].transpose(1, 0, 2).reshape(a.shape[2], -1)],
            lambda blocks, width=width: blocks[0].reshape(len(blocks[0]), width, -1).transpose(1, 0, 2)[None],  # type: ignore[misc]
        )  # fmt: skip
        yield same(f"CNN/b_cnn_{i}", (number,), "tokens.characters.bias", (slice(start, start + number),))
        start += number
    for k in range(characters.highways):  # "carry" multiplies what is new, as our gate does
        for part, half in (("transform", slice(start)), ("carry", slice(start, None))):
            target = f"tokens.characters.highways.{k}.linear"
            yield transposed(f"CNN_high_{k}/W_{part}", (start, start), f"{target}.weight", (half,))
            yield same(f"CNN_high_{k}/b_{part}", (start,), f"{target}.bias", (half,))


def _cell(settings: Model, direction: int, layer: int) -> Iterator[Place]:
    """One LSTM cell. TensorFlow has its gates in the order i, g, f, o, and adds 1 to the forget gate when it runs."""
    size, cell = settings.projection, settings.cell
    name, ours = f"RNN_{direction}/Cell{layer}", f"layers.{layer}"
    gates = [slice(q * cell, (q + 1) * cell) for q in range(4)]
    theirs = [gates[q] for q in (0, 2, 1, 3)]

    def load_weights(a: Array) -> list[Array]:
        return [half[:, gate] for half in (a[:size], a[size:]) for gate in theirs]

    def save_weights(blocks: Sequence[Array]) -> Array:
        halves = [[half[q] for q in (0, 2, 1, 3)] for half in (blocks[:4], blocks[4:])]
        return np.concatenate([np.concatenate(half, axis=1) for half in halves])

    def load_bias(a: Array) -> list[Array]:
        return [a[gate] + (1.0 if q == 1 else 0.0) for q, gate in enumerate(theirs)]

    def save_bias(blocks: Sequence[Array]) -> Array:
        i, f, g, o = blocks
        return np.concatenate([i, g, f - np.float32(1.0), o])

    blocks = [(f"{ours}.{part}", (direction, slice(None), gate)) for part in ("input", "recurrent") for gate in gates]
    yield Place(f"{name}/W_0", (2 * size, 4 * cell), tuple(blocks), load_weights, save_weights)
    bias = [(f"{ours}.bias", (direction, 0, gate)) for gate in gates]
    yield Place(f"{name}/B", (4 * cell,), tuple(bias), load_bias, save_bias)
    if settings.lstm == "projected":
        yield same(f"{name}/W_P_0", (cell, size), f"{ours}.projection", (direction,))


# Opening ----------------------------------------------------------------------------------------------------------


class Read(NamedTuple):
    """A biLM out of tensors and options."""

    bilm: BiLM
    notes: list[str]


def open_tensors(
    stored: Mapping[str, Stored],
    options_file: Path | None,
    vocabulary: Vocabulary | None,
    *,
    embedding: Stored | None = None,
    softmax: bool = False,
) -> Read:
    """A biLM out of the tensors of an HDF5 file, a checkpoint or a Hub module.

    embedding: a table of word vectors to take the place of characters (`dump_token_embeddings`). Without an options
    file sizes come from the tensors, and the notes say what is assumed. Raises BadInput where pieces lack or do not
    belong together.
    """
    tensors, path = canonical(stored), next(iter(stored.values())).path
    if softmax and "softmax/b" not in tensors:
        raise BadInput("this model came without its softmax: it gives vectors, but no probabilities", path=path)
    if embedding is not None:
        tensors["embedding"] = embedding
    if options_file is None:
        options, assumed = infer_options(tensors)
        notes = [f"no options.json: sizes were read from the tensors, and assumed are {', '.join(assumed)}"]
        asked_by = "the shapes of the other tensors"
    else:
        options, notes, asked_by = read_options(options_file), [], str(options_file)
    _compare_layers(tensors, options, asked_by, path)
    words = embedding is not None or "char_embed" not in tensors
    order, entries = _order(tensors, vocabulary, needed=words or softmax)
    n_lines = vocabulary.size if vocabulary is not None else 0
    try:
        settings, heard = settings_of(options, tensors, words=words, softmax=softmax, n_words=len(order))
    except ValueError as error:
        raise BadInput(f"{error}: not the options of {path}", path=options_file or path) from None
    row_before = _has_row_before(tensors) if not words else False
    table = "softmax/W" if "softmax/W" in tensors or not words else "embedding"  # shared if it is not there
    where = places(settings, row_before=row_before, order=order, lines_=n_lines, table=table)
    bilm = filled(settings, [], entries, tensors, where, asked_by=asked_by)
    return Read(bilm, [*notes, *heard])


def _compare_layers(stored: Mapping[str, Stored], options: Options, asked_by: str, path: Path) -> None:
    """Raise BadInput where tensors are left over that the options know nothing of; what lacks is found on filling."""
    has, asks = count(stored, "RNN_0/Cell{}/W_0"), options.lstm.n_layers
    if has > asks:
        raise BadInput(f"has {has} LSTM layers, but {asked_by} asks for {asks}: they do not belong together", path=path)
    highways = count(stored, "CNN_high_{}/W_carry")
    if options.char_cnn is not None and highways > (options.char_cnn.n_highway or 0):
        asks = options.char_cnn.n_highway or 0
        raise BadInput(
            f"has {highways} highways, but {asked_by} asks for {asks}: they do not belong together", path=path
        )
    if options.lstm.projection_dim < options.lstm.dim and "RNN_0/Cell0/W_P_0" not in stored:
        raise BadInput(f"lacks RNN_0/Cell0/W_P_0, which {asked_by} asks for; it has {shown(stored)}", path=path)


def _order(
    stored: Mapping[str, Stored], vocabulary: Vocabulary | None, *, needed: bool
) -> tuple[NDArray[np.int64], list[str]]:
    if vocabulary is None:
        if needed:
            path = next(iter(stored.values())).path
            message = "words are looked up in a table (or predicted), so the vocabulary file is needed: put vocab.txt"
            raise BadInput(f"{message} beside it or name it (vocabulary=...)", path=path)
        return np.zeros(0, np.int64), []
    missing = [word for word in (UNKNOWN, *MARKS) if word not in vocabulary.ids]
    if missing and needed:
        raise BadInput(f"lacks {', '.join(missing)}, without which no sentence can be read", path=vocabulary.path)
    if missing:
        return np.zeros(0, np.int64), [word for word in vocabulary.ids if word and word not in (UNKNOWN, *MARKS)]
    for name in ("embedding", "softmax/b"):
        if name in stored and stored[name].shape[0] != vocabulary.size and needed:
            message = f"has {vocabulary.size:,} words, but {stored[name].path} has {stored[name].shape[0]:,} rows"
            raise BadInput(f"{message} ({stored[name].name}): they do not belong together", path=vocabulary.path)
    return vocabulary.order()


def _has_row_before(stored: Mapping[str, Stored]) -> bool:
    """Whether the table of characters begins with the row of words that are not there."""
    table = stored["char_embed"]
    number = table.shape[0] if table.shape else 0
    if number not in (_ROWS, _ROWS + 1):
        message = f"char_embed has {number:,} rows; a table of bytes has {_ROWS} or {_ROWS + 1}"
        raise BadInput(f"{message}. With code points in place of bytes nobody knows their ids", path=table.path)
    return number == _ROWS + 1


def read_vocabulary(path: Path) -> Vocabulary:
    """A vocabulary file, compressed or not: blanks around a word are cut off, `!!!MAXTERMID` is no word, and of a word
    that stands there twice the last line counts."""
    ids: dict[str, int] = {}
    number = 0
    try:
        for _, line in lines(path):
            word = line.strip()
            if word == "!!!MAXTERMID":
                continue
            ids[word] = number
            number += 1
    except (gzip.BadGzipFile, zlib.error) as error:
        raise BadInput(f"damaged compressed file ({error})", path=path) from None
    return Vocabulary(path, ids, number)


# Byte ids as the programs have them -------------------------------------------------------------------------------


def byte_ids(words: Sequence[str], maximum: int = 50) -> NDArray[np.int64]:
    """[n_words, maximum] ids as bilm-tf and AllenNLP (`batch_to_ids`) have them: bytes + 1, cut to maximum - 2, between
    259 and 260, filled up with 261; `<S>` and `</S>` are the sentence marks."""
    ids = np.full((len(words), maximum), PADDING + 1, np.int64)
    marks = {MARKS[0]: [BEGIN_OF_SENTENCE], MARKS[1]: [END_OF_SENTENCE]}
    for row, word in zip(ids, words, strict=True):
        inner = marks.get(word) or list(word.encode("utf-8", "ignore")[: maximum - 2])
        spelled = [BEGIN_OF_WORD, *inner, END_OF_WORD]
        row[: len(spelled)] = np.array(spelled) + 1
    return ids
