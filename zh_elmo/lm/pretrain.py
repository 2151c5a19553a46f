"""Pre-training of a biLM on a corpus."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding

from zh_elmo.corpus.store import Corpus
from zh_elmo.fit import Fitted, Group, fit
from zh_elmo.lm.characters import alphabet
from zh_elmo.lm.lstm import State
from zh_elmo.lm.model import SPECIAL_WORDS, START, STOP, UNK, BiLM, Spelled
from zh_elmo.lm.perplexity import corpus_perplexity
from zh_elmo.lm.settings import Pretrain
from zh_elmo.lm.softmax import Sample, Sampler
from zh_elmo.lm.streams import Streams
from zh_elmo.recipe import plain


class Pretrained(NamedTuple):
    """A biLM and how it came about."""

    bilm: BiLM
    facts: dict[str, Any]


def pretrain(
    settings: Pretrain, corpus: Corpus, folder: Path | None = None, *, resume: bool = False, quiet: bool = False
) -> Pretrained:
    """Pre-train a biLM on the training part of `corpus`; checkpoints and log go to `folder`.

    Raises BadInput for a corpus without words and for a checkpoint of other data or settings; Diverged (fit).
    """
    pretraining = Pretraining(settings, corpus)
    fitted = fit(
        pretraining,
        settings.training,
        folder=folder,
        resume=resume,
        fingerprint=fingerprint(settings, corpus),
        title="pretrain",
        quiet=quiet,
    )
    bilm = pretraining.bilm
    held_out = corpus_perplexity(bilm, corpus, quiet=True) if len(corpus.ids("heldout")) else {}
    return Pretrained(bilm, _facts(settings, corpus, fitted, held_out, bilm))


def fingerprint(settings: Pretrain, corpus: Corpus) -> str:
    """Names what a run depends on; how often it is saved and measured is not part of it."""
    training = {k: v for k, v in plain(settings.training).items() if k not in ("save_every", "evaluate_every")}
    parts = [plain(settings.model), plain(settings.streams), plain(settings.softmax), training, corpus.digest]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def new_bilm(settings: Pretrain, corpus: Corpus) -> BiLM:
    """An untrained biLM with the characters and words of a corpus; its softmax starts at the log unigram."""
    characters: Counter[str] = Counter()
    counts = corpus.counts.tolist()
    for word, count in zip(corpus.types, counts, strict=False):
        for character in word:
            characters[character] += count
    of_characters = settings.model.characters
    chars = alphabet(characters, of_characters.minimum_count) if of_characters.unit == "character" else []
    n_seen = int((corpus.counts > 0).sum())  # types of the held-out part alone come last, with count 0
    words = corpus.types[: min(n_seen, settings.model.vocabulary - len(SPECIAL_WORDS))]
    torch.manual_seed(settings.training.seed)
    return BiLM(settings.model, chars, words)


class Pretraining:
    """The task that `fit` trains: next-word prediction in both directions."""

    def __init__(self, settings: Pretrain, corpus: Corpus) -> None:
        self.settings, self.corpus = settings, corpus
        self.bilm = bilm = new_bilm(settings, corpus)
        self.model: nn.Module = bilm
        n_types = len(corpus.types)
        self.streams = Streams(corpus.ids("train"), n_types, settings.streams, settings.training.seed)
        spelled, marks = bilm.spell(corpus.types), bilm.marks()
        pad = spelled.chars.shape[1] - marks.chars.shape[1]
        marks = Spelled(torch.nn.functional.pad(marks.chars, (0, max(pad, 0))), marks.ids)
        self.spelled = Spelled(torch.cat([spelled.chars, marks.chars]), torch.cat([spelled.ids, marks.ids]))
        unigram = self._unigram(corpus)
        self.softmax = bilm.predictor()
        self.softmax.start_at(unigram)
        negatives = min(settings.softmax.negatives, len(unigram))
        self.sampler = Sampler(unigram, negatives) if negatives else None
        self.states = bilm.start(settings.streams.batch)
        self.begins = torch.tensor([n_types, n_types + 1]).view(2, 1, 1)

    def _unigram(self, corpus: Corpus) -> NDArray[np.float64]:
        """Probability of each word of the vocabulary, the marks among them, in the training part."""
        n_types = len(corpus.types)
        counts = np.zeros(len(self.bilm.words) + len(SPECIAL_WORDS))
        seen = self.spelled.ids[:n_types].numpy()
        np.add.at(counts, seen, np.asarray(corpus.counts, np.float64))
        counts[[START, STOP]] = len(self.streams.sentences.lengths) / 2  # each stands in one direction of two
        unigram: NDArray[np.float64] = counts / counts.sum()
        return unigram

    def groups(self) -> list[Group]:
        bilm = self.bilm
        rows = {"softmax.rows.weight": self.softmax.rows.weight, "softmax.bias.weight": self.softmax.bias.weight}
        if bilm.tokens.table is not None:
            rows["tokens.table.weight"] = bilm.tokens.table.weight
        if self.sampler is None:  # the full softmax: every row has a gradient each time, and it is dense
            rows = {name: p for name, p in rows.items() if not name.startswith("softmax.")}
        dense = {name: p for name, p in bilm.named_parameters() if name not in rows}
        return [Group(dense), Group(rows, rate=self.settings.softmax.rate, sparse=True)]

    def loss(self, step: int) -> tuple[Tensor, int]:
        bilm, window = self.bilm, self.streams.window(step)
        distinct, places = np.unique(window.inputs, return_inverse=True)
        encoded = bilm.encode(self.spelled.take(torch.from_numpy(distinct)))
        tokens = embedding(torch.from_numpy(places.reshape(window.inputs.shape)), encoded)
        if window.first:
            self.states = bilm.start(self.settings.streams.batch)
        keep = None
        if self.settings.streams.reset:
            keep = (torch.from_numpy(window.inputs) != self.begins).to(tokens)
        outputs, self.states = bilm.run(tokens, self.states, keep)
        hidden = bilm.dropout(outputs[-1]).flatten(0, 2)
        targets = self.spelled.ids[torch.from_numpy(window.targets.ravel())]
        if self.sampler is None:
            loss = self.softmax.full_loss(hidden, targets)
        else:
            generator = np.random.default_rng([self.settings.training.seed, step])
            loss = self.softmax.sampled_loss(hidden, targets, Sample(self.sampler, targets.numpy(), generator))
        return loss, window.inputs[0].size

    def evaluate(self) -> dict[str, float]:
        if not len(self.corpus.ids("heldout")):
            return {}
        figures = corpus_perplexity(self.bilm, self.corpus, limit=self.settings.evaluation_words, quiet=True)
        return {"score": -figures["mean"], "perplexity": figures["mean"]}

    def carried(self) -> dict[str, Tensor]:
        named = [(f"{i}.{name}", t) for i, state in enumerate(self.states) for name, t in state._asdict().items()]
        return dict(named)

    def carry(self, tensors: Mapping[str, Tensor]) -> None:
        self.states = [State(tensors[f"{i}.h"], tensors[f"{i}.c"]) for i in range(len(self.states))]


def _facts(
    settings: Pretrain, corpus: Corpus, fitted: Fitted, held_out: dict[str, float], bilm: BiLM
) -> dict[str, Any]:
    """What the model's card says of its training."""
    per_update = settings.streams.batch * settings.streams.window
    known = bilm.spell(corpus.types).ids.numpy() != UNK
    return {
        "settings": {name: table for name, table in plain(settings).items() if name != "corpus"},
        "corpus": {
            "digest": corpus.digest,
            "words": int(corpus.counts.sum()),
            "types": len(corpus.types),
            "known_words": float(corpus.counts[known].sum() / max(corpus.counts.sum(), 1)),
            "sources": corpus.origin["sources"],
            "test_sentences_kept_out_of": corpus.origin["kept_out"],
        },
        "licence": corpus.origin["licence"],
        "parameters": sum(p.numel() for p in bilm.parameters()),
        "steps": fitted.step,
        "words_read": fitted.step * per_update,
        "epochs": fitted.step * per_update / max(int(corpus.counts.sum()), 1),
        "words_per_second": fitted.units / max(fitted.seconds, 1e-9),
        "seconds": fitted.seconds,
        "held_out_perplexity": held_out,
        "torch": str(torch.__version__),
        "threads": torch.get_num_threads(),
    }
