"""The call of ELMoForManyLangs 0.0.4: `Embedder(model_dir).sents2elmo(sents, output_layer)`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from zh_elmo.embed.embedder import Layers, Vectors, load
from zh_elmo.files import BadInput

_MEAN, _ALL = -1, -2


class Embedder:
    """`from zh_elmo.compat.elmoformanylangs import Embedder` in place of `from elmoformanylangs import Embedder`.

    Differences to the original: the state is zero before each sentence, so that its vectors are the same in every call
    and beside every other sentence (there, rows of a batch go on from the call before, and batches are shuffled); words
    are normalised as the model's corpus was; no sentence at all gives an empty list.
    """

    def __init__(self, model_dir: str | Path, batch_size: int = 64) -> None:
        """`model_dir`: any model that `zh_elmo.load` opens. `batch_size` is taken for the sake of the call: batches
        are made by number of words, and no vector depends on them.

        Raises BadInput where there is no model, or a damaged one.
        """
        self.model_dir, self.batch_size = model_dir, batch_size
        self._embedder = load(model_dir)

    def sents2elmo(self, sents: Sequence[Sequence[str]], output_layer: int = _MEAN) -> list[Vectors]:
        """One float32 array a sentence (a list of words), in the order of the input.

        output_layer -1: mean of all layers, [n_words, width]; -2: all layers, [n_layers, n_words, width]; 0 (token
        encoding), 1, 2, ...: that layer, [n_words, width]. An empty sentence has no words: [0, width].
        Raises BadInput for a layer that is not there, and for what is not a list of lists of words.
        """
        if output_layer == _MEAN:
            return self._embedder.embed(sents)
        layers: Layers = "all" if output_layer == _ALL else output_layer
        if layers != "all" and output_layer < 0:
            raise BadInput(f"output_layer is -2 (all), -1 (mean) or the number of a layer from 0, not {output_layer}")
        return self._embedder.embed(sents, layers=layers)
