"""Golden sets of ELMoForManyLangs: six models, its command line, and the losses of its three output layers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from golden import plain
from golden.archive import BATCHES, DATA, TABBED, Archive
from golden.comparison import Comparison, Found
from golden.engine import Predictor, Product, Twin

FOLDERS = ("efml_word_char", "efml_char", "efml_word", "efml_noclip3", "efml_lstm_word", "efml_enc_lstm")
OUTPUT_LAYERS = {
    "sampled_softmax": "classifier.pkl",
    "softmax": "classifier_softmax.pkl",
    "cnn_softmax": "classifier_cnn_softmax.pkl",
}


def in_batches(
    engine: Any, sentences: list[list[str]], batch_size: int = 64, order: list[int] | None = None
) -> list[Any]:
    """Layers of each sentence as the program works: the longest first, in batches that `order` puts in line, with the
    state going on; given back in the order of the input."""
    longest_first = sorted(range(len(sentences)), key=lambda i: -len(sentences[i]))
    batches = [longest_first[at : at + batch_size] for at in range(0, len(sentences), batch_size)]
    found: dict[int, Any] = {}
    for number in range(len(batches)) if order is None else order:
        batch = batches[number]
        found.update(zip(batch, engine.carry([sentences[i] for i in batch]), strict=True))
    return [found[i] for i in range(len(sentences))]


def compare_calls(archive: Archive, engine: Any, *, layers: bool = True) -> Iterator[Found]:
    """layers=False: the encoder `lstm` has one layer and no axis for it; the program then takes words for layers."""

    def as_told(found: np.ndarray) -> np.ndarray:
        return found if layers else found[0]

    for k, batch in enumerate(BATCHES):
        for number, found in enumerate(map(as_told, in_batches(engine, batch))):
            name = f"call{k}_layer%d_sent{number}"
            yield Found("all layers", archive[name % -2], found)
            yield Found("mean", archive[name % -1], found.mean(0))
            for layer in (0, 1, 2) if layers else (0,):
                yield Found("one layer", archive[name % layer], found[layer])
    engine.reset()
    order = archive["bs3_batch_order"].tolist()
    for number, found in enumerate(in_batches(engine, BATCHES[0], 3, order)):
        yield Found("batches of 3", archive[f"bs3_sent{number}"], as_told(found))
    single = BATCHES[0][:1]
    for found in (engine.fresh(single), engine.reset() or in_batches(engine, single)):
        yield Found("alone", archive["single_first"], as_told(found[0]))


def compare_command_line(archive: Archive, engine: Any, *, layer: int, escaped: bool) -> Iterator[Found]:
    """One batch from the zero state; a sentence that comes twice stands there once. layer -1: the mean."""
    for sentence, found in zip(TABBED, in_batches(engine, TABBED), strict=True):
        name = "\t".join(sentence)
        if escaped:
            name = name.replace(".", "$period$").replace("/", "$backslash$")
        yield Found("mean" if layer < 0 else "one layer", archive[name], found.mean(0) if layer < 0 else found[layer])


def compare_losses(archive: Archive, engine: Any, *, kind: str) -> Iterator[Found]:
    """Summed cross-entropies over sentences 0 to 4 of batch 0, forward and backward, as shares of the program's."""
    columns = None
    if kind != "softmax":
        texts = {number: word for word, number in plain.dictionary(DATA / "efml_word_char/word.dic").items()}
        columns = [texts[number] for number in archive[f"{kind}_columns"].tolist()]
    sums = np.zeros(2)
    for sentence in BATCHES[0][:5]:
        marked = ["<bos>", *sentence, "<eos>"]
        back = marked[::-1]
        tops = engine.tops(marked[:-1], back[:-1])
        for way, targets in enumerate((marked[1:], back[1:])):
            sums[way] += engine.losses(tops[way], targets, columns).sum()
    yield Found("share of the loss", archive[kind] / archive[kind], sums / archive[kind])


def compare_all_losses(archive: Archive, engines: Any) -> Iterator[Found]:
    for kind in OUTPUT_LAYERS:
        for found in compare_losses(archive, engines[kind], kind=kind):
            yield found._replace(kind=kind)


def _calls(folder: str) -> Comparison:
    asked = partial(compare_calls, layers=folder != "efml_enc_lstm")
    return Comparison(
        folder, f"{folder}/elmoformanylangs.npz", asked, partial(_product, folder), partial(_twin, folder)
    )


def _command_line(layer: int, suffix: str) -> Comparison:
    folder, file = "efml_word_char", f"cli.ly{layer}.{suffix}"
    asked = partial(compare_command_line, layer=layer, escaped=suffix == "hdf5")
    return Comparison(file, f"{folder}/{file}", asked, partial(_product, folder), partial(_twin, folder))


def _product(folder: str, dtype: str) -> Product:
    return Product(dtype, folder)


def _twin(folder: str) -> Twin:
    return Twin(plain.ManyLangs(DATA / folder))


def _predictors(dtype: str) -> dict[str, Predictor]:
    return {kind: Predictor(dtype, "efml_word_char", classifier=file) for kind, file in OUTPUT_LAYERS.items()}


def _plain_predictors() -> dict[str, plain.ManyLangs]:
    folder = DATA / "efml_word_char"
    return {kind: plain.ManyLangs(folder, file) for kind, file in OUTPUT_LAYERS.items()}


COMPARISONS = [
    *map(_calls, FOLDERS),
    *(_command_line(layer, suffix) for layer in (-1, 0, 2) for suffix in ("hdf5", "txt")),
    Comparison(
        "classifier losses", "efml_word_char/classifier_loss.npz", compare_all_losses, _predictors, _plain_predictors,
        against_plain=1e-7,  # the rows of cnn_softmax are computed when a model is opened, in float32
    ),
]  # fmt: skip
