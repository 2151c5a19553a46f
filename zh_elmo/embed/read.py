"""Sentences of a file that is to be embedded: raw text, words with spaces or TABs between them, or CoNLL-U; told apart
by looking."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from zh_elmo.files import BadInput, lines
from zh_elmo.text.characters import HAN
from zh_elmo.text.pipeline import Word

Kind = Literal["text", "words", "tabs", "conllu"]
Cut = Callable[[str], list[list[Word]]]  # a line of raw text -> its sentences
KINDS: tuple[Kind, ...] = get_args(Kind)
_LOOKED_AT = 200  # lines
_UNSEGMENTED = re.compile(f"[{HAN}]{{40,}}")
_TOGETHER = re.compile(f"[{HAN}](?=[{HAN}])")
_APART = re.compile(f"[{HAN}](?= [{HAN}])")
_APART_BY_TABS = re.compile(f"[{HAN}](?=\t[{HAN}])")
_CONLLU = re.compile(r"1(?:-\d+)?\t[^\t]+(?:\t[^\t]*){8}")  # the line of a first word


class Read(NamedTuple):
    """One sentence of a file."""

    words: list[str]
    characters: int  # of the file, read since the sentence before
    line: str = ""  # that it was read from, where a sentence is a line


def kind_of(path: Path) -> Kind:
    """CoNLL-U by name (`.conllu`, compressed or not) or by its first line that is no comment; words where the Han
    characters of the first lines often have a space, or a TAB, between them; otherwise raw text."""
    if ".conllu" in path.suffixes[-2:]:
        return "conllu"
    together = spaces = tabs = 0
    first = True
    for _, line in islice(lines(path), _LOOKED_AT):
        if first and line and not line.startswith("#"):
            first = False
            if _CONLLU.fullmatch(line):
                return "conllu"
        together += len(_TOGETHER.findall(line))
        spaces += len(_APART.findall(line))
        tabs += len(_APART_BY_TABS.findall(line))
    if spaces + tabs > 0.2 * (together + spaces + tabs):
        return "tabs" if tabs > spaces else "words"
    return "text"


def sentences(path: Path, kind: Kind, cut: Cut) -> Iterator[Read]:
    """The sentences of a file, in bounded memory; raw text is segmented by `cut`, the words of the other kinds are as
    they stand. A line of words is a sentence, an empty line one without words; words with TABs
    between them can hold spaces (ELMoForManyLangs' `plain`).

    Raises BadInput with the line for bytes that are not UTF-8, and for CoNLL-U that cannot be read.
    """
    if kind == "conllu":
        return _conllu(path)
    if kind == "tabs":
        return _tabs(path)
    return _words(path) if kind == "words" else _text(path, cut)


def _text(path: Path, cut: Cut) -> Iterator[Read]:
    unsaid = 0
    for _, line in lines(path):
        unsaid += len(line) + 1
        for sentence in cut(line):
            yield Read([word.form for word in sentence], unsaid)
            unsaid = 0


def _words(path: Path) -> Iterator[Read]:
    for number, line in lines(path):
        if _UNSEGMENTED.search(line):
            warnings.warn(
                f"{path}:{number}: 40 Chinese characters without a space are taken for one word; "
                "is this raw text, not words?",
                stacklevel=2,
            )
        yield Read(line.split(), len(line) + 1, line.strip())


def _tabs(path: Path) -> Iterator[Read]:
    for _, line in lines(path):
        words = [word for word in line.split("\t") if word.strip(" ")]  # U+3000 can be a word
        yield Read(words, len(line) + 1)


def _conllu(path: Path) -> Iterator[Read]:
    """FORM of the syntactic words (ids without - and .)."""
    words: list[str] = []
    characters = 0
    for number, line in lines(path):
        characters += len(line) + 1
        if not line.strip():
            if words:
                yield Read(words, characters)
                words, characters = [], 0
        elif not line.startswith("#"):
            columns = line.split("\t")
            if len(columns) != 10 or not columns[1]:
                raise BadInput(f"10 columns with a FORM are due, not {len(columns)}", path=path, line=number)
            if columns[0].isdecimal():
                if columns[0] != str(len(words) + 1):
                    message = f"word {len(words) + 1} is due, not {columns[0]}; sentences end with an empty line"
                    raise BadInput(message, path=path, line=number)
                words.append(columns[1])
            elif not re.fullmatch(r"\d+[-.]\d+", columns[0]):
                raise BadInput(f"{columns[0]} is no ID of a word", path=path, line=number)
    if words:
        yield Read(words, characters)
