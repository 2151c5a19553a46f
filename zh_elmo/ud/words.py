"""Word F1 of raw text cut into words against a treebank: exact spans, white space ignored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from zh_elmo.files import BadInput
from zh_elmo.text.pipeline import Pipeline
from zh_elmo.ud.conllu import Sentence

Spans = set[tuple[int, int]]


class WordScore(NamedTuple):
    """Counts of words; a word is right where both its ends are."""

    right: int
    found: int
    due: int
    characters: int  # of the raw text

    @property
    def f1(self) -> float:
        """In per cent; 0 where there is no word."""
        return 200 * self.right / (self.found + self.due) if self.found + self.due else 0.0

    def as_dict(self) -> dict[str, float]:
        return {
            "f1": round(self.f1, 2),
            "precision": round(100 * self.right / self.found, 2) if self.found else 0.0,
            "recall": round(100 * self.right / self.due, 2) if self.due else 0.0,
            "words": self.due,
        }


def word_score(sentences: Iterable[Sentence], pipeline: Pipeline) -> WordScore:
    """How well `pipeline` finds the surface tokens of `sentences` in their raw text.

    Everything that it does counts: normalisation, script, sentence boundaries, segmentation. Raises BadInput where the
    text of a sentence is not that of its tokens.
    """
    right = found = due = characters = 0
    for sentence in sentences:
        text = sentence.text
        places = _places(text)
        gold = gold_spans(sentence, places[-1])
        system = {(places[word.start], places[word.end]) for words in pipeline.sentences(text) for word in words}
        right, found, due = right + len(gold & system), found + len(system), due + len(gold)
        characters += len(text)
    return WordScore(right, found, due, characters)


def gold_spans(sentence: Sentence, length: int) -> Spans:
    """Spans of the tokens in the text without white space, of which there are `length` characters."""
    spans: Spans = set()
    end = 0
    for token in sentence.tokens:
        start, end = end, end + len("".join(token.form.split()))
        spans.add((start, end))
    if end != length:
        raise BadInput("the text of the sentence is not that of its words", path=sentence.path, line=sentence.line)
    return spans


def _places(text: str) -> list[int]:
    """For each position in `text` and its end, how many characters before it are not white space."""
    places = [0]
    for character in text:
        places.append(places[-1] + (not character.isspace()))
    return places
