"""What the recipes `tag-*`, `parse-*` and `segment-*` and the suites of `eval` may say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from zh_elmo.files import BadInput
from zh_elmo.recipe import Count, Settings, Size
from zh_elmo.suite.static import StaticSettings
from zh_elmo.text.pipeline import TextSettings
from zh_elmo.ud.parser import ParserSettings
from zh_elmo.ud.tagger import TaggerSettings

Arm = Literal["none", "static", "elmo"]
ARMS: tuple[Arm, ...] = ("none", "static", "elmo")


class DataSettings(Settings):
    """`[data]`: what to learn from."""

    treebank: str  # a name of the shelf `corpora`, or a folder with *train*.conllu, *dev*.conllu, *test*.conllu


class VectorSettings(Settings):
    """`[vectors]`: what a tagger or parser has beside its own embeddings of words and characters."""

    kind: Arm = "none"
    model: str = ""  # folder of a biLM, for elmo
    corpus: str = ""  # folder of a corpus, for static


class SegmenterSettings(Settings):
    """`[segmenter]`: a model of spacy-pkuseg."""

    iterations: Annotated[int, Meta(ge=1, le=100)] = 5  # on UD Chinese GSD more add less than 0.4 F1


class TrainRecipe(Settings):
    """A recipe `tag-*` or `parse-*`: one arm of one treebank. A parser without a tagger has no tags as input.

    A recipe `segment-*` has a segmenter and neither; its [text] says how the words of the treebank are normalised.
    """

    data: DataSettings
    text: TextSettings = TextSettings()
    vectors: VectorSettings = VectorSettings()
    static: StaticSettings = StaticSettings()
    tagger: TaggerSettings | None = None
    parser: ParserSettings | None = None
    segmenter: SegmenterSettings | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        others = self.tagger is not None or self.parser is not None
        if self.segmenter is None and not others:
            raise BadInput("a recipe for training needs a table [tagger] or [parser], or both, or [segmenter]")
        if self.segmenter is not None and (others or self.vectors != VectorSettings()):
            raise BadInput("[segmenter] stands alone: a segmenter has no vectors, no tagger and no parser")

    def check(self) -> None:
        """Raises BadInput (usage) where the vectors lack what they are made from."""
        _check_vectors([self.vectors.kind], self.vectors.model, self.vectors.corpus, "vectors.")


class Suite(Settings):
    """A suite: every arm on every treebank with every seed, all else alike."""

    title: str
    treebanks: Annotated[list[str], Meta(min_length=1)]  # as `treebank` of a recipe
    arms: Annotated[list[Arm], Meta(min_length=1)] = msgspec.field(default_factory=lambda: list(ARMS))
    seeds: Annotated[list[int], Meta(min_length=1)] = msgspec.field(default_factory=lambda: [1])
    model: str = ""  # folder of the biLM, for the arm elmo
    corpus: str = ""  # folder of the corpus that it was pre-trained on, for static and for what pre-training has seen
    text: TextSettings = TextSettings()
    static: StaticSettings = StaticSettings()
    tagger: TaggerSettings | None = TaggerSettings()
    parser: ParserSettings | None = ParserSettings()
    elmo_threads: Size = 1  # cores that a job of the arm elmo occupies; more where its jobs come last, alone
    samples: Size = 2000  # of the bootstrap
    examples: Count = 6  # sentences shown on the page

    def __post_init__(self) -> None:
        titles = [Path(name).name for name in self.treebanks]  # what the results call them
        for name, values in (("treebanks", titles), ("arms", self.arms), ("seeds", self.seeds)):
            if len(set(map(str, values))) < len(values):
                raise BadInput(f"{name}: one of {', '.join(map(str, values))} stands there twice")

    def check(self) -> None:
        """Raises BadInput (usage) where an arm lacks what it is made from."""
        _check_vectors(self.arms, self.model, self.corpus, "")


def _check_vectors(arms: list[Arm], model: str, corpus: str, place: str) -> None:
    if "elmo" in arms and not model:
        raise BadInput(f"the arm elmo needs a biLM: --set {place}model=FOLDER", usage=True)
    if "static" in arms and not corpus:
        raise BadInput(f"the arm static needs the corpus of the biLM: --set {place}corpus=FOLDER", usage=True)
