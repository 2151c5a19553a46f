"""The calls of simple_elmo 0.9: `ElmoModel`, with vectors of words and sentences, and the likely words of a place."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zh_elmo.embed.embedder import Embedder, Vectors
from zh_elmo.embed.encodings import encode
from zh_elmo.embed.layers import FIRST_WORD, layers_of, unpack
from zh_elmo.embed.words import check_choice, checked
from zh_elmo.files import BadInput
from zh_elmo.formats.find import load_bilm
from zh_elmo.lm.model import START, STOP, UNK, BiLM
from zh_elmo.recipe import convert
from zh_elmo.text.pipeline import TextSettings

LayersOf = Literal["average", "top", "all"]
Texts = Sequence[Sequence[str]] | Sequence[str]
_SPECIAL = {"<S>": START, "</S>": STOP, "<UNK>": UNK}  # the first lines of a vocabulary, and our ids for them
_AT_ONCE = 256  # places of which the whole vocabulary's probabilities are in memory


class ElmoModel:
    """`from zh_elmo.compat.simple_elmo import ElmoModel` in place of `from simple_elmo import ElmoModel`.

    `get_elmo_vectors` gives the numbers of the original. Its other two methods had faults, which are put right (see
    each of them). Any model that `zh_elmo.load` opens is taken, and texts may be strings of words between spaces.
    """

    def __init__(self) -> None:
        self.batch_size: int | None = None
        self.max_chars: int | None = None  # bytes (or characters) of a word, two marks included
        self.vector_size: int | None = None
        self.n_layers: int | None = None
        self.vocab: list[str] | None = None  # words by the numbers that `get_elmo_substitutes` has for them
        self._embedder: Embedder | None = None

    def load(self, directory: str | Path, max_batch_size: int = 32, limit: int = 100, full: bool = False) -> str:
        """Load a model: folder, file or archive. full: with its softmax, for `get_elmo_substitutes`. `limit` is taken
        for the sake of the call: no number depends on it.

        Raises BadInput where there is no model, or a damaged one, and with `full` one that has no softmax.
        """
        if not isinstance(max_batch_size, int) or max_batch_size < 1:
            raise BadInput(f"max_batch_size must be 1 or more, not {max_batch_size!r}")
        opened = load_bilm(directory, softmax=full)
        for note in opened.notes:
            warnings.warn(note, stacklevel=2)
        text = convert(opened.text["settings"], TextSettings, opened.path / "text.json") if opened.text else None
        bilm = opened.bilm
        # without the path where the softmax is wanted: by its path it would be pickled as a model without one
        path = None if full else opened.path
        self._embedder = Embedder(bilm, text, state="carry", facts=opened.facts, path=path)
        self.batch_size, self.vector_size, self.n_layers = max_batch_size, bilm.width, bilm.n_layers
        self.max_chars = bilm.settings.characters.maximum + 2
        self.vocab = [*_SPECIAL, *bilm.words] if bilm.softmax is not None else None
        return "The model is now loaded."

    def get_elmo_vectors(
        self, texts: Texts, warmup: bool = True, layers: LayersOf = "average", session: object = None
    ) -> NDArray[np.float64]:
        """[n_texts, longest, width], or [n_texts, n_layers, longest, width] for layers="all".

        Texts are read in batches of `max_batch_size` in their order. The state is zero at first (with a session, which
        may be any object, it goes on from the call before) and goes on from row to row; warmup: the first batch is read
        once before, for nothing but its state. Behind the end of a text stand zeros; but models of bilm-tf that read
        bytes have a constant in layer 0 there, up to the longest text of the batch, as in the original.
        """
        found = list(self._batches(texts, warmup, layers, session))
        longest = max((array.shape[-2] for batch in found for array in batch), default=0)
        n, embedder = sum(map(len, found)), self._loaded()
        shape = (n, embedder.n_layers, longest) if layers == "all" else (n, longest)
        vectors = np.zeros((*shape, embedder.width))
        nothing, at = self._nothing(layers), 0
        for batch in found:
            widest = max(array.shape[-2] for array in batch)
            for row, array in zip(vectors[at:], batch, strict=False):
                length = array.shape[-2]
                row[..., :length, :] = array
                row[..., length:widest, :] = nothing
            at += len(batch)
        return vectors

    def get_elmo_vector_average(
        self,
        texts: Texts,
        warmup: bool = True,
        layers: LayersOf = "average",
        session: object = None,
        *,
        unit: bool = True,
    ) -> NDArray[np.float64]:
        """The mean of each text's words, [n_texts, width], or [n_texts, n_layers, width] for layers="all"; zeros for a
        text without words.

        unit: divided by its Euclidean length (of all layers together), as the original always did. Two faults of it are
        put right: places behind the end of a text have no part in the mean, and layers are not mixed up with words.
        """
        means = [
            array.astype(np.float64).sum(-2) / max(1, array.shape[-2])
            for batch in self._batches(texts, warmup, layers, session)
            for array in batch
        ]
        embedder = self._loaded()
        shape = (embedder.n_layers, embedder.width) if layers == "all" else (embedder.width,)
        vectors = np.array(means).reshape(len(means), *shape)
        if unit:
            axes = tuple(range(1, vectors.ndim))
            lengths = np.sqrt(np.square(vectors).sum(axes, keepdims=True))
            vectors /= np.where(lengths, lengths, 1.0)
        return vectors

    def get_elmo_substitutes(self, data: Texts, topn: int = 3, nodelimiters: bool = True) -> list[list[dict[str, Any]]]:
        """For each word of each text {"word", "forward": {...}, "backward": {...}}: what the language model expects in
        its place from the words before it, and from the words after it.

        A direction has `candidates` (numbers in `vocab`), `candidate_words` and `logp`, natural logarithms of their
        probabilities, `topn` of them, the most likely first. nodelimiters: without the marks of sentences and unknown
        words; what is left is not scaled up. The original looked at one neighbour only, gave unscaled scores in no
        order, and lost texts; here every text is read whole, from the zero state. Raises BadInput for a model that was
        loaded without its softmax.
        """
        bilm = self._loaded().bilm
        if bilm.softmax is None:
            raise BadInput("no probabilities without the model's softmax: load(..., full=True)", usage=True)
        if not isinstance(topn, int) or topn < 1:
            raise BadInput(f"topn must be 1 or more, not {topn!r}")
        given = self._texts(data)
        return [
            text
            for batch in _chunks(given, self.batch_size or 1)
            for text in self._substitutes(batch, topn, nodelimiters)
        ]

    # How it is done ---------------------------------------------------------------------------------------------------

    def _loaded(self) -> Embedder:
        if self._embedder is None:
            raise BadInput("no model: call load(directory) first", usage=True)
        return self._embedder

    def _texts(self, texts: Texts) -> list[list[str]]:
        """Texts as lists of words, whichever way they came."""
        self._loaded()
        if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
            raise BadInput(f"a list of texts is due, not one {type(texts).__name__}")
        given = [text.split() if isinstance(text, str) else text for text in texts]
        return list(checked(given, empty=True))

    def _batches(self, texts: Texts, warmup: bool, layers: LayersOf, session: object) -> Iterator[list[Vectors]]:
        """Vectors of each text, batch by batch: [n_words, width], or [n_layers, n_words, width] for "all"."""
        check_choice("layers", layers, LayersOf)
        embedder, given = self._loaded(), self._texts(texts)
        if session is None:
            embedder.reset()
        picked: Any = {"average": None, "top": embedder.n_layers - 1, "all": "all"}[layers]
        found = embedder.embed_iter(given, layers=picked, warmup=warmup, batch_size=self.batch_size)
        while batch := list(islice(found, self.batch_size)):
            yield batch

    def _nothing(self, layers: LayersOf) -> NDArray[Any]:
        """What stands behind the end of a text, broadcast over the words: bilm-tf's word that is not there."""
        embedder = self._loaded()
        bilm, found = embedder.bilm, np.zeros((embedder.n_layers, 1, embedder.width))
        reads = bilm.settings.characters
        if reads.filters and reads.unit == "byte" and reads.padded and not bilm.settings.word_table:
            with torch.no_grad():
                found[0, 0] = bilm.tokens.nothing().repeat(2).numpy()
        return found if layers == "all" else found[-1] if layers == "top" else np.asarray(found.mean(0))

    def _substitutes(self, batch: list[list[str]], topn: int, nodelimiters: bool) -> list[list[dict[str, Any]]]:
        embedder, vocab = self._loaded(), self.vocab or []
        bilm, forms = embedder.bilm, [embedder.normalised(words) if words else [] for words in batch]
        with torch.no_grad():
            before, after = _expecting(bilm, forms)
            best = [_best(bilm, hidden, topn, nodelimiters) for hidden in (before, after)]
        places = ({"forward": forward, "backward": backward} for forward, backward in zip(*best, strict=True))
        return [[{"word": word, **_named(next(places), vocab)} for word in words] for words in batch]


def _expecting(bilm: BiLM, sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
    """What the top layer has read before each word and after it, [n_words, P] each, sentence after sentence."""
    distinct = {word: row for row, word in enumerate(dict.fromkeys(w for s in sentences for w in s), FIRST_WORD)}
    table = torch.cat([encode(bilm, None), encode(bilm, list(distinct))])
    rows = [torch.tensor([distinct[word] for word in s], dtype=torch.int64) for s in sentences]
    layers, _ = layers_of(bilm, table, rows, marks=True)
    forward, backward = layers[-1].chunk(2, dim=-1)
    lengths = [len(s) + 2 for s in sentences]
    return (
        torch.cat([part[:-2] for part in unpack(forward, lengths)]),
        torch.cat([part[2:] for part in unpack(backward, lengths)]),
    )


def _best(bilm: BiLM, hidden: Tensor, topn: int, nodelimiters: bool) -> list[dict[str, Any]]:
    """The most likely words at each place [n, P]: numbers in the vocabulary, and log probabilities."""
    softmax, special = bilm.predictor(), list(_SPECIAL.values())
    order = torch.tensor([*special, *range(len(special), len(bilm.words) + len(special))])
    found: list[dict[str, Any]] = []
    for part in torch.split(hidden, _AT_ONCE):
        logs = softmax.log_probabilities(part)[:, order]
        if nodelimiters:
            logs = logs[:, len(special) :]
        values, numbers = logs.topk(min(topn, logs.shape[1]))
        if nodelimiters:
            numbers = numbers + len(special)
        pairs = zip(numbers.tolist(), values.tolist(), strict=True)
        found += [{"candidates": candidates, "logp": logp} for candidates, logp in pairs]
    return found


def _named(place: dict[str, dict[str, Any]], vocab: Sequence[str]) -> dict[str, dict[str, Any]]:
    return {
        way: {
            "candidates": one["candidates"],
            "candidate_words": [vocab[number] for number in one["candidates"]],
            "logp": one["logp"],
        }
        for way, one in place.items()
    }


def _chunks(texts: list[list[str]], size: int) -> Iterator[list[list[str]]]:
    return (texts[begin : begin + size] for begin in range(0, len(texts), size))
