"""A scikit-learn transformer: sentences or raw texts to one vector each, pooled over their true words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from zh_elmo.embed.embedder import Embedder, Mix, Vectors, load
from zh_elmo.files import BadInput

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError as error:
    message = f"ElmoVectorizer needs scikit-learn ({error}): pip install 'zh-elmo[sklearn]'"
    raise ImportError(message, name="sklearn") from None


class ElmoVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts -> [n_texts, width] float32, with nothing learned from them.

    A text is a list of words (one sentence), or a raw str, which the model's own pipeline normalises and cuts into
    sentences and words; words of all its sentences are pooled together. A text without words gives zeros.
    Where several copies are made (Pipeline, GridSearchCV), hand over a loaded model: the copies share it, a path is
    loaded by each `fit`.
    """

    def __init__(
        self,
        model: str | Path | Embedder,
        pooling: Literal["mean", "max"] = "mean",
        layers: int | None = None,
        mix: Mix = "mean",
    ) -> None:
        """`model`: a path that `zh_elmo.load` opens, or what it gave. `layers`: the number of one layer (0: token
        encoding, -1: the top); None: `mix` of all of them, "mean" or a weight for each."""
        self.model, self.pooling, self.layers, self.mix = model, pooling, layers, mix

    def fit(self, X: object = None, y: object = None) -> ElmoVectorizer:
        """Open the model; texts and labels are not looked at. Raises BadInput where there is no model."""
        self.embedder_ = self.model if isinstance(self.model, Embedder) else load(self.model)
        return self

    def transform(self, X: Iterable[str | Sequence[str]]) -> NDArray[np.float32]:
        """[n_texts, width], in the order of the input.

        Raises BadInput for wrong settings, and for what is neither a list of words nor a str, with its place.
        """
        check_is_fitted(self, "embedder_")
        if isinstance(X, str | bytes) or not isinstance(X, Iterable):
            raise BadInput(f"a list of texts is due, not {type(X).__name__}; for one text give [text]")
        if self.pooling not in ("mean", "max"):
            raise BadInput(f'pooling must be "mean" or "max", not {self.pooling!r}')
        if isinstance(self.layers, str):
            raise BadInput(f"layers must be None or the number of one layer, not {self.layers!r}")
        texts = [self._sentences(text, f"X[{number}]") for number, text in enumerate(X)]
        flat = (sentence for sentences in texts for sentence in sentences)
        vectors = self.embedder_.embed_iter(flat, mix=self.mix, layers=self.layers, normalize=False)
        rows = np.zeros((len(texts), self.embedder_.width), np.float32)
        for row, sentences in zip(rows, texts, strict=True):
            self._pool(islice(vectors, len(sentences)), row)
        return rows

    @property
    def _n_features_out(self) -> int:
        """What `get_feature_names_out` asks for."""
        width: int = self.embedder_.width
        return width

    def _sentences(self, text: Any, place: str) -> list[list[str]]:
        """Normalised words of each sentence of a text."""
        embedder: Embedder = self.embedder_
        if not isinstance(text, str) and (isinstance(text, bytes) or not isinstance(text, Iterable)):
            raise BadInput(f"{place}: a list of words or a text (str) is due, not {type(text).__name__}")
        try:
            return embedder.pipeline.forms(text) if isinstance(text, str) else [embedder.normalised(list(text))]
        except BadInput as error:
            raise BadInput(f"{place}: {error}") from None

    def _pool(self, sentences: Iterator[Vectors], row: NDArray[np.float32]) -> None:
        """Fill `row` [width] from the vectors of a text's sentences, [n_words, width] each."""
        words = [vectors for vectors in sentences if len(vectors)]
        if words:
            together = np.concatenate(words)
            row[:] = together.mean(0) if self.pooling == "mean" else together.max(0)
