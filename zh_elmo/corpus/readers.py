"""Files of text in many forms -> paragraphs: lines, tagged People's Daily, JSON lines, CoNLL-U, Parquet, MediaWiki."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from zh_elmo.corpus.encoding import Encoding
from zh_elmo.corpus.wiki import documents
from zh_elmo.files import BadInput, lines, open_bytes
from zh_elmo.text.script import Target, converter, count, verdict
from zh_elmo.text.variants import outside

_BLOCK = 1 << 20
_PFR_GROUP = re.compile(r"(?<!\S)\[+(?=[^\s/])")
_PFR_TAG = re.compile(r"(?<=\S)/[A-Za-z]+(?:\][A-Za-z]+)*(?:\s+|$)")
_WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
_VARIANTS: dict[Target, str] = {
    "keep": "zh-hans", "simplified": "zh-hans", "traditional": "zh-tw", "traditional-hk": "zh-hk",
    "traditional-opencc": "zh-hant",
}  # fmt: skip
DOCUMENT_END = ""  # a paragraph that stands for it

Paragraph = tuple[str, int]  # and the characters that were read for it


class How(NamedTuple):
    """How a file is read."""

    reader: str
    encoding: Encoding = "utf-8"
    field: str = "text"  # of JSON lines and Parquet
    script: Target = "simplified"  # of MediaWiki dumps, whose pages have words for each


class Final(str):
    """A paragraph that is in the wanted script already, whatever its characters look like."""


def paragraphs(path: Path, how: How, passed_over: Counter[str]) -> Iterator[Paragraph]:
    """(paragraph, characters read) of a file; an empty paragraph stands for the end of a document. Raises BadInput
    naming line and byte where the file is not what it is taken for."""
    readers: dict[str, Callable[[Path, How], Iterator[Paragraph]]] = {
        "lines": _plain, "pfr": _tagged, "jsonl": _json, "conllu": _treebank, "parquet": _parquet,
        "mediawiki": lambda path, how: _wiki(path, how, passed_over),
    }  # fmt: skip
    return readers[how.reader](path, how)


def _plain(path: Path, how: How) -> Iterator[Paragraph]:
    for _, line in decoded(path, how.encoding):
        yield line.strip(), len(line) + 1


def _tagged(path: Path, how: How) -> Iterator[Paragraph]:
    """People's Daily as tagged at Peking University: `[中央/n 电台/n]nt` is 中央电台."""
    for number, line in decoded(path, how.encoding):
        text, tags = _PFR_TAG.subn("", _PFR_GROUP.sub("", line.strip()))
        if tags != len(line.split()):
            raise BadInput("expected words as word/tag between spaces", path=path, line=number)
        yield text, len(line) + 1


def _json(path: Path, how: How) -> Iterator[Paragraph]:
    """One document a line: the text in `field` of an object (a.b: field b of field a), its lines as paragraphs."""
    for number, line in decoded(path, how.encoding):
        if not line.strip():
            continue
        try:
            value: Any = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise BadInput(f"not JSON: {error}", path=path, line=number) from None
        for part in how.field.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if not isinstance(value, str):
            has = ", ".join(sorted(json.loads(line))[:8]) if line.lstrip().startswith("{") else "no object"
            raise BadInput(f"no text in the field {how.field!r} (has: {has}); name another", path=path, line=number)
        yield from _document(value, len(line) + 1)


def _document(text: str, read: int) -> Iterator[Paragraph]:
    for paragraph in text.split("\n"):
        if paragraph.strip():
            yield paragraph.strip(), read
            read = 0
    yield DOCUMENT_END, read


def _treebank(path: Path, how: How) -> Iterator[Paragraph]:
    """The sentences of CoNLL-U, each a paragraph: `# text`, or its tokens with the spaces that it says."""
    text, tokens, covered, read = "", [], 0, 0
    for number, line in decoded(path, how.encoding):
        read += len(line) + 1
        if line.startswith("# newdoc"):
            yield DOCUMENT_END, 0
        elif line.startswith("# text = "):
            text = line.removeprefix("# text = ")
        elif line and not line.startswith("#"):
            columns = line.split("\t")
            if len(columns) != 10:
                raise BadInput(f"10 tab-separated columns expected, not {len(columns)}", path=path, line=number)
            first, _, last = columns[0].partition("-")
            if last or (first.isdecimal() and int(first) > covered):
                covered = int(last or 0) or covered
                tokens.append(columns[1] + ("" if "SpaceAfter=No" in columns[9] else " "))
        elif not line and (text or tokens):
            yield text or "".join(tokens).strip(), read
            text, tokens, covered, read = "", [], 0, 0
    if text or tokens:
        yield text or "".join(tokens).strip(), read


def _parquet(path: Path, how: How) -> Iterator[Paragraph]:
    """One document a row: the column `field`."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        message = "a Parquet file needs the package pyarrow: pip install 'zh-elmo[parquet]'"
        raise BadInput(message, path=path, usage=True) from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            if how.field not in file.schema_arrow.names:
                has = ", ".join(file.schema_arrow.names[:8])
                raise BadInput(f"no column {how.field!r} (has: {has}); name another", path=path)
            for batch in file.iter_batches(1024, columns=[how.field]):
                for value in batch.column(0).to_pylist():
                    if not isinstance(value, str):
                        raise BadInput(f"column {how.field!r} holds {type(value).__name__}, not text", path=path)
                    yield from _document(value, len(value) + 1)
    except (pyarrow.ArrowException, OSError) as error:
        raise BadInput(f"not a Parquet file that can be read ({error})", path=path) from None


def _wiki(path: Path, how: How, passed_over: Counter[str]) -> Iterator[Paragraph]:
    """The articles of a MediaWiki dump, in the wanted script but for what their authors said is final."""
    convert = converter(how.script)
    for document in documents(path, _VARIANTS[how.script], passed_over):
        counts = [count(paragraph.text) for paragraph in document.paragraphs]
        wanted = verdict(sum(c[0] for c in counts), sum(c[1] for c in counts), how.script)
        for paragraph in document.paragraphs:
            text = outside(paragraph.text, paragraph.protected, lambda part: convert.line(part, wanted))  # noqa: B023
            if text.strip():
                yield Final(text.strip()), 0
        yield DOCUMENT_END, document.read


# Bytes to lines -----------------------------------------------------------------------------------------------------


def decoded(path: Path, encoding: Encoding) -> Iterator[tuple[int, str]]:
    """(number from 1, line) of a file in any encoding, as `files.lines` has them. Raises BadInput naming the byte."""
    if encoding in ("utf-8", "utf-8-sig"):
        return lines(path)
    return _wide(path, encoding) if encoding in _WIDE else _narrow(path, encoding)


def _narrow(path: Path, encoding: Encoding) -> Iterator[tuple[int, str]]:
    """Encodings in which the byte of a line feed is nothing else."""
    offset = 0
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, 1):
            try:
                line = raw.decode(encoding)
            except UnicodeDecodeError as error:
                raise _not(path, encoding, error, offset, number) from None
            offset += len(raw)
            yield number, line.removesuffix("\n").removesuffix("\r")


def _wide(path: Path, encoding: Encoding) -> Iterator[tuple[int, str]]:
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    rest, number, offset = "", 0, 0
    with open_bytes(path) as stream:
        while True:
            block = stream.read(_BLOCK)
            try:
                text = rest + decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                raise _not(path, encoding, error, offset, number + 1) from None
            offset += len(block)
            *whole, rest = text.split("\n")
            for line in whole:
                number += 1
                yield number, line.removesuffix("\r")
            if not block:
                break
    if rest:
        yield number + 1, rest


def _not(path: Path, encoding: Encoding, error: UnicodeDecodeError, offset: int, line: int) -> BadInput:
    seen = error.object[error.start : error.start + 4].hex(" ")
    message = f"not {encoding}: bytes {seen} ({error.reason}); name the encoding (--encoding) or mend the file"
    return BadInput(message, path=path, line=line, byte=offset + error.start)


def count_characters(path: Path, how: How) -> int:
    """Characters that reading the file will read, for progress: of UTF-8 by the bytes that begin one, else about.
    What does not decode is found when it is read."""
    width = 4 if "32" in how.encoding else 2
    total = 0
    if how.reader == "parquet":
        return path.stat().st_size
    with open_bytes(path) as stream:
        while block := stream.read(_BLOCK << 2):
            if how.encoding.startswith("utf-8"):
                total += int(np.count_nonzero((np.frombuffer(block, np.uint8) & 0xC0) != 0x80))
            else:
                total += len(block) // width
    return total
