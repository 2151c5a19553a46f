"""The deep biaffine parser: predicted tags or none as input, the best single-root tree as output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from zh_elmo.files import BadInput
from zh_elmo.recipe import Amount, Share, Size
from zh_elmo.text.pipeline import Pipeline
from zh_elmo.ud.batches import Training, by_length
from zh_elmo.ud.biaffine import Biaffine, Views
from zh_elmo.ud.conllu import Sentence, check_heads
from zh_elmo.ud.folder import Contents, vector_shape
from zh_elmo.ud.inputs import Batch, Inputs, Vectors, WordDropout
from zh_elmo.ud.learning import Run, column, fingerprint, learn, normalised, usable
from zh_elmo.ud.network import BiLSTM, EncoderSettings, WordInput
from zh_elmo.ud.tagger import Tagger
from zh_elmo.ud.trained import Trained
from zh_elmo.ud.tree import single_root_tree
from zh_elmo.ud.vocabulary import UNSEEN, Labels, Vocabulary

_WORDS_AT_ONCE = 3000
_NO_TAG = 0  # of the artificial root, and where a tag is lost in training or unknown; tags begin at 1


class ParserTraining(Training):
    """`[parser.training]` of a recipe."""

    batch_words: Size = 500
    learning_rate: float = 2.5e-3
    beta2: Share = 0.95


class ParserSettings(EncoderSettings):
    """`[parser]` of a recipe."""

    layers: Size = 2
    arc_size: Size = 200
    label_size: Size = 64
    tags: Literal["predicted", "none"] = "predicted"  # UPOS of our tagger as input; gold ones never
    tag_size: Size = 32
    tag_dropout: Share = 0.33  # share of the words of training that lose their tag
    upos_weight: Amount = 0.5  # of a second loss: UPOS from the first LSTM layer; 0: none
    subtypes: bool = False  # labels with what follows their colon, which CoNLL 2018 does not score
    training: ParserTraining = ParserTraining()


class Tree(NamedTuple):
    """A parsed sentence, [n_words] each."""

    heads: list[int]  # 0 for the root, of which there is exactly one
    deprels: list[str]


class _Network(nn.Module):
    def __init__(self, contents: Contents) -> None:
        super().__init__()
        settings: ParserSettings = contents.settings
        labels = contents.labels
        tags = len(labels["tags"]) + 1 if settings.tags == "predicted" else 0
        words = WordInput(settings, contents.vocabulary, contents.vectors, tags, settings.tag_size)
        self.biaffine = Biaffine(
            words,
            BiLSTM(words.width, settings.hidden, settings.layers, settings.dropout),
            arc_size=settings.arc_size,
            label_size=settings.label_size,
            labels=len(labels["deprel"]),
            dropout=settings.dropout,
        )
        self.upos = nn.Linear(2 * settings.hidden, len(labels["upos"])) if settings.upos_weight else None

    @property
    def words(self) -> WordInput:
        return self.biaffine.words


class _Known(NamedTuple):
    """Sentences with their right answers, [N] over all words with the artificial roots, for which all are UNSEEN."""

    inputs: Inputs
    heads: NDArray[np.int64]
    labels: NDArray[np.int64]  # UNSEEN for the root word: its label is `root` and nothing to learn
    bases: NDArray[np.int64]  # labels without subtypes, numbered by `_bases`
    upos: NDArray[np.int64]


class Parser(Trained[_Network]):
    """A trained parser. It is given raw forms, brings them to the form that it was trained on, and predicts the same
    whatever other sentences come with a sentence (up to rounding)."""

    kind = "parser"
    settings_kind = ParserSettings
    network_kind = _Network

    @classmethod
    def train(
        cls,
        settings: ParserSettings,
        train: Sequence[Sentence],
        dev: Sequence[Sentence],
        *,
        text: Pipeline,
        vectors: Vectors | None = None,
        tagger: Tagger | None = None,
        seed: int = 1,
        folder: Path | None = None,
        resume: bool = False,
        quiet: bool = False,
    ) -> Parser:
        """Train on `train` and keep the state that is best on `dev` (the last one where `dev` is empty).

        With `tags = "predicted"` the tags of all sentences come from `tagger`, never from the treebank. `folder` is for
        checkpoints and log (see `fit`), not where `save` writes. The same seed and thread count give the same weights.
        Raises BadInput for training sentences without relations or with heads that are no tree, and where the tagger is
        missing.
        """
        train, dev = usable(train, "deprel"), [sentence for sentence in dev if sentence.words]
        for sentence in train:
            check_heads(sentence)
        if settings.tags == "predicted" and tagger is None:
            raise BadInput('tags = "predicted" needs a tagger; train one too, or say tags = "none"')
        forms = normalised(text, [sentence.forms for sentence in train])
        contents = Contents(
            settings,
            text.settings,
            vector_shape(vectors),
            Vocabulary.build(forms, settings.minimum_count),
            _labels(train, settings, tagger),
            {},
        )
        parser = cls.untrained(contents, vectors, seed)
        tags = [tagger.tag([s.forms for s in split]) if tagger else None for split in (train, dev)]
        mark = fingerprint(settings, seed, [*train, *dev], contents.text, contents.vectors, tags)
        parser._fit(parser._known(train, tags[0]), parser._known(dev, tags[1]), Run(seed, folder, resume, quiet, mark))
        return parser

    def _fit(self, train: _Known, dev: _Known, run: Run) -> None:
        settings, vocabulary = self.settings, self.contents.vocabulary

        def loss(rows: NDArray[np.int64], step: int) -> tuple[Tensor, int]:
            dropout = WordDropout(vocabulary, settings.word_dropout, (run.seed, step), settings.tag_dropout)
            batch = train.inputs.batch(rows, dropout)
            return self._loss(batch, train), len(batch.places) - len(rows)

        evaluate = (lambda: self._evaluate(dev)) if len(dev.inputs.lengths) else None
        lengths, training = train.inputs.lengths - 1, settings.training
        self.fitted = learn(self.network, loss, evaluate, lengths=lengths, training=training, run=run, title=self.kind)

    def _known(self, sentences: Sequence[Sentence], tags: Sequence[Sequence[str]] | None) -> _Known:
        inputs = self._inputs([sentence.forms for sentence in sentences], tags)
        labels, bases = self.contents.labels, self._bases

        def flat(numbers: Callable[[Sentence], NDArray[np.int64]]) -> NDArray[np.int64]:
            return inputs.flat([numbers(sentence) for sentence in sentences], UNSEEN)

        return _Known(
            inputs,
            flat(lambda s: np.array([word.head for word in s.words], np.int64)),
            flat(lambda s: labels["deprel"].numbers(_labels_of(s, self.settings.subtypes))),
            flat(lambda s: bases.numbers(_labels_of(s, subtypes=False))),
            flat(lambda s: labels["upos"].numbers(word.upos for word in s.words)),
        )

    def _loss(self, batch: Batch, gold: _Known) -> Tensor:
        """Mean over words of arc and label losses, labels scored for the gold head only, and of the loss of tags."""
        network, heads = self.network, torch.from_numpy(gold.heads[batch.places])
        views = network.biaffine(batch)
        words = heads.ge(0).nonzero()[:, 0]
        total = cross_entropy(views.arcs[words], heads[words])
        labels = torch.from_numpy(gold.labels[batch.places])
        labelled = labels.ge(0).nonzero()[:, 0]
        if len(labelled):
            scores = network.biaffine.labels(views, labelled, batch.starts[labelled] + heads[labelled])
            total = total + cross_entropy(scores, labels[labelled])
        if network.upos is not None:
            right = torch.from_numpy(gold.upos[batch.places])
            total = total + self.settings.upos_weight * cross_entropy(network.upos(views.first[words]), right[words])
        return total

    def _evaluate(self, dev: _Known) -> dict[str, float]:
        """UAS and LAS in percent of all words, subtypes cut off, with greedy heads: trees matter in the end only."""
        base_of = self._bases.numbers(map(_base, self.contents.labels["deprel"].values))
        attached = labelled = tagged = 0
        for batch, views in self._views(dev.inputs):
            heads = views.arcs.argmax(1)
            labels = np.append(base_of, UNSEEN)[self._labels(batch, views, heads).numpy()]
            right = heads.numpy() == dev.heads[batch.places]
            attached += int(right.sum())
            labelled += int((right & (labels == dev.bases[batch.places])).sum())
            if self.network.upos is not None:
                tags = self.network.upos(views.first).argmax(1).numpy()
                tagged += int((tags == dev.upos[batch.places]).sum())
        words = int((dev.heads != UNSEEN).sum())
        figures = {"score": labelled, "uas": attached, "las": labelled, "upos": tagged}
        return {name: 100 * count / words for name, count in figures.items() if name != "upos" or self.network.upos}

    def parse(self, sentences: Sequence[Sequence[str]], tags: Sequence[Sequence[str]] | None = None) -> list[Tree]:
        """The best tree of each sentence of raw forms, in their order.

        `tags` are the UPOS that the tagger of its training gives these sentences. Raises BadInput where it was trained
        with tags and is given none, or other numbers of them.
        """
        found = [Tree([], []) for _ in sentences]
        filled = [number for number, forms in enumerate(sentences) if len(forms)]
        values = self.contents.labels["deprel"].values
        self.network.eval()
        for batch, views in self._views(self._inputs(*_chosen(filled, sentences, tags))):
            parts = torch.split(views.arcs, batch.sizes.tolist())
            heads = [single_root_tree(part[:, : len(part)].double().numpy()) for part in parts]
            flat = torch.from_numpy(np.concatenate([np.append(UNSEEN, part) for part in heads]))
            labels = torch.split(self._labels(batch, views, flat), batch.sizes.tolist())
            for row, tree, numbers in zip(batch.rows, heads, labels, strict=True):
                names = [values[n] if head else "root" for head, n in zip(tree, numbers[1:].tolist(), strict=True)]
                found[filled[row]] = Tree(tree.tolist(), names)
        return found

    @property
    def settings(self) -> ParserSettings:
        settings: ParserSettings = self.contents.settings
        return settings

    @property
    def _bases(self) -> Labels:
        """The labels without subtypes."""
        return Labels.build(map(_base, self.contents.labels["deprel"].values))

    def _inputs(self, raw: Sequence[Sequence[str]], tags: Sequence[Sequence[str]] | None) -> Inputs:
        numbers = None
        if self.settings.tags == "predicted":
            if tags is None or [len(one) for one in tags] != [len(forms) for forms in raw]:
                raise BadInput("this parser needs the tags of its tagger, one a word")
            numbers = [self.contents.labels["tags"].numbers(one) + 1 for one in tags]  # UNSEEN becomes NO_TAG
        forms = normalised(self.text, raw)
        return Inputs(forms, self.contents.vocabulary, raw=raw, vectors=self.vectors, tags=numbers, root=True)

    @torch.no_grad()
    def _views(self, inputs: Inputs) -> Iterator[tuple[Batch, Views]]:
        for rows in by_length(inputs.lengths, _WORDS_AT_ONCE):
            batch = inputs.batch(rows)
            yield batch, self.network.biaffine(batch)

    @torch.no_grad()
    def _labels(self, batch: Batch, views: Views, heads: Tensor) -> Tensor:
        """[M] best label of each arc, UNSEEN where the head is the artificial root or the word is one."""
        found = torch.full_like(heads, UNSEEN)
        words = heads.gt(0).nonzero()[:, 0]
        if len(words):
            scores = self.network.biaffine.labels(views, words, batch.starts[words] + heads[words])
            found[words] = scores.argmax(1)
        return found


def _base(label: str) -> str:
    return label.partition(":")[0]


def _labels_of(sentence: Sentence, subtypes: bool) -> list[str]:
    """Labels of the words of a sentence; "" for its root, whose label needs no learning."""
    return ["" if w.head == 0 else w.deprel if subtypes else _base(w.deprel) for w in sentence.words]


def _labels(train: Sequence[Sentence], settings: ParserSettings, tagger: Tagger | None) -> dict[str, Labels]:
    deprels = {label for sentence in train for label in _labels_of(sentence, settings.subtypes)} - {"", "root"}
    return {
        "deprel": Labels.build(deprels or {"dep"}),
        "upos": Labels.build(column(train, "upos")),
        "tags": Labels(tagger.tags if tagger and settings.tags == "predicted" else []),
    }


def _chosen(
    rows: Sequence[int], sentences: Sequence[Sequence[str]], tags: Sequence[Sequence[str]] | None
) -> tuple[list[Sequence[str]], list[Sequence[str]] | None]:
    """The sentences `rows` and their tags."""
    if tags is not None and len(tags) != len(sentences):
        raise BadInput(f"tags of {len(tags)} sentences for {len(sentences)}")
    return [sentences[row] for row in rows], None if tags is None else [tags[row] for row in rows]
