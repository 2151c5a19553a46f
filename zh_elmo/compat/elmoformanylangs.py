"""The call of ELMoForManyLangs 0.0.4: `Embedder(model_dir).sents2elmo(sents, output_layer)`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from zh_elmo.embed.embedder import Layers, Normalize, StateRule, Vectors, load
from zh_elmo.embed.words import checked
from zh_elmo.files import BadInput

_MEAN, _ALL = -1, -2


class Embedder:
    """`from zh_elmo.compat.elmoformanylangs import Embedder` in place of `from elmoformanylangs import Embedder`.

    With state="carry" the numbers are those of the original, call after call, as long as a call has one batch: it
    shuffled its batches, here they come in the order in which they were made, longest sentences first. Differences with
    state="reset", the default: the state is zero before each sentence, so that its vectors are the same in every call
    and beside every other sentence. In both: words are normalised as the corpus of a model of ours was, models of
    others get them as they are given; no sentence at all gives an empty list; with an encoder `lstm`, which has no
    layers, output_layer -1 and 0 are the vectors themselves, not a mean over words and the first word.
    """

    def __init__(
        self,
        model_dir: str | Path,
        batch_size: int = 64,
        *,
        state: StateRule = "reset",
        normalize: Normalize = "model",
    ) -> None:
        """`model_dir`: any model that `zh_elmo.load` opens; `normalize` as there. `batch_size`: sentences of a batch;
        with state="reset" no vector depends on batches, which are made by number of words.

        Raises BadInput where there is no model, or a damaged one.
        """
        if not isinstance(batch_size, int) or batch_size < 1:
            raise BadInput(f"batch_size must be 1 or more, not {batch_size!r}")
        self.model_dir, self.batch_size = model_dir, batch_size
        self._embedder = load(model_dir, state=state, normalize=normalize)

    def sents2elmo(self, sents: Sequence[Sequence[str]], output_layer: int = _MEAN) -> list[Vectors]:
        """One float32 array a sentence (a list of words), in the order of the input.

        output_layer -1: mean of all layers, [n_words, width]; -2: all layers, [n_layers, n_words, width] (for an
        encoder `lstm` [n_words, width]); 0 (token encoding), 1, 2, ...: that layer, [n_words, width]. An empty sentence
        has no words: [0, width].
        Raises BadInput for a layer that is not there, and for what is not a list of lists of words.
        """
        layers: Layers = None if output_layer == _MEAN else "all" if output_layer == _ALL else output_layer
        if isinstance(layers, int) and layers < 0:
            raise BadInput(f"output_layer is -2 (all), -1 (mean) or the number of a layer from 0, not {output_layer}")
        found = (
            self._in_order(sents, layers)
            if self._embedder.state == "carry"
            else self._embedder.embed(sents, layers=layers)
        )
        two_way = self._embedder.bilm.settings.lstm == "two-way"
        return [vectors[0] for vectors in found] if two_way and layers == "all" else found

    def _in_order(self, sents: Sequence[Sequence[str]], layers: Layers) -> list[Vectors]:
        """Batches of falling length, the state going on from row to row, put back into the order of the input."""
        sentences = list(checked(sents, empty=True))
        order = sorted(range(len(sentences)), key=lambda i: -len(sentences[i]))
        found = self._embedder.embed([sentences[i] for i in order], layers=layers, batch_size=self.batch_size)
        back = dict(zip(order, found, strict=True))
        return [back[i] for i in range(len(sentences))]
