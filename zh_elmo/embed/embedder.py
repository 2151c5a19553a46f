"""Words to vectors with a biLM: the same for a sentence whatever stands beside it, or with state as in old programs."""

from __future__ import annotations

import copy
import hashlib
import json
import operator
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor

from zh_elmo.embed.encodings import Encodings
from zh_elmo.embed.known import Folding, is_cut
from zh_elmo.embed.layers import FIRST_WORD, first_rows, layers_of, put_rows, two_way_padded, unpack
from zh_elmo.embed.mix import checked_weights, mix
from zh_elmo.embed.words import AsGiven, check_choice, checked
from zh_elmo.files import BadInput
from zh_elmo.formats.digest import digest as digest_of
from zh_elmo.formats.find import load_bilm
from zh_elmo.formats.opened import Opened
from zh_elmo.lm.lstm import State
from zh_elmo.lm.model import BiLM
from zh_elmo.recipe import convert, plain
from zh_elmo.text.pipeline import Pipeline, TextSettings, Word

Vectors = NDArray[Any]  # float32, or float64 where it was asked for
Mix = Literal["mean"] | Sequence[float]
Layers = Literal["all"] | int | None
Dtype = Literal["float32", "float64"]
Normalize = Literal["model", "auto"] | None
StateRule = Literal["reset", "carry"]
_DTYPES = {"float32": torch.float32, "float64": torch.float64}
_ROWS = 512  # sentences that are read side by side at the most
_WINDOW = 4  # batches' worth of words that are looked at together, so that sentences of like length meet
_CARRIED = 64  # sentences of a batch in `embed_iter` with carried state: AllenNLP's and ELMoForManyLangs' number
BATCH_WORDS = 4096
CACHED_WORDS = 30_000


class _How(NamedTuple):
    """What a call asks for."""

    pick: Callable[[Tensor], Tensor]  # makes of [n_layers, n, width] that which was asked for
    marks: bool
    warmup: bool
    batch_words: int


class WordVector(NamedTuple):
    """A word of raw text."""

    form: str  # normalised
    span: tuple[int, int]  # raw[start:end], in code points
    vector: Vectors


class Embedder:
    """A biLM that gives vectors. `zh_elmo.load(path)` makes one.

    Each sentence stands between `<s>` and `</s>`. With state="reset" the state is zero before each of them; with
    state="carry" it goes on as in the programs of old: row i of a batch begins with the state that row i of the batch
    before it ended with, from call to call, rows that a batch lacks keep theirs, and rows beyond begin with zero.
    Nothing is learned here, and the biLM must stay as it is: encodings of words are kept from call to call
    (`cached_words` of them at the most).
    """

    def __init__(
        self,
        bilm: BiLM,
        text: TextSettings | None = None,
        *,
        dtype: Dtype = "float32",
        state: StateRule = "reset",
        normalize: Normalize = "model",
        facts: dict[str, Any] | None = None,
        path: Path | None = None,
        digest: str | None = None,
        made_with: dict[str, Any] | None = None,
        cached_words: int = CACHED_WORDS,
    ) -> None:
        """`text` says how words are normalised and raw text is segmented, `made_with` by which versions that was done
        for the model's corpus (`text.Pipeline.describe()`); None: nobody knows, and words are taken as they are given.
        normalize="auto" folds words that the model does not know to forms that it does (`embed.known`), None takes all
        words as they are given. `path`: where the model can be loaded from."""
        check_choice("dtype", dtype, Dtype)
        check_choice("state", state, StateRule)
        check_choice("normalize", normalize, Literal["model", "auto", None])
        fits = all(p.dtype == _DTYPES[dtype] for p in bilm.parameters())
        self.bilm = bilm if fits else copy.deepcopy(bilm).to(_DTYPES[dtype])
        self.text, self.state, self.normalize = text, state, normalize
        self.pipeline = Pipeline(text or TextSettings())
        self._forms: Callable[[Sequence[str]], list[str]] = list
        if normalize == "auto":
            self._forms = Folding(bilm)
        elif normalize == "model" and text is not None:
            self._forms = self.pipeline.gold
        elif normalize is None and text is not None and text.script != "keep":
            self._forms = AsGiven(text.script)
        self.dtype, self.facts, self.path = dtype, facts or {}, path
        self.width, self.n_layers = bilm.width, bilm.n_layers
        self.made_with = made_with or {}
        self._digest, self._cached_words = digest, cached_words
        self._again: dict[str, Any] = {}  # how `load` was called
        self._told_of_cut = False
        self._states: list[State] = []
        with self._at_rest():
            self._encodings = Encodings(self.bilm, cached_words)

    def embed(
        self,
        sentences: Iterable[Sequence[str]],
        *,
        mix: Mix = "mean",
        layers: Layers = None,
        normalize: bool = True,
        batch_words: int = BATCH_WORDS,
        marks: bool = False,
        warmup: bool = False,
        batch_size: int | None = None,
    ) -> list[Vectors]:
        """One array a sentence, in the order of the input: [n_words, width], or [n_layers, n_words, width] for
        `layers="all"`; an empty sentence gives [0, width].

        mix: "mean" of all layers, or a weight for each, taken as it is (no softmax). layers: "all", or the number of
        one (0: token encoding; -1: the top); then `mix` is not looked at. normalize=False takes the words as they
        stand. batch_words: words that are read together; no result depends on it. marks=True: the vectors of `<s>` and
        `</s>` stand around the words'. warmup=True: every sentence begins with the state that it left itself when it
        was read once from zero.
        With state="carry", batch_size is the number of sentences of a batch, in the order of the input (None: all of
        this call), and warmup=True reads the first batch once before, for nothing but its state (simple_elmo's way).
        Raises BadInput for what is not a list of lists of words, and for wrong weights or layers.
        """
        if self.state == "carry" and batch_size is None:
            sentences = list(checked(sentences, empty=self._takes_empty_words()))
            batch_size = max(1, len(sentences))
        return list(
            self.embed_iter(
                sentences, mix=mix, layers=layers, normalize=normalize, batch_words=batch_words, marks=marks,
                warmup=warmup, batch_size=batch_size,
            )
        )  # fmt: skip

    def embed_iter(
        self,
        sentences: Iterable[Sequence[str]],
        *,
        mix: Mix = "mean",
        layers: Layers = None,
        normalize: bool = True,
        batch_words: int = BATCH_WORDS,
        marks: bool = False,
        warmup: bool = False,
        batch_size: int | None = None,
    ) -> Iterator[Vectors]:
        """Like `embed`, lazily and in bounded memory for any number of sentences, without end too; with state="carry"
        in batches of 64 unless batch_size says otherwise."""
        how = _How(self._picker(mix, layers), marks, warmup, batch_words)
        if not isinstance(batch_words, int) or batch_words < 1:
            raise BadInput(f"batch_words must be 1 or more, not {batch_words!r}")
        if batch_size is not None and (not isinstance(batch_size, int) or batch_size < 1):
            raise BadInput(f"batch_size must be 1 or more, not {batch_size!r}")
        if batch_size is not None and self.state == "reset":
            raise BadInput('batch_size belongs to state="carry"; with state="reset" no vector depends on batches')
        words = checked(sentences, empty=self._takes_empty_words())
        forms = map(self.normalised, words) if normalize else words
        return self._windows(forms, how) if self.state == "reset" else self._carried(forms, how, batch_size or _CARRIED)

    def reset(self) -> None:
        """Set the carried state to zero."""
        self._states = []

    @property
    def states(self) -> list[State]:
        """The carried state, one for each LSTM layer: h [2, rows, P] and c [2, rows, C], forward direction first."""
        return [State(state.h.clone(), state.c.clone()) for state in self._states]

    def embed_text(self, raw: str, *, mix: Mix = "mean", layers: Layers = None) -> Iterator[WordVector]:
        """Raw text of any length -> (form, (start, end), vector) of each word, in order.

        The text is normalised and split into sentences and words as the model's own corpus was (see `cut`);
        raw[start:end] is what the word was made of. vector: [width], or [n_layers, width] for `layers="all"`. Warns
        where another version of the segmenter or of the conversion is installed than the corpus was made with.
        """
        if not isinstance(raw, str):
            raise BadInput(f"raw text (str) is due, not {type(raw).__name__}; for lists of words there is embed")
        pick = self._picker(mix, layers)
        if self.text is None:
            cutter = self.pipeline.settings.segmenter
            message = f"raw text is cut into words by {cutter}, and nobody says how this model's corpus was"
            warnings.warn(f"{message}; words of your own cutting may fit it better", stacklevel=2)
        self.compare_versions()
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
        told = plain(self.text) if self.normalize == "model" else self.normalize
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    def normalised(self, words: Sequence[str]) -> list[str]:
        """Words of a sentence as the model is to see them; their number stays."""
        return self._forms(words)

    def cut(self, raw: str) -> list[list[Word]]:
        """Raw text as sentences of words with their places: cut as the model's corpus was, or by default settings where
        nobody knows how; the forms are as the model is to see them."""
        cut = self.pipeline.sentences(raw)
        if self._forms == self.pipeline.gold:
            return cut  # so they are already
        return [
            [
                word._replace(form=form)
                for word, form in zip(sentence, self._forms([raw[w.start : w.end] for w in sentence]), strict=True)
            ]
            for sentence in cut
        ]

    def __repr__(self) -> str:
        where = f" from {self.path}" if self.path else ""
        return f"<Embedder{where}: {self.n_layers} layers of {self.width} numbers, {self.dtype}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Embedder:
        if self.state == "reset":
            return self  # nothing in it changes what it gives
        twin = copy.copy(self)  # of one biLM, with a state of its own
        twin._states = self.states
        return twin

    def __copy__(self) -> Embedder:
        twin = Embedder.__new__(Embedder)
        twin.__dict__.update(self.__dict__)
        return twin

    def __setstate__(self, states: list[State]) -> None:
        self._states = states

    def __reduce__(self) -> tuple[Callable[..., Embedder], tuple[Any, ...], list[State] | None]:
        options = {
            "dtype": self.dtype, "state": self.state, "normalize": self.normalize, "cached_words": self._cached_words
        }  # fmt: skip
        states = self._states or None
        if self.path is not None:
            return _loaded_again, (str(self.path.absolute()), {**options, **self._again}, self.digest), states
        return _rebuilt, (self.bilm, self.text, {**options, "facts": self.facts, "made_with": self.made_with}), states

    # How it is done ---------------------------------------------------------------------------------------------------

    def _picker(self, mixed: Mix, layers: Layers) -> Callable[[Tensor], Tensor]:
        """What makes of [n_layers, n, width] that which was asked for."""
        if layers is not None:
            if layers == "all":
                return lambda stacked: stacked
            number = _whole(layers)
            if number is None or not -self.n_layers <= number < self.n_layers:
                upper = self.n_layers - 1
                raise BadInput(f'layers must be "all" or a number from 0 to {upper} (-1: the top), not {layers!r}')
            return lambda stacked: stacked[number]
        if isinstance(mixed, str):
            if mixed != "mean":
                raise BadInput(f'mix must be "mean" or {self.n_layers} weights, not {mixed!r}')
            return lambda stacked: stacked.mean(0)
        weights = checked_weights(mixed, self.n_layers)
        return lambda stacked: mix(stacked, weights)

    def _takes_empty_words(self) -> bool:
        return self._forms is list

    def _windows(self, sentences: Iterator[list[str]], how: _How) -> Iterator[Vectors]:
        window: list[list[str]] = []
        total = 0
        for sentence in sentences:
            window.append(sentence)
            total += len(sentence) + 1
            if total >= _WINDOW * how.batch_words:
                yield from self._window(window, how)
                window, total = [], 0
        yield from self._window(window, how)

    def _window(self, sentences: list[list[str]], how: _How) -> list[Vectors]:
        """Vectors of some sentences, read in batches of like length, longest first, each from the zero state."""
        found: dict[int, Vectors] = {}
        with self._at_rest():
            table, rows = self._looked_up(sentences)
            nothing = how.pick(table.new_zeros(self.n_layers, 0, self.width)).numpy()
            order = sorted(range(len(sentences)), key=lambda i: -len(sentences[i]))
            order = [i for i in order if sentences[i] or how.marks]
            while order:
                number = min(max(1, how.batch_words // (len(sentences[order[0]]) + 1)), _ROWS)
                batch, order = order[:number], order[number:]
                parts = [rows[i] for i in batch]
                states = layers_of(self.bilm, table, parts, marks=True)[1] if how.warmup else None
                layers, _ = layers_of(self.bilm, table, parts, states=states or None, marks=how.marks)
                found.update(zip(batch, self._apart(layers, parts, how), strict=True))
        return [found[i] if i in found else nothing.copy() for i in range(len(sentences))]

    def _carried(self, sentences: Iterator[list[str]], how: _How, batch_size: int) -> Iterator[Vectors]:
        """Vectors of batches in the order of the input, with the state going on from row to row."""
        first = how.warmup
        while batch := list(islice(sentences, batch_size)):
            with self._at_rest():
                table, rows = self._looked_up(batch)
                if self.bilm.settings.lstm == "two-way":
                    padding = self.bilm.encode(self.bilm.padding())[0]
                    layers = two_way_padded(self.bilm, table, padding, rows, marks=how.marks)
                else:
                    for _ in range(1 + first):
                        states = first_rows(self.bilm, self._states, len(rows))
                        layers, ends = layers_of(self.bilm, table, rows, states=states, marks=how.marks)
                        self._states = put_rows(self._states, ends)
                    first = False
                vectors = self._apart(layers, rows, how)
            yield from vectors

    def _looked_up(self, sentences: list[list[str]]) -> tuple[Tensor, list[Tensor]]:
        """A table of encodings, and the rows of it that each sentence is."""
        distinct = {word: row for row, word in enumerate(dict.fromkeys(w for s in sentences for w in s), FIRST_WORD)}
        self._tell_of_cut(distinct)
        table = self._encodings.table(list(distinct))
        return table, [torch.tensor([distinct[word] for word in s], dtype=torch.int64) for s in sentences]

    def _apart(self, layers: Tensor, rows: list[Tensor], how: _How) -> list[Vectors]:
        # copies: a sentence that is kept must not keep its batch in memory
        lengths = [len(row) + 2 * how.marks for row in rows]
        return [part.clone().numpy() for part in unpack(how.pick(layers), lengths)]

    def _tell_of_cut(self, words: Iterable[str]) -> None:
        """Say once that words are cut, in models that cut them late enough for nobody to expect it."""
        characters = self.bilm.settings.characters
        if self._told_of_cut or not (characters.padded or characters.unit == "byte"):
            return
        cut = [word for word in words if is_cut(self.bilm, word)]
        if cut:
            self._told_of_cut = True
            warnings.warn(
                f"the model reads {characters.maximum} {characters.unit}s of a word at the most; the rest is cut off, "
                f"here in {len(cut)} words such as {cut[0][:20]!r}",
                stacklevel=4,
            )

    def _text_vectors(self, raw: str, pick: Callable[[Tensor], Tensor]) -> Iterator[WordVector]:
        waiting: deque[tuple[int, list[Word]]] = deque()  # sentences on their way, and where their line begins

        def forms() -> Iterator[list[str]]:
            start = 0
            for line in raw.split("\n"):  # a line feed always ends a sentence
                for sentence in self.cut(line):
                    waiting.append((start, sentence))
                    yield [word.form for word in sentence]
                start += len(line) + 1

        how = _How(pick, marks=False, warmup=False, batch_words=BATCH_WORDS)
        reading = self._windows(forms(), how) if self.state == "reset" else self._carried(forms(), how, _CARRIED)
        for vectors in reading:
            start, sentence = waiting.popleft()
            for number, word in enumerate(sentence):
                yield WordVector(word.form, (start + word.start, start + word.end), vectors[..., number, :])

    def compare_versions(self) -> None:
        """Warn where raw text is cut here by another version than the model's corpus was."""
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


def _whole(number: Any) -> int | None:
    """A whole number of Python or numpy; None for anything else."""
    try:
        return None if isinstance(number, bool) else operator.index(number)
    except TypeError:
        return None


def _named(version: Any) -> str:
    return " ".join(map(str, version.values())) if isinstance(version, dict) else str(version)


def load(
    path: str | Path,
    *,
    dtype: Dtype = "float32",
    state: StateRule = "reset",
    normalize: Normalize = "model",
    cached_words: int = CACHED_WORDS,
    options: str | Path | None = None,
    weights: str | Path | None = None,
    vocabulary: str | Path | None = None,
    embedding: str | Path | None = None,
) -> Embedder:
    """The model at `path` as an Embedder: a model of ours, of ELMoForManyLangs, of bilm-tf (weights or training
    checkpoint), AllenNLP, TensorFlow Hub, or an archive of the NLPL repository, found by looking at the files.

    state: "reset", each sentence from zero; "carry", as those programs do it (see `Embedder`). normalize: "model", as
    the model's corpus was normalised, which for models of other programs means words as they are given; "auto", words
    that the model does not know in another width or script that it does (`embed.known`); None, as they are given.
    `options`, `weights`, `vocabulary` and `embedding` name files of a bilm-tf or AllenNLP model outright, where their
    folder leaves a choice; with an `embedding` file (and its vocabulary) words are looked up in it.
    Raises BadInput where there is no model, or a damaged one.
    """
    if not isinstance(path, str | Path):
        raise BadInput(f"the path of a model (str or Path) is due, not {type(path).__name__}", usage=True)
    named = {"options": options, "weights": weights, "vocabulary": vocabulary, "embedding": embedding}
    files = {what: Path(file) for what, file in named.items() if file is not None}
    model = load_bilm(path, words=normalize == "auto", files=files)
    for note in model.notes:
        warnings.warn(note, stacklevel=2)
    embedder = of_opened(model, dtype=dtype, state=state, normalize=normalize, cached_words=cached_words)
    embedder._again = {what: str(file.absolute()) for what, file in files.items()}
    return embedder


def of_opened(
    model: Opened,
    *,
    dtype: Dtype = "float32",
    state: StateRule = "reset",
    normalize: Normalize = "model",
    cached_words: int = CACHED_WORDS,
) -> Embedder:
    """A model that was opened already (`formats.find.load_bilm`) as an Embedder; see `load`."""
    return Embedder(
        model.bilm,
        convert(model.text["settings"], TextSettings, model.path / "text.json") if model.text else None,
        dtype=dtype,
        state=state,
        normalize=normalize,
        facts=model.facts,
        path=model.path,
        digest=model.digest,
        made_with=model.text,
        cached_words=cached_words,
    )


def _loaded_again(path: str, options: dict[str, Any], digest: str) -> Embedder:
    """An Embedder that was pickled by its path."""
    embedder = load(path, **options)
    if embedder.digest != digest:
        raise BadInput("another model lies here than when the object was pickled", path=path)
    return embedder


def _rebuilt(bilm: BiLM, text: TextSettings | None, options: dict[str, Any]) -> Embedder:
    return Embedder(bilm, text, **options)
