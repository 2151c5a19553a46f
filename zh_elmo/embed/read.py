"""Sentences of a file that is to be embedded: raw text, words with spaces between them, or CoNLL-U; told apart by
looking."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from zh_elmo.files import BadInput, lines
from zh_elmo.text.characters import HAN
from zh_elmo.text.pipeline import Pipeline

Kind = Literal["text", "words", "conllu"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_LOOKED_AT = 200  # lines
_UNSEGMENTED = re.compile(f"[{HAN}]{{40,}}")
_TOGETHER = re.compile(f"[{HAN}](?=[{HAN}])")
_APART = re.compile(f"[{HAN}](?= [{HAN}])")


class Read(NamedTuple):
    """One sentence of a file."""

    words: list[str]
    characters: int  # of the file, read since the sentence before


def kind_of(path: Path) -> Kind:
    """CoNLL-U by name (`.conllu`, compressed or not); words where the Han characters of the first lines often have a
    space between them; otherwise raw text."""
    if ".conllu" in path.suffixes[-2:]:
        return "conllu"
    together = apart = 0
    for _, line in islice(lines(path), _LOOKED_AT):
        together += len(_TOGETHER.findall(line))
        apart += len(_APART.findall(line))
    return "words" if apart > 0.2 * (together + apart) else "text"


def sentences(path: Path, kind: Kind, pipeline: Pipeline) -> Iterator[Read]:
    """The sentences of a file, in bounded memory; raw text is normalised and segmented as `pipeline` says, the words of
    the other kinds are as they stand. A line of words is a sentence, an empty line one without words.

    Raises BadInput with the line for bytes that are not UTF-8, and for CoNLL-U that cannot be read.
    """
    if kind == "conllu":
        return _conllu(path)
    return _words(path) if kind == "words" else _text(path, pipeline)


def _text(path: Path, pipeline: Pipeline) -> Iterator[Read]:
    unsaid = 0
    for _, line in lines(path):
        unsaid += len(line) + 1
        for sentence in pipeline.sentences(line):
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
        yield Read(line.split(), len(line) + 1)


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
