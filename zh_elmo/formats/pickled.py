"""A torch state dict, in a zip archive or a legacy pickle -> its tensors; torch itself is not asked.

Layouts: torch/serialization.py of torch 0.4 to 2.13.
"""

from __future__ import annotations

import io
import mmap
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from zh_elmo.files import BadInput, one_line
from zh_elmo.formats.archive import is_zip, open_zip
from zh_elmo.formats.program import BFLOAT16, STORAGES, Program, Storage, Tensor, Unwanted
from zh_elmo.formats.stored import Stored, begins, collected, damage, from_bfloat16, map_numbers, plain_file

_PROGRAM = 32 << 20  # bytes of a pickle program; a model has some ten thousand
_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
_TIMES = 4  # tensors may share their bytes so many times (tied weights)


def read_pickle(path: str | Path) -> dict[str, Stored]:
    """The tensors of the state dict that `torch.save` wrote to `path`, by name; none is read yet.

    Flat, or inside one more dict ({"state_dict": ...}); values that are no tensors are left out, tensors of a GPU are
    read like all others, and bfloat16 becomes float32. Raises BadInput for a pickle that asks for anything but tensors,
    for tensors that overlap themselves or are not of numbers, and for what is damaged, cut, or no such file.
    """
    file = plain_file(path)
    with damage(file, "not a torch state dict that can be read, or a part of one"):
        with open(file, "rb") as stream:
            head = stream.read(512)
        saved = _read_zip(file) if is_zip(head) else _read_legacy(file, head)
        tensors = (saved.stored(name, tensor) for name, tensor in _named(saved.content, file))
        return collected(tensors, file, file.stat().st_size, most=_TIMES)


def _run(stream: IO[bytes], path: Path) -> tuple[Any, dict[str, Storage]]:
    """The value of the next program, and all storages that it spoke of."""
    program = Program()
    try:
        return program.run(stream), program.storages
    except Unwanted as error:
        message = f"{error}: not loaded; only a dict of tensors (the state_dict of a model) is read from a pickle"
        raise BadInput(message, path=path) from None


# The two kinds of file ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Saved:
    """What the program gave, and at which byte of the file each storage begins; they were found to lie in it."""

    path: Path
    content: Any
    places: dict[str, int]

    def stored(self, name: str, tensor: Tensor) -> Stored:
        storage = tensor.storage
        kind = np.dtype(STORAGES[storage.kind])
        offset = self.places[storage.key] + (storage.begin + tensor.offset) * kind.itemsize
        wide = storage.kind == BFLOAT16
        fetch = partial(_fetched, self.path, kind, tensor, offset, wide)
        return Stored(name, tensor.shape, np.dtype("<f4") if wide else kind, self.path, fetch)


def _fetched(path: Path, kind: np.dtype[Any], tensor: Tensor, offset: int, wide: bool) -> NDArray[Any]:
    shape = tensor.shape
    if 0 in shape:
        return np.zeros(shape, "<f4" if wide else kind)
    reach = 1 + sum((size - 1) * stride for size, stride in zip(shape, tensor.strides, strict=True))
    numbers = map_numbers(path, kind, (reach,), offset)
    strides = [stride * kind.itemsize for stride in tensor.strides]
    view = as_strided(numbers, shape, strides, writeable=False)
    return from_bfloat16(view) if wide else view


def _named(content: object, path: Path) -> Iterator[tuple[str, Tensor]]:
    """(name, tensor) of a state dict, which may be the one value with tensors of an outer dict."""
    if not isinstance(content, dict):
        raise BadInput("a pickle of something other than a dict of tensors", path=path)
    if not any(isinstance(value, Tensor) for value in content.values()):
        inner = {key: value for key, value in content.items() if isinstance(value, dict) and _has_tensors(value)}
        if len(inner) != 1:
            found = f"several dicts of tensors: {one_line(', '.join(map(str, inner)), 100)}" if inner else "no tensors"
            raise BadInput(f"holds {found}; expected one state dict", path=path)
        (content,) = inner.values()
    for name, value in content.items():
        if isinstance(value, Tensor):
            if not isinstance(name, str):
                raise BadInput(f"holds a tensor whose name is a number, {name}; expected a state dict", path=path)
            yield name, value


def _has_tensors(content: dict[Any, Any]) -> bool:
    return any(isinstance(value, Tensor) for value in content.values())


def _read_zip(path: Path) -> _Saved:
    """torch 1.6 and later: NAME/data.pkl, and NAME/data/KEY for every storage, not compressed."""
    with open_zip(path) as archive, open(path, "rb") as stream:
        members = {member.filename: member for member in archive.infolist()}
        programs = sorted(
            (name for name in members if f"/{name}".endswith("/data.pkl")), key=lambda name: name.count("/")
        )
        if not programs:
            raise BadInput("a zip archive without data.pkl: no torch state dict; unpack it first", path=path)
        inside = programs[0].removesuffix("data.pkl")
        order = members.get(f"{inside}byteorder")
        if order and _bytes_at(stream, _place(stream, path, order), min(order.file_size, 16)) != b"little":
            raise BadInput("written on a big-endian machine: not read", path=path)
        begin, size = _place(stream, path, members[programs[0]]), members[programs[0]].file_size
        if size > _PROGRAM:
            raise ValueError(f"a pickle of {size:,} bytes")
        content, storages = _run(io.BytesIO(_bytes_at(stream, begin, size)), path)
        places = {}
        for key, storage in storages.items():
            member = members.get(f"{inside}data/{key}")
            if member is None:
                raise _missing(f"data/{key}", path, members, inside)
            places[key] = _place(stream, path, member)
            if member.file_size != storage.size:
                raise ValueError(
                    f"member data/{key} has {member.file_size:,} bytes; its tensors ask for {storage.size:,}"
                )
    return _Saved(path, content, places)


def _missing(name: str, path: Path, members: Mapping[str, object], inside: str) -> BadInput:
    if any(member.startswith(f"{inside}tensors/") for member in members):
        again = "load it there and save it again with _use_new_zipfile_serialization=False"
        return BadInput(f"the trial zip format of torch 1.4, which later torch cannot read either; {again}", path=path)
    return BadInput(f"lacks the member {one_line(name, 50)}: a damaged archive", path=path)


def _place(stream: io.BufferedReader, path: Path, member: zipfile.ZipInfo) -> int:
    """Where the bytes of a member begin: behind its own header, which may have other extra fields than the list has."""
    name = one_line(member.filename, 100)
    if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 0x1:
        raise BadInput(f"member {name!r} is compressed or encrypted; torch writes neither", path=path)
    stream.seek(member.header_offset)
    signature, lengths = struct.unpack("<4s22xI", stream.read(30))
    begin: int = member.header_offset + 30 + (lengths & 0xFFFF) + (lengths >> 16)
    end = begin + member.file_size
    if signature != b"PK\x03\x04" or member.compress_size != member.file_size or end > stream.seek(0, io.SEEK_END):
        raise BadInput(f"member {name!r} does not lie in the file: a damaged archive", path=path)
    return begin


def _bytes_at(stream: io.BufferedReader, begin: int, size: int) -> bytes:
    stream.seek(begin)
    return stream.read(size)


def _read_legacy(path: Path, head: bytes) -> _Saved:
    """Before torch 1.6: five pickles (magic number, protocol, machine, content, keys), then of each storage, in the
    order of the keys, how many numbers it has and the numbers."""
    if not head.startswith(b"\x80"):
        raise BadInput(f"not a torch state dict: {begins(head)}", path=path)
    size = path.stat().st_size
    with (
        open(path, "rb") as stream,
        mmap.mmap(stream.fileno(), min(size, _PROGRAM), access=mmap.ACCESS_READ) as mapped,
    ):
        programs = cast(IO[bytes], mapped)
        for due in (_MAGIC, _PROTOCOL):
            if _run(programs, path)[0] != due:
                raise BadInput("a pickle, but none that torch.save wrote", path=path)
        machine, _ = _run(programs, path)
        if not isinstance(machine, dict) or machine.get("little_endian") is not True:
            raise BadInput("written on a big-endian machine: not read", path=path)
        content, storages = _run(programs, path)
        keys, _ = _run(programs, path)
        if (
            not isinstance(keys, list)
            or not all(isinstance(key, str) for key in keys)
            or sorted(keys) != sorted(storages)
        ):
            raise ValueError("its list of storages is not that of its tensors")
        places: dict[str, int] = {}
        at = programs.tell()
        for key in keys:
            (numbers,) = struct.unpack("<q", _bytes_at(stream, at, 8))
            places[key] = at + 8
            at += 8 + storages[key].size
            if numbers != storages[key].count or at > size:
                raise ValueError("a storage is cut, or of another size than its tensors ask for")
    return _Saved(path, content, places)
