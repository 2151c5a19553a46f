"""A torch state dict, in a zip archive or a legacy pickle -> its tensors, by a reader that knows tensors alone.

Nothing in the file is executed: the pickle program is walked instruction by instruction, and the few names it may ask
for stand for values of our own. torch is not asked. Layouts: torch/serialization.py of torch 0.4 to 2.13.
"""

from __future__ import annotations

import io
import pickletools
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from zh_elmo.files import BadInput, one_line
from zh_elmo.formats.archive import is_zip, open_zip
from zh_elmo.formats.stored import Stored, begins, collected, count, damage, map_numbers, plain_file

_PROGRAM = 32 << 20  # bytes of a pickle program; a model has some ten thousand
_INSTRUCTIONS = 1_000_000
_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
_TIMES = 4  # tensors may share their bytes so many times (tied weights)

_BFLOAT16 = "BFloat16Storage"  # numpy has none: read as float32, which holds every value
_STORAGES = {
    "FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2", _BFLOAT16: "<u2", "LongStorage": "<i8",
    "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "i1", "ByteStorage": "u1", "BoolStorage": "?",
}  # fmt: skip


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


# Values of the pickle program ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Name:
    """A name that the program asked for and may have; what it stands for is done by `_called`."""

    name: str


@dataclass(frozen=True)
class _Storage:
    """A run of numbers in the file, or the part of one that starts at number `begin`."""

    key: str
    kind: str
    count: int
    begin: int = 0

    @property
    def size(self) -> int:
        """In bytes."""
        return self.count * np.dtype(_STORAGES[self.kind]).itemsize


@dataclass(frozen=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in numbers


_DICT = _Name("collections.OrderedDict")
_TENSOR = _Name("torch._utils._rebuild_tensor")
_TENSOR_V2 = _Name("torch._utils._rebuild_tensor_v2")
_PARAMETER = _Name("torch._utils._rebuild_parameter")
_NAMES = {value.name: value for value in (_DICT, _TENSOR, _TENSOR_V2, _PARAMETER)} | {
    f"{module}.{kind}": _Name(kind) for module in ("torch", "torch.cuda") for kind in _STORAGES
}


def _called(function: object, arguments: object) -> object:
    """What REDUCE gives. Raises ValueError for all but the few calls that a state dict is made of."""
    if not isinstance(arguments, tuple):
        raise ValueError("a call without arguments")
    if function is _DICT and len(arguments) <= 1:
        return _pairs(arguments[0]) if arguments else {}
    if function is _PARAMETER and len(arguments) == 3 and isinstance(arguments[0], _Tensor):
        return arguments[0]
    if (function is _TENSOR and len(arguments) == 4) or (function is _TENSOR_V2 and len(arguments) in (6, 7)):
        if arguments[6:] not in ((), (None,), ({},)):
            raise ValueError("a tensor of a kind of its own (conjugate or negative view)")
        return _tensor(*arguments[:4])
    if isinstance(function, _Name):
        raise ValueError(f"a call of {function.name} with {len(arguments)} arguments")
    raise ValueError("a call of what is no function")


def _pairs(items: object) -> dict[Any, Any]:
    """The argument of an OrderedDict that Python 2 wrote: a list of [key, value]."""
    content: dict[Any, Any] = {}
    if not isinstance(items, list):
        raise ValueError("a dict of no list")
    for pair in items:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ValueError("a dict of no pairs")
        content[_key(pair[0])] = pair[1]
    return content


def _key(value: object) -> object:
    """A plain key: the hash of nested tuples may take for ever."""
    if not isinstance(value, str | int | float | None):
        raise ValueError("a dict with a key that is neither text nor a number")
    return value


def _tensor(storage: object, offset: object, shape: object, strides: object) -> _Tensor:
    """Raises ValueError unless every number lies in the storage, and at a place of its own."""
    if not (isinstance(storage, _Storage) and isinstance(shape, tuple) and isinstance(strides, tuple)):
        raise ValueError("a tensor that is not made of a storage, a shape and strides")
    if type(offset) is not int or offset < 0 or len(strides) != len(shape):
        raise ValueError("a tensor whose offset, shape and strides do not fit together")
    numbers = count(shape)
    count(strides)
    reach = 1  # numbers from the first to the last, of the axes up to here
    for stride, size in sorted((stride, size) for stride, size in zip(strides, shape, strict=True) if size > 1):
        if numbers and stride < reach:
            raise ValueError("a tensor that overlaps itself, or is expanded")
        reach += (size - 1) * stride
    if numbers and offset + reach > storage.count:
        raise ValueError(f"a tensor of {offset + reach:,} numbers in a storage of {storage.count:,}")
    return _Tensor(storage, offset, shape, strides)


def _storage(saved: object) -> tuple[_Storage, _Storage]:
    """("storage", type, key, location, count[, view]) -> the storage, and the part of it that is meant.

    The location (cpu, cuda:0) is no matter.
    """
    if not isinstance(saved, tuple) or len(saved) not in (5, 6) or saved[0] != "storage":
        raise ValueError("a reference to something other than a storage")
    _, kind, key, _, size, *view = saved
    if (
        not isinstance(kind, _Name)
        or kind.name not in _STORAGES
        or not isinstance(key, str)
        or type(size) is not int
        or size < 0
    ):
        raise ValueError("a storage that is not described as torch does")
    whole = _Storage(key, kind.name, size)
    if not view or view[0] is None:
        return whole, whole
    begin, part = view[0][1:] if isinstance(view[0], tuple) and len(view[0]) == 3 else (None, None)
    if type(begin) is not int or type(part) is not int or not 0 <= begin <= begin + part <= size:
        raise ValueError("a view of a storage that does not lie in it")
    return whole, _Storage(key, kind.name, part, begin)


# The pickle program -------------------------------------------------------------------------------------------------

_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_LITERALS = {
    "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINSTRING",
    "SHORT_BINSTRING",
}  # fmt: skip


class _Program:
    """A small stack machine for one pickle; raises ValueError for whatever a state dict has no need of."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # the stacks under each mark
        self.memo: dict[int, Any] = {}
        self.storages: dict[str, _Storage] = {}

    def run(self, stream: io.BytesIO) -> Any:
        """The value of the program at the place where `stream` stands; it then stands behind it."""
        simple: Mapping[str, Callable[[], object]] = {
            "REDUCE": self._reduce,
            "BUILD": self._build,
            "BINPERSID": self._persistent,
            "STACK_GLOBAL": lambda: _asked(*self._taken(2)),
            "EMPTY_DICT": dict,
            "EMPTY_LIST": list,
            "EMPTY_TUPLE": tuple,
            "TUPLE1": lambda: tuple(self._taken(1)),
            "TUPLE2": lambda: tuple(self._taken(2)),
            "TUPLE3": lambda: tuple(self._taken(3)),
            "TUPLE": lambda: tuple(self._to_mark()),
            "SETITEM": lambda: self._set(self._taken(2)),
            "SETITEMS": lambda: self._set(self._to_mark()),
            "APPEND": lambda: self._append(self._taken(1)),
            "APPENDS": lambda: self._append(self._to_mark()),
        }
        for number, (code, argument, _) in enumerate(pickletools.genops(stream)):
            name = code.name
            if number > _INSTRUCTIONS:
                raise ValueError(f"a pickle of more than {_INSTRUCTIONS:,} instructions")
            if name in _LITERALS:
                self.stack.append(argument)
            elif name in _CONSTANTS:
                self.stack.append(_CONSTANTS[name])
            elif name in ("BINPUT", "LONG_BINPUT"):
                self.memo[argument] = self.stack[-1]  # type: ignore[index]
            elif name == "MEMOIZE":
                self.memo[len(self.memo)] = self.stack[-1]
            elif name in ("BINGET", "LONG_BINGET"):
                self.stack.append(self.memo[argument])  # type: ignore[index]
            elif name == "MARK":
                self.below.append(self.stack)
                self.stack = []
            elif name == "GLOBAL":
                self.stack.append(_asked(*str(argument).split(" ", 1)))
            elif name in simple:
                value = simple[name]()  # first, since it may change the stack
                self.stack.append(value)
            elif name not in ("PROTO", "FRAME", "STOP"):
                raise _Unwanted(f"uses the pickle instruction {name}")
        return self.stack.pop()

    def _taken(self, number: int) -> list[Any]:
        if len(self.stack) < number:
            raise ValueError("a pickle that takes more than it has")
        taken = self.stack[-number:]
        del self.stack[-number:]
        return taken

    def _to_mark(self) -> list[Any]:
        taken, self.stack = self.stack, self.below.pop()
        return taken

    def _reduce(self) -> object:
        function, arguments = self._taken(2)
        return _called(function, arguments)

    def _persistent(self) -> object:
        whole, part = _storage(self.stack.pop())
        if self.storages.setdefault(whole.key, whole) != whole:
            raise ValueError("a storage that is described in two ways")
        return part

    def _build(self) -> object:
        """The attributes of an OrderedDict are `_metadata`: versions of modules, of no use here."""
        target, _ = self._taken(2)
        if not isinstance(target, dict):
            raise ValueError("attributes for something other than a dict")
        return target

    def _set(self, items: list[Any]) -> object:
        target = self.stack.pop()
        if not isinstance(target, dict) or len(items) % 2:
            raise ValueError("items for something other than a dict")
        target.update(zip(map(_key, items[::2]), items[1::2], strict=True))
        return target

    def _append(self, items: list[Any]) -> object:
        target = self.stack.pop()
        if not isinstance(target, list):
            raise ValueError("items for something other than a list")
        target.extend(items)
        return target


class _Unwanted(ValueError):
    """The pickle is sound, and asks for more than tensors."""


def _asked(module: object, name: object) -> _Name:
    full = f"{module}.{name}" if isinstance(module, str) and isinstance(name, str) else "a name that is no text"
    if full not in _NAMES:
        raise _Unwanted(f"asks for {one_line(full, 100)}")
    return _NAMES[full]


def _run(stream: io.BytesIO, path: Path) -> tuple[Any, dict[str, _Storage]]:
    """The value of the next program, and all storages that it spoke of."""
    program = _Program()
    try:
        return program.run(stream), program.storages
    except _Unwanted as error:
        message = f"{error}: not loaded; only a dict of tensors (the state_dict of a model) is read from a pickle"
        raise BadInput(message, path=path) from None


# The two kinds of file ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Saved:
    """What the program gave, and at which byte of the file each storage begins; they were found to lie in it."""

    path: Path
    content: Any
    places: dict[str, int]

    def stored(self, name: str, tensor: _Tensor) -> Stored:
        storage = tensor.storage
        kind = np.dtype(_STORAGES[storage.kind])
        offset = self.places[storage.key] + (storage.begin + tensor.offset) * kind.itemsize
        wide = storage.kind == _BFLOAT16
        fetch = partial(_fetched, self.path, kind, tensor, offset, wide)
        return Stored(name, tensor.shape, np.dtype("<f4") if wide else kind, self.path, fetch)


def _fetched(path: Path, kind: np.dtype[Any], tensor: _Tensor, offset: int, wide: bool) -> NDArray[Any]:
    shape = tensor.shape
    if 0 in shape:
        return np.zeros(shape, "<f4" if wide else kind)
    reach = 1 + sum((size - 1) * stride for size, stride in zip(shape, tensor.strides, strict=True))
    numbers = map_numbers(path, kind, (reach,), offset)
    strides = [stride * kind.itemsize for stride in tensor.strides]
    view = as_strided(numbers, shape, strides, writeable=False)
    return (view.astype("<u4") << 16).view("<f4") if wide else view


def _named(content: object, path: Path) -> Iterator[tuple[str, _Tensor]]:
    """(name, tensor) of a state dict, which may be the one value with tensors of an outer dict."""
    if not isinstance(content, dict):
        raise BadInput("a pickle of something other than a dict of tensors", path=path)
    if not any(isinstance(value, _Tensor) for value in content.values()):
        inner = {key: value for key, value in content.items() if isinstance(value, dict) and _has_tensors(value)}
        if len(inner) != 1:
            found = f"several dicts of tensors: {one_line(', '.join(map(str, inner)), 100)}" if inner else "no tensors"
            raise BadInput(f"holds {found}; expected one state dict", path=path)
        (content,) = inner.values()
    for name, value in content.items():
        if isinstance(value, _Tensor):
            if not isinstance(name, str):
                raise BadInput(f"holds a tensor whose name is a number, {name}; expected a state dict", path=path)
            yield name, value


def _has_tensors(content: dict[Any, Any]) -> bool:
    return any(isinstance(value, _Tensor) for value in content.values())


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
    begin = member.header_offset + 30 + (lengths & 0xFFFF) + (lengths >> 16)
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
    with open(path, "rb") as stream:
        programs = io.BytesIO(stream.read(_PROGRAM))
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
        at, end = programs.tell(), stream.seek(0, io.SEEK_END)
        for key in keys:
            (numbers,) = struct.unpack("<q", _bytes_at(stream, at, 8))
            places[key] = at + 8
            at += 8 + storages[key].size
            if numbers != storages[key].count or at > end:
                raise ValueError("a storage is cut, or of another size than its tensors ask for")
    return _Saved(path, content, places)
