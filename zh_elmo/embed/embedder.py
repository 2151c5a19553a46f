"""Words to vectors with a biLM: the same vectors for a sentence whatever stands beside it or came before."""

from __future__ import annotations

import copy
import hashlib
import json
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor

from zh_elmo.embed.encodings import Encodings
from zh_elmo.embed.layers import FIRST_WORD, layers_of, unpack
from zh_elmo.embed.mix import checked_weights, mix
from zh_elmo.embed.words import checked
from zh_elmo.files import BadInput
from zh_elmo.formats.digest import digest as digest_of
from zh_elmo.formats.find import load_bilm
from zh_elmo.lm.model import BiLM
from zh_elmo.recipe import convert, plain
from zh_elmo.text.pipeline import Pipeline, TextSettings, Word

Vectors = NDArray[Any]  # float32, or float64 where it was asked for
Mix = Literal["mean"] | Sequence[float]
Layers = Literal["all"] | int | None
Dtype = Literal["float32", "float64"]
_DTYPES = {"float32": torch.float32, "float64": torch.float64}
_ROWS = 512  # sentences that are read side by side at the most
_WINDOW = 4  # batches' worth of words that are looked at together, so that sentences of like length meet
BATCH_WORDS = 4096
CACHED_WORDS = 30_000


class WordVector(NamedTuple):
    """A word of raw text."""

    form: str  # normalised
    span: tuple[int, int]  # raw[start:end], in code points
    vector: Vectors


class Embedder:
    """A biLM that gives vectors. `zh_elmo.load(path)` makes one.

    The state is zero before each sentence, which stands between `<s>` and `</s>`. Nothing is learned here, and the
    biLM must stay as it is: encodings of words are kept from call to call (`cached_words` of them at the most).
    """

    def __init__(
        self,
        bilm: BiLM,
        text: TextSettings | None = None,
        *,
        dtype: Dtype = "float32",
        facts: dict[str, Any] | None = None,
        path: Path | None = None,
        digest: str | None = None,
        made_with: dict[str, Any] | None = None,
        cached_words: int = CACHED_WORDS,
    ) -> None:
        """`text` says how words are normalised and raw text is segmented, `made_with` by which versions that was done
        for the model's corpus (`text.Pipeline.describe()`), `path` where the model can be loaded from."""
        if dtype not in _DTYPES:
            raise BadInput(f"dtype must be float32 or float64, not {dtype!r}")
        fits = all(p.dtype == _DTYPES[dtype] for p in bilm.parameters())
        self.bilm = bilm if fits else copy.deepcopy(bilm).to(_DTYPES[dtype])
        self.text = text or TextSettings()
        self.pipeline = Pipeline(self.text)
        self.dtype, self.facts, self.path = dtype, facts or {}, path
        self.width, self.n_layers = bilm.width, bilm.n_layers
        self.made_with = made_with or {}
        self._digest, self._cached_words = digest, cached_words
        with self._at_rest():
            self._encodings = Encodings(self.bilm, cached_words)

    def embed(
        self,
        sentences: Iterable[Sequence[str]],
        *,
        mix: Mix = "mean",
        layers: Layers = None,
        normalise: bool = True,
        batch_words: int = BATCH_WORDS,
    ) -> list[Vectors]:
        """One array a sentence, in the order of the input: [n_words, width], or [n_layers, n_words, width] for
        `layers="all"`; an empty sentence gives [0, width].

        mix: "mean" of all layers, or a weight for each, taken as it is (no softmax). layers: "all", or the number of
        one (0: token encoding; -1: the top); then `mix` is not looked at. normalise=False takes the words as they
        stand. batch_words: words, padding included, that are read together; no result depends on it.
        Raises BadInput for what is not a list of lists of words, and for wrong weights or layers.
        """
        return list(self.embed_iter(sentences, mix=mix, layers=layers, normalise=normalise, batch_words=batch_words))

    def embed_iter(
        self,
        sentences: Iterable[Sequence[str]],
        *,
        mix: Mix = "mean",
        layers: Layers = None,
        normalise: bool = True,
        batch_words: int = BATCH_WORDS,
    ) -> Iterator[Vectors]:
        """Like `embed`, lazily and in bounded memory for any number of sentences, without end too."""
        pick = self._picker(mix, layers)
        if not isinstance(batch_words, int) or batch_words < 1:
            raise BadInput(f"batch_words must be 1 or more, not {batch_words!r}")
        words = checked(sentences)
        return self._windows(words, pick, normalise, batch_words)

    def embed_text(self, raw: str, *, mix: Mix = "mean", layers: Layers = None) -> Iterator[WordVector]:
        """Raw text of any length -> (form, (start, end), vector) of each word, in order.

        The text is normalised and split into sentences and words as the model's own corpus was; raw[start:end] is what
        the word was made of. vector: [width], or [n_layers, width] for `layers="all"`. Warns where another version of
        the segmenter or of the conversion is installed than the corpus was made with.
        """
        if not isinstance(raw, str):
            raise BadInput(f"raw text (str) is due, not {type(raw).__name__}; for lists of words there is embed")
        pick = self._picker(mix, layers)
        self._compare_versions()
        return self._text_vectors(raw, pick)

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[Vectors]:
        """All layers, [n_layers, n_words, width] a sentence: what taggers, parsers and `Elmo` ask for."""
        return self.embed(sentences, layers="all")

    @property
    def digest(self) -> str:
        """Names the weights, characters and words that the vectors depend on (`formats.digest`)."""
        if self._digest is None:
            self._digest = digest_of(self.bilm)
        return self._digest

    @property
    def text_digest(self) -> str:
        """Names the normalisation of words, on which vectors depend as well."""
        return hashlib.sha256(json.dumps(plain(self.text), sort_keys=True).encode()).hexdigest()

    def normalised(self, words: Sequence[str]) -> list[str]:
        """Words of a sentence as the model's corpus has them; their number stays."""
        return self.pipeline.gold(words)

    def __repr__(self) -> str:
        where = f" from {self.path}" if self.path else ""
        return f"<Embedder{where}: {self.n_layers} layers of {self.width} numbers, {self.dtype}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Embedder:
        return self  # nothing in it changes what it gives

    def __reduce__(self) -> tuple[Callable[..., Embedder], tuple[Any, ...]]:
        if self.path is not None:
            return _again, (str(self.path.absolute()), self.dtype, self.digest, self._cached_words)
        options = {"facts": self.facts, "made_with": self.made_with, "cached_words": self._cached_words}
        return _rebuilt, (self.bilm, self.text, {"dtype": self.dtype, **options})

    # How it is done ---------------------------------------------------------------------------------------------------

    def _picker(self, mixed: Mix, layers: Layers) -> Callable[[Tensor], Tensor]:
        """What makes of [n_layers, n, width] that which was asked for."""
        if layers is not None:
            if layers == "all":
                return lambda stacked: stacked
            if isinstance(layers, bool) or not isinstance(layers, int) or not -self.n_layers <= layers < self.n_layers:
                raise BadInput(f'layers must be "all" or a number from 0 to {self.n_layers - 1}, not {layers!r}')
            return lambda stacked: stacked[layers]
        if isinstance(mixed, str):
            if mixed != "mean":
                raise BadInput(f'mix must be "mean" or {self.n_layers} weights, not {mixed!r}')
            return lambda stacked: stacked.mean(0)
        weights = checked_weights(mixed, self.n_layers)
        return lambda stacked: mix(stacked, weights)

    def _windows(
        self, sentences: Iterator[list[str]], pick: Callable[[Tensor], Tensor], normalise: bool, batch_words: int
    ) -> Iterator[Vectors]:
        window: list[list[str]] = []
        total = 0
        for sentence in sentences:
            window.append(self.normalised(sentence) if normalise else sentence)
            total += len(sentence) + 1
            if total >= _WINDOW * batch_words:
                yield from self._window(window, pick, batch_words)
                window, total = [], 0
        yield from self._window(window, pick, batch_words)

    def _window(self, sentences: list[list[str]], pick: Callable[[Tensor], Tensor], batch_words: int) -> list[Vectors]:
        """Vectors of some sentences, read in batches of like length, longest first."""
        distinct = {word: row for row, word in enumerate(dict.fromkeys(w for s in sentences for w in s), FIRST_WORD)}
        found: dict[int, Vectors] = {}
        with self._at_rest():
            table = self._encodings.table(list(distinct))
            nothing = pick(table.new_zeros(self.n_layers, 0, self.width)).numpy()
            order = [i for i in sorted(range(len(sentences)), key=lambda i: -len(sentences[i])) if sentences[i]]
            while order:
                number = min(max(1, batch_words // (len(sentences[order[0]]) + 1)), _ROWS)
                batch, order = order[:number], order[number:]
                rows = [torch.tensor([distinct[word] for word in sentences[i]]) for i in batch]
                layers = pick(layers_of(self.bilm, table, rows))
                # copies: a sentence that is kept must not keep its batch in memory
                vectors = [part.clone().numpy() for part in unpack(layers, [len(r) for r in rows])]
                found.update(zip(batch, vectors, strict=True))
        return [found[i] if i in found else nothing.copy() for i in range(len(sentences))]

    def _text_vectors(self, raw: str, pick: Callable[[Tensor], Tensor]) -> Iterator[WordVector]:
        waiting: deque[tuple[int, list[Word]]] = deque()  # sentences on their way, and where their line begins

        def forms() -> Iterator[list[str]]:
            start = 0
            for line in raw.split("\n"):  # a line feed always ends a sentence
                for sentence in self.pipeline.sentences(line):
                    waiting.append((start, sentence))
                    yield [word.form for word in sentence]
                start += len(line) + 1

        for vectors in self._windows(forms(), pick, normalise=False, batch_words=BATCH_WORDS):
            start, sentence = waiting.popleft()
            for number, word in enumerate(sentence):
                yield WordVector(word.form, (start + word.start, start + word.end), vectors[..., number, :])

    def _compare_versions(self) -> None:
        now = self.pipeline.describe()
        for what in ("segmenter", "opencc"):
            then = self.made_with.get(what)
            if then is not None and then != now.get(what):
                warnings.warn(
                    f"the model's corpus was made with {what} {_named(then)}, this text with {_named(now.get(what))}: "
                    "some words may be others than the model knows",
                    stacklevel=3,
                )

    @contextmanager
    def _at_rest(self) -> Iterator[None]:
        """No gradients, no dropout; the biLM is handed back in the mode it was in."""
        was_training = self.bilm.training
        self.bilm.eval()
        try:
            with torch.no_grad():
                yield
        finally:
            self.bilm.train(was_training)


def _named(version: Any) -> str:
    return " ".join(map(str, version.values())) if isinstance(version, dict) else str(version)


def load(path: str | Path, *, dtype: Dtype = "float32", cached_words: int = CACHED_WORDS) -> Embedder:
    """The model at `path` as an Embedder. Raises BadInput where there is none, or a damaged one."""
    if not isinstance(path, str | Path):
        raise BadInput(f"the path of a model (str or Path) is due, not {type(path).__name__}", usage=True)
    model = load_bilm(path)
    return Embedder(
        model.bilm,
        convert(model.text["settings"], TextSettings, model.path / "text.json"),
        dtype=dtype,
        facts=model.facts,
        path=model.path,
        digest=model.digest,
        made_with=model.text,
        cached_words=cached_words,
    )


def _again(path: str, dtype: Dtype, digest: str, cached_words: int) -> Embedder:
    """An Embedder that was pickled by its path."""
    embedder = load(path, dtype=dtype, cached_words=cached_words)
    if embedder.digest != digest:
        raise BadInput("another model lies here than when the object was pickled", path=path)
    return embedder


def _rebuilt(bilm: BiLM, text: TextSettings, options: dict[str, Any]) -> Embedder:
    return Embedder(bilm, text, **options)
