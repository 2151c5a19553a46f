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
    # width and number of each kind of filter; none: characters are not looked at
    filters: tuple[tuple[Size, Size], ...] = ((1, 64), (2, 128), (3, 128))
    activation: Literal["relu", "tanh"] = "relu"
    highways: Count = 1
    unit: Literal["character", "byte"] = "character"  # byte: of UTF-8
    maximum: Size = 10  # characters (or bytes) of a word that are read; the rest is cut off
    padded: bool = (
        False  # each word is filled up to `maximum`, and the filters see the padding, as in Kim et al.'s code
    )
    minimum_count: Size = 3  # a character seen less often in training is the unknown one


class Model(Settings):
    """Kind and sizes of the biLM.

    `lstm`: projected (Sak et al. 2014) as in ELMo; plain, whose output is its memory's; two-way, in which the second
    layer reads both directions of the first: no language model, but ELMoForManyLangs had it as an encoder.
    """

    characters: Characters = Characters()
    vocabulary: Annotated[int, Meta(ge=4)] = 30_000  # words of softmax and table, three special entries included
    word_table: bool = True  # a vector a word, of size P, is added to what the characters give
    word_size: Count = (
        0  # if not 0: the table's vectors have this size and go, before the characters', into the projection
    )
    cut_words: bool = False  # the table, too, looks at the first `characters.maximum` characters of a word only
    marks: tuple[str, str] | None = None  # words that stand for the sentence marks where they are met in a text
    project: bool = True  # to P numbers; else P numbers must come from characters or table as they are
    projection: Size = 256  # P: size of a token encoding and of a layer's output in one direction
    cell: Size = 512  # C: size of the LSTM's memory
    lstm: Literal["projected", "plain", "two-way"] = "projected"
    layers: Size = 2
    skip: bool = True  # from the second layer on, a layer's input is added to its output
    cell_clip: Amount = 0.0  # 0: no clipping
    projection_clip: Amount = 0.0
    dropout: Share = 0.0  # on each layer's input and on the top
    softmax: bool = True  # without one the model gives vectors, but no probabilities

    def __post_init__(self) -> None:
        """Raises ValueError where the parts do not fit together."""
        features = sum(number for _, number in self.characters.filters)
        if not features and not self.word_table:
            raise ValueError("a model needs characters.filters, word_table, or both")
        if self.word_size and not (self.word_table and self.project):
            raise ValueError("word_size needs word_table and project")
        if not self.project and features not in (0, self.projection):
            raise ValueError(f"without project the filters must give {self.projection} numbers, not {features}")
        if self.lstm == "plain" and self.cell != self.projection:
            raise ValueError('with lstm = "plain", cell and projection are the same number')
        if self.lstm == "two-way" and self.softmax:
            raise ValueError('with lstm = "two-way" each word is seen before it is predicted: softmax must be false')
        room = self.characters.maximum + 2
        if self.characters.padded and any(width > room for width, _ in self.characters.filters):
            raise ValueError(f"a filter is wider than a padded word ({room})")


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
