"""Which words of a treebank are out of vocabulary, and the slices of the result tables that follow from it.

A word is OOV if its normalised form is not among the normalised forms of the training split. The labels made here are
one list a sentence with one label a word, as `Evaluation.slices` takes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Final

from zh_elmo.ud.conllu import Sentence

IV: Final = "IV"
OOV: Final = "OOV"
ONCE: Final = "once"
SEEN: Final = "OOV, seen in pre-training"
UNSEEN: Final = "OOV, never seen"
_SHARE_ENDS = (0, 10, 25, 40)  # upper ends of the bands, in per cent
OOV_SHARES: Final = ("no OOV", "OOV up to 10 %", "OOV 10 to 25 %", "OOV 25 to 40 %", "OOV over 40 %")

Normalise = Callable[[Sequence[str]], Sequence[str]]
"""The words of a sentence -> as many words, in the form in which they are looked up; `list` leaves them as they are."""


def training_forms(sentences: Iterable[Sentence], normalise: Normalise) -> Counter[str]:
    """Normalised form -> how often it is a word of these sentences."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(_normalised(sentence, normalise))
    return counts


def vocabulary_bands(
    sentences: Iterable[Sentence], training: Counter[str], normalise: Normalise, *, once: bool = False
) -> list[list[str]]:
    """IV or OOV for every word; with `once`, words that training has exactly once are `once` instead of IV.

    Those matter because a word embedding is usually trained only for words that occur twice or more.
    """

    def band(form: str) -> str:
        seen = training[form]
        return OOV if seen == 0 else ONCE if once and seen == 1 else IV

    return [[band(form) for form in _normalised(sentence, normalise)] for sentence in sentences]


def share_bands(sentences: Iterable[Sentence], training: Container[str], normalise: Normalise) -> list[list[str]]:
    """For every word the share of OOV words in its sentence, one of OOV_SHARES: none, (0, 10 %], (10, 25 %] ..."""
    bands = []
    for sentence in sentences:
        n = len(sentence.words)
        oov = sum(form not in training for form in _normalised(sentence, normalise))
        # Whole numbers, so that exactly a tenth or a quarter is on the lower side on every machine.
        band = sum(100 * oov > end * n for end in _SHARE_ENDS)
        bands.append([OOV_SHARES[band]] * n)
    return bands


def pretraining_bands(
    sentences: Iterable[Sentence],
    training: Container[str],
    normalise: Normalise,
    types: Container[str],
    normalise_types: Normalise | None = None,
) -> list[list[str]]:
    """IV for every word that training has; for the others whether pre-training has `seen` or never seen them.

    `types` are the word types of the pre-training corpus; `normalise_types` brings words to its form where that is not
    the form of `normalise`.
    """
    bands = []
    for sentence in sentences:
        ours = _normalised(sentence, normalise)
        theirs = ours if normalise_types is None else _normalised(sentence, normalise_types)
        pairs = zip(ours, theirs, strict=True)
        bands.append([IV if form in training else SEEN if other in types else UNSEEN for form, other in pairs])
    return bands


def oov_rate(sentences: Iterable[Sentence], training: Container[str], normalise: Normalise) -> float:
    """The share of OOV words among all words, from 0 to 1; 0 where there are no words."""
    known = [form in training for sentence in sentences for form in _normalised(sentence, normalise)]
    return known.count(False) / len(known) if known else 0.0


def _normalised(sentence: Sentence, normalise: Normalise) -> Sequence[str]:
    forms = normalise(sentence.forms)
    if len(forms) != len(sentence.words):
        raise ValueError(f"the normaliser made {len(forms)} of {len(sentence.words)} words; one for each is needed")
    return forms
