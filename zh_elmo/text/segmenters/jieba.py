"""jieba's words: by rjieba where installed, made equal to jieba, else by jieba itself."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zh_elmo.files import BadInput, cache_folder, sha256
from zh_elmo.text.characters import JOINER
from zh_elmo.text.segmenters.jieba_dictionary import Dictionary, Entry, Table, count_words, table, user_words, words_of
from zh_elmo.text.segmenters.pieces import CONTINUING, Segmenter, Token, keep_clusters, with_offsets
from zh_elmo.text.segmenters.quiet import quietly, version

_ASCII_WORDS = frozenset(("AT&T", "C#", "C++", "c#", "c++"))  # of its own dictionary, those that are not alphanumeric
_RUN = re.compile(r"([a-zA-Z0-9]+(?:\.\d+)?%?)")  # jieba.finalseg.re_skip
_BEYOND = "\u3400-\u4dbf\u9fd6-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese characters that jieba does not know
_AT_BEYOND = re.compile(f"([{_BEYOND}])")
# Where rjieba alone may not be enough: such a character, one of a grapheme cluster, or one of -+#&._% beside another of
# them or a letter or digit. One set comes first, since that is what `re` finds fast; most sentences have none of it.
_SPECIAL = re.compile(
    f"[-+#&._%{CONTINUING}{JOINER}\u3400-\u4dbf\u9fd6-\u9fff\uf900-\ufaff\U00010000-\U0010ffff]"
    r"(?:(?<![-+#&._%])|(?<=[a-zA-Z0-9].)|(?=[-+#&._%a-zA-Z0-9]))"
)

_RUN_MARKS = np.isin(np.arange(128), list(b"-+#&._%"))  # of ASCII, what a run has besides letters and digits
_BEYOND_OR_CLUSTER = re.compile(f"[{CONTINUING}{JOINER}\u3400-\u4dbf\u9fd6-\u9fff\uf900-\ufaff\U00010000-\U0010ffff]")


class Engine(NamedTuple):
    """A library with a dictionary and the user's words in it."""

    cut: Callable[[str, bool], list[str]]  # (sentence, by the hidden Markov model too)
    tokens: Callable[[str, str, bool], list[Token]] | None  # (sentence, "default", as above), where it is fast
    known: frozenset[str]  # words that are ASCII but not alphanumeric
    broken: tuple[tuple[Entry, tuple[str, ...]], ...]  # entries of the user that it cuts nevertheless, and how


def segmenter(
    *, hmm: bool = True, dictionary: str = "", user_dict: str = "", prepare: Callable[[str], str] = str
) -> Segmenter:
    """`dictionary` is a file that takes the place of jieba's own, `user_dict` one of words to add to it (see
    `user_words`, also for `prepare`).

    Raises BadInput naming file and line where an entry of the user cannot take effect.
    """
    chosen = _chosen(dictionary)
    entries = user_words(Path(user_dict), prepare) if user_dict else ()
    rust = _by_rjieba(dictionary, user_dict)
    engine = _rust_engine(chosen, entries) if rust else _python_engine(chosen or _own(), entries)
    for entry, pieces in engine.broken:
        raise BadInput(
            f"the frequency {entry.frequency} of {entry.word!r} is too low, jieba cuts it as {' | '.join(pieces)}; "
            "leave it out to have one that suffices",
            path=user_dict,
            line=entry.line,
        )
    return _like_jieba(engine, hmm) if rust else with_offsets(keep_clusters(lambda one: engine.cut(one, hmm)))


def facts(*, dictionary: str = "", user_dict: str = "") -> str | dict[str, Any]:
    """Which of the two cuts, with its version (ties make their words differ once in some 40,000 lines), and digests of
    the dictionaries that are not its own. user_words: how many words of the user there are, none refused."""
    package = version("rjieba" if _by_rjieba(dictionary, user_dict) else "jieba")
    files = {name: path for name, path in (("dictionary", dictionary), ("user_dict", user_dict)) if path}
    if not files:
        return package
    counts = {"user_words": count_words(Path(user_dict))} if user_dict else {}
    return {"package": package, **{name: sha256(path) for name, path in files.items()}, **counts}


def _by_rjieba(dictionary: str, user_dict: str) -> bool:
    """Whether rjieba is there and takes words (rjieba has since 0.2.2), if there are any."""
    if not _has_rjieba():
        return False
    if not (dictionary or user_dict):
        return True
    import rjieba

    return hasattr(getattr(rjieba, "Jieba", None), "add_word")


def _has_rjieba() -> bool:
    return find_spec("rjieba") is not None


def _chosen(dictionary: str) -> Dictionary | None:
    return Dictionary(Path(dictionary), sha256(dictionary)) if dictionary else None


# rjieba --------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)  # a dictionary given again and again is read once (fxsjy/jieba #520)
def _rust_engine(dictionary: Dictionary | None, entries: tuple[Entry, ...]) -> Engine:
    import rjieba

    library: Any = rjieba
    known = set(_ASCII_WORDS)
    if dictionary is not None:
        own = library.Jieba.empty()
        words = list(words_of(dictionary.path))
        for word, frequency, tag in words:
            own.add_word(word, frequency, tag)
        known = {word for word, _, _ in words if _is_run(word)}
    else:  # an object of our own: the module's is anybody's to change; old versions have no other
        own = library.Jieba() if hasattr(library, "Jieba") else library
    for entry in entries:
        own.add_word(entry.word, entry.frequency, entry.tag or None)
    known |= {entry.word for entry in entries if _is_run(entry.word)}
    return Engine(own.cut, getattr(own, "tokenize", None), frozenset(known), _broken(own.cut, entries))


def _is_run(word: str) -> bool:
    return word.isascii() and not word.isalnum()


def _broken(
    cut: Callable[[str, bool], list[str]], entries: tuple[Entry, ...]
) -> tuple[tuple[Entry, tuple[str, ...]], ...]:
    """An entry that the dictionary alone cuts when it stands alone is cut wherever it stands."""
    cuts = ((entry, tuple(cut(entry.word, False))) for entry in entries)
    return tuple((entry, pieces) for entry, pieces in cuts if len(pieces) > 1)


def _like_jieba(engine: Engine, hmm: bool) -> Segmenter:
    rjieba_cut, rjieba_tokens, known = engine.cut, engine.tokens, engine.known

    def known_characters(part: str) -> list[str]:
        words = rjieba_cut(part, hmm)
        return _as_jieba(words, known) if hmm else words

    def equal(sentence: str) -> list[str]:
        """jieba makes a word of each character that it does not know; jieba-rs joins some with what is around."""
        parts = _AT_BEYOND.split(sentence)  # every other part is one of them
        if len(parts) == 1:
            return known_characters(sentence)
        return [word for place, part in enumerate(parts) for word in (part if place % 2 else known_characters(part))]

    careful = with_offsets(keep_clusters(equal))

    def cut(sentence: str) -> list[str]:
        if _SPECIAL.search(sentence):
            return careful.cut(sentence)
        return rjieba_cut(sentence, hmm)

    def tokens(sentence: str) -> list[Token]:
        if _SPECIAL.search(sentence):
            return careful.tokens(sentence)
        return rjieba_tokens(sentence, "default", hmm)  # type: ignore[misc]  # not None where this is called

    def lines(text: str) -> list[str]:
        """At one call what needs no care: a line feed is always a word of its own."""
        words: list[str] = []
        start = 0
        for match in _BEYOND_OR_CLUSTER.finditer(text):
            if match.start() < start:
                continue
            begin = text.rfind("\n", start, match.start()) + 1 or start
            end = text.find("\n", match.end()) + 1 or len(text)
            words += rjieba_cut(text[start:begin], hmm)
            sentence = text[begin:end].removesuffix("\n")
            words += careful.cut(sentence)
            words += text[begin + len(sentence) : end]  # the line feed, if there is one
            start = end
        return words + rjieba_cut(text[start:], hmm) if words else rjieba_cut(text, hmm)

    def recut(words: list[str], codes: NDArray[np.uint32], ends: NDArray[np.int64]) -> dict[int, list[str]]:
        if not hmm:
            return {}
        ascii_places = np.flatnonzero(codes < len(_RUN_MARKS))
        at = np.unique(np.searchsorted(ends, ascii_places[_RUN_MARKS[codes[ascii_places]]]))
        return {number: parts for number in at.tolist() if len(parts := _as_jieba([words[number]], known)) > 1}

    return Segmenter(cut, with_offsets(cut).tokens if rjieba_tokens is None else tokens, lines, recut)


def _as_jieba(words: list[str], known: frozenset[str] = _ASCII_WORDS) -> list[str]:
    """jieba's HMM pass cuts ASCII runs (Type-C, 2024-05-06, 3.5mm) that jieba-rs keeps: cut them the same way.

    What still differs (1 of 36,492 lines) are ties, such as a repeated character that the dictionary lacks.
    """
    result: list[str] = []
    for word in words:
        if word.isascii() and len(word) > 1 and not (word.isalnum() or word.isspace() or word in known):
            result += [piece for piece in _RUN.split(word) if piece]
        else:
            result.append(word)
    return result


# jieba ---------------------------------------------------------------------------------------------------------------


@cache
def _library() -> Any:
    with quietly():
        import jieba
    jieba.setLogLevel(logging.WARNING)
    return jieba


@cache
def _own() -> Dictionary:
    path = Path(str(_library().__file__)).parent / "dict.txt"
    return Dictionary(path, sha256(path))


@lru_cache(maxsize=4)
def _table(dictionary: Dictionary) -> Table:
    return table(dictionary, cache_folder() / "jieba", _library().__version__)


@lru_cache(maxsize=8)
def _python_engine(dictionary: Dictionary, entries: tuple[Entry, ...]) -> Engine:
    """A tokenizer of our own; `jieba.add_word` and the like change the module's for everyone."""
    tokenizer = _library().Tokenizer()
    tokenizer.FREQ, tokenizer.total = _table(dictionary)
    tokenizer.initialized = True
    if entries:  # from here on as jieba-rs, which counts a word that the dictionary has twice only once
        tokenizer.FREQ = dict(tokenizer.FREQ)
        tokenizer.total = sum(tokenizer.FREQ.values())
    for entry in entries:
        _add(tokenizer, entry)

    def cut(sentence: str, hmm: bool) -> list[str]:
        return list(tokenizer.cut(sentence, HMM=hmm))

    return Engine(cut, None, frozenset(), _broken(cut, entries))


def _add(tokenizer: Any, entry: Entry) -> None:
    """As jieba-rs adds a word: jieba itself would count an old frequency of the word twice, and suggest one that may
    be another by one."""
    frequencies = tokenizer.FREQ
    before = frequencies.get(entry.word, 0)
    frequency = entry.frequency
    if frequency is None:
        total, share = math.log(tokenizer.total), 0.0
        for part in tokenizer.cut(entry.word, HMM=False):
            share += math.log(frequencies.get(part) or 1) - total
        frequency = max(int(math.exp(share + total)) + 1, before or 1)
    frequencies[entry.word] = frequency
    tokenizer.total += frequency - before
    for end in range(1, len(entry.word)):
        frequencies.setdefault(entry.word[:end], 0)
