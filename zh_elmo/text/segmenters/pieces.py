"""The one interface of all segmenters, with offsets, and what they share: clusters kept whole, words put back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zh_elmo.text.characters import EMOJI, HAN, JAMO, JOINER, TAGS, composes, continues, marks

Cut = Callable[[str], list[str]]
Token = tuple[str, int, int]  # word, start, end: sentence[start:end] is the word

LONGEST_WORD = 100  # characters; longer ones (addresses, noise) are cut, so that no line can become one word

MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"  # inside a character class
# Emoji with modifiers, joined emoji, flags, keycaps.
PICTURE = (
    f"[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\u20e3"
    f"|[{EMOJI}][\U0001f3fb-\U0001f3ff{TAGS}]*(?:{JOINER}[{EMOJI}][\U0001f3fb-\U0001f3ff]*)*"
)
# One grapheme cluster that no dictionary knows and no segmenter may cut: those, a Chinese character with marks, and
# letters with marks that NFC could not compose, with the rest of their word. Runs of letters are matched whole even
# where they have no mark, so that a long one is read once.
_CLUSTER = re.compile(f"{PICTURE}|(?P<run>(?:[^\\W{HAN}][{MARKS}]*)+)|\\w[{MARKS}]+")
_HAS_CLUSTER = re.compile(f"[{MARKS}\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff{JOINER}{TAGS}]")
_MARK = re.compile(f"[{MARKS}]")
# What a word does not begin with (`continues`), of the basic plane, inside a character class. Those beyond it would
# make a search slow, and are looked for as anything that lies there.
CONTINUING = JAMO + "".join(re.findall("[\0-\uffff]-[\0-\uffff]", marks()))
_MAY_CONTINUE = re.compile(f"[{CONTINUING}\U00010000-\U0010ffff]")


class Segmenter(NamedTuple):
    """One normalised sentence to its words, in order. Together they are the sentence; only white space may be left out.

    A grapheme cluster is never cut, and no word begins with a mark (`continues`) unless nothing, or white space, stands
    before it, so that no two words come from one character of the raw text. A sentence has no lone surrogates; the
    normaliser leaves none.
    """

    cut: Cut
    tokens: Callable[[str], list[Token]]
    # Of many sentences, one a line: the words of each with a line feed between. `recut` tells of distinct ones of them
    # (also given: their code points with a line feed between, and where each ends) which fall into further words.
    lines: Cut
    recut: Callable[[list[str], NDArray[np.uint32], NDArray[np.int64]], dict[int, list[str]]] = lambda *_: {}


def with_offsets(cut: Cut) -> Segmenter:
    """A segmenter of what gives the words alone, perhaps with marks cut off from what they stand on."""

    def words(sentence: str) -> list[str]:
        if _MAY_CONTINUE.search(sentence) is None:
            return cut(sentence)
        return [word for word, _, _ in tokens(sentence)]

    def tokens(sentence: str) -> list[Token]:
        found = located(sentence, cut(sentence))
        return found if _MAY_CONTINUE.search(sentence) is None else _with_marks(sentence, found)

    return Segmenter(words, tokens, lambda text: by_line(words, text))


def _with_marks(sentence: str, tokens: list[Token]) -> list[Token]:
    """Words that begin with a mark belong to the ones before."""
    kept: list[Token] = []
    for word, start, end in tokens:
        if kept and continues(word[0]) and kept[-1][2] == start and not kept[-1][0].isspace():
            start = kept.pop()[1]
        kept.append((sentence[start:end], start, end))
    return kept


def shortened(word: str) -> list[str]:
    """A word of more than LONGEST_WORD characters in pieces that are not, each of which begins with no mark if that
    can be."""
    pieces: list[str] = []
    start = 0
    while len(word) - start > LONGEST_WORD:
        ends = range(start + LONGEST_WORD, start, -1)
        found = (end for glued in (continues, composes) for end in ends if not glued(word[end]))
        end = next(found, start + LONGEST_WORD)
        pieces.append(word[start:end])
        start = end
    return [*pieces, word[start:]]


def by_line(cut: Cut, text: str) -> list[str]:
    """`Segmenter.lines` by one call for each sentence."""
    first, *others = text.split("\n")
    words = list(cut(first))
    for sentence in others:
        words.append("\n")
        words += cut(sentence)
    return words


def located(sentence: str, words: list[str]) -> list[Token]:
    """Where each of the words that a segmenter gave for `sentence` stands in it."""
    ends = list(accumulate(map(len, words)))
    if ends and ends[-1] == len(sentence):
        return list(zip(words, [0, *ends], ends, strict=False))
    tokens: list[Token] = []
    position = 0
    for word in words:
        position = sentence.index(word, position)  # what stands before it is white space
        tokens.append((word, position, position + len(word)))
        position += len(word)
    return tokens


def keep_clusters(cut: Cut) -> Cut:
    """`cut` for everything but grapheme clusters, each of which becomes a word."""

    def whole(sentence: str) -> list[str]:
        if sentence.isascii() or _HAS_CLUSTER.search(sentence) is None:
            return cut(sentence)
        words: list[str] = []
        position = 0
        for match in _CLUSTER.finditer(sentence):
            cluster = match.group()
            if len(cluster) > 1 and (match.lastgroup is None or _MARK.search(cluster)):
                words += [*cut(sentence[position : match.start()]), cluster]
                position = match.end()
        return words + cut(sentence[position:])

    return whole


def aligned(sentence: str, words: Iterable[str]) -> list[str]:
    """`words` as slices of `sentence`, for libraries that drop white space or put another kind in its place.

    A word that holds white space keeps that of the sentence. Raises ValueError where the words are not the sentence.
    """
    pieces: list[str] = []
    position = 0
    for word in words:
        parts = word.split()
        start = -1
        for part in parts:
            while position < len(sentence) and sentence[position].isspace():
                position += 1
            start = position if start < 0 else start
            if not sentence.startswith(part, position):
                raise ValueError(f"{part!r} is not at {sentence[position : position + 20]!r}")
            position += len(part)
        if parts:
            pieces.append(sentence[start:position])
    if sentence[position:].strip():
        raise ValueError(f"{sentence[position : position + 20]!r} is in no word")
    return pieces
