"""Golden outputs of programs around the models: AllenNLP, simple_elmo, the command lines, an `Elmo` saved whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from golden import plain
from golden.archive import BATCHES, DATA, TEXT, Archive
from golden.bilm_tf import encodings, options, twin, twin_of_checkpoint, vocabulary
from golden.comparison import FLOAT32, MANY_STEPS, Comparison, Found, padded
from golden.engine import Predictor, Product, Twin

MIXES = (([0.3, -0.7, 1.1], 1.5), ([2.0, 0.0, -1.0], 0.4))


def compare_allennlp(archive: Archive, engine: Any) -> Iterator[Found]:
    for k, batch in enumerate(BATCHES):
        longest = max(map(len, batch))
        mask = np.arange(longest + 2) < np.array([len(sentence) + 2 for sentence in batch])[:, None]
        ids = np.zeros((len(batch), longest, 50), np.int64)
        for row, sentence in zip(ids, batch, strict=True):
            row[: len(sentence)] = engine.byte_ids(sentence, 50)
        yield Found("ids", archive[f"b{k}_char_ids"], ids)
        yield Found("mask", archive[f"b{k}_mask_bos_eos"], mask)
        yield Found("token encodings", archive[f"b{k}_token_embedding_bos_eos"], encodings(engine, batch))

        marked = engine.carry(batch, marks=True)
        yield Found("layers with marks", archive[f"b{k}_layers_bos_eos"], padded(marked, longest + 2))
        inner = [layers[:, 1:-1] for layers in marked]
        yield Found("layers", archive[f"b{k}_layers"], padded(inner, longest))
        for name, state in zip("hc", engine.states(), strict=True):
            yield Found("states", archive[f"b{k}_state_{name}"], state)
        for marks in (False, True):
            fresh = engine.fresh(batch, marks=marks)
            inner = [layers[:, 1:-1] for layers in fresh] if marks else fresh
            yield Found("layers from zero", archive[f"reset_b{k}_layers"], padded(inner, longest))
    yield from _mixes(archive, engine)
    engine.reset()
    for name in ("first", "second"):
        [again] = engine.carry(BATCHES[0][:1])
        yield Found("one sentence twice", archive[f"embedder_sentence0_{name}"], again)


def _mixes(archive: Archive, engine: Any) -> Iterator[Found]:
    """The layer norm looks at the marks, too; without them the program leaves zeros behind a sentence."""
    engine.reset()
    for k, batch in enumerate(BATCHES[:2]):
        longest = max(map(len, batch))
        layers = padded(engine.carry(batch, marks=True), longest + 2).transpose(1, 0, 2, 3)
        mask = np.arange(longest + 2) < np.array([len(sentence) + 2 for sentence in batch])[:, None]
        for layer_norm in (False, True):
            kind = "mix with layer norm" if layer_norm else "mix"
            for number, (logits, gamma) in enumerate(MIXES):
                mix = engine.mix(layers, logits, gamma, layer_norm=layer_norm, mask=mask)
                name = f"mix_ln{int(layer_norm)}_keep%d_b{k}_rep{number}"
                yield Found(kind, archive[name % 1], mix)
                inner = padded([row[None, 1 : len(s) + 1] for row, s in zip(mix, batch, strict=True)], longest)[:, 0]
                yield Found(kind, archive[name % 0], inner)


def compare_elmo(archive: Archive, engine: Any) -> Iterator[Found]:
    """The two mixes that lie in the file with the weights."""
    state = plain.pickled(DATA / "elmo_th/elmo.th")
    for k, batch in enumerate(BATCHES[:2]):
        layers = padded(engine.carry(batch), max(map(len, batch))).transpose(1, 0, 2, 3)
        for number in (0, 1):
            logits = [state[f"scalar_mix_{number}.scalar_parameters.{layer}"][0] for layer in range(3)]
            mix = engine.mix(layers, logits, float(state[f"scalar_mix_{number}.gamma"][0]))
            yield Found("mix", archive[f"b{k}_rep{number}"], mix)


def compare_lines(archive: Archive, engine: Any, *, batch_size: int, what: str = "all") -> Iterator[Found]:
    """Vectors of text.txt, a data set for each line."""
    if "sentence_to_index" in archive:
        numbers = {" ".join(words): str(line) for line, words in enumerate(TEXT)}
        assert json.loads(archive["sentence_to_index"][0]) == numbers
    pick = {"all": lambda layers: layers, "top": lambda layers: layers[-1], "average": lambda layers: layers.mean(0)}
    for line, layers in enumerate(engine.carry(TEXT, batch_size=batch_size)):
        yield Found("layers" if what == "all" else what, archive[str(line)], pick[what](layers))


def compare_simple_elmo(archive: Archive, engine: Any) -> Iterator[Found]:
    """Batches of 8; behind a sentence stands bilm-tf's constant, behind the longest of a batch zeros."""
    texts = BATCHES[0] + BATCHES[1]
    longest = max(map(len, texts))
    for warmup in (False, True):
        engine.reset()
        found = engine.carry(texts, batch_size=8, warmup=warmup)
        batches = [found[at : at + 8] for at in range(0, len(texts), 8)]
        layers = [padded(batch, max(x.shape[1] for x in batch), engine.nothing()) for batch in batches]
        for name in ("average", "top", "all"):
            parts = [{"average": x.mean(1), "top": x[:, -1], "all": x}[name] for x in layers]
            wide = [np.pad(x, [(0, 0)] * (x.ndim - 2) + [(0, longest - x.shape[-2]), (0, 0)]) for x in parts]
            yield Found("vectors", archive[f"vectors_{name}_warm{int(warmup)}"], np.concatenate(wide))
            golden = archive[f"sentence_average_{name}_warm{int(warmup)}"]
            yield Found("sentence averages", golden, np.concatenate([_sentence_averages(x) for x in parts]))


def _sentence_averages(vectors: np.ndarray) -> np.ndarray:
    """[N, T, W] or [N, L, T, W] -> [N, W] or [N, L, W], with that program's faults: the mean goes over the places of
    the batch's longest sentence, and layers are not transposed but reshaped."""
    if vectors.ndim == 4:
        n, n_layers, longest, width = vectors.shape
        vectors = vectors.reshape(n, longest, n_layers, width)
    means = vectors.sum(1) / vectors.shape[1]
    return means / np.linalg.norm(means.reshape(len(means), -1), axis=1).reshape(-1, *[1] * (means.ndim - 1))


def compare_substitutes(archive: Archive, engine: Any, *, words: list[str]) -> Iterator[Found]:
    """Evidence of faults: each word is predicted from its one neighbour, and what is called logp are logits, which
    are log probabilities up to one number a word; markers have 0 if they are not wanted."""
    wanted = len(archive["result"])
    topn, unmarked, _ = archive["topn"], archive["nodelimiters"], archive["max_batch_size"]
    for sentence, told in zip(archive["sentences"][:wanted], archive["result"], strict=True):
        marked = ["<S>", *sentence.split(), "</S>"]
        for place, word in enumerate(told, 1):
            assert word["word"] == marked[place]
            tops = engine.tops([marked[place - 1]], [marked[place + 1]])
            for way, name in enumerate(("forward", "backward")):
                candidates = word[name]["candidates"]
                assert word[name]["candidate_words"] == [words[i] for i in candidates]
                logs = -engine.losses(np.repeat(tops[way], len(words), 0), words)
                if unmarked:
                    # the markers' 0 stands among logits that are positive at the top
                    logs[:2] = -np.inf
                best = np.sort(np.argsort(logs)[-topn:])
                yield Found("candidates", np.sort(candidates), best)
                logits = np.array(word[name]["logp"])
                yield Found("logits", logits - logits.max(), logs[candidates] - logs[candidates].max())


def _product(dtype: str, path: str = "bilm_skip", weights: str = "bilm_skip/weights.hdf5") -> Product:
    return Product(dtype, path, weights=weights)


def _elmo_twin(file: str) -> Twin:
    tensors = plain.of_allennlp(plain.pickled(DATA / "elmo_th" / file))
    return Twin(plain.BilmTf(options("elmo_th"), tensors))


def _lines(file: str, batch_size: int, what: str = "all") -> Comparison:
    asked = partial(compare_lines, batch_size=batch_size, what=what)
    return Comparison(file, f"bilm_skip/{file}", asked, _product, partial(twin, "bilm_skip"), MANY_STEPS)


def _substitutes(kind: str) -> Comparison:
    folder = "bilm_ckpt_char"
    file = f"{folder}/simple_elmo_substitutes_{kind}.json"
    product = partial(Predictor, path=folder, weights=f"{folder}/model.ckpt-100.index")
    asked = partial(compare_substitutes, words=vocabulary(folder))
    rounded = 1e-4 + FLOAT32  # two numbers with four places
    return Comparison(f"substitutes, {kind}", file, asked, product, partial(twin_of_checkpoint, folder), rounded)


COMPARISONS = [
    Comparison("allennlp", "bilm_skip/allennlp.npz", compare_allennlp, _product, partial(twin, "bilm_skip")),
    *(
        Comparison(
            file, "elmo_th/allennlp.npz", compare_elmo,
            partial(_product, path="elmo_th", weights=f"elmo_th/{file}"), partial(_elmo_twin, file),
        )
        for file in ("elmo.th", "elmo_zip.th")
    ),
    Comparison("simple_elmo", "bilm_skip/simple_elmo.npz", compare_simple_elmo, _product, partial(twin, "bilm_skip")),
    _lines("bilm_tf_dump.hdf5", batch_size=1),
    _lines("allennlp_cli_all.hdf5", batch_size=4),
    _lines("allennlp_cli_top.hdf5", batch_size=4, what="top"),
    _lines("allennlp_cli_average.hdf5", batch_size=4, what="average"),
    _substitutes("delim"),
    _substitutes("nodelim"),
]  # fmt: skip
