"""What a recipe `pretrain-*` may say: sizes of the model, streams, softmax, training."""

from __future__ import annotations

from typing import Literal

from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.files import BadInput
from zh_elmo.fit import Plan
from zh_elmo.recipe import Settings


class Characters(Settings):
    """The character encoder (Kim et al. 2016, section 2; Peters et al. 2018, section 3.4)."""

    size: int = 32  # of a character's embedding
    filters: tuple[tuple[int, int], ...] = ((1, 64), (2, 128), (3, 128))  # width, number
    activation: Literal["relu", "tanh"] = "relu"
    highways: int = 1
    maximum: int = 10  # characters of a word that are read; the rest is cut off
    minimum_count: int = 3  # a character seen less often in training is the unknown one


class Model(Settings):
    """Sizes of the biLM."""

    characters: Characters = Characters()
    vocabulary: int = 30_000  # words of the softmax and the word table, three special entries included
    word_table: bool = True  # a vector a word is added to what the characters give
    projection: int = 256  # P: size of a token encoding and of a layer's output in one direction
    cell: int = 512  # C: size of the LSTM's memory
    layers: int = 2
    skip: bool = True  # from the second layer on, a layer's input is added to its output
    cell_clip: float = 0.0  # 0: no clipping
    projection_clip: float = 0.0
    dropout: float = 0.0  # on each layer's input and on the top

    def __post_init__(self) -> None:
        sizes = [self.projection, self.cell, self.layers, self.characters.size, self.characters.maximum]
        sizes += [n for pair in self.characters.filters for n in pair]
        if min(sizes) < 1 or not self.characters.filters:
            raise BadInput("model: sizes must be 1 or more, and there must be a filter")
        if self.vocabulary < 4:
            raise BadInput("model: vocabulary must be 4 or more (three entries are special)")
        if not 0 <= self.dropout < 1:
            raise BadInput("model: dropout must be at least 0 and below 1")


class StreamSettings(Settings):
    """How the corpus is cut into updates of constant shape."""

    batch: int = 16  # streams side by side (B)
    window: int = 16  # words of each stream in an update (T)
    reset: bool = True  # a sentence starts from the zero state, as it does when it is embedded


class SoftmaxSettings(Settings):
    """The sampled softmax."""

    negatives: int = 2048  # drawn for an update, shared by all its words; 0: the full softmax
    rate: float = 3.0  # times the learning rate, for the rows of the softmax and of the word table


class Pretrain(Settings):
    """A recipe `pretrain-*`."""

    corpus: CorpusSettings = CorpusSettings()
    model: Model = Model()
    streams: StreamSettings = StreamSettings()
    softmax: SoftmaxSettings = SoftmaxSettings()
    training: Plan = Plan(steps=2000)
    evaluation_words: int = 20_000  # held-out words on which progress is measured; 0: all
