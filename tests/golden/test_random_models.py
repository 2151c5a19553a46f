"""Models of random kinds and sizes against their plain twins: what no golden set happens to put together."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from golden import plain
from golden.comparison import PLAIN, Difference, check, difference
from golden.engine import quietly
from golden.toys import SPECIAL_CHARACTERS, SPECIAL_WORDS, save_pickle, write_bilm_tf

import zh_elmo

LETTERS = ["a", "é", "长", "𠮷", "\u3000", "龘", ".", "\ud800"]
KNOWN = ["a", "é长", "长" * 4, "𠮷a", "\u3000"]


def sentences(draw: random.Random, n: int) -> list[list[str]]:
    def word() -> str:
        if draw.random() < 0.3:
            return draw.choice(("<S>", "</S>", "<UNK>", "<bos>", "<eos>", "", *KNOWN))
        return "".join(draw.choices(LETTERS, k=draw.choice((1, 2, 5, 12))))

    return [[word() for _ in range(draw.choice((0, 1, 2, 5)))] for _ in range(n)]


def sizes(draw: random.Random, room: int) -> dict[str, Any]:
    """What both kinds have: filters as wide as a word at the most."""
    widths = draw.sample(range(1, room + 1), draw.choice((1, 2, 3)))
    return {
        "filters": [[width, draw.choice((1, 3, 4))] for width in widths],
        "activation": draw.choice(("relu", "tanh")),
        "n_highway": draw.choice((0, 1, 2)),
        "max_characters_per_token": room,
    }


def clip(draw: random.Random) -> float | None:
    return draw.choice((None, 0.05, 0.3))


def compare(folder, twin, draw):
    """Batches of falling and rising numbers of rows, then everything from zero."""
    carrying = quietly(zh_elmo.load, folder, dtype="float64", state="carry")
    resetting = quietly(zh_elmo.load, folder, dtype="float64")
    differences = []
    for n in (3, 1, 5):
        batch = sentences(draw, n)
        pairs = [
            (quietly(carrying.embed, batch, layers="all"), twin.carry(batch)),
            (quietly(resetting.embed, batch, layers="all", batch_words=6), twin.fresh(batch)),
        ]
        differences += [
            Difference("layers", difference("layers", *both)) for found in pairs for both in zip(*found, strict=True)
        ]
    check(differences, PLAIN)


@pytest.mark.parametrize("seed", range(8))
def test_bilm_tf(tmp_path, seed):
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    cnn = sizes(draw, draw.choice((5, 8, 50))) | {"embedding": {"dim": 3}}
    features = sum(number for _, number in cnn["filters"])
    size = features if draw.random() < 0.4 else features - 1 or 2
    cell = size + draw.choice((0, 2))
    lstm = {"projection_dim": size, "dim": cell, "n_layers": draw.choice((1, 2, 3))}
    lstm |= {"use_skip_connections": seed % 2 > 0, "cell_clip": clip(draw), "proj_clip": clip(draw)}
    shapes = {"char_embed": (261, 3)}
    for i, (width, number) in enumerate(cnn["filters"]):
        shapes |= {f"CNN/W_cnn_{i}": (1, width, 3, number), f"CNN/b_cnn_{i}": (number,)}
    for k in range(cnn["n_highway"]):
        for part in ("carry", "transform"):
            shapes |= {f"CNN_high_{k}/W_{part}": (features, features), f"CNN_high_{k}/b_{part}": (features,)}
    if size != features:
        shapes |= {"CNN_proj/W_proj": (features, size), "CNN_proj/b_proj": (size,)}
    cells = [(way, layer) for way in (0, 1) for layer in range(lstm["n_layers"])]
    for name in (f"RNN_{way}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/" for way, layer in cells):
        shapes |= {name + "W_0": (2 * size, 4 * cell), name + "B": (4 * cell,)}
        if size < cell:
            shapes[name + "W_P_0"] = (cell, size)
    options = {"lstm": lstm, "char_cnn": cnn}
    write_bilm_tf(tmp_path, options, {name: numbers.normal(size=shape) * 0.5 for name, shape in shapes.items()})
    compare(tmp_path, plain.BilmTf(options, plain.hdf5(tmp_path / "weights.hdf5")), draw)


@pytest.mark.parametrize("seed", range(8))
def test_many_langs(tmp_path, seed):
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    two_way, room = seed % 4 == 3, draw.choice((5, 8, 50))
    word_dim, char_dim = draw.choice(((3, 4), (0, 4), (3, 0)))
    embedder = sizes(draw, room) | {"name": "cnn", "word_dim": word_dim, "char_dim": char_dim}
    size, cell, n_layers = draw.choice((2, 3)), draw.choice((2, 3, 5)), draw.choice((1, 2, 3))
    encoder = {"name": "lstm" if two_way else "elmo", "projection_dim": size, "dim": cell, "n_layers": n_layers}
    encoder |= {"cell_clip": clip(draw), "proj_clip": clip(draw)}
    words, characters = [*SPECIAL_WORDS, *KNOWN], [*SPECIAL_CHARACTERS, *LETTERS[:4], "\u3000"]
    for name, entries in (("word.dic", words), ("char.dic", characters)):
        (tmp_path / name).write_text("".join(f"{text}\t{row}\n" for row, text in enumerate(entries)), "utf-8")
    (tmp_path / "config.json").write_text('{"config_path": "sizes.json"}')
    (tmp_path / "sizes.json").write_text(json.dumps({"encoder": encoder, "token_embedder": embedder}))

    features = sum(number for _, number in embedder["filters"]) if char_dim else 0
    tokens = {"projection.weight": (size, word_dim + features), "projection.bias": (size,)}
    if word_dim:
        tokens["word_emb_layer.embedding.weight"] = (len(words), word_dim)
    if char_dim:
        tokens["char_emb_layer.embedding.weight"] = (len(characters), char_dim)
        for i, (width, number) in enumerate(embedder["filters"]):
            tokens |= {f"convolutions.{i}.weight": (number, char_dim, width), f"convolutions.{i}.bias": (number,)}
        for k in range(embedder["n_highway"]):
            name = f"highways._layers.{k}."
            tokens |= {name + "weight": (2 * features, features), name + "bias": (2 * features,)}
    weights = _two_way(size, cell, n_layers) if two_way else _directions(size, cell, n_layers)
    for name, shapes in (("token_embedder.pkl", tokens), ("encoder.pkl", weights)):
        save_pickle(tmp_path / name, {key: numbers.normal(size=shape) * 0.5 for key, shape in shapes.items()})
    compare(tmp_path, plain.ManyLangs(tmp_path), draw)


def _directions(size: int, cell: int, n_layers: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    for name in (f"{way}_layer_{layer}." for way in ("forward", "backward") for layer in range(n_layers)):
        shapes |= {name + part: (4 * cell, size) for part in ("input_linearity.weight", "state_linearity.weight")}
        shapes |= {name + "state_linearity.bias": (4 * cell,), name + "state_projection.weight": (size, cell)}
    return shapes


def _two_way(size: int, cell: int, n_layers: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"projection.weight": (size, cell), "projection.bias": (size,)}
    for layer in range(n_layers):
        for ending in (f"_l{layer}", f"_l{layer}_reverse"):
            shapes[f"encoder.weight_ih{ending}"] = (4 * cell, 2 * cell if layer else size)
            shapes[f"encoder.weight_hh{ending}"] = (4 * cell, cell)
            shapes |= {f"encoder.bias_{part}{ending}": (4 * cell,) for part in ("ih", "hh")}
    return shapes
