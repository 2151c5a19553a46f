"""Files of text in many forms -> paragraphs: lines, tagged People's Daily, JSON lines, CoNLL-U, Parquet, MediaWiki."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from os import PathLike
from typing import IO, Any, NamedTuple

import numpy as np

from zh_elmo.corpus.encoding import Encoding, OnUndecodable, Undecodable, replaced
from zh_elmo.corpus.wiki import documents
from zh_elmo.files import BadInput, decompressed, lines, open_bytes, stored
from zh_elmo.text.script import Target, converter, count, verdict
from zh_elmo.text.variants import outside

_BLOCK = 1 << 20
_MARK = "\ufeff"  # of the order of bytes
_PFR_GROUP = re.compile(r"(?<!\S)\[+(?=[^\s/])")
_PFR_TAG = re.compile(r"(?<=\S)/[A-Za-z]+(?:\][A-Za-z]+)*(?:\s+|$)")
_WIDE = {"utf-16": 2, "utf-16-le": 2, "utf-16-be": 2, "utf-32": 4, "utf-32-le": 4, "utf-32-be": 4}  # bytes of a unit
_VARIANTS: dict[Target, str] = {
    "keep": "zh-hans", "simplified": "zh-hans", "traditional": "zh-tw", "traditional-hk": "zh-hk",
    "traditional-opencc": "zh-hant",
}  # fmt: skip
DOCUMENT_END = ""  # a paragraph that stands for it
_NOTHING = object()
_NO_TEXT = "documents without text (null)"
_NOT_DECODED = "bytes that do not decode"

Paragraph = tuple[str, int]  # and the characters that were read for it


class How(NamedTuple):
    """How a file is read."""

    reader: str
    encoding: Encoding = "utf-8"
    field: str = "text"  # of JSON lines and Parquet
    script: Target = "simplified"  # of MediaWiki dumps, whose pages have words for each
    undecodable: OnUndecodable = "refuse"  # "replace": by U+FFFD, counted


class Aside(NamedTuple):
    """What a file has besides its paragraphs."""

    passed_over: Counter[str]
    undecodable: Undecodable


class Final(str):
    """A paragraph that is in the wanted script already, whatever its characters look like."""


def paragraphs(
    path: PathLike[str], how: How, passed_over: Counter[str], undecodable: Undecodable | None = None
) -> Iterator[Paragraph]:
    """(paragraph, characters read) of a file; an empty paragraph stands for the end of a document.

    passed_over, undecodable: filled on the way. Raises BadInput naming line and byte where the file is not what it is
    taken for. how.undecodable "replace" mends characters, nothing else: a line that is not JSON, a compressed file that
    ends too early, a dump that is not XML are refused, since replacing nothing gives back what is lost there.
    """
    readers: dict[str, Callable[[PathLike[str], How, Aside], Iterator[Paragraph]]] = {
        "lines": _plain, "pfr": _tagged, "jsonl": _json, "conllu": _treebank, "parquet": _parquet, "mediawiki": _wiki,
    }  # fmt: skip
    aside = Aside(passed_over, Undecodable() if undecodable is None else undecodable)
    before = aside.undecodable.size
    yield from readers[how.reader](path, how, aside)
    if found := aside.undecodable.size - before:
        passed_over[_NOT_DECODED] += found


def _plain(path: PathLike[str], how: How, aside: Aside) -> Iterator[Paragraph]:
    for _, line in _lines(path, how, aside):
        yield line.strip(), len(line) + 1


def _tagged(path: PathLike[str], how: How, aside: Aside) -> Iterator[Paragraph]:
    """People's Daily as tagged at Peking University: `[中央/n 电台/n]nt` is 中央电台."""
    for number, line in _lines(path, how, aside):
        text, tags = _PFR_TAG.subn("", _PFR_GROUP.sub("", line.strip()))
        if tags != len(line.split()):
            raise BadInput("expected words as word/tag between spaces", path=path, line=number)
        yield text, len(line) + 1


def _json(path: PathLike[str], how: How, aside: Aside) -> Iterator[Paragraph]:
    """One document a line: the text in `field` of an object (a.b: field b of field a), its lines as paragraphs. Null
    there is no text, and counted."""
    for number, line in _lines(path, how, aside):
        if not line.strip():
            continue
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError) as error:  # ValueError: a number of too many digits as well
            raise BadInput(f"not JSON: {error}", path=path, line=number) from None
        text = _field(value, how.field)
        if text is None:
            aside.passed_over[_NO_TEXT] += 1
            continue
        if text is _NOTHING:
            has = f"has: {', '.join(sorted(value)[:8])}" if isinstance(value, dict) else "the line is no object"
            raise BadInput(f"no field {how.field!r} ({has}); name another", path=path, line=number)
        if not isinstance(text, str):
            what = f"the field {how.field!r} holds {type(text).__name__}, not text"
            raise BadInput(what, path=path, line=number)
        yield from _document(text, len(line) + 1)


def _field(value: Any, name: str) -> Any:
    for part in name.split("."):
        value = value.get(part, _NOTHING) if isinstance(value, dict) else _NOTHING
    return value


def _document(text: str, read: int) -> Iterator[Paragraph]:
    for paragraph in text.split("\n"):
        if paragraph.strip():
            yield paragraph.strip(), read
            read = 0
    yield DOCUMENT_END, read


def _treebank(path: PathLike[str], how: How, aside: Aside) -> Iterator[Paragraph]:
    """The sentences of CoNLL-U, each a paragraph: `# text`, or its tokens with the spaces that it says."""
    text, tokens, covered, read = "", [], 0, 0
    for number, line in _lines(path, how, aside):
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


def _parquet(path: PathLike[str], how: How, aside: Aside) -> Iterator[Paragraph]:
    """One document a row: the column `field`, in which null is no text, and counted."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        message = "a Parquet file needs the package pyarrow: pip install 'zh-elmo[parquet]'"
        raise BadInput(message, path=path, usage=True) from None
    try:
        with stored(path) as stream, pyarrow.parquet.ParquetFile(stream) as file:
            if how.field not in file.schema_arrow.names:
                has = ", ".join(file.schema_arrow.names[:8])
                raise BadInput(f"no column {how.field!r} (has: {has}); name another", path=path)
            row = 0
            for batch in file.iter_batches(1024, columns=[how.field]):
                for value in _values(path, how, batch.column(0), row, aside):
                    if value is None:
                        aside.passed_over[_NO_TEXT] += 1
                        continue
                    if not isinstance(value, str):
                        raise BadInput(f"column {how.field!r} holds {type(value).__name__}, not text", path=path)
                    yield from _document(value, len(value) + 1)
                row += len(batch)
    except (pyarrow.ArrowException, OSError) as error:
        raise BadInput(f"not a Parquet file that can be read ({error})", path=path) from None


def _values(path: PathLike[str], how: How, column: Any, row: int, aside: Aside) -> list[Any]:
    """A piece of a column of Parquet, beginning at `row`. Nothing has checked that its strings are UTF-8; the line of
    what is not is its row (from 1), and the byte counts in its text."""
    try:
        values: list[Any] = column.to_pylist()
        return values
    except UnicodeDecodeError:
        large = str(column.type).startswith("large")
        raws: list[bytes | None] = column.cast("large_binary" if large else "binary").to_pylist()
    found: list[Any] = []
    for number, raw in enumerate(raws, row + 1):
        try:
            found.append(raw if raw is None else raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            assert raw is not None
            found.append(_mended(path, how._replace(encoding="utf-8"), raw, error, 0, number, aside))
    return found


def _wiki(path: PathLike[str], how: How, aside: Aside) -> Iterator[Paragraph]:
    """The articles of a MediaWiki dump, in the wanted script but for what their authors said is final."""
    convert = converter(how.script)
    for document in documents(path, _VARIANTS[how.script], aside.passed_over):
        counts = [count(paragraph.text) for paragraph in document.paragraphs]
        wanted = verdict(sum(c[0] for c in counts), sum(c[1] for c in counts), how.script)
        for paragraph in document.paragraphs:
            text = outside(paragraph.text, paragraph.protected, lambda part: convert.line(part, wanted))  # noqa: B023
            if text.strip():
                yield Final(text.strip()), 0
        yield DOCUMENT_END, document.read


# Bytes to lines -----------------------------------------------------------------------------------------------------


def decoded(path: PathLike[str], encoding: Encoding) -> Iterator[tuple[int, str]]:
    """(number from 1, line) of a file in any encoding, as `files.lines` has them. Raises BadInput naming the byte."""
    return _lines(path, How("lines", encoding), Aside(Counter(), Undecodable()))


def _lines(path: PathLike[str], how: How, aside: Aside) -> Iterator[tuple[int, str]]:
    if how.encoding in _WIDE:
        return _wide(path, how, aside)
    if how.encoding in ("utf-8", "utf-8-sig"):
        return lines(path) if how.undecodable == "refuse" else _narrow(path, how._replace(encoding="utf-8"), aside)
    return _narrow(path, how, aside)


def _narrow(path: PathLike[str], how: How, aside: Aside) -> Iterator[tuple[int, str]]:
    """Encodings in which the byte of a line feed is nothing else."""
    offset, encoding = 0, how.encoding
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, 1):
            try:
                line = raw.decode(encoding)
            except UnicodeDecodeError as error:  # a character that the line's end cuts must not take it along
                line = _mended(path, how, raw.removesuffix(b"\n").removesuffix(b"\r"), error, offset, number, aside)
            offset += len(raw)
            if number == 1 and encoding == "utf-8":
                line = line.removeprefix(_MARK)
            yield number, line.removesuffix("\n").removesuffix("\r")


def _wide(path: PathLike[str], how: How, aside: Aside) -> Iterator[tuple[int, str]]:
    """Encodings whose characters are made of units of two bytes or four."""
    unit = _WIDE[how.encoding]
    rest, number, offset, left = "", 0, 0, b""
    with open_bytes(path) as stream:
        while True:
            block = stream.read(_BLOCK)
            raw = left + block
            if not offset:
                how, mark = _order(raw, how)
                raw, offset = raw[mark:], mark
            # what may go on in the next block is left for it: part of a unit, the first half of a pair of surrogates
            end = len(raw) if not block else len(raw) - len(raw) % unit
            if block and end and unit == 2 and raw[end - 1 if how.encoding.endswith("le") else end - 2] & 0xFC == 0xD8:
                end -= unit
            raw, left = raw[:end], raw[end:]
            try:
                text = raw.decode(how.encoding)
            except UnicodeDecodeError as error:
                text = _mended(path, how, raw, error, offset, number + 1, aside)
            offset += len(raw)
            *whole, rest = (rest + text).split("\n")
            for line in whole:
                number += 1
                yield number, line.removesuffix("\r")
            if not block:
                break
    if rest:
        yield number + 1, rest


def _order(raw: bytes, how: How) -> tuple[How, int]:
    """With the order of bytes that the mark at the start tells (that of this machine without one), and the size of the
    mark."""
    if how.encoding not in ("utf-16", "utf-32"):
        return how, 0
    marks = {order: _MARK.encode(f"{how.encoding}-{order}") for order in ("le", "be")}
    for order, mark in marks.items():
        if raw.startswith(mark):
            return how._replace(encoding=f"{how.encoding}-{order}"), len(mark)
    return how._replace(encoding=f"{how.encoding}-{'le' if sys.byteorder == 'little' else 'be'}"), 0


def _mended(
    path: PathLike[str], how: How, raw: bytes, error: UnicodeDecodeError, offset: int, line: int, aside: Aside
) -> str:
    """The text of bytes that do not decode, which begin at `offset` and in `line`; raises BadInput if they are to be
    refused."""
    if how.undecodable == "refuse":
        line += raw[: error.start].decode(how.encoding).count("\n")
        raise _not(path, how.encoding, error, offset, line)
    text, gaps = replaced(raw, how.encoding)
    done = 0
    for at, size, character in gaps:
        line += text.count("\n", done, character)
        done = character
        aside.undecodable.add(line, offset + at, raw[at : at + size])
    return text


def _not(path: PathLike[str], encoding: Encoding, error: UnicodeDecodeError, offset: int, line: int) -> BadInput:
    seen = error.object[error.start : error.start + 4].hex(" ")
    message = (
        f"not {encoding}: bytes {seen} ({error.reason}); name the encoding (--encoding), mend the file, or have them "
        "replaced and counted (--undecodable replace)"
    )
    return BadInput(message, path=path, line=line, byte=offset + error.start)


class Survey(NamedTuple):
    """A file as a whole."""

    sha256: str  # of the bytes as they are stored
    bytes: int
    characters: int  # that reading it will read, for progress


def survey(path: PathLike[str], how: How) -> Survey:
    """All that is to be known of a file before it is read, in one pass. Characters are counted in UTF-8 by the bytes
    that begin one, else about. What does not decode is found when it is read."""
    with stored(path) as raw:
        seen = _Seen(raw)
        with decompressed(path, seen) as stream:
            blocks = iter(lambda: stream.read(_BLOCK << 2), b"")
            characters = sum(_characters(block, how.encoding) for block in blocks)
        while seen.read(_BLOCK):  # what a decompressor did not look at
            pass
    return Survey(seen.digest.hexdigest(), seen.size, seen.size if how.reader == "parquet" else characters)


def _characters(block: bytes, encoding: Encoding) -> int:
    if encoding.startswith("utf-8"):
        return int(np.count_nonzero((np.frombuffer(block, np.uint8) & 0xC0) != 0x80))
    return len(block) // (4 if "32" in encoding else 2)


class _Seen:
    """A stream of which size and digest are known in the end."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self.digest, self.size = stream, hashlib.sha256(), 0

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(size)
        self.digest.update(block)
        self.size += len(block)
        return block


def count_characters(path: PathLike[str], how: How) -> int:
    """Characters that reading the file will read; see `survey`."""
    return survey(path, how).characters
