"""What people give as sentences, checked: every slip is named by its place, with what to do instead."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, get_args

from zh_elmo.files import BadInput

_PADDING = {"<PAD>", "<pad>", "[PAD]"}


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
    if not _PADDING.isdisjoint(words):
        warnings.warn(
            f"{place} holds a padding word, which is embedded like any other word; no padding is needed", stacklevel=3
        )
    return words


def _kind(value: object) -> str:
    return "string" if isinstance(value, str) else "None" if value is None else type(value).__name__


def _shown(value: object) -> str:
    shown = "" if value is None else repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."
