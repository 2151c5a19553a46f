"""`[corpus]` of a recipe: which text, how it becomes words, what is kept out."""

from __future__ import annotations

import msgspec

from zh_elmo.corpus.encoding import OnUndecodable
from zh_elmo.corpus.filters import Filters
from zh_elmo.corpus.near import LEAST
from zh_elmo.files import BadInput
from zh_elmo.recipe import Settings
from zh_elmo.text.pipeline import TextSettings


class CorpusSettings(Settings):
    """What a corpus is built from and how."""

    sources: list[str] = msgspec.field(default_factory=list)  # data sets of the catalogue, files or folders of raw text
    encoding: str = ""  # of all files; not said: found by looking, for each
    field: str = "text"  # of JSON lines, and the column of Parquet
    undecodable: OnUndecodable = "refuse"  # bytes that do not decode; "replace": by U+FFFD, counted and shown
    text: TextSettings = TextSettings()
    filters: Filters = Filters()
    exclude: list[str] = msgspec.field(default_factory=list)  # treebanks whose dev and test sentences are kept out
    held_out: float = 0.005  # share of the paragraphs that is kept for perplexity
    minimum: int = 1  # words; shorter sentences are dropped
    maximum: int = 250  # words; longer sentences are cut
    drop_duplicates: bool = True  # of paragraphs that are the same when normalised
    near_duplicates: float = 0.0  # drop paragraphs as alike as this to an earlier one, such as 0.8; 0: none
    seed: int = 0  # of the choice of what is held out

    def __post_init__(self) -> None:
        if not 0 <= self.held_out < 1:
            raise BadInput("corpus.held_out must be at least 0 and below 1", usage=True)
        if not 1 <= self.minimum <= self.maximum:
            raise BadInput("corpus: 1 <= minimum <= maximum must hold (words of a sentence)", usage=True)
        if self.near_duplicates and not LEAST <= self.near_duplicates <= 1:
            message = (
                f"corpus.near_duplicates is a share of what two paragraphs have in common, from {LEAST} to 1, or 0"
            )
            raise BadInput(f"{message} for none", usage=True)
        if self.near_duplicates and not self.drop_duplicates:
            raise BadInput("corpus.near_duplicates takes the same paragraphs as well: set drop_duplicates", usage=True)
        if not 0 <= self.seed < 2**63:
            raise BadInput("corpus.seed must be at least 0 and below 2^63", usage=True)


class Corpora(Settings):
    """What a recipe without a model would say."""

    corpus: CorpusSettings = CorpusSettings()
