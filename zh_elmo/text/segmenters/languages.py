"""Words of Japanese, Thai, Vietnamese and Cantonese by the libraries of those languages, each an extra.

All four work without a network: their dictionaries and models come with their packages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from zh_elmo.files import BadInput
from zh_elmo.text.segmenters import characters
from zh_elmo.text.segmenters.pieces import Cut, aligned, keep_clusters
from zh_elmo.text.segmenters.quiet import quietly, version

# pycantonese joins what white space parts, and reads private use characters as words of its own list.
_PART = re.compile("[^\\s\ue000-\uf8ff]+|[\ue000-\uf8ff]")


class Language(NamedTuple):
    """A library, and how to ask it for words."""

    packages: tuple[str, ...]  # the words depend on all of them
    words: Callable[[], Cut]  # imports it; its words may differ from the sentence in white space


def cutter(language: str) -> Cut:
    """The words of `language`, a key of LANGUAGES, as slices of the sentence; a sentence of which the library loses or
    changes a character is cut into characters.

    Raises BadInput (usage) where its library is not installed.
    """
    chosen = LANGUAGES[language]
    try:
        with quietly():
            words = chosen.words()
    except ImportError as error:
        needs = f"segmenter = {language} needs {' and '.join(chosen.packages)} ({error})"
        raise BadInput(f"{needs}: pip install 'zh-elmo[{language}]'", usage=True) from None

    def cut(sentence: str) -> list[str]:
        try:
            return aligned(sentence, words(sentence))
        except ValueError:
            return characters.cut(sentence)

    return keep_clusters(cut)


def facts(language: str) -> str:
    return ", ".join(version(package) for package in LANGUAGES[language].packages)


def _japanese() -> Cut:
    """Short unit words of UniDic, the standard of UD Japanese."""
    import fugashi
    import unidic_lite

    tagger = fugashi.Tagger(f'-Owakati -d "{unidic_lite.DICDIR}"')  # else UniDic in full where that is installed too

    def words(sentence: str) -> list[str]:
        return [node.surface for node in tagger(sentence)]

    return words


def _thai() -> Cut:
    """The longest words of a dictionary that leave no rest (newmm)."""
    with _environment("PYTHAINLP_READ_ONLY", "1"):  # else it makes a folder in the user's home
        from pythainlp.tokenize import word_tokenize

    def words(sentence: str) -> list[str]:
        found: list[str] = word_tokenize(sentence, engine="newmm")
        return found

    return words


def _vietnamese() -> Cut:
    """Words of one or several syllables, with the blanks between these inside, as in UD Vietnamese."""
    from underthesea import word_tokenize

    def words(sentence: str) -> list[str]:
        found: list[str] = word_tokenize(sentence, use_token_normalize=False) if sentence.strip() else []
        return found

    return words


def _cantonese() -> Cut:
    """A model of the Hong Kong Cantonese Corpus (HKCanCor) and words of rime-cantonese."""
    import pycantonese

    def words(sentence: str) -> list[str]:
        return [word for part in _PART.findall(sentence) for word in pycantonese.segment(part)]

    return words


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


LANGUAGES = {
    "japanese": Language(("fugashi", "unidic-lite"), _japanese),
    "thai": Language(("pythainlp",), _thai),
    "vietnamese": Language(("underthesea",), _vietnamese),
    "cantonese": Language(("pycantonese",), _cantonese),
}
