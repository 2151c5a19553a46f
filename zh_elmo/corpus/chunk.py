"""Paragraphs as words, in memory and as a file: what a worker makes of a task and the writer takes up again."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zh_elmo.corpus.index import Hashes
from zh_elmo.corpus.near import PERMUTATIONS, Sketches

SENTENCE_MARK, DOCUMENT_MARK, FIRST_WORD = 0, 1, 2  # the ids of a chunk: marks of ends, then its types
_DIGEST = 8  # hexadecimal digits of a CRC-32 at the end of the file, which tells of what was lost, not of malice


class Chunk(NamedTuple):
    """Paragraphs as words. Paragraph p is ids[bounds[p]:bounds[p + 1]]; a document end is a paragraph of its own."""

    types: list[str]  # of this chunk, by first appearance
    type_hashes: Hashes
    ids: NDArray[np.uint32]  # marks, and places in `types` + FIRST_WORD
    bounds: NDArray[np.int64]
    hashes: NDArray[np.uint64]  # of each paragraph as normalised; 0 for a document end
    near: Sketches  # of those that are long enough, where near duplicates are looked for
    characters: int  # of all paragraphs that were read
    read: int  # the same with what is around the text: tags, line ends
    dropped: list[tuple[str, str]]  # (reason, what it begins with) of paragraphs that are not here
    changes: dict[str, int]  # numbers of things done to sentences and words
    facts: dict[str, dict[str, int]]  # of characters, sentences and paragraphs, by kind


def pack(chunk: Chunk) -> bytes:
    """A chunk as bytes, with a checksum of them at the end."""
    types = "\n".join(chunk.types).encode("utf-8", "surrogatepass")
    arrays = (chunk.hashes, chunk.near, chunk.bounds, chunk.ids, chunk.type_hashes)
    parts = [*(np.ascontiguousarray(array).tobytes() for array in arrays), types]
    about = {
        "sizes": [len(part) for part in parts], "types": len(chunk.types), "characters": chunk.characters,
        "read": chunk.read, "dropped": chunk.dropped, "changes": chunk.changes,
        "facts": chunk.facts,
    }  # fmt: skip
    raw = b"".join([json.dumps(about).encode("ascii"), b"\n", *parts])
    return raw + _checksum(raw)


def is_whole(raw: bytes) -> bool:
    """Whether the bytes are those of a chunk, all of them."""
    return len(raw) > _DIGEST and _checksum(memoryview(raw)[:-_DIGEST]) == raw[-_DIGEST:]


def _checksum(raw: bytes | memoryview) -> bytes:
    return b"%08x" % zlib.crc32(raw)


def unpack(raw: bytes, *, types: bool = True) -> Chunk:
    """The chunk of bytes that are whole; with `types` false it has none, which is faster."""
    start = raw.index(b"\n") + 1
    about = json.loads(raw[:start])
    parts = []
    for size in about["sizes"]:
        parts.append(raw[start : start + size])
        start += size
    words = parts[5].decode("utf-8", "surrogatepass").split("\n") if about["types"] and types else []
    return Chunk(
        types=words,
        type_hashes=np.frombuffer(parts[4], np.uint64).reshape(-1, 2),
        ids=np.frombuffer(parts[3], np.uint32),
        bounds=np.frombuffer(parts[2], np.int64),
        hashes=np.frombuffer(parts[0], np.uint64),
        near=_sketches(parts[1]),
        characters=about["characters"],
        read=about["read"],
        dropped=[(reason, example) for reason, example in about["dropped"]],
        changes=about["changes"],
        facts=about["facts"],
    )


def read_hashes(path: Path) -> tuple[NDArray[np.uint64], Sketches]:
    """`hashes` and `near` alone, of a file that is whole."""
    with open(path, "rb") as stream:
        hashes, near, *_ = json.loads(stream.readline())["sizes"]
        return np.frombuffer(stream.read(hashes), np.uint64), _sketches(stream.read(near))


def _sketches(raw: bytes) -> Sketches:
    return np.frombuffer(raw, np.uint32).reshape(-1, 1 + PERMUTATIONS)


def write(path: Path, raw: bytes) -> None:
    """The bytes of a chunk as a file that is there whole or not at all. Not synced: `is_whole` tells of a lost one."""
    beside = path.with_suffix(f".{os.getpid()}.part")
    try:
        with open(beside, "wb") as stream:
            stream.write(raw)
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        error.filename = error.filename or os.fspath(path)
        raise
