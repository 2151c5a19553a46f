"""What a recipe `pretrain-*` may say: sizes of the model, streams, softmax, training."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.fit import Plan
from zh_elmo.recipe import Amount, Count, Positive, Settings, Share, Size


class Characters(Settings):
    """The character encoder (Kim et al. 2016, section 2; Peters et al. 2018, section 3.4)."""

    size: Size = 32  # of a character's embedding
    # width and number of each kind of filter
    filters: Annotated[tuple[tuple[Size, Size], ...], Meta(min_length=1)] = ((1, 64), (2, 128), (3, 128))
    activation: Literal["relu", "tanh"] = "relu"
    highways: Count = 1
    maximum: Size = 10  # characters of a word that are read; the rest is cut off
    minimum_count: Size = 3  # a character seen less often in training is the unknown one


class Model(Settings):
    """Sizes of the biLM."""

    characters: Characters = Characters()
    vocabulary: Annotated[int, Meta(ge=4)] = 30_000  # words of softmax and table, three special entries included
    word_table: bool = True  # a vector a word is added to what the characters give
    projection: Size = 256  # P: size of a token encoding and of a layer's output in one direction
    cell: Size = 512  # C: size of the LSTM's memory
    layers: Size = 2
    skip: bool = True  # from the second layer on, a layer's input is added to its output
    cell_clip: Amount = 0.0  # 0: no clipping
    projection_clip: Amount = 0.0
    dropout: Share = 0.0  # on each layer's input and on the top


class StreamSettings(Settings):
    """How the corpus is cut into updates of constant shape."""

    batch: Size = 16  # streams side by side (B)
    window: Size = 16  # words of each stream in an update (T)
    reset: bool = True  # a sentence starts from the zero state, as it does when it is embedded


class SoftmaxSettings(Settings):
    """The sampled softmax."""

    negatives: Count = 2048  # drawn for an update, shared by all its words; 0: the full softmax
    rate: Positive = 3.0  # times the learning rate, for the rows of the softmax and of the word table


class Pretrain(Settings):
    """A recipe `pretrain-*`."""

    corpus: CorpusSettings = CorpusSettings()
    model: Model = Model()
    streams: StreamSettings = StreamSettings()
    softmax: SoftmaxSettings = SoftmaxSettings()
    training: Plan = Plan(steps=2000)
    evaluation_words: Count = 20_000  # held-out words on which progress is measured; 0: all
