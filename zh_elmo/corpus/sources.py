"""Where the text of a corpus comes from: data sets of the catalogue, files, folders; paragraph by paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from zh_elmo import data
from zh_elmo.files import COMPRESSED, BadInput, existing, lines, open_bytes, sha256

TEXT_SUFFIXES = (".txt", *(f".txt{suffix}" for suffix in COMPRESSED))
_BLOCK = 1 << 22
_PFR_GROUP = re.compile(r"(?<!\S)\[+(?=[^\s/])")
_PFR_TAG = re.compile(r"(?<=\S)/[A-Za-z]+(?:\][A-Za-z]+)*(?:\s+|$)")


class Source(NamedTuple):
    """One file of raw text."""

    name: str  # of the data set, or the path as given
    path: Path
    reader: str = "lines"
    licence: str = ""
    attribution: str = ""

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it; the digest is of the file as it lies there."""
        facts = {"name": self.name, "file": self.path.name, "sha256": sha256(self.path), "bytes": _size(self.path)}
        return facts | {
            key: value for key, value in (("licence", self.licence), ("attribution", self.attribution)) if value
        }


def find(sources: Sequence[str | Path]) -> list[Source]:
    """The files that names and paths stand for, in order; a path that exists wins over a name.

    Raises BadInput (usage) for what is neither, for a folder without text and for a treebank.
    """
    found: list[Source] = []
    for source in sources:
        path = Path(source)
        if path.is_dir():
            found += _folder(path)
        elif isinstance(source, Path) or path.exists() or source not in data.catalogue():
            found.append(_file(source))
        else:
            found += _dataset(source)
    if not found:
        raise BadInput("no text to build a corpus from: name files or data sets", usage=True)
    return found


def _file(source: str | Path) -> Source:
    if isinstance(source, str) and not Path(source).exists() and "/" not in source and "." not in source:
        data.dataset(source)  # looks like a name: says which names there are
    path = existing(source, "file, folder or data set")
    if ".conllu" in path.name:
        raise BadInput("a treebank is not raw text", path=path, usage=True)
    return Source(str(source), path)


def _folder(folder: Path) -> list[Source]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name.endswith(TEXT_SUFFIXES))
    if not files:
        raise BadInput(f"no text file in the folder (looked for {', '.join(TEXT_SUFFIXES)})", path=folder, usage=True)
    return [Source(str(folder), path) for path in files]


def _dataset(name: str) -> list[Source]:
    about = data.dataset(name)
    if about.kind != "text":
        raise BadInput(f"{name} is a treebank, not raw text", usage=True)
    return [
        Source(name, path, about.reader, *about.licence_of(file))
        for file, path in zip(about.files, data.fetch(name), strict=True)
    ]


def paragraphs(source: Source) -> Iterator[tuple[str, int]]:
    """(paragraph, characters that were read for it) of a file, one a line; an empty paragraph, which is a blank line,
    stands for the end of a document. Raises BadInput naming the byte where the file is not UTF-8."""
    for number, line in lines(source.path):
        text = _untagged(line, source.path, number) if source.reader == "pfr" else line.strip()
        yield text, len(line) + 1


def _untagged(line: str, path: Path, number: int) -> str:
    """People's Daily as tagged at Peking University: `[中央/n 电台/n]nt` is 中央电台."""
    text, tags = _PFR_TAG.subn("", _PFR_GROUP.sub("", line.strip()))
    if tags != len(line.split()):
        raise BadInput("expected words as word/tag between spaces", path=path, line=number)
    return text


def count_characters(path: Path) -> int:
    """Code points of a file, quickly: the bytes that begin one. What is not UTF-8 is found when it is read."""
    total = 0
    with open_bytes(path) as stream:
        while block := stream.read(_BLOCK):
            total += int(np.count_nonzero((np.frombuffer(block, np.uint8) & 0xC0) != 0x80))
    return total


def _size(path: Path) -> int:
    return path.stat().st_size
