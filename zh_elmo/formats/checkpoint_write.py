"""Tensors -> a TensorFlow checkpoint (V2), without TensorFlow: the same bytes as its own writer's for one data file.

The counterpart of `checkpoint`, which says where the format is described.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zh_elmo.files import write_bytes, writing
from zh_elmo.formats.crc32c import crc32c, masked

_MAGIC = bytes.fromhex("57fb808b247547db")
_TYPES = {"float32": 1, "float64": 2, "int32": 3, "int64": 9, "float16": 19}
_RESTART = 16  # names from one that is written in full to the next
_HEADER = bytes.fromhex("08011a020801")  # one data file, little-endian, format of version 1
_CELL = re.compile(r"(RNN_[01])/Cell(\d+)/(W_0|B|W_P_0)")
_PARTS = {"W_0": "kernel", "B": "bias", "W_P_0": "projection/kernel"}


def training_names(name: str, *, layers: int) -> str:
    """The name in a checkpoint of bilm-tf's trainer for one of `bilm_tf.places`, in a model of so many LSTM layers:
    with one there is no stack of cells."""
    cell = _CELL.fullmatch(name)
    if cell is None:
        return f"lm/{name}"
    stack = f"multi_rnn_cell/cell_{cell[2]}/" if layers > 1 else ""
    return f"lm/{cell[1]}/rnn/{stack}lstm_cell/{_PARTS[cell[3]]}"


def write_checkpoint(prefix: str | Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    """Write PREFIX.data-00000-of-00001 and then PREFIX.index; one tensor is asked of `tensors` at a time.

    Raises ValueError for an empty name and for numbers other than floats of 16, 32, 64 and integers of 32, 64 bits.
    """
    entries = [(b"", _HEADER)]
    offset = 0
    with writing(f"{prefix}.data-00000-of-00001") as stream:
        for name in sorted(tensors, key=str.encode):
            array = tensors[name]
            if not name or array.dtype.name not in _TYPES:
                raise ValueError(f"{name!r} of type {array.dtype} cannot be written")
            raw = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
            stream.write(raw.data if raw.size else b"")
            entry = _number(1, _TYPES[array.dtype.name]) + _bytes(2, _shape(array.shape))
            entry += _number(4, offset) + _number(5, raw.nbytes) + b"\x35" + _fixed(masked(crc32c(raw)))
            entries.append((name.encode(), entry))
            offset += raw.nbytes
    write_bytes(f"{prefix}.index", _table(entries))


# The table of strings -----------------------------------------------------------------------------------------------


def _table(entries: Sequence[tuple[bytes, bytes]]) -> bytes:
    """A file with the entries, names in order, in one block: blocks are there to read a part, and all is read here."""
    data = _block(entries)
    whole = _handle(0, data)
    nothing = _block([])
    meta = _handle(len(data), nothing)
    beyond = bytes(byte + 1 for byte in entries[-1][0][:1])  # a short name not before the last one; never 0xff in UTF-8
    index = _block([(beyond, whole)])
    footer = (meta + _handle(len(data) + len(nothing), index)).ljust(40, b"\0")
    return data + nothing + index + footer + _MAGIC


def _block(entries: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Entries, where names are written in full, and behind the block: not compressed, and the checksum."""
    content, last = b"", b""
    restarts = [0]
    for number, (name, value) in enumerate(entries):
        shared = 0
        if number % _RESTART:
            shared = next(
                (i for i, (a, b) in enumerate(zip(name, last, strict=False)) if a != b), min(len(name), len(last))
            )
        elif number:
            restarts.append(len(content))
        content += _varint(shared) + _varint(len(name) - shared) + _varint(len(value)) + name[shared:] + value
        last = name
    content += b"".join(map(_fixed, [*restarts, len(restarts)])) + b"\0"
    return content + _fixed(masked(crc32c(content)))


def _handle(offset: int, block: bytes) -> bytes:
    """Where a block lies; its size is without what stands behind it."""
    return _varint(offset) + _varint(len(block) - 5)


# Numbers and protobuf messages --------------------------------------------------------------------------------------


def _shape(shape: Sequence[int]) -> bytes:
    return b"".join(_bytes(2, _number(1, size)) for size in shape)


def _number(field: int, value: int) -> bytes:
    """A field with a number; 0 is not written."""
    return _varint(field << 3) + _varint(value) if value else b""


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Seven bits in a byte, lowest first."""
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _fixed(value: int) -> bytes:
    return value.to_bytes(4, "little")
