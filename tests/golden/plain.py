"""A slow and clear twin of every kind of ELMo model: numpy, float64, one sentence and one step at a time.

It shares no code with zh_elmo: tensors come from h5py and torch, and what is computed is written down a second time, so
that a fault must be made twice to go unseen. Gates stand in the order i, f, g, o, the forget bias is whole, and
matrices are multiplied from the left by row vectors, whatever the files have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array = NDArray[Any]
Tensors = Mapping[str, Array]
State = tuple[Array, Array]  # h [P] and c [C] of one layer in one direction

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"relu": lambda x: np.maximum(x, 0), "tanh": np.tanh}
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PADDING = range(256, 261)  # bilm-tf's ids beside the bytes


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def byte_ids(word: str, room: int) -> list[int]:
    """bilm-tf's ids of a word, `room` of them; all moved up by one, since 0 is a word that is not there."""
    marks = {"<S>": [BEGIN_SENTENCE], "</S>": [END_SENTENCE]}
    inner = marks.get(word) or list(word.encode("utf-8", "ignore")[: room - 2])
    ids = [BEGIN_WORD, *inner, END_WORD]
    return [i + 1 for i in ids + [PADDING] * (room - len(ids))]


# Parts --------------------------------------------------------------------------------------------------------------


class Highway(NamedTuple):
    """The gate multiplies the transformed part; what it leaves is the input's."""

    transform: Array  # [F, F]
    transform_bias: Array
    gate: Array  # [F, F]
    gate_bias: Array

    def __call__(self, x: Array) -> Array:
        g = sigmoid(x @ self.gate + self.gate_bias)
        return g * np.maximum(x @ self.transform + self.transform_bias, 0) + (1 - g) * x


class Convolutions(NamedTuple):
    """The rows of a word's characters [room, D] -> its features [F]."""

    filters: list[tuple[Array, Array]]  # [width, D, number] and [number]
    activation: Callable[[Array], Array]
    highways: list[Highway]

    def __call__(self, characters: Array) -> Array:
        found = []
        for weights, bias in self.filters:
            windows = sliding_window_view(characters, len(weights), axis=0)  # [places, D, width]
            found.append(self.activation((np.tensordot(windows, weights, ((2, 1), (0, 1))) + bias).max(0)))
        x = np.concatenate(found)
        for highway in self.highways:
            x = highway(x)
        return x


class Cell(NamedTuple):
    """One layer in one direction."""

    input: Array  # [P, 4C]
    recurrent: Array  # [P, 4C]
    bias: Array  # [4C]
    projection: Array | None  # [C, P]
    cell_clip: float | None = None  # None and 0: none
    projection_clip: float | None = None

    def start(self) -> State:
        return np.zeros(len(self.recurrent)), np.zeros(len(self.bias) // 4)

    def step(self, x: Array, state: State) -> State:
        h, c = state
        i, f, g, o = np.split(x @ self.input + h @ self.recurrent + self.bias, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        if self.cell_clip:
            c = np.clip(c, -self.cell_clip, self.cell_clip)
        h = sigmoid(o) * np.tanh(c)
        if self.projection is not None:
            h = h @ self.projection
            if self.projection_clip:
                h = np.clip(h, -self.projection_clip, self.projection_clip)
        return h, c

    def read(self, tokens: Sequence[Array], state: State) -> tuple[Array, State]:
        out = []
        for x in tokens:
            state = self.step(x, state)
            out.append(state[0])
        return np.array(out), state


class Plain:
    """What all kinds have in common: tokens, two stacks of cells, and a state for each row of a batch."""

    marks: tuple[str, str]

    def __init__(self, cells: list[list[Cell]], *, skip: bool) -> None:
        """cells[direction][layer]; skip: from the second layer on, its input is added to its output."""
        self.cells, self.skip = cells, skip
        self.rows: dict[int, list[list[State]]] = {}  # [direction][layer] of each row
        self._vectors: dict[str, Array] = {}

    def token(self, word: str) -> Array:
        """The context-free vector [P] of a word or a mark."""
        raise NotImplementedError

    def cut(self, words: Sequence[str]) -> list[str]:
        """What is left of a user's words before anything else is done with them."""
        return list(words)

    def losses(self, hidden: Array, targets: Sequence[str], columns: Sequence[str] | None = None) -> Array:
        """-log P [n] of `targets` given hidden [n, P]; columns: the words among which one is chosen (None: all)."""
        raise NotImplementedError

    def encode(self, words: Sequence[str]) -> Array:
        for word in words:
            if word not in self._vectors:
                self._vectors[word] = self.token(word)
        return np.array([self._vectors[word] for word in words])

    def reset(self) -> None:
        self.rows = {}

    def start(self) -> list[list[State]]:
        return [[cell.start() for cell in way] for way in self.cells]

    def states(self) -> tuple[Array, Array]:
        """h [L, rows, 2P] and c [L, rows, 2C]."""
        rows = [self.rows[row] for row in sorted(self.rows)]
        h, c = (
            np.array([[np.concatenate([way[layer][which] for way in row]) for row in rows] for layer in self._layers()])
            for which in (0, 1)
        )
        return h, c

    def _layers(self) -> range:
        return range(len(self.cells[0]))

    def sentence(self, words: Sequence[str], states: list[list[State]]) -> tuple[Array, list[list[State]]]:
        """All layers [1 + L, len + 2, 2P], marks included, and the states after the last step of each direction."""
        tokens = self.encode([self.marks[0], *self.cut(words), self.marks[1]])
        ways, ends = zip(*(self.read(way, tokens, states[way]) for way in (0, 1)), strict=True)
        layers = [np.concatenate([tokens, tokens], 1)]
        layers += [np.concatenate([forward, backward], 1) for forward, backward in zip(*ways, strict=True)]
        return np.array(layers), list(ends)

    def read(self, way: int, tokens: Array, states: list[State]) -> tuple[list[Array], list[State]]:
        """The outputs of each layer [T, P] in reading order, and the states at the end."""
        x = tokens if way == 0 else tokens[::-1]
        outputs, ends = [], []
        for layer, cell in enumerate(self.cells[way]):
            out, end = cell.read(x, states[layer])
            x = out + x if layer and self.skip else out
            outputs.append(x if way == 0 else x[::-1])
            ends.append(end)
        return outputs, ends

    def fresh(self, sentences: Sequence[Sequence[str]], *, marks: bool = False) -> list[Array]:
        """Every sentence from the zero state."""
        return [_shown(self.sentence(words, self.start())[0], marks) for words in sentences]

    def carry(
        self,
        sentences: Sequence[Sequence[str]],
        *,
        marks: bool = False,
        batch_size: int | None = None,
        warmup: bool = False,
    ) -> list[Array]:
        """Row i of a batch goes on from where row i of the batch before ended; warmup: the first batch twice."""
        size = batch_size or max(1, len(sentences))
        batches = [sentences[at : at + size] for at in range(0, len(sentences), size)]
        if warmup and batches:
            self._batch(batches[0])
        return [_shown(layers, marks) for batch in batches for layers in self._batch(batch)]

    def _batch(self, sentences: Sequence[Sequence[str]]) -> list[Array]:
        found = []
        for row, words in enumerate(sentences):
            layers, self.rows[row] = self.sentence(words, self.rows.get(row) or self.start())
            found.append(layers)
        return found

    def tops(self, forward: Sequence[str], backward: Sequence[str]) -> Array:
        """The top layer's outputs [2, T, P] over words that are given as each direction reads them."""
        ways = []
        for way, words in enumerate((forward, backward)):
            tokens = self.encode(self.cut(words))
            read, _ = self.read(way, tokens if way == 0 else tokens[::-1], self.start()[way])
            ways.append(read[-1] if way == 0 else read[-1][::-1])
        return np.array(ways)


def _shown(layers: Array, marks: bool) -> Array:
    return layers if marks else layers[:, 1:-1]


def mix(
    layers: Array, logits: Sequence[float], gamma: float, *, layer_norm: bool = False, mask: Array | None = None
) -> Array:
    """gamma * sum of softmax(logits) times layers [L, N, T, W] -> [N, T, W]. layer_norm: first one mean and variance a
    layer, over all that mask [N, T] has."""
    shares = np.exp(np.asarray(logits, np.float64))
    shares /= shares.sum()
    if layer_norm:
        inside = [layer[mask.astype(bool)] if mask is not None else layer for layer in layers]
        layers = np.array([(x - y.mean()) / np.sqrt(y.var() + 1e-12) for x, y in zip(layers, inside, strict=True)])
    return gamma * np.tensordot(shares, layers, 1)


def cross_entropy(scores: Array, right: Sequence[int]) -> Array:
    """-log softmax(scores [n, V])[right] -> [n]."""
    scores = scores - scores.max(1, keepdims=True)
    return np.log(np.exp(scores).sum(1)) - scores[np.arange(len(right)), list(right)]


# bilm-tf and AllenNLP -----------------------------------------------------------------------------------------------


class BilmTf(Plain):
    """options.json, tensors under the names of the HDF5 layout, and for word input a vocabulary with its table."""

    marks = ("<S>", "</S>")

    def __init__(
        self,
        options: Mapping[str, Any],
        tensors: Tensors,
        *,
        vocabulary: Sequence[str] | None = None,
        embedding: Array | None = None,
    ) -> None:
        lstm, self.tensors = options["lstm"], tensors
        super().__init__(
            [[self._cell(lstm, way, layer) for layer in range(lstm.get("n_layers", 1))] for way in (0, 1)],
            skip=bool(lstm.get("use_skip_connections")),
        )
        self.embedding = tensors.get("embedding") if embedding is None else embedding
        self.ids = {word: line for line, word in enumerate(vocabulary or ())}
        if self.embedding is None:
            self._characters(options["char_cnn"], lstm["projection_dim"])

    def _cell(self, lstm: Mapping[str, Any], way: int, layer: int) -> Cell:
        name = f"RNN_{way}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/"
        if name + "B" not in self.tensors:
            name = f"RNN_{way}/RNN/LSTMCell/"  # one layer alone
        kernel, bias = _tf_gates(self.tensors[name + "W_0"]), _tf_gates(self.tensors[name + "B"])
        size, memory = lstm["projection_dim"], lstm["dim"]
        # TensorFlow's forget_bias is not stored. AllenNLP adds it to the float32 numbers when it reads them, and so
        # does zh_elmo; with their exact sum vectors would be up to some 1e-7 away.
        bias[memory : 2 * memory] = (bias[memory : 2 * memory] + 1).astype(np.float32)
        projection = self.tensors[name + "W_P_0"] if size < memory else None
        return Cell(kernel[:size], kernel[size:], bias, projection, lstm.get("cell_clip"), lstm.get("proj_clip"))

    def _characters(self, cnn: Mapping[str, Any], size: int) -> None:
        get = self.tensors.__getitem__
        self.room = cnn.get("max_characters_per_token", 50)
        table = get("char_embed")
        self.table = np.vstack([np.zeros_like(table[:1]), table])
        filters = [(get(f"CNN/W_cnn_{i}")[0], get(f"CNN/b_cnn_{i}")) for i in range(len(cnn["filters"]))]
        names = ("W_transform", "b_transform", "W_carry", "b_carry")
        highways = [Highway(*(get(f"CNN_high_{k}/{n}") for n in names)) for k in range(cnn.get("n_highway") or 0)]
        self.cnn = Convolutions(filters, ACTIVATIONS[cnn["activation"]], highways)
        self.projected = sum(number for _, number in cnn["filters"]) != size

    def of_ids(self, ids: Sequence[int]) -> Array:
        """The vector [P] of a word with these ids of bytes."""
        x = self.cnn(self.table[list(ids)])
        return x @ self.tensors["CNN_proj/W_proj"] + self.tensors["CNN_proj/b_proj"] if self.projected else x

    def token(self, word: str) -> Array:
        if self.embedding is not None:
            return self.embedding[self.ids.get(word, self.ids["<UNK>"])]
        return self.of_ids(byte_ids(word, self.room))

    def nothing(self) -> Array:
        """[P], of a position behind the end of a sentence."""
        return np.zeros(self.embedding.shape[1]) if self.embedding is not None else self.of_ids([0] * self.room)

    def losses(self, hidden: Array, targets: Sequence[str], columns: Sequence[str] | None = None) -> Array:
        assert columns is None
        scores = hidden @ self.tensors["softmax/W"].T + self.tensors["softmax/b"]
        return cross_entropy(scores, [self.ids.get(word, self.ids["<UNK>"]) for word in targets])


def _tf_gates(x: Array) -> Array:
    """Columns i, j, f, o -> i, f, g, o, where j is g."""
    i, j, f, o = np.split(x, 4, -1)
    return np.concatenate([i, f, j, o], -1)


def hdf5(path: Path) -> dict[str, Array]:
    """All data sets of numbers in a file."""
    import h5py

    found: dict[str, Array] = {}

    def visit(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset):
            found[name] = node[...].astype(np.float64)

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def renamed(variables: Tensors) -> dict[str, Array]:
    """A checkpoint's variables (`lm/...` or `bilm/...`) under the names of the HDF5 layout, what others there are
    left out."""
    found = {}
    for name, value in variables.items():
        scope, _, rest = name.partition("/")
        if scope not in ("lm", "bilm") or rest.startswith("Variable") or rest.endswith("/Adagrad"):
            continue
        for old, new in (
            ("/rnn/multi_rnn_cell/cell_", "/RNN/MultiRNNCell/Cell"), ("/rnn/lstm_cell/", "/lstm_cell/"),
            ("/lstm_cell/projection/kernel", "/LSTMCell/W_P_0"), ("/lstm_cell/kernel", "/LSTMCell/W_0"),
            ("/lstm_cell/bias", "/LSTMCell/B"),
        ):  # fmt: skip
            rest = rest.replace(old, new)
        found[rest] = value[1:] if rest == "char_embed" and len(value) == 262 else value
    return found


def pickled(path: Path) -> dict[str, Array]:
    """A state dict's tensors as float64."""
    import torch

    tensors = torch.load(path, map_location="cpu", weights_only=True)
    return {name: tensor.numpy().astype(np.float64) for name, tensor in tensors.items()}


def of_allennlp(state: Tensors) -> dict[str, Array]:
    """AllenNLP's state dict of an `Elmo` under the names of the HDF5 layout."""
    found: dict[str, Array] = {}
    for name, value in state.items():
        module, *rest = name.removeprefix("_elmo_lstm.").split(".")
        weight = rest[-1] == "weight" if rest else False
        if name.endswith("_char_embedding_weights"):
            found["char_embed"] = value[1:]
        elif module == "_token_embedder" and rest[0].startswith("char_conv_"):
            number = rest[0].removeprefix("char_conv_")
            found[f"CNN/W_cnn_{number}" if weight else f"CNN/b_cnn_{number}"] = (
                value.transpose(2, 1, 0)[None] if weight else value
            )
        elif module == "_token_embedder" and rest[0] == "_highways":
            transform, carry = np.split(value, 2)
            letter, group = "W" if weight else "b", f"CNN_high_{rest[2]}/"
            found[group + letter + "_transform"], found[group + letter + "_carry"] = transform.T, -carry.T
        elif module == "_token_embedder" and rest[0] == "_projection":
            found["CNN_proj/W_proj" if weight else "CNN_proj/b_proj"] = value.T
    for way, direction in enumerate(("forward", "backward")):
        layer = 0
        while (name := f"_elmo_lstm._elmo_lstm.{direction}_layer_{layer}.") + "state_linearity.bias" in state:
            target = f"RNN_{way}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/"
            both = [state[name + part + "_linearity.weight"].T for part in ("input", "state")]
            bias = state[name + "state_linearity.bias"].copy()
            memory = len(bias) // 4
            bias[memory : 2 * memory] -= 1  # the layout leaves TensorFlow's forget_bias out
            found[target + "W_0"], found[target + "B"] = _tf_gates(np.vstack(both)), _tf_gates(bias)
            found[target + "W_P_0"] = state[name + "state_projection.weight"].T
            layer += 1
    return found


# ELMoForManyLangs ---------------------------------------------------------------------------------------------------


class ManyLangs(Plain):
    """One ELMoForManyLangs folder; `classifier`: the file that holds its output layer."""

    marks = ("<bos>", "<eos>")

    def __init__(self, folder: Path, classifier: str | None = None) -> None:
        named = json.loads((folder / "config.json").read_text("utf-8"))["config_path"]
        found = folder / named if (folder / named).exists() else folder / Path(named).name
        config = json.loads(found.read_text("utf-8"))
        self.tokens, self.encoder = pickled(folder / "token_embedder.pkl"), pickled(folder / "encoder.pkl")
        self.classifier = pickled(folder / classifier) if classifier else {}
        self.embedder = config["token_embedder"]
        self.words = dictionary(folder / "word.dic")
        self.characters = dictionary(folder / "char.dic") if self.embedder["char_dim"] else None
        # only the embedder `cnn` cuts words
        self.room = self.embedder["max_characters_per_token"] if self.embedder["name"] == "cnn" else 10**9
        if self.characters is not None:
            self.cnn = self._convolutions()
        self.two_way = config["encoder"]["name"] == "lstm"
        self.size, self.n_layers = config["encoder"]["projection_dim"], config["encoder"]["n_layers"]
        super().__init__([] if self.two_way else self._cells(config["encoder"]), skip=True)

    def _convolutions(self) -> Convolutions:
        get = self.tokens.__getitem__
        numbers = range(len(self.embedder["filters"]))
        filters = [(get(f"convolutions.{i}.weight").transpose(2, 1, 0), get(f"convolutions.{i}.bias")) for i in numbers]
        highways = []
        for k in range(self.embedder["n_highway"]):
            (transform, keep), (t_bias, k_bias) = (
                np.split(get(f"highways._layers.{k}.{what}"), 2) for what in ("weight", "bias")
            )
            highways.append(Highway(transform.T, t_bias, -keep.T, -k_bias))  # here the gate keeps the input
        return Convolutions(filters, ACTIVATIONS[self.embedder["activation"]], highways)

    def _cells(self, encoder: Mapping[str, Any]) -> list[list[Cell]]:
        def cell(direction: str, layer: int) -> Cell:
            name = f"{direction}_layer_{layer}."
            parts = ("input_linearity.weight", "state_linearity.weight", "state_linearity.bias")
            weights = [self.encoder[name + part].T for part in (*parts, "state_projection.weight")]
            return Cell(*weights, encoder["cell_clip"], encoder["proj_clip"])

        return [[cell(way, layer) for layer in range(encoder["n_layers"])] for way in ("forward", "backward")]

    def cut(self, words: Sequence[str]) -> list[str]:
        return [word[: self.room - 2] for word in words]

    def token(self, word: str | None) -> Array:
        """None: padding."""
        parts = []
        if self.embedder["word_dim"]:
            number = self.words["<pad>"] if word is None else self.words.get(word, self.words["<oov>"])
            parts.append(self.tokens["word_emb_layer.embedding.weight"][number])
        if self.characters is not None:
            parts.append(self.cnn(self.tokens["char_emb_layer.embedding.weight"][self._spelled(word)]))
        return np.concatenate(parts) @ self.tokens["projection.weight"].T + self.tokens["projection.bias"]

    def _spelled(self, word: str | None) -> list[int]:
        ids = self.characters
        assert ids is not None
        row: list[int] = []
        if word is not None:
            inner = [ids[word]] if word in self.marks else [ids.get(c, ids["<oov>"]) for c in word]
            row = [ids["<eow>"], *inner, ids["<bow>"]]  # the names of the two are swapped
        return row + [ids["<pad>"]] * (self.room - len(row))

    def sentence(self, words: Sequence[str], states: list[list[State]]) -> tuple[Array, list[list[State]]]:
        if not self.two_way:
            return super().sentence(words, states)
        return self._both_ways(words, len(words)), states

    def _batch(self, sentences: Sequence[Sequence[str]]) -> list[Array]:
        if not self.two_way:
            return super()._batch(sentences)
        return [self._both_ways(words, max(map(len, sentences))) for words in sentences]

    def _both_ways(self, words: Sequence[str], longest: int) -> Array:
        """torch's bidirectional LSTM over a sentence filled up with padding -> [1, len + 2, 2P]."""
        tokens = self.encode([self.marks[0], *self.cut(words), self.marks[1]])
        x = np.array([*tokens, *[self.token(None)] * (longest - len(words))])
        for layer in range(self.n_layers):
            ways = []
            for ending in ("", "_reverse"):
                get = lambda what, to=f"_l{layer}{ending}": self.encoder[f"encoder.{what}{to}"].T  # noqa: E731
                cell = Cell(get("weight_ih"), get("weight_hh"), get("bias_ih") + get("bias_hh"), None)
                out, _ = cell.read(x[::-1] if ending else x, cell.start())
                ways.append(out[::-1] if ending else out)
            x = np.concatenate(ways, 1)
        halves = [h @ self.encoder["projection.weight"].T + self.encoder["projection.bias"] for h in np.split(x, 2, 1)]
        return np.concatenate(halves, 1)[None, : len(tokens)]

    def losses(self, hidden: Array, targets: Sequence[str], columns: Sequence[str] | None = None) -> Array:
        texts = {number: word for word, number in self.words.items()}
        words = [texts[i] for i in range(len(texts))] if columns is None else list(columns)
        ids, layer = [self.words[word] for word in words], self.classifier
        if "hidden2tag.weight" in layer:
            scores = hidden @ layer["hidden2tag.weight"][ids].T + layer["hidden2tag.bias"][ids]
        elif "column_emb.weight" in layer:
            scores = hidden @ layer["column_emb.weight"][ids].T + layer["column_bias.weight"][ids, 0]
        else:
            spelled = [layer["oov_column"][:, 0] if word == "<oov>" else self.token(word) for word in words]
            scores = hidden @ np.array(spelled).T + hidden @ layer["M"] @ layer["corr.weight"][ids].T
        known = [word if word in self.words else "<oov>" for word in self.cut(targets)]
        return cross_entropy(scores, [words.index(word) for word in known])


def dictionary(path: Path) -> dict[str, int]:
    """char.dic or word.dic: a line whose text is white space is U+3000."""
    found: dict[str, int] = {}
    for line in path.read_text("utf-8").split("\n"):
        if line:
            text, tab, number = line.strip().rpartition("\t")
            found[text if tab else "\u3000"] = int(number)
    return found
