"""Paragraphs as words, in memory and as a file: what a worker makes of a task and the writer takes up again."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zh_elmo.corpus.index import Hashes

_DIGEST = 16


class Chunk(NamedTuple):
    """Paragraphs as words. Paragraph p is ids[bounds[p]:bounds[p + 1]]; a document end is a paragraph of its own."""

    types: list[str]  # of this chunk, by first appearance; ids point into it
    type_hashes: Hashes
    ids: NDArray[np.uint32]
    bounds: NDArray[np.int64]
    hashes: NDArray[np.uint64]  # of each paragraph as normalised; 0 for a document end
    characters: int  # of all paragraphs that were read
    read: int  # the same with what is around the text: tags, line ends
    dropped: list[tuple[str, str]]  # (reason, what it begins with) of paragraphs that are not here
    changes: dict[str, int]  # numbers of things done to sentences and words
    facts: dict[str, dict[str, int]]  # of characters, sentences and paragraphs, by kind


def pack(chunk: Chunk) -> bytes:
    """A chunk as bytes, with a digest of them at the end."""
    types = "\n".join(chunk.types).encode("utf-8", "surrogatepass")
    arrays = (chunk.hashes, chunk.bounds, chunk.ids, chunk.type_hashes)
    parts = [*(np.ascontiguousarray(array).tobytes() for array in arrays), types]
    about = {
        "sizes": [len(part) for part in parts], "types": len(chunk.types), "characters": chunk.characters,
        "read": chunk.read, "dropped": chunk.dropped, "changes": chunk.changes,
        "facts": chunk.facts,
    }  # fmt: skip
    raw = b"".join([json.dumps(about).encode("ascii"), b"\n", *parts])
    return raw + hashlib.blake2b(raw, digest_size=_DIGEST).digest()


def is_whole(raw: bytes) -> bool:
    """Whether the bytes are those of a chunk, all of them."""
    return len(raw) > _DIGEST and hashlib.blake2b(raw[:-_DIGEST], digest_size=_DIGEST).digest() == raw[-_DIGEST:]


def unpack(raw: bytes) -> Chunk:
    """The chunk of bytes that are whole."""
    head, _, body = raw[:-_DIGEST].partition(b"\n")
    about = json.loads(head)
    parts, start = [], 0
    for size in about["sizes"]:
        parts.append(body[start : start + size])
        start += size
    types = parts[4].decode("utf-8", "surrogatepass").split("\n") if about["types"] else []
    return Chunk(
        types=types,
        type_hashes=np.frombuffer(parts[3], np.uint64).reshape(-1, 2),
        ids=np.frombuffer(parts[2], np.uint32),
        bounds=np.frombuffer(parts[1], np.int64),
        hashes=np.frombuffer(parts[0], np.uint64),
        characters=about["characters"],
        read=about["read"],
        dropped=[(reason, example) for reason, example in about["dropped"]],
        changes=about["changes"],
        facts=about["facts"],
    )


def read_hashes(path: Path) -> NDArray[np.uint64]:
    """Those of the paragraphs alone, of a file that is whole."""
    with open(path, "rb") as stream:
        return np.frombuffer(stream.read(json.loads(stream.readline())["sizes"][0]), np.uint64)


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
