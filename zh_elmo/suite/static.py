"""Skip-gram vectors of a corpus (gensim), the arm `static`: one vector a word type, trained on the text of `elmo`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from zh_elmo.corpus.store import DOCUMENT_END, SENTENCE_END, Corpus
from zh_elmo.files import BadInput, building, existing, lines, read_json, write_json, write_text
from zh_elmo.progress import Progress
from zh_elmo.recipe import Amount, Count, Positive, Settings, Size, convert, plain
from zh_elmo.text.pipeline import Pipeline, TextSettings

_BLOCK = 1 << 20  # ids of a corpus that are looked at together


class StaticSettings(Settings):
    """`[static]`: skip-gram with negative sampling (Mikolov et al. 2013)."""

    width: Size = 100
    window: Size = 5
    negatives: Size = 5
    epochs: Size = 5
    minimum_count: Size = 2  # rarer words have no vector
    subsample: Amount = 1e-3
    learning_rate: Positive = 0.025
    seed: Count = 1


class StaticVectors:
    """One vector of a word type wherever it stands; a word without one gets zeros. A `zh_elmo.ud.inputs.Vectors`."""

    n_layers = 1

    def __init__(self, words: Sequence[str], vectors: np.ndarray, text: TextSettings) -> None:
        """`vectors` is float32 [len(words), width]; `text` is how the words of their corpus were normalised."""
        self.rows = {word: row for row, word in enumerate(words)}
        self.vectors = np.concatenate([vectors, np.zeros((1, vectors.shape[1]), np.float32)])
        self.width = int(vectors.shape[1])
        self.pipeline = Pipeline(text)

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """float32 [1, n_words, width] for each sentence of words as they stand in the treebank."""
        absent = len(self.rows)
        found = []
        for sentence in sentences:
            rows = [self.rows.get(word, absent) for word in self.pipeline.gold(sentence)]
            found.append(self.vectors[np.asarray(rows, np.int64)][None])
        return found

    @classmethod
    def open(cls, folder: Path) -> StaticVectors:
        """What `train` wrote; raises BadInput where it is missing or damaged."""
        facts = read_json(existing(folder / "static.json", "folder of static vectors"))
        words = [word for _, word in lines(folder / "words.txt")]
        try:
            vectors = load_file(folder / "vectors.safetensors")["vectors"]
        except Exception as error:
            raise BadInput(f"not vectors that can be read ({error})", path=folder) from None
        if len(words) != len(vectors):
            raise BadInput(f"{len(words):,} words for {len(vectors):,} vectors", path=folder)
        return cls(words, vectors, convert(facts["text"], TextSettings, folder / "static.json"))


def train(corpus_folder: str | Path, settings: StaticSettings, folder: str | Path) -> dict[str, Any]:
    """Train skip-gram vectors on the training part of a corpus and write them to `folder`; gives facts about them.

    One thread and a fixed seed, so the same bytes each time. Vectors that lie there already are used when they come
    from the same corpus and settings. Raises BadInput without gensim, or for a corpus with no word frequent enough.
    """
    folder = Path(folder)
    corpus = Corpus.open(Path(corpus_folder))
    made_from = {"corpus": corpus.digest, "settings": plain(settings), "gensim": require_gensim()}
    if (folder / "static.json").is_file():
        facts: dict[str, Any] = read_json(folder / "static.json")
        if {key: facts.get(key) for key in made_from} == made_from:
            return facts
    words, vectors = _skip_gram(corpus, settings)
    facts = made_from | {"words": len(words), "text": plain(text_of(corpus))}
    with building(folder) as beside:
        save_file({"vectors": vectors}, beside / "vectors.safetensors")
        write_text(beside / "words.txt", "".join(f"{word}\n" for word in words))
        write_json(beside / "static.json", facts)
    return facts


def text_of(corpus: Corpus) -> TextSettings:
    """How the words of a corpus were normalised and segmented."""
    return convert(corpus.manifest["text"]["settings"], TextSettings, "manifest.json")


def sentences(corpus: Corpus) -> Iterator[list[str]]:
    """The sentences of the training part, read in blocks."""
    types = np.asarray(corpus.types, dtype=object)
    ids = corpus.ids("train")
    rest = ids[:0]
    for start in range(0, len(ids), _BLOCK):
        block = np.concatenate([rest, ids[start : start + _BLOCK]])
        begin = 0
        for end in np.flatnonzero(block == SENTENCE_END).tolist():
            sentence = block[begin:end]
            begin = end + 1
            yield types[sentence[sentence != DOCUMENT_END]].tolist()
        rest = block[begin:]


def _skip_gram(corpus: Corpus, settings: StaticSettings) -> tuple[list[str], np.ndarray]:
    from gensim.models import Word2Vec

    frequencies = {word: int(count) for word, count in zip(corpus.types, corpus.counts, strict=False) if count > 0}
    if max(frequencies.values(), default=0) < settings.minimum_count:
        raise BadInput(f"no word occurs {settings.minimum_count} times, so there are no vectors to train")
    model = Word2Vec(
        vector_size=settings.width,
        window=settings.window,
        negative=settings.negatives,
        min_count=settings.minimum_count,
        sample=settings.subsample,
        alpha=settings.learning_rate,
        seed=settings.seed,
        sg=1,
        sorted_vocab=0,  # the corpus has them by frequency, with ties in an order that is the same on every machine
        workers=1,
    )
    how_many = int(np.count_nonzero(corpus.ids("train") == SENTENCE_END))
    model.build_vocab_from_freq(frequencies, corpus_count=how_many)
    total = settings.epochs * sum(frequencies.values())
    with Progress("skip-gram vectors", total, unit="words") as progress:
        model.train(_Counted(corpus, progress), total_examples=how_many, epochs=settings.epochs)
    return list(model.wv.index_to_key), np.ascontiguousarray(model.wv.vectors, dtype=np.float32)


class _Counted:
    """The sentences of a corpus, as often as they are asked for, with progress."""

    def __init__(self, corpus: Corpus, progress: Progress) -> None:
        self.corpus, self.progress = corpus, progress

    def __iter__(self) -> Iterator[list[str]]:
        for sentence in sentences(self.corpus):
            self.progress.advance(len(sentence))
            yield sentence


def require_gensim() -> str:
    """The version of gensim; raises BadInput where it is not installed."""
    try:
        return version("gensim")
    except ModuleNotFoundError:
        raise BadInput("the arm static needs gensim; pip install 'zh_elmo[gensim]'", usage=True) from None
