"""CoNLL column files: one word a line, columns between tabs or spaces, a blank line after each sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from zh_elmo.files import BadInput, lines
from zh_elmo.tasks.spans import Scheme, first_fault

_DOCUMENT = "-DOCSTART-"  # CoNLL 2003: a "word" that opens a document
_SPACES = re.compile(" +")


class Labelled(NamedTuple):
    """A sentence: as many labels as words."""

    words: list[str]
    labels: list[str]


def read(path: str | Path, *, word: int = 0, label: int = -1, scheme: Scheme = "plain") -> list[Labelled]:
    """The sentences of a file (UTF-8; .xz, .gz, .bz2 too); `word` and `label` are columns from 0, or from the end.

    The first line with a word says how many columns there are, and whether tabs or spaces lie between them. Lines that
    open a document (-DOCSTART-) are left out. Raises BadInput, with the line, for another number of columns, for an
    empty word or label, and for a label that may not stand there in `scheme`; and for a file without a word.
    """
    sentences: list[Labelled] = []
    rows: list[tuple[int, str, str]] = []  # of the sentence being read: line, word, label
    columns, separator = 0, ""
    for number, line in lines(path):
        if not line.strip(" \t"):
            _close(rows, sentences, path, scheme)
            continue
        separator = separator or ("\t" if "\t" in line else " ")
        fields = line.split("\t") if separator == "\t" else _SPACES.split(line.strip(" "))
        columns = columns or _checked(len(fields), word, label, path, number)
        if len(fields) != columns:
            raise BadInput(f"{len(fields)} columns, where the lines before have {columns}", path=path, line=number)
        if not fields[word].strip(" ") or not fields[label].strip(" "):
            raise BadInput("an empty word or label", path=path, line=number)
        if fields[word] != _DOCUMENT:
            rows.append((number, fields[word], fields[label]))
    _close(rows, sentences, path, scheme)
    if not sentences:
        raise BadInput("no sentence in the file", path=path)
    return sentences


def _checked(columns: int, word: int, label: int, path: str | Path, number: int) -> int:
    """The number of columns, which must be enough for a word and a label."""
    if not (-columns <= word < columns and -columns <= label < columns) or word % columns == label % columns:
        wanted = f"column {word} for words and {label} for labels"
        raise BadInput(f"{columns} columns do not have {wanted}, apart from each other", path=path, line=number)
    return columns


def _close(rows: list[tuple[int, str, str]], sentences: list[Labelled], path: str | Path, scheme: Scheme) -> None:
    """Move the sentence in `rows`, if there is one, to `sentences`."""
    if not rows:
        return
    numbers, words, labels = zip(*rows, strict=True)
    if fault := first_fault(labels, scheme):
        raise BadInput(fault[1], path=path, line=numbers[fault[0]])
    sentences.append(Labelled(list(words), list(labels)))
    rows.clear()


def check(sentences: Sequence[Labelled], scheme: Scheme) -> None:
    """Raises BadInput, with the sentence, for labels that are not as many as words, or with a fault in `scheme`."""
    for number, (words, labels) in enumerate(sentences, 1):
        if len(words) != len(labels):
            raise BadInput(f"sentence {number}: {len(labels)} labels for {len(words)} words")
        if fault := first_fault(labels, scheme):
            raise BadInput(f"sentence {number}, word {fault[0] + 1}: {fault[1]}")
