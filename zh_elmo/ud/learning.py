"""Training of a tagger or parser through `fit`: updates by schedule, the best state by dev sentences."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from zh_elmo.files import BadInput
from zh_elmo.fit import Fitted, Group, fit
from zh_elmo.recipe import Settings, plain
from zh_elmo.text.pipeline import Pipeline
from zh_elmo.ud.batches import Schedule, Training
from zh_elmo.ud.conllu import Sentence


class Run(NamedTuple):
    """One training as the caller asked for it."""

    seed: int
    folder: Path | None  # for checkpoints and log
    resume: bool
    quiet: bool
    fingerprint: str


class Learner:
    """What `fit` trains: a model, the loss of a batch of training sentences, figures on dev sentences."""

    def __init__(
        self,
        model: nn.Module,
        schedule: Schedule,
        loss: Callable[[NDArray[np.int64], int], tuple[Tensor, int]],
        evaluate: Callable[[], dict[str, float]],
    ) -> None:
        self.model, self._schedule, self._loss, self._evaluate = model, schedule, loss, evaluate

    def groups(self) -> list[Group]:
        return [Group(dict(self.model.named_parameters()))]

    def loss(self, step: int) -> tuple[Tensor, int]:
        return self._loss(self._schedule.rows(step), step)

    def evaluate(self) -> dict[str, float]:
        return self._evaluate()

    def carried(self) -> dict[str, Tensor]:
        return {}

    def carry(self, tensors: Mapping[str, Tensor]) -> None:
        """Nothing is carried from step to step."""


def learn(
    model: nn.Module,
    loss: Callable[[NDArray[np.int64], int], tuple[Tensor, int]],
    evaluate: Callable[[], dict[str, float]] | None,
    *,
    lengths: NDArray[np.int64],
    training: Training,
    run: Run,
    title: str,
) -> Fitted:
    """Train `model` on sentences of these `lengths`; `evaluate` is None where there are no dev sentences.

    Denormal numbers are flushed to zero from here on in this thread: the moments of rare words' vectors decay into
    them, which slows x86.
    """
    torch.set_flush_denormal(True)
    schedule = Schedule(lengths, training.batch_words, run.seed)
    learner = Learner(model, schedule, loss, evaluate or dict)
    plan = training.plan(schedule.batches, run.seed, dev=evaluate is not None)
    return fit(
        learner,
        plan,
        folder=run.folder,
        resume=run.resume,
        fingerprint=run.fingerprint,
        title=title,
        quiet=run.quiet,
    )


def usable(sentences: Sequence[Sentence], column: str) -> list[Sentence]:
    """Training sentences; raises BadInput where there are none or `column` (upos, deprel) is empty throughout."""
    found = [sentence for sentence in sentences if sentence.words]
    if not found:
        raise BadInput("no sentence to train on")
    if all(getattr(word, column) == "_" for sentence in found for word in sentence.words):
        raise BadInput(f"the training sentences have no {column.upper()}")
    return found


def normalised(text: Pipeline, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
    """Forms as they are looked up. Raises BadInput for a bare string or an empty word."""
    return [text.gold(forms) if len(forms) else [] for forms in sentences]


def column(sentences: Iterable[Sentence], name: str) -> list[Any]:
    """The values of one column of all words, one after the other."""
    return [getattr(word, name) for sentence in sentences for word in sentence.words]


def fingerprint(settings: Settings, seed: int, sentences: Sequence[Sentence], *further: Any) -> str:
    """Names data and settings of a training, so that a checkpoint of another one is not taken up."""
    digest = hashlib.sha256(json.dumps([plain(settings), seed, plain(further)], sort_keys=True).encode())
    for sentence in sentences:
        digest.update(repr([word[1:8] for word in sentence.words]).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
