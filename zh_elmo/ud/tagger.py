"""The POS tagger: word representation, BiLSTM, softmax over UPOS, and over XPOS and FEATS where there are any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from zh_elmo.recipe import Amount
from zh_elmo.text.pipeline import Pipeline
from zh_elmo.ud.batches import by_length
from zh_elmo.ud.conllu import Sentence
from zh_elmo.ud.folder import Contents, vector_shape
from zh_elmo.ud.inputs import Batch, Inputs, Vectors, WordDropout
from zh_elmo.ud.learning import Run, column, fingerprint, learn, normalised, usable
from zh_elmo.ud.network import BiLSTM, EncoderSettings, WordInput
from zh_elmo.ud.trained import Trained
from zh_elmo.ud.vocabulary import Labels, Vocabulary

COLUMNS = ("upos", "xpos", "feats")
_WORDS_AT_ONCE = 3000
_LEMMA_IS_FORM = 0.9  # share of training words from which on lemmas are taken to be forms


class TaggerSettings(EncoderSettings):
    """`[tagger]` of a recipe."""

    others: Amount = 0.2  # weight of the losses of XPOS and FEATS; 0: they are not predicted


class Tags(NamedTuple):
    """What the tagger says of one sentence, [n_words] each; `_` where it was not trained to say."""

    upos: list[str]
    xpos: list[str]
    feats: list[str]
    lemmas: list[str]


class _Network(nn.Module):
    def __init__(self, contents: Contents) -> None:
        super().__init__()
        settings: TaggerSettings = contents.settings
        self.words = WordInput(settings, contents.vocabulary, contents.vectors)
        self.lstm = BiLSTM(self.words.width, settings.hidden, settings.layers, settings.dropout)
        self.heads = nn.ModuleDict({name: nn.Linear(self.lstm.width, len(k)) for name, k in contents.labels.items()})

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Scores [M, labels] of each column."""
        top = self.lstm(self.words(batch), batch)[-1]
        return {name: head(top) for name, head in self.heads.items()}


class Tagger(Trained[_Network]):
    """A trained tagger. It is given raw forms, brings them to the form that it was trained on, and predicts the same
    whatever other sentences come with a sentence (up to rounding)."""

    kind = "tagger"
    settings_kind = TaggerSettings
    network_kind = _Network

    @classmethod
    def train(
        cls,
        settings: TaggerSettings,
        train: Sequence[Sentence],
        dev: Sequence[Sentence],
        *,
        text: Pipeline,
        vectors: Vectors | None = None,
        seed: int = 1,
        folder: Path | None = None,
        resume: bool = False,
        quiet: bool = False,
    ) -> Tagger:
        """Train on `train` and keep the state that is best on `dev` (the last one where `dev` is empty).

        `folder` is for checkpoints and log (see `fit`), not where `save` writes. The same seed and thread count give
        the same weights. Raises BadInput for training sentences without UPOS.
        """
        train, dev = usable(train, "upos"), [sentence for sentence in dev if sentence.words]
        forms = normalised(text, [sentence.forms for sentence in train])
        contents = Contents(
            settings,
            text.settings,
            vector_shape(vectors),
            Vocabulary.build(forms, settings.minimum_count),
            _labels(train, settings),
            {"lemma": "form" if _lemma_is_form(train) else "none"},
        )
        tagger = cls.untrained(contents, vectors, seed)
        mark = fingerprint(settings, seed, [*train, *dev], contents.text, contents.vectors)
        tagger._fit(train, dev, forms, Run(seed, folder, resume, quiet, mark))
        return tagger

    def _fit(self, train: list[Sentence], dev: list[Sentence], forms: list[list[str]], run: Run) -> None:
        settings: TaggerSettings = self.contents.settings
        inputs = self._inputs([sentence.forms for sentence in train], forms)
        gold = self._gold(train)

        def loss(rows: NDArray[np.int64], step: int) -> tuple[Tensor, int]:
            dropout = WordDropout(self.contents.vocabulary, settings.word_dropout, (run.seed, step))
            batch = inputs.batch(rows, dropout)
            total = torch.zeros(())
            for name, scores in self.network(batch).items():
                right = torch.from_numpy(gold[name][batch.places])
                total = total + cross_entropy(scores, right) * (1.0 if name == "upos" else settings.others)
            return total, len(batch.places)

        evaluate = None
        if dev:
            dev_inputs, dev_gold = self._inputs([sentence.forms for sentence in dev]), self._gold(dev)

            def evaluate() -> dict[str, float]:
                right = dict.fromkeys(dev_gold, 0)
                for batch, scores in self._scores(dev_inputs):
                    for name, values in scores.items():
                        right[name] += int((values.argmax(1).numpy() == dev_gold[name][batch.places]).sum())
                figures = {name: 100 * count / len(dev_gold["upos"]) for name, count in right.items()}
                return {"score": figures["upos"], **figures}

        lengths, training = inputs.lengths, settings.training
        self.fitted = learn(self.network, loss, evaluate, lengths=lengths, training=training, run=run, title=self.kind)

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """UPOS of sentences of raw forms, in their order; [] of an empty one."""
        return [tags.upos for tags in self.annotate(sentences)]

    def annotate(self, sentences: Sequence[Sequence[str]]) -> list[Tags]:
        """UPOS, XPOS, FEATS and lemmas of sentences of raw forms, in their order."""
        return [
            self._tags(list(forms), scores) for forms, scores in zip(sentences, self._predict(sentences), strict=True)
        ]

    def probabilities(self, sentences: Sequence[Sequence[str]]) -> list[NDArray[np.float32]]:
        """[n_words, tags] of each sentence, over `tags`."""
        empty = torch.zeros(0, len(self.tags))
        return [scores.get("upos", empty).softmax(1).numpy() for scores in self._predict(sentences)]

    @property
    def tags(self) -> list[str]:
        """The UPOS tags that it knows, in the order of `probabilities`."""
        return self.contents.labels["upos"].values

    def _inputs(self, raw: Sequence[Sequence[str]], forms: Sequence[Sequence[str]] | None = None) -> Inputs:
        forms = normalised(self.text, raw) if forms is None else forms
        return Inputs(forms, self.contents.vocabulary, raw=raw, vectors=self.vectors)

    def _gold(self, sentences: Sequence[Sentence]) -> dict[str, NDArray[np.int64]]:
        return {name: labels.numbers(column(sentences, name)) for name, labels in self.contents.labels.items()}

    def _scores(self, inputs: Inputs) -> Iterator[tuple[Batch, dict[str, Tensor]]]:
        for rows in by_length(inputs.lengths, _WORDS_AT_ONCE):
            batch = inputs.batch(rows)
            yield batch, self.network(batch)

    @torch.no_grad()
    def _predict(self, sentences: Sequence[Sequence[str]]) -> list[dict[str, Tensor]]:
        """Scores [n_words, labels] of each column for each sentence; {} for an empty one."""
        found: list[dict[str, Tensor]] = [{} for _ in sentences]
        filled = [number for number, forms in enumerate(sentences) if forms]
        self.network.eval()
        for batch, scores in self._scores(self._inputs([sentences[number] for number in filled])):
            for name, values in scores.items():
                for row, part in zip(batch.rows, torch.split(values, batch.sizes.tolist()), strict=True):
                    found[filled[row]][name] = part
        return found

    def _tags(self, forms: list[str], scores: dict[str, Tensor]) -> Tags:
        nothing = ["_"] * len(forms)
        found = {name: self.contents.labels[name].names(values.argmax(1).tolist()) for name, values in scores.items()}
        upos, xpos, feats = (found.get(name, nothing) for name in COLUMNS)
        return Tags(upos, xpos, feats, forms if self.contents.facts["lemma"] == "form" else nothing)


def _labels(train: Sequence[Sentence], settings: TaggerSettings) -> dict[str, Labels]:
    """Labels of UPOS, and of the other columns where they say anything."""
    labels = {name: Labels.build(column(train, name)) for name in COLUMNS}
    return {name: known for name, known in labels.items() if name == "upos" or (settings.others and len(known) > 1)}


def _lemma_is_form(train: Sequence[Sentence]) -> bool:
    same = [word.lemma == word.form for sentence in train for word in sentence.words]
    return sum(same) >= _LEMMA_IS_FORM * len(same)
