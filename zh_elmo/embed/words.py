"""What people give as sentences, checked: every slip is named by its place, with what to do instead."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, get_args

from zh_elmo.files import BadInput
from zh_elmo.text import script
from zh_elmo.text.characters import HAN

_PADDING = {"<PAD>", "<pad>", "[PAD]"}
_TOGETHER = 40  # Chinese characters that are no word
_UNSEGMENTED = re.compile(f"[{HAN}]{{{_TOGETHER}}}")
_TELLING = 20  # characters that stand in one script only, which are enough to say in which script words are


def check_choice(name: str, value: object, choices: Any) -> None:
    """Raise BadInput (usage) where `value` is none of a Literal's choices."""
    allowed = get_args(choices)
    if value not in allowed:
        raise BadInput(f"{name} must be {' or '.join(map(repr, allowed))}, not {value!r}", usage=True)


def checked(sentences: Iterable[Sequence[str]], *, empty: bool = False) -> Iterator[list[str]]:
    """Sentences as lists of words, one by one, from any iterable. Raises BadInput for what is not a list of lists of
    words: at once for a string or None, on the way for a bare string as a sentence, a word that is no str or, unless
    `empty`, an empty one."""
    if isinstance(sentences, str | bytes | bytearray):
        raise BadInput(
            f"a list of sentences is due, each a list of words, not the {_kind(sentences)} {_shown(sentences)}; "
            "for raw text there is embed_text"
        )
    if isinstance(sentences, Mapping | Set) or not isinstance(sentences, Iterable):
        raise BadInput(f"a list of sentences is due, each a list of words, not {_kind(sentences)}")
    return (_sentence(sentence, f"sentences[{number}]", empty) for number, sentence in enumerate(sentences))


def _sentence(sentence: Any, place: str, empty: bool) -> list[str]:
    if isinstance(sentence, str | bytes | bytearray):
        raise BadInput(
            f"{place} is the {_kind(sentence)} {_shown(sentence)}, not a list of words; "
            "for one sentence give [words], for words with spaces between them text.split(), for raw text embed_text"
        )
    if isinstance(sentence, Mapping | Set) or not isinstance(sentence, Iterable):
        raise BadInput(f"{place}: a list of words is due, not {_kind(sentence)}")
    words = list(sentence)
    for number, word in enumerate(words):
        if not isinstance(word, str):
            raise BadInput(f"{place}[{number}]: a word (str) is due, not {_kind(word)} {_shown(word)}")
        if not word and not empty:
            raise BadInput(f"{place}[{number}]: an empty word; leave it out, or give the sentence fewer words")
    if max(map(len, words), default=0) >= _TOGETHER and any(map(_UNSEGMENTED.search, words)):
        warnings.warn(
            f"{place} holds {_TOGETHER} Chinese characters without a space in one word; "
            "for raw text there is embed_text",
            stacklevel=3,
        )
    if not _PADDING.isdisjoint(words):
        warnings.warn(
            f"{place} holds a padding word, which is embedded like any other word; no padding is needed", stacklevel=3
        )
    return words


class AsGiven:
    """Words as they are given, for a model that says its script: warns once where they are in the other one."""

    def __init__(self, target: script.Target) -> None:
        self.target: script.Target = target
        self.other = self.telling = 0  # characters that stand in the other script only, and in either one only
        self.done = False

    def __call__(self, words: Sequence[str]) -> list[str]:
        if not self.done:
            traditional, simplified = script.count("".join(words))
            self.other += traditional if self.target == "simplified" else simplified
            self.telling += traditional + simplified
            self._tell()
        return list(words)

    def _tell(self) -> None:
        self.done = self.telling >= _TELLING
        if self.done and self.other > 0.5 * self.telling:
            name = "traditional" if self.target == "simplified" else "simplified"
            warnings.warn(
                f"{self.other / self.telling:.0%} of the characters that tell a script are {name}, and the model's "
                f'corpus is {self.target}; normalize="model" brings words to its script',
                stacklevel=5,
            )


def _kind(value: object) -> str:
    return "string" if isinstance(value, str) else "None" if value is None else type(value).__name__


def _shown(value: object) -> str:
    shown = "" if value is None else repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."
