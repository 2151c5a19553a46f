"""Golden sets of bilm-tf itself: models with character and with word input, checkpoints, a hub folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from golden import plain
from golden.archive import BATCHES, DATA, Archive
from golden.comparison import Comparison, Found, padded
from golden.engine import Predictor, Product, Twin


def options(folder: str) -> dict[str, Any]:
    return json.loads((DATA / folder / "options.json").read_text("utf-8"))


def vocabulary(folder: str) -> list[str]:
    return [line.strip() for line in (DATA / folder / "vocab.txt").read_text("utf-8").removesuffix("\n").split("\n")]


def variables(folder: str) -> dict[str, Any]:
    """A checkpoint's variables as TensorFlow wrote them down, under the names of the HDF5 layout."""
    with np.load(DATA / folder / "variables.npz") as file:
        return plain.renamed({name: array.astype(np.float64) for name, array in file.items()})


def twin(folder: str, weights: str = "weights.hdf5", embedding: str | None = None) -> Twin:
    tensors = plain.hdf5(DATA / folder / weights)
    table = plain.hdf5(DATA / folder / embedding)["embedding"] if embedding else None
    return Twin(plain.BilmTf(options(folder), tensors, vocabulary=vocabulary(folder), embedding=table))


def twin_of_checkpoint(folder: str) -> Twin:
    return Twin(plain.BilmTf(options(folder), variables(folder), vocabulary=vocabulary(folder)))


def compare(archive: Archive, engine: Any, *, room: int = 0, words: list[str] | None = None) -> Iterator[Found]:
    """room: ids of bytes that a word has; words: the vocabulary, for models that have a table of words."""
    for k, batch in enumerate(BATCHES):
        marked = [["<S>", *sentence, "</S>"] for sentence in batch]
        yield Found("ids", archive[f"b{k}_ids"], _ids(engine, marked, room, words))
        lengths = [len(sentence) for sentence in batch]
        longest = max(lengths)
        mask = np.arange(longest) < np.array(lengths)[:, None]
        yield Found("lengths", archive[f"b{k}_lengths"], lengths)
        yield Found("mask", archive[f"b{k}_mask"], mask)
        yield Found("token encodings", archive[f"b{k}_token_embedding_bos_eos"], encodings(engine, batch))

        layers = padded(engine.carry(batch), longest, engine.nothing())
        yield Found("layers", archive[f"b{k}_layers"], layers)
        by_layer = layers.transpose(1, 0, 2, 3)
        logits = np.linspace(0.3, -0.8, len(by_layer)).astype(np.float32)
        for layer_norm in (False, True):
            golden = archive[f"b{k}_mix_ln{int(layer_norm)}"]
            mix = engine.mix(by_layer, logits, 1.5, layer_norm=layer_norm, mask=mask)
            yield Found("mix with layer norm" if layer_norm else "mix", golden, mix)
        yield Found("mix of the top", archive[f"b{k}_mix_top"], engine.mix(by_layer[-1:], [0.0], 1.5))
        fresh = padded(engine.fresh(batch), longest, engine.nothing())
        yield Found("layers from zero", archive[f"reset_b{k}_layers"], fresh)


def encodings(engine: Any, batch: list[list[str]]) -> np.ndarray:
    """Context-free vectors [N, longest + 2, P] with marks."""
    begin, end = engine.sentence_marks()
    out = np.array([[engine.nothing()] * (max(map(len, batch)) + 2)] * len(batch))
    for row, sentence in zip(out, batch, strict=True):
        row[: len(sentence) + 2] = [begin, *engine.encode(sentence), end]
    return out


def _ids(engine: Any, sentences: list[list[str]], room: int, words: list[str] | None) -> np.ndarray:
    longest = max(map(len, sentences))
    if words is None:
        out = np.zeros((len(sentences), longest, room), np.int64)
        for row, sentence in zip(out, sentences, strict=True):
            row[: len(sentence)] = engine.byte_ids(sentence, room)
        return out
    lines = {word: number for number, word in enumerate(words, 1)}
    known = [[lines[word] for word in engine.known(sentence, words)] for sentence in sentences]
    return np.array([row + [0] * (longest - len(row)) for row in known])


def compare_evaluation(archive: Archive, engine: Any, *, words: list[str], losses: bool) -> Iterator[Found]:
    """lm_eval.npz: each row from the zero state; losses=False: a model without its softmax."""
    spelled = {
        way: [[[words[i] for i in row] for row in archive[name + end]] for name in ("ids", "next")]
        for way, end in enumerate(("", "_reverse"))
    }
    tops = np.array([engine.tops(*rows) for rows in zip(spelled[0][0], spelled[1][0], strict=True)])  # [N, 2, T, P]
    means = []
    for way, name in enumerate(("forward", "backward")):
        yield Found("top layer", archive[name + "_top"], tops[:, way])
        golden = archive[name + "_loss"]
        if losses:
            targets = [word for row in spelled[way][1] for word in row]
            means.append(engine.losses(tops[:, way].reshape(len(targets), -1), targets).mean())
            yield Found("loss", golden, means[-1])
    golden = archive["total_loss"]
    if losses:
        yield Found("loss", golden, np.mean(means))


def compare_ids(archive: Archive, engine: Any) -> Iterator[Found]:
    words = list(archive["words"])
    for name, room in (("allennlp_50", 50), ("bilm_tf_50", 50), ("bilm_tf_30", 30)):
        yield Found("ids", np.array(archive[name]), engine.byte_ids(words, room))
    # AllenNLP's `tokens_to_add={"ab": 7}`: the word is spelled as if it were the one byte 7
    yield Found("ids", np.array(archive["allennlp_50_tokens_to_add_ab_7"]), engine.byte_ids(["\x07"], 50)[0])


def _of(name: str, folder: str, room: int = 50, **files: str) -> Comparison:
    """A model with character input."""
    product = partial(_product, path=folder, **files)
    return Comparison(name, f"{folder}/bilm_tf.npz", partial(compare, room=room), product, partial(twin, folder))


def _product(dtype: str, **files: str) -> Product:
    return Product(dtype, **files)


def _of_words(name: str, file: str, product: Any, plainly: Any) -> Comparison:
    """A model with word input."""
    words = vocabulary(file.split("/")[0])
    return Comparison(name, file, partial(compare, words=words), product, plainly)


def _evaluation(name: str, folder: str, product: Any, plainly: Any, losses: bool) -> Comparison:
    asked = partial(compare_evaluation, words=vocabulary(folder), losses=losses)
    return Comparison(name, f"{folder}/lm_eval.npz", asked, product, plainly)


def _checkpoint(folder: str) -> dict[str, str]:
    return {"path": folder, "weights": f"{folder}/model.ckpt-100.index"}


def _dumped(folder: str) -> dict[str, str]:
    return {"path": folder, "weights": f"{folder}/dumped_weights.hdf5"}


_TABLE = {"embedding": "bilm_skip/embedding_weights.hdf5", "vocabulary": "bilm_skip/vocab.txt"}

COMPARISONS = [
    Comparison(
        "char_ids", "char_ids.json", compare_ids, partial(_product, path="bilm_noskip"), partial(twin, "bilm_noskip")
    ),
    _of("bilm_skip", "bilm_skip", weights="bilm_skip/weights.hdf5"),
    _of("bilm_noskip", "bilm_noskip"),
    _of("bilm_plain", "bilm_plain", room=30),
    Comparison(
        "hub_like", "bilm_skip/bilm_tf.npz", partial(compare, room=50),
        partial(_product, path="hub_like", options="bilm_skip/options.json"), partial(twin, "bilm_skip"),
    ),
    _of_words(
        "bilm_skip, words", "bilm_skip/bilm_tf_tokens.npz",
        partial(_product, path="bilm_skip", weights="bilm_skip/weights.hdf5", **_TABLE),
        partial(twin, "bilm_skip", embedding="embedding_weights.hdf5"),
    ),
    Comparison(
        "bilm_ckpt_char", "bilm_ckpt_char/bilm_tf.npz", partial(compare, room=50),
        partial(_product, **_checkpoint("bilm_ckpt_char")), partial(twin_of_checkpoint, "bilm_ckpt_char"),
    ),
    Comparison(
        "bilm_ckpt_char, dumped", "bilm_ckpt_char/bilm_tf.npz", partial(compare, room=50),
        partial(_product, **_dumped("bilm_ckpt_char")), partial(twin, "bilm_ckpt_char", "dumped_weights.hdf5"),
    ),
    _of_words(
        "bilm_ckpt_word", "bilm_ckpt_word/bilm_tf.npz",
        partial(_product, **_checkpoint("bilm_ckpt_word")), partial(twin_of_checkpoint, "bilm_ckpt_word"),
    ),
    _of_words(
        "bilm_ckpt_word, dumped", "bilm_ckpt_word/bilm_tf.npz",
        partial(_product, **_dumped("bilm_ckpt_word")), partial(twin, "bilm_ckpt_word", "dumped_weights.hdf5"),
    ),
    *(
        _evaluation(
            f"{folder}, evaluation{'' if losses else ', dumped'}", folder,
            partial(Predictor, **(_checkpoint if losses else _dumped)(folder), softmax=losses),
            partial(twin_of_checkpoint, folder) if losses else partial(twin, folder, "dumped_weights.hdf5"), losses,
        )
        for folder in ("bilm_ckpt_char", "bilm_ckpt_word") for losses in (True, False)
    ),
]  # fmt: skip
