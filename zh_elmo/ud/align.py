"""Two analyses of one text laid over each other, character by character.

The alignment of the CoNLL 2018 shared task (Zeman et al. 2018, section 4; its scorer by Straka and Popel): tokens are
spans of the text without its blanks. Words that are tokens are aligned where the spans are equal, words in and around
multiword tokens by the longest common subsequence of their forms.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from zh_elmo.files import BadInput
from zh_elmo.ud.conllu import Sentence, Word, check_heads

ROOT: Final = -1  # in the place of a head word's index
UNALIGNED: Final = -2  # in the place of the index of an aligned word
HEADLESS: Final = -3  # in the place of a head word's index where HEAD is `_`

_SHOWN = 20  # characters shown where texts differ


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """A treebank laid out over its characters. Words are numbered from 0 through the whole treebank.

    Spans are int64 [n, 2]: start and end in `characters`. Tokens and sentences are placed by their first word.
    """

    sentences: Sequence[Sentence]
    words: list[Word]
    characters: str  # of all tokens, without blanks
    token_spans: np.ndarray
    token_words: np.ndarray  # int64 [n_tokens]
    sentence_spans: np.ndarray
    sentence_words: np.ndarray  # int64 [n_sentences]
    word_spans: np.ndarray  # of the token that the word belongs to
    multiword: np.ndarray  # bool [n_words]: inside a multiword token
    parents: np.ndarray  # int64 [n_words]: the head word, ROOT or HEADLESS

    def words_at(self, positions: np.ndarray) -> np.ndarray:
        """The first word of the token that covers each position of `characters`: int64, shape of `positions`."""
        at: np.ndarray = self.token_words[np.searchsorted(self.token_spans[:, 1], positions, side="right")]
        return at


def lay_out(sentences: Sequence[Sentence], name: str, *, trees: bool = True) -> Layout:
    """Raises BadInput for heads outside their sentence, words without characters and, with `trees`, heads that are no
    tree with one root; `name` ("gold", "system") leads the message."""
    forms: list[str] = []
    tokens: list[tuple[int, int, int]] = []  # start, end, first word
    words: list[tuple[int, int, bool, int]] = []  # start, end, multiword, parent
    borders, starts, position = [0], [], 0
    for number, sentence in enumerate(sentences, 1):
        if not sentence.words:
            raise BadInput(f"{name} sentence {number}: no words", path=sentence.path, line=sentence.line)
        check_heads(sentence, trees=trees, name=f"{name} sentence {number}")
        first = len(words)
        for token in sentence.tokens:
            forms.append(_without_blanks(token.form))
            end = position + len(forms[-1])
            if end == position:
                line = sentence.line_of(token.first)
                raise BadInput(f"{name} sentence {number}: word without characters", path=sentence.path, line=line)
            tokens.append((position, end, first + token.first - 1))
            for word in sentence.words[token.first - 1 : token.last]:
                parent = first + word.head - 1 if word.head > 0 else ROOT if word.head == 0 else HEADLESS
                words.append((position, end, token.multiword, parent))
            position = end
        starts.append(first)
        borders.append(position)
    token_table, word_table = np.array(tokens, np.int64).reshape(-1, 3), np.array(words, np.int64).reshape(-1, 4)
    return Layout(
        sentences=sentences,
        words=[word for sentence in sentences for word in sentence.words],
        characters="".join(forms),
        token_spans=token_table[:, :2],
        token_words=token_table[:, 2],
        sentence_spans=np.column_stack([borders[:-1], borders[1:]]).astype(np.int64),
        sentence_words=np.array(starts, np.int64),
        word_spans=word_table[:, :2],
        multiword=word_table[:, 2].astype(bool),
        parents=word_table[:, 3],
    )


def _without_blanks(form: str) -> str:
    """Blanks (Unicode category Zs) count for nothing, so that a system may or may not keep them inside words."""
    return form if form.isalnum() else "".join(c for c in form if unicodedata.category(c) != "Zs")


def refuse_other_text(gold: Layout, system: Layout) -> None:
    """Raises BadInput that shows where the characters of the two treebanks part, if they do."""
    ours, theirs = gold.characters, system.characters
    if ours == theirs:
        return
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    place, _ = _place(gold, at)
    other, word = _place(system, at)
    sentence = system.sentences[other] if system.sentences else None
    gold_id = gold.sentences[place].sent_id if gold.sentences else None
    raise BadInput(
        f"system text differs from gold text, first in gold sentence {place + 1}"
        f"{f' ({gold_id})' if gold_id else ''} and system sentence {other + 1}: "
        f"gold has {_shown(ours, at)}, system has {_shown(theirs, at)}",
        path=sentence.path if sentence else None,
        line=sentence.line_of(word) if sentence else None,
    )


def _place(layout: Layout, position: int) -> tuple[int, int]:
    """Index of the sentence and id of the word at a position, or the last ones if the text ends before it."""
    if not layout.words:
        return 0, 1
    word = int(layout.words_at(np.array(min(position, len(layout.characters) - 1))))
    sentence = int(np.searchsorted(layout.sentence_words, word, side="right")) - 1
    return sentence, word - int(layout.sentence_words[sentence]) + 1


def _shown(text: str, at: int) -> str:
    return repr(text[at : at + _SHOWN]) if at < len(text) else "nothing more"


def equal_spans(gold: np.ndarray, system: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the spans that are the same in both: gold and system, int64 [n_equal] each."""
    size = 1 + max(int(gold.max(initial=0)), int(system.max(initial=0)))
    _, ours, theirs = np.intersect1d(gold @ [size, 1], system @ [size, 1], assume_unique=True, return_indices=True)
    return ours, theirs


# Words --------------------------------------------------------------------------------------------------------------


def align_words(gold: Layout, system: Layout) -> np.ndarray:
    """The gold word that each system word is aligned with, or UNALIGNED: int64 [n_system_words], one to one."""
    aligned = np.full(len(system.words), UNALIGNED)
    if not (gold.multiword.any() or system.multiword.any()):
        ours, theirs = equal_spans(gold.word_spans, system.word_spans)
        aligned[theirs] = ours
        return aligned
    left, right = _Side(gold), _Side(system)
    g = s = 0
    while g < left.size and s < right.size:
        if left.multiword[g] or right.multiword[s]:
            g_start, s_start, g, s = _multiword_span(left, right, g, s)
            for a, b in _common(left.forms(g_start, g), right.forms(s_start, s)):
                aligned[s_start + b] = g_start + a
        elif (left.starts[g], left.ends[g]) == (right.starts[s], right.ends[s]):
            aligned[s] = g
            g, s = g + 1, s + 1
        elif left.starts[g] <= right.starts[s]:
            g += 1
        else:
            s += 1
    return aligned


class _Side:
    """The words of one treebank in plain lists, which a loop reads faster than arrays."""

    def __init__(self, layout: Layout) -> None:
        self.size = len(layout.words)
        self.words = layout.words
        self.starts: list[int] = layout.word_spans[:, 0].tolist()
        self.ends: list[int] = layout.word_spans[:, 1].tolist()
        self.multiword: list[bool] = layout.multiword.tolist()

    def forms(self, start: int, end: int) -> list[str]:
        """As they are compared. The official scorer takes blanks out of words that are tokens only; so do we."""
        pairs = zip(self.words[start:end], self.multiword[start:end], strict=True)
        return [(word.form if inside else _without_blanks(word.form)).lower() for word, inside in pairs]

    def beyond(self, i: int, end: int) -> bool:
        """Whether word `i` is no longer inside a span of characters that ends at `end`."""
        if i >= self.size:
            return True
        return self.starts[i] >= end if self.multiword[i] else self.ends[i] > end

    def extended(self, i: int, end: int) -> int:
        return max(end, self.ends[i]) if self.multiword[i] else end


def _multiword_span(gold: _Side, system: _Side, g: int, s: int) -> tuple[int, int, int, int]:
    """The smallest stretch around a multiword token at gold word `g` or system word `s` out of which no multiword token
    of either side sticks: first gold word, first system word, and the words after the last ones."""
    if gold.multiword[g]:
        end = gold.ends[g]
        if not system.multiword[s] and system.starts[s] < gold.starts[g]:
            s += 1
    else:
        end = system.ends[s]
        if not gold.multiword[g] and gold.starts[g] < system.starts[s]:
            g += 1
    g_start, s_start = g, s
    while not gold.beyond(g, end) or not system.beyond(s, end):
        if g < gold.size and (s >= system.size or gold.starts[g] <= system.starts[s]):
            end = gold.extended(g, end)
            g += 1
        else:
            end = system.extended(s, end)
            s += 1
    return g_start, s_start, g, s


def _common(ours: list[str], theirs: list[str]) -> Iterator[tuple[int, int]]:
    """Index pairs of a longest common subsequence; of several, the one that the official scorer takes."""
    if not ours or not theirs:
        return
    length = np.zeros((len(ours) + 1, len(theirs) + 1), np.int32)  # [a, b] of ours[a:] and theirs[b:]
    column = np.array(theirs, object)
    for a in range(len(ours) - 1, -1, -1):
        longest = np.maximum(length[a + 1, :-1], (column == ours[a]) * (1 + length[a + 1, 1:]))
        length[a, :-1] = np.maximum.accumulate(longest[::-1])[::-1]
    a = b = 0
    while a < len(ours) and b < len(theirs):
        if ours[a] == theirs[b]:
            yield a, b
            a, b = a + 1, b + 1
        elif length[a, b] == length[a + 1, b]:
            a += 1
        else:
            b += 1
