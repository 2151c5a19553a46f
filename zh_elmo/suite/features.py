"""The arm `elmo`: all layers of a biLM for the sentences of a treebank, written once and read by every cell."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zh_elmo.embed.embedder import Embedder, load
from zh_elmo.embed.store import Store
from zh_elmo.files import BadInput
from zh_elmo.progress import Progress

_COMMIT_EVERY = 500  # sentences


class ElmoFeatures:
    """Vectors of a biLM from a store, where a sentence is in it, else made anew. A `zh_elmo.ud.inputs.Vectors`."""

    def __init__(self, store: Store | None = None, embedder: Embedder | None = None) -> None:
        """At least one of them; with both, they must be of the same model (`Store.open` can check that)."""
        source = store or embedder
        if source is None:
            raise ValueError("a store or an embedder is needed")
        self.store, self.embedder = store, embedder
        self.width, self.n_layers = source.width, source.n_layers
        self.digest = store.meta.model if store is not None else source.digest  # type: ignore[union-attr]

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """float16 [n_layers, n_words, width] of each sentence; those of a store are a view of its file.

        New vectors are rounded like stored ones, so that a tagger sees the same numbers either way. Raises BadInput for
        a sentence that is not in the store where there is no embedder.
        """
        found: dict[int, np.ndarray] = {}
        for number, words in enumerate(sentences):
            place = None if self.store is None else self.store.find(words)
            if place is not None and self.store is not None:
                found[number] = self.store.view(place)
        missing = [number for number in range(len(sentences)) if number not in found]
        if missing and self.embedder is None:
            raise BadInput(f"no vectors are stored of the sentence {' '.join(sentences[missing[0]])[:80]}")
        if missing and self.embedder is not None:
            made = self.embedder.embed_iter([sentences[number] for number in missing], layers="all")
            found.update(zip(missing, (vectors.astype(np.float16) for vectors in made), strict=True))
        return [found[number] for number in range(len(sentences))]


def write(model: str | Path, sentences: Iterable[Sequence[str]], folder: str | Path) -> dict[str, Any]:
    """Store the vectors of `sentences` in `folder`; those that lie there from the same model are kept.

    Gives the model's digest and the number of words. Raises BadInput where the model cannot be loaded.
    """
    embedder = load(model)
    store = _opened(Path(folder), embedder)
    distinct = list(dict.fromkeys(map(tuple, sentences)))
    missing = [words for words in distinct if words not in store]
    title, total = "vectors of the treebank", sum(map(len, missing))
    made = zip(missing, embedder.embed_iter(missing, layers="all"), strict=True)
    with store, Progress(title, total, unit="words") as progress:
        for number, (words, vectors) in enumerate(made, 1):
            store.append(words, vectors)
            progress.advance(len(words))
            if number % _COMMIT_EVERY == 0:
                store.commit()
    return {"model": embedder.digest, "words": sum(map(len, distinct))}


def _opened(folder: Path, embedder: Embedder) -> Store:
    """The store in `folder`, open to append; one of another model is replaced."""
    if folder.is_dir():
        try:
            return Store.open(folder, model=embedder.digest, text=embedder.text_digest, append=True)
        except BadInput:
            shutil.rmtree(folder)
    return Store.create(
        folder,
        n_layers=embedder.n_layers,
        width=embedder.width,
        model=embedder.digest,
        text=embedder.text_digest,
        dtype="float16",
    )
