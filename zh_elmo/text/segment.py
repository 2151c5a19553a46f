"""Words of one sentence: jieba (rjieba where installed), spacy-pkuseg, characters.

A segmenter is a function from a sentence to pieces whose concatenation is the sentence but for white space, which may
be missing. Libraries are imported when first needed, quietly, and write nothing outside our own cache folder.
"""

from __future__ import annotations

import logging
import marshal
import os
import re
import stat
import warnings
from collections.abc import Callable
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

from zh_elmo.files import BadInput, cache_folder, sha256, writing
from zh_elmo.text.characters import EMOJI, HAN, JOINER, TAGS

Cut = Callable[[str], list[str]]

# One grapheme cluster that no dictionary knows and no segmenter may cut: emoji with modifiers, joined emoji, flags,
# keycaps, and letters with marks that NFC could not compose (with the rest of their Latin word).
_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
_CLUSTER = re.compile(
    f"[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\u20e3"
    f"|[{EMOJI}][\U0001f3fb-\U0001f3ff{TAGS}]*(?:{JOINER}[{EMOJI}][\U0001f3fb-\U0001f3ff]*)*"
    f"|(?:[^\\W{HAN}][{_MARKS}]*)*\\w[{_MARKS}]+(?:[^\\W{HAN}][{_MARKS}]*)*"
)
_HAS_CLUSTER = re.compile(f"[{_MARKS}\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff{JOINER}{TAGS}]")

_JIEBA_ASCII_WORDS = frozenset(("AT&T", "C#", "C++", "c#", "c++"))  # the only ones in its dictionary
_JIEBA_RUN = re.compile(r"[a-zA-Z0-9]+(?:\.\d+)?%?")  # jieba.finalseg.re_skip
_MAY_DIFFER = re.compile(r"[a-zA-Z0-9][-+#&._%]|[-+#&._%][a-zA-Z0-9]|[-+#&._%]{2}")
_PUNCTUATION = re.compile(r"([\"'“”‘’「」『』（）()《》〈〉【】，。、；：？！…—,;:?!])")
_CHARACTER = re.compile(r"[A-Za-z0-9]+|.", re.S)


def keep_clusters(cut: Cut) -> Cut:
    """`cut` for everything but grapheme clusters, each of which becomes a word."""

    def whole(sentence: str) -> list[str]:
        if sentence.isascii() or _HAS_CLUSTER.search(sentence) is None:
            return cut(sentence)
        words: list[str] = []
        position = 0
        for match in _CLUSTER.finditer(sentence):
            if len(match.group()) > 1:
                words += [*cut(sentence[position : match.start()]), match.group()]
                position = match.end()
        return words + cut(sentence[position:])

    return whole


def characters(sentence: str) -> list[str]:
    """One character a word; runs of ASCII letters and digits stay whole."""
    return _CHARACTER.findall(sentence)


# jieba ---------------------------------------------------------------------------------------------------------------


def jieba(hmm: bool) -> Cut:
    """jieba's words: by rjieba where installed (equal but for ties of scores, see `_as_jieba`), else by jieba."""
    return keep_clusters(_rjieba(hmm) if _has_rjieba() else _python_jieba(hmm))


def jieba_version() -> str:
    """Which of the two cuts, with its version: ties make their words differ once in some 40,000 lines."""
    name = "rjieba" if _has_rjieba() else "jieba"
    return f"{name} {metadata.version(name)}"


def _has_rjieba() -> bool:
    return find_spec("rjieba") is not None


def _rjieba(hmm: bool) -> Cut:
    import rjieba

    def cut(sentence: str) -> list[str]:
        words: list[str] = rjieba.cut(sentence, hmm)
        return _as_jieba(words) if hmm and _MAY_DIFFER.search(sentence) else words

    return cut


def _as_jieba(words: list[str]) -> list[str]:
    """jieba's HMM pass cuts ASCII runs (Type-C, 2024-05-06, 3.5mm) that jieba-rs keeps: cut them the same way.

    What still differs (1 of 36,492 lines) are ties, such as a repeated character that the dictionary lacks.
    """
    result: list[str] = []
    for word in words:
        if len(word) == 1 or not word.isascii() or word.isalnum() or word.isspace() or word in _JIEBA_ASCII_WORDS:
            result.append(word)
            continue
        position = 0
        for match in _JIEBA_RUN.finditer(word):
            if match.start() > position:
                result.append(word[position : match.start()])
            result.append(match.group())
            position = match.end()
        if position < len(word):
            result.append(word[position:])
    return result


def _python_jieba(hmm: bool) -> Cut:
    tokenizer = _tokenizer()

    def cut(sentence: str) -> list[str]:
        return list(tokenizer.cut(sentence, HMM=hmm))

    return cut


@cache
def _tokenizer() -> Any:
    """A jieba tokenizer of our own, with the prefix dictionary kept in our cache.

    jieba's own cache lies in the shared temporary folder under a fixed name: a second user cannot read it, and what
    lies there is loaded whoever wrote it (fxsjy/jieba #26, #903).
    """
    with _quietly():
        import jieba as library
    library.setLogLevel(logging.WARNING)
    tokenizer = library.Tokenizer()
    dictionary = Path(str(library.__file__)).parent / "dict.txt"
    tokenizer.FREQ, tokenizer.total = _prefixes(library, dictionary, cache_folder() / "jieba")
    tokenizer.initialized = True
    return tokenizer


def _prefixes(library: Any, dictionary: Path, folder: Path) -> Any:
    """jieba's (frequencies of words and prefixes, their sum) for a dictionary, from the cache in `folder` if it can."""
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
    kept = folder / f"{library.__version__}-{sha256(dictionary)[:16]}.marshal"
    loaded = _load_private(kept)
    if loaded is None:
        loaded = library.Tokenizer.gen_pfdict(open(dictionary, "rb"))  # noqa: SIM115  (it closes the file)
        with suppress(OSError), writing(kept) as stream:  # a cache that cannot be written costs a second, no more
            marshal.dump(loaded, stream)
    return loaded


def _load_private(path: Path) -> Any:
    """What `path` holds if nobody else can have written it; marshal must not be fed by others."""
    try:
        with open(path, "rb") as stream:
            facts = os.fstat(stream.fileno())
            if facts.st_uid != os.getuid() or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return None
            return marshal.load(stream)
    except (OSError, EOFError, ValueError, TypeError):
        return None


@contextmanager
def _quietly() -> Any:
    """Imports of old libraries warn at compilation, and some print: neither is for our user."""
    with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        warnings.simplefilter("ignore")
        yield


# spacy-pkuseg --------------------------------------------------------------------------------------------------------


def pkuseg(model: str) -> Cut:
    """Words by the spacy-pkuseg model in the folder `model`, without its dictionary, which costs up to 10 F1. Models
    are never fetched by name. An old model (features.pkl) is a pickle, which can run code: use only what you trust.

    Raises BadInput where the folder is not such a model.
    """
    if len(_pkuseg_files(model)) < 2:
        raise BadInput(
            f"segmenter_model = {model!r}: a folder with features.msgpack and weights.npz is due, a model trained with "
            "spacy-pkuseg (models are not fetched by name)",
            usage=True,
        )
    return keep_clusters(_pkuseg_model(os.path.abspath(model)))


def _pkuseg_files(model: str) -> list[Path]:
    """Features (of the new or the old kind) and weights, as far as they are there."""
    features = [Path(model, name) for name in ("features.msgpack", "features.pkl")]
    wanted = [*[path for path in features if model and path.is_file()][:1], Path(model, "weights.npz")]
    return [path for path in wanted if path.is_file()]


@cache
def _pkuseg_model(folder: str) -> Cut:
    with _quietly():
        try:
            import spacy_pkuseg
        except ImportError as error:
            raise BadInput(f"segmenter = pkuseg needs spacy-pkuseg ({error}): pip install spacy-pkuseg") from None
        model = spacy_pkuseg.pkuseg(folder, user_dict=None)

    def cut(sentence: str) -> list[str]:
        return [piece for word in model.cut(sentence) for piece in _split_marks(word)]

    return cut


def _split_marks(word: str) -> list[str]:
    """Quotes and other marks that the model glued to a word are cut off it; words of marks alone stay."""
    if len(word) == 1 or not _PUNCTUATION.search(word) or not re.search(f"[{HAN}A-Za-z]", word):
        return [word]
    if word.isascii():
        return [word]
    return [piece for piece in _PUNCTUATION.split(word) if piece]


def pkuseg_version(model: str) -> dict[str, str]:
    """Version of the package and digests of the model's files, so that runs can be told apart."""
    digests = {path.name: sha256(path) for path in _pkuseg_files(model)}
    return {"package": f"spacy-pkuseg {metadata.version('spacy-pkuseg')}", **digests}
