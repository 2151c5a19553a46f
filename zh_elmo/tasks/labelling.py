"""The sequence labeller: word representation, BiLSTM, CRF (Lample et al. 2016), for named entities and the like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from zh_elmo.files import BadInput
from zh_elmo.tasks.columns import Labelled, check
from zh_elmo.tasks.crf import CRF, allowed
from zh_elmo.tasks.spans import OUTSIDE, Scheme, score
from zh_elmo.text.pipeline import Pipeline
from zh_elmo.ud.batches import by_length
from zh_elmo.ud.folder import Contents, vector_shape
from zh_elmo.ud.inputs import Batch, Inputs, Vectors, WordDropout
from zh_elmo.ud.learning import Run, fingerprint, learn, normalised
from zh_elmo.ud.network import BiLSTM, EncoderSettings, WordInput
from zh_elmo.ud.trained import Trained
from zh_elmo.ud.vocabulary import Labels, Vocabulary

_COLUMN = "label"
_WORDS_AT_ONCE = 3000


class LabellerSettings(EncoderSettings):
    """`[labeller]` of a recipe."""

    scheme: Scheme = "BIO"  # what labels mean; the CRF gives no others


class _Network(nn.Module):
    def __init__(self, contents: Contents) -> None:
        super().__init__()
        settings: LabellerSettings = contents.settings
        labels = contents.labels[_COLUMN].values
        self.words = WordInput(settings, contents.vocabulary, contents.vectors)
        self.lstm = BiLSTM(self.words.width, settings.hidden, settings.layers, settings.dropout)
        self.head = nn.Linear(self.lstm.width, len(labels))
        self.crf = CRF(len(labels), allowed(labels, settings.scheme))

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Scores [B, T, labels] and the mask [B, T] of words."""
        flat = self.head(self.lstm(self.words(batch), batch)[-1])
        scores = flat.new_zeros(len(batch.sizes), int(batch.sizes.max()), flat.shape[1])
        mask = torch.arange(scores.shape[1]) < batch.sizes[:, None]
        return scores.masked_scatter(mask[..., None], flat), mask


class Labeller(Trained[_Network]):
    """A trained labeller. It is given raw words, brings them to the form that it was trained on, and labels a sentence
    the same whatever others come with it; its labels are always well-formed in their scheme."""

    kind = "labeller"
    settings_kind = LabellerSettings
    network_kind = _Network

    @classmethod
    def train(
        cls,
        settings: LabellerSettings,
        train: Sequence[Labelled],
        dev: Sequence[Labelled],
        *,
        text: Pipeline,
        vectors: Vectors | None = None,
        seed: int = 1,
        folder: Path | None = None,
        resume: bool = False,
        quiet: bool = False,
    ) -> Labeller:
        """Train on `train` and keep the state that is best on `dev` (the last one where `dev` is empty): by F1 over
        spans, or by accuracy where the scheme is plain.

        `folder` is for checkpoints and log (see `fit`), not where `save` writes. The same seed and thread count give
        the same weights. Raises BadInput for labels that are not of the scheme, and where there is no sentence.
        """
        train, dev = ([sentence for sentence in part if sentence.words] for part in (train, dev))
        if not train:
            raise BadInput("no sentence to train on")
        check([*train, *dev], settings.scheme)
        forms = normalised(text, [sentence.words for sentence in train])
        always = [] if settings.scheme == "plain" else [OUTSIDE]  # so that every sentence has well-formed labels
        contents = Contents(
            settings,
            text.settings,
            vector_shape(vectors),
            Vocabulary.build(forms, settings.minimum_count),
            {_COLUMN: Labels.build([*always, *(label for sentence in train for label in sentence.labels)])},
            {},
        )
        labeller = cls.untrained(contents, vectors, seed)
        mark = fingerprint(settings, seed, [], contents.text, contents.vectors, train, dev)
        labeller._fit(train, dev, forms, Run(seed, folder, resume, quiet, mark))
        return labeller

    def _fit(self, train: list[Labelled], dev: list[Labelled], forms: list[list[str]], run: Run) -> None:
        settings: LabellerSettings = self.contents.settings
        inputs = self._inputs([sentence.words for sentence in train], forms)
        labels = self.contents.labels[_COLUMN]
        gold = torch.from_numpy(labels.numbers(label for sentence in train for label in sentence.labels))

        def loss(rows: NDArray[np.int64], step: int) -> tuple[Tensor, int]:
            dropout = WordDropout(self.contents.vocabulary, settings.word_dropout, (run.seed, step))
            batch = inputs.batch(rows, dropout)
            scores, mask = self.network(batch)
            right = torch.zeros(mask.shape, dtype=torch.long).masked_scatter(mask, gold[batch.places])
            likelihood = self.network.crf.log_likelihood(scores, right, mask)
            return -likelihood.sum() / len(batch.places), len(batch.places)

        evaluate = None
        if dev:
            dev_inputs = self._inputs([sentence.words for sentence in dev])

            def evaluate() -> dict[str, float]:
                return figures([s.labels for s in dev], self._best(dev_inputs), settings.scheme)

        lengths, training = inputs.lengths, settings.training
        self.fitted = learn(self.network, loss, evaluate, lengths=lengths, training=training, run=run, title=self.kind)

    @torch.no_grad()
    def label(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """Labels of sentences of raw words, in their order; [] of an empty one. Raises BadInput for a bare string or
        an empty word."""
        self.network.eval()
        filled = [number for number, words in enumerate(sentences) if len(words)]
        found: list[list[str]] = [[] for _ in sentences]
        best = self._best(self._inputs([sentences[number] for number in filled]))
        for number, labels in zip(filled, best, strict=True):
            found[number] = labels
        return found

    def _inputs(self, raw: Sequence[Sequence[str]], forms: Sequence[Sequence[str]] | None = None) -> Inputs:
        forms = normalised(self.text, raw) if forms is None else forms
        return Inputs(forms, self.contents.vocabulary, raw=raw, vectors=self.vectors)

    def _best(self, inputs: Inputs) -> list[list[str]]:
        """The best labels of each sentence, none of them empty."""
        found: list[list[str]] = [[] for _ in inputs.lengths]
        names = self.contents.labels[_COLUMN].names
        for rows in by_length(inputs.lengths, _WORDS_AT_ONCE):
            for row, path in zip(rows, self.network.crf.best(*self.network(inputs.batch(rows))), strict=True):
                found[row] = names(path)
        return found


def figures(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], scheme: Scheme) -> dict[str, float]:
    """Percent, over labels of sentences: accuracy over words and, but for plain labels, precision, recall and F1 over
    spans. `score` is what a training maximises: F1, or accuracy."""
    pairs = [pair for one, other in zip(gold, predicted, strict=True) for pair in zip(one, other, strict=True)]
    accuracy = 100 * sum(right == given for right, given in pairs) / max(len(pairs), 1)
    if scheme == "plain":
        return {"score": accuracy, "accuracy": accuracy}
    found = score(gold, predicted, scheme)
    spans = {"precision": found.precision, "recall": found.recall, "f1": found.f1}
    return {"score": found.f1, "accuracy": accuracy, **spans}
