"""Arrays of different lengths side by side: zeros after each, and a mask that says what is real."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zh_elmo.files import BadInput


def pad(arrays: Sequence[NDArray[Any]], to: int | None = None) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Vectors of sentences, [n_words, width] each (or [n_layers, n_words, width]), as one array.

    Returns [n_sentences, ..., length, width] and a mask [n_sentences, length], True where there is a word. `to` is the
    length; not given, that of the longest sentence. Raises BadInput where a sentence is longer than `to`.
    """
    if not arrays:
        raise BadInput("no sentence to pad")
    lengths = [array.shape[-2] for array in arrays]
    length = max(lengths) if to is None else to
    if max(lengths) > length:
        raise BadInput(f"sentence {int(np.argmax(lengths))} has {max(lengths)} words, more than {length}")
    shape = arrays[0].shape
    padded = np.zeros((len(arrays), *shape[:-2], length, shape[-1]), arrays[0].dtype)
    for row, array in zip(padded, arrays, strict=True):
        row[..., : array.shape[-2], :] = array
    return padded, np.arange(length) < np.array(lengths)[:, None]
