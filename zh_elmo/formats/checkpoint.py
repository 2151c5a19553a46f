"""A TensorFlow checkpoint (V2: PREFIX.index and PREFIX.data-*) -> its tensors, without TensorFlow.

The index is a sorted table of strings as in LevelDB (tensorflow/core/lib/io/format.h), its values are protobuf messages
(tensorflow/core/protobuf/tensor_bundle.proto); the tensors lie raw in the data files.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zh_elmo.files import BadInput, one_line
from zh_elmo.formats.crc32c import crc32c, masked
from zh_elmo.formats.stored import Stored, begins, collected, count, damage, from_bfloat16, map_numbers, plain_file

_MAGIC = bytes.fromhex("57fb808b247547db")
_FOOTER = 48
_INDEX = 8 << 20  # bytes of an index; a large model has some ten thousand
_NAMES, _NAME = 100_000, 1024  # variables, and bytes of a name
_SHARDS = 10_000
_BFLOAT16 = 14
_TYPES = {
    1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 9: "<i8", 10: "?", _BFLOAT16: "<u2", 17: "<u2", 19: "<f2",
    22: "<u4", 23: "<u8",
}  # fmt: skip


def read_checkpoint(prefix: str | Path) -> dict[str, Stored]:
    """The variables of the checkpoint `prefix` ("model.ckpt-100", with or without ".index"), by name; none is read yet.

    Strings and other things that are no numbers are left out; bfloat16 becomes float32. The index is checked against
    its checksums, the sizes of the variables against their shapes and the length of the data files. Raises BadInput,
    naming the file, for a file that is missing, cut or damaged, for a compressed index, and for big-endian data.
    """
    prefix = Path(str(prefix).removesuffix(".index"))
    index = plain_file(Path(f"{prefix}.index"))
    with damage(index, "not the index of a TensorFlow checkpoint, or a damaged one"):
        entries = dict(_table(index))
        header = _fields(entries.pop(b""))
        shards = header.get(1, 1)
        if header.get(2, 0) != 0:
            raise BadInput("written on a big-endian machine: not read", path=index)
        if not 0 < shards <= _SHARDS:
            raise ValueError(f"{shards} data files")
        data = _Data(prefix, shards)
        tensors = [_stored(name, value, data, index) for name, value in entries.items()]
        found = [tensor for tensor in tensors if tensor is not None]
        return collected(found, index, sum(data.sizes.values()), most=1)


def _stored(name: bytes, value: bytes, data: _Data, index: Path) -> Stored | None:
    """The variable that an entry of the index tells of, None if it is none of numbers."""
    if name.startswith(b"\0"):  # a part of a variable that was saved in slices
        return None
    text = name.decode("utf-8")
    fields = _fields(value)
    kind = fields.get(1, 0)
    if kind not in _TYPES:
        return None
    shape = tuple(_fields(axis).get(1, 0) for axis in _repeated(fields.get(2, b""), 2))
    dtype = np.dtype(_TYPES[kind])
    shown = np.dtype("<f4") if kind == _BFLOAT16 else dtype
    numbers = count(shape)
    if 7 in fields:
        return Stored(text, shape, shown, index, partial(_sliced, text, index))
    offset, size = fields.get(4, 0), fields.get(5, 0)
    if numbers * dtype.itemsize != size:
        raise ValueError(f"{one_line(text, 100)} of shape {list(shape)} has {size:,} bytes")
    path = data.path(fields.get(3, 0))
    if offset + size > data.sizes[path]:
        message = f"cut: {one_line(text, 100)} should end at byte {offset + size:,} of {data.sizes[path]:,}"
        raise BadInput(message, path=path)
    check = int.from_bytes(fields[6], "little") if 6 in fields else None
    return Stored(text, shape, shown, path, partial(_fetched, path, dtype, shape, offset, kind == _BFLOAT16, check))


def _fetched(
    path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int, wide: bool, check: int | None
) -> NDArray[Any]:
    """The numbers, if their checksum is the one that the index has."""
    numbers = map_numbers(path, dtype, shape, offset)
    if check is not None and masked(crc32c(numbers)) != check:
        raise ValueError("other bytes than were written: its checksum is wrong")
    return from_bfloat16(numbers) if wide else numbers


def _sliced(name: str, index: Path) -> NDArray[Any]:
    raise BadInput(f"{one_line(name, 100)} was saved in slices (a partitioned variable): not read", path=index)


class _Data:
    """The data files of a checkpoint, looked for when a variable lies in one."""

    def __init__(self, prefix: Path, shards: int) -> None:
        self.prefix, self.shards = prefix, shards
        self.sizes: dict[Path, int] = {}

    def path(self, shard: int) -> Path:
        if shard >= self.shards:
            raise ValueError(f"data file {shard} of {self.shards}")
        path = Path(f"{self.prefix}.data-{shard:05d}-of-{self.shards:05d}")
        if path not in self.sizes:
            if not path.exists():
                raise BadInput(f"no such file; the checkpoint has {self.shards} data file(s)", path=path)
            self.sizes[path] = plain_file(path).stat().st_size
        return path


# The table of strings -----------------------------------------------------------------------------------------------


class _Handle(NamedTuple):
    """Where a block lies."""

    offset: int
    size: int


def _table(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """(name, value) of every entry, names in order; raises ValueError for what is damaged."""
    if path.stat().st_size > _INDEX:
        raise ValueError(f"more than {_INDEX:,} bytes")
    raw = path.read_bytes()
    if raw[-8:] != _MAGIC or len(raw) < _FOOTER:
        raise ValueError(f"its last bytes are not those of an index: cut, or {begins(raw[:512])}")
    footer = raw[-_FOOTER:-8]
    _, at = _handle(footer, 0)  # of the meta-index, which is empty
    whole, _ = _handle(footer, at)
    end, number, last = 0, 0, None
    for _, value in _block(raw, whole):
        handle, _ = _handle(value, 0)
        if handle.offset < end:
            raise ValueError("blocks that overlap")
        end = handle.offset + handle.size
        for name, content in _block(raw, handle):
            if last is not None and name <= last:
                raise ValueError("names out of order")
            last, number = name, number + 1
            if number > _NAMES:
                raise ValueError(f"more than {_NAMES:,} variables")
            yield name, content


def _block(raw: bytes, handle: _Handle) -> Iterator[tuple[bytes, bytes]]:
    """The entries of a block: names that share their beginning with the one before, then the places where none is
    shared, which a search would use. Behind the block: how it is compressed, and its checksum."""
    end = handle.offset + handle.size
    if handle.size < 4 or end + 5 > len(raw) - _FOOTER:
        raise ValueError("a block that does not lie in the file")
    if raw[end] != 0:
        raise ValueError(f"compressed with {'snappy' if raw[end] == 1 else f'method {raw[end]}'}: not read")
    if int.from_bytes(raw[end + 1 : end + 5], "little") != masked(crc32c(raw[handle.offset : end + 1])):
        raise ValueError("a checksum does not fit")
    block = raw[handle.offset : end]
    restarts = int.from_bytes(block[-4:], "little")
    stop = len(block) - 4 * (restarts + 1)
    if stop < 0:
        raise ValueError("a block with more restarts than room")
    at, name = 0, b""
    while at < stop:
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        length, at = _varint(block, at)
        if shared > len(name) or shared + own > _NAME or at + own + length > stop:
            raise ValueError("an entry that does not lie in its block")
        name = name[:shared] + block[at : at + own]
        yield name, block[at + own : at + own + length]
        at += own + length


def _handle(content: bytes, at: int) -> tuple[_Handle, int]:
    offset, at = _varint(content, at)
    size, at = _varint(content, at)
    return _Handle(offset, size), at


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """(value, place behind it) of a number of at most 64 bits, seven in a byte, lowest first."""
    value = 0
    for shift in range(0, 70, 7):
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a number of more than 64 bits")


# Protobuf messages --------------------------------------------------------------------------------------------------


def _messages(content: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of each field: an int, or bytes for what is longer; raises ValueError, IndexError for damage."""
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        kind = tag & 7
        if kind == 0:
            value: int | bytes
            value, at = _varint(content, at)
        else:
            if kind == 2:
                size, at = _varint(content, at)
            elif kind in (1, 5):
                size = 8 if kind == 1 else 4
            else:
                raise ValueError(f"a field of kind {kind}")
            value = content[at : at + size]
            if len(value) < size:
                raise ValueError("a field that is cut")
            at += size
        yield tag >> 3, value


def _fields(content: bytes) -> dict[int, Any]:
    """The last value of each field. The kinds are the numbers' own; a field of another kind is a TypeError to whoever
    uses it, which is damage too."""
    return dict(_messages(content))


def _repeated(content: bytes, number: int) -> Iterator[Any]:
    return (value for found, value in _messages(content) if found == number)
