"""The CoNLL 2018 metrics, word by word, so that every slice of the words has its own scores.

Definitions: Zeman et al. 2018 (CoNLL 2018 shared task), section 4; Nivre and Fang 2017 for CLAS. Relation subtypes are
cut off, only universal features count, punctuation counts in UAS and LAS but not in CLAS, MLAS and BLEX.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from zh_elmo.ud.align import ROOT, UNALIGNED, Layout, align_words, equal_spans, lay_out, refuse_other_text
from zh_elmo.ud.conllu import Sentence, Word

METRICS: Final = (
    "Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS", "CLAS", "MLAS", "BLEX",
)  # fmt: skip
CONTENT_RELATIONS: Final = {
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated", "advcl", "advmod",
    "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed", "flat", "compound", "list", "parataxis",
    "orphan", "goeswith", "reparandum", "root", "dep",
}  # fmt: skip
FUNCTION_RELATIONS: Final = {"aux", "cop", "mark", "det", "clf", "case", "cc"}
UNIVERSAL_FEATURES: Final = {
    "PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr", "Gender", "Animacy", "Number", "Case", "Definite",
    "Degree", "VerbForm", "Mood", "Tense", "Aspect", "Voice", "Evident", "Polarity", "Person", "Polite",
}  # fmt: skip
_OF_CONTENT: Final = {"CLAS", "MLAS", "BLEX"}  # metrics of content words alone

Labels = Callable[[Sentence], Sequence[str]] | Sequence[Sequence[str]]
"""A label for every word: a function from a gold sentence to one label a word, or the labels by gold sentence."""


class Score(NamedTuple):
    """Counts of one metric and what follows from them, each from 0 to 1 (0 where there is nothing to count)."""

    correct: int
    gold_total: int
    system_total: int
    aligned_total: int | None = None  # None for Tokens, Sentences and Words, which say themselves what is aligned

    @property
    def precision(self) -> float:
        return self.correct / self.system_total if self.system_total else 0.0

    @property
    def recall(self) -> float:
        return self.correct / self.gold_total if self.gold_total else 0.0

    @property
    def f1(self) -> float:
        total = self.gold_total + self.system_total
        return 2 * self.correct / total if total else 0.0

    @property
    def aligned_accuracy(self) -> float | None:
        if self.aligned_total is None:
            return None
        return self.correct / self.aligned_total if self.aligned_total else 0.0


class Tally(NamedTuple):
    """One metric, unit by unit. Units are words; for Tokens and Sentences, those.

    A unit is counted with a gold word: a gold unit with its first word; a system unit with the first word of the gold
    unit that it is aligned with, or else with the first word of the gold token in which it starts. So whatever divides
    the gold words divides both sides, no part has more right than there is, and the parts add up to the whole.
    """

    correct: np.ndarray  # bool [n_gold_units]
    gold: np.ndarray  # bool [n_gold_units]: counts in gold_total (all; for CLAS, MLAS, BLEX only content words)
    system: np.ndarray  # bool [n_system_units]: counts in system_total
    aligned: np.ndarray | None  # bool [n_gold_units]: counts in aligned_total
    gold_words: np.ndarray  # int64 [n_gold_units]: the gold word that the unit is counted with
    system_words: np.ndarray  # int64 [n_system_units]: likewise

    def counts(self, parts: np.ndarray, n_parts: int) -> list[Score]:
        """Scores by part, given the part of each gold word (int64 [n_gold_words])."""
        ours, theirs = parts[self.gold_words], parts[self.system_words]
        rows = [
            np.bincount(ours[self.correct], minlength=n_parts).tolist(),
            np.bincount(ours[self.gold], minlength=n_parts).tolist(),
            np.bincount(theirs[self.system], minlength=n_parts).tolist(),
        ]
        if self.aligned is not None:
            rows.append(np.bincount(ours[self.aligned], minlength=n_parts).tolist())
        return [Score(*row) for row in zip(*rows, strict=True)]


class SentenceCounts(NamedTuple):
    """One metric by gold sentence, int64 [n_gold_sentences] each: what a bootstrap over sentences draws from."""

    correct: np.ndarray
    gold: np.ndarray
    system: np.ndarray


class Evaluation:
    """What `score` found: `metrics` for the whole, `tallies` for every word, `slices` for any division of the words."""

    def __init__(self, gold: Layout, tallies: dict[str, Tally]) -> None:
        self.tallies = tallies
        self.word_sentences = np.searchsorted(gold.sentence_words, np.arange(len(gold.words)), side="right") - 1
        self._gold = gold
        whole = np.zeros(len(gold.words), np.int64)
        self.metrics: dict[str, Score] = {name: tally.counts(whole, 1)[0] for name, tally in tallies.items()}

    def slices(self, by: Labels) -> dict[str, dict[str, Score]]:
        """Label -> metric -> Score, over the gold words with that label and the system words that stand for them.

        Labels come in order of first appearance. For every metric the counts add up to those of `metrics`. Tokens go by
        their first word. Sentences are left out where a sentence has words of several labels.
        Raises ValueError where the labels are not one for each gold word.
        """
        labels, parts = self._parts(by)
        first = self._gold.sentence_words[self.word_sentences]
        whole_sentences = bool((parts == parts[first]).all())
        counts = {
            name: tally.counts(parts, len(labels))
            for name, tally in self.tallies.items()
            if name != "Sentences" or whole_sentences
        }
        return {label: {name: scores[i] for name, scores in counts.items()} for i, label in enumerate(labels)}

    def sentence_counts(self, metric: str, by: Labels | None = None, label: str | None = None) -> SentenceCounts:
        """Counts of `metric` by gold sentence, over all words or over those that `by` gives `label`.

        They sum to the counts of `metrics` or `slices`; a label that no word has gives zeros.
        """
        tally, n = self.tallies[metric], len(self._gold.sentences)
        chosen = np.ones(len(self._gold.words), bool)
        if by is not None:
            labels, parts = self._parts(by)
            chosen = parts == (labels.index(label) if label in labels else len(labels))

        def summed(counted: np.ndarray, words: np.ndarray) -> np.ndarray:
            return np.bincount(self.word_sentences[words[counted & chosen[words]]], minlength=n)

        ours, theirs = tally.gold_words, tally.system_words
        return SentenceCounts(summed(tally.correct, ours), summed(tally.gold, ours), summed(tally.system, theirs))

    def _parts(self, by: Labels) -> tuple[list[str], np.ndarray]:
        """The labels in order of first appearance, and the number of its label for each gold word."""
        sentences = self._gold.sentences
        rows = [by(sentence) for sentence in sentences] if callable(by) else by
        if [len(row) for row in rows] != [len(sentence.words) for sentence in sentences]:
            raise ValueError("labels must be one for each word of each gold sentence")
        numbers: dict[str, int] = {}
        parts = [numbers.setdefault(label, len(numbers)) for label in chain.from_iterable(rows)]
        return list(numbers), np.array(parts, np.int64)


def score(gold: Sequence[Sentence], system: Sequence[Sentence], *, trees: bool = True) -> Evaluation:
    """Compare two analyses of the same text, which may differ in sentences, tokens, words and everything about them.

    `trees=False` takes heads that are no trees and missing ones (`_`, never right); the official scorer does not.
    Raises BadInput where the texts differ (blanks aside), a head is outside its sentence or heads are no tree.
    """
    ours, theirs = lay_out(gold, "gold", trees=trees), lay_out(system, "system", trees=trees)
    refuse_other_text(ours, theirs)
    aligned = align_words(ours, theirs)
    tallies = {
        "Tokens": _tally_spans(ours, ours.token_spans, ours.token_words, theirs.token_spans),
        "Sentences": _tally_spans(ours, ours.sentence_spans, ours.sentence_words, theirs.sentence_spans),
    }
    return Evaluation(ours, tallies | _tally_words(ours, theirs, aligned))


def _tally_spans(gold: Layout, spans: np.ndarray, words: np.ndarray, system_spans: np.ndarray) -> Tally:
    """Tokens or sentences: right where the span is the same."""
    equal, _ = equal_spans(spans, system_spans)
    correct = np.zeros(len(spans), bool)
    correct[equal] = True
    at = gold.words_at(system_spans[:, 0])
    return Tally(correct, np.ones(len(spans), bool), np.ones(len(system_spans), bool), None, words, at)


def _tally_words(gold: Layout, system: Layout, aligned: np.ndarray) -> dict[str, Tally]:
    found = np.flatnonzero(aligned != UNALIGNED)
    words = np.arange(len(gold.words))
    anchors = np.where(aligned == UNALIGNED, gold.words_at(system.word_spans[:, 0]), aligned)

    def over_gold(right: np.ndarray) -> np.ndarray:
        spread = np.zeros(len(words), bool)
        spread[aligned[found]] = right
        return spread

    is_aligned = over_gold(np.ones(len(found), bool))
    every, system_every = np.ones(len(words), bool), np.ones(len(system.words), bool)
    content, system_content = _related(gold, CONTENT_RELATIONS), _related(system, CONTENT_RELATIONS)
    tallies = {"Words": Tally(is_aligned, every, system_every, None, words, anchors)}
    for name, right in _Pairs(gold, system, aligned, found).right().items():
        ours, theirs = (content, system_content) if name in _OF_CONTENT else (every, system_every)
        tallies[name] = Tally(over_gold(right) & ours, ours, theirs, is_aligned & ours, words, anchors)
    return tallies


class _Pairs:
    """Aligned words side by side; all arrays are bool [n_pairs]."""

    def __init__(self, gold: Layout, system: Layout, aligned: np.ndarray, found: np.ndarray) -> None:
        self.gold, self.system, self.aligned = gold, system, aligned
        self.theirs, self.ours = found, aligned[found]
        self.words = [(gold.words[g], system.words[s]) for g, s in zip(self.ours, self.theirs, strict=True)]

    def right(self) -> dict[str, np.ndarray]:
        upos = self.compare(a.upos == b.upos for a, b in self.words)
        xpos = self.compare(a.xpos == b.xpos for a, b in self.words)
        feats = self.compare(_universal(a.feats) == _universal(b.feats) for a, b in self.words)
        lemmas = self.compare(a.lemma in ("_", b.lemma) for a, b in self.words)
        relations = self.compare(_relation(a) == _relation(b) for a, b in self.words)
        heads = self.heads()
        attached = heads & relations
        return {
            "UPOS": upos,
            "XPOS": xpos,
            "UFeats": feats,
            "AllTags": upos & xpos & feats,
            "Lemmas": lemmas,
            "UAS": heads,
            "LAS": attached,
            "CLAS": attached,
            "MLAS": attached & upos & feats & self.function_words(attached & upos & feats),
            "BLEX": attached & lemmas,
        }

    def compare(self, right: Iterable[bool]) -> np.ndarray:
        return np.fromiter(right, bool, len(self.words))

    def heads(self) -> np.ndarray:
        """The system head is the root as in gold, or is aligned with the gold head."""
        parents = self.system.parents[self.theirs]
        as_gold = np.where(parents == ROOT, ROOT, UNALIGNED)
        as_gold[parents >= 0] = self.aligned[parents[parents >= 0]]
        right: np.ndarray = as_gold == self.gold.parents[self.ours]
        return right

    def function_words(self, right: np.ndarray) -> np.ndarray:
        """Both words have the same function words below them, aligned and right themselves (`right`).

        The alignment is one to one, so equal numbers of function words, all of them right, are the same ones.
        """
        ours, theirs = _children(self.gold), _children(self.system)
        both = self.ours[right & _related(self.gold, FUNCTION_RELATIONS)[self.ours]]
        parents = self.gold.parents[both]
        matched = np.bincount(parents[parents >= 0], minlength=len(self.gold.words))
        same: np.ndarray = (ours[self.ours] == matched[self.ours]) & (theirs[self.theirs] == matched[self.ours])
        return same


def _children(layout: Layout) -> np.ndarray:
    """How many function words depend on each word: int64 [n_words]."""
    parents = layout.parents[_related(layout, FUNCTION_RELATIONS)]
    return np.bincount(parents[parents >= 0], minlength=len(layout.words))


def _related(layout: Layout, relations: set[str]) -> np.ndarray:
    return np.fromiter((_relation(word) in relations for word in layout.words), bool, len(layout.words))


def _relation(word: Word) -> str:
    return word.deprel.partition(":")[0]


@lru_cache(maxsize=1 << 16)
def _universal(feats: str) -> tuple[str, ...]:
    return tuple(sorted(feat for feat in feats.split("|") if feat.partition("=")[0] in UNIVERSAL_FEATURES))
