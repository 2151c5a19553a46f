"""The program of a pickle, walked by a small stack machine that knows tensors alone and executes nothing of it.

A pickle is a program for a stack machine that may call anything by its name. Here the few names that torch's state
dicts ask for stand for values of our own, and all others are refused before their arguments are looked at.
"""

from __future__ import annotations

import pickletools
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from zh_elmo.files import one_line
from zh_elmo.formats.stored import count

_INSTRUCTIONS = 1_000_000

BFLOAT16 = "BFloat16Storage"
STORAGES = {
    "FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2", BFLOAT16: "<u2", "LongStorage": "<i8",
    "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "i1", "ByteStorage": "u1", "BoolStorage": "?",
}  # fmt: skip


@dataclass(frozen=True)
class _Name:
    """A name that the program asked for and may have; what it stands for is done by `_called`."""

    name: str


@dataclass(frozen=True)
class Storage:
    """A run of numbers in the file, or the part of one that starts at number `begin`."""

    key: str
    kind: str
    count: int
    begin: int = 0

    @property
    def size(self) -> int:
        """In bytes."""
        return self.count * np.dtype(STORAGES[self.kind]).itemsize


@dataclass(frozen=True)
class Tensor:
    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in numbers


_DICT = _Name("collections.OrderedDict")
_TENSOR = _Name("torch._utils._rebuild_tensor")
_TENSOR_V2 = _Name("torch._utils._rebuild_tensor_v2")
_PARAMETER = _Name("torch._utils._rebuild_parameter")
_NAMES = {value.name: value for value in (_DICT, _TENSOR, _TENSOR_V2, _PARAMETER)} | {
    f"{module}.{kind}": _Name(kind) for module in ("torch", "torch.cuda") for kind in STORAGES
}


def _called(function: object, arguments: object) -> object:
    """What REDUCE gives. Raises ValueError for all but the few calls that a state dict is made of."""
    if not isinstance(arguments, tuple):
        raise ValueError("a call without arguments")
    if function is _DICT and len(arguments) <= 1:
        return _pairs(arguments[0]) if arguments else {}
    if function is _PARAMETER and len(arguments) == 3 and isinstance(arguments[0], Tensor):
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


def _tensor(storage: object, offset: object, shape: object, strides: object) -> Tensor:
    """Raises ValueError unless every number lies in the storage, and at a place of its own."""
    if not (isinstance(storage, Storage) and isinstance(shape, tuple) and isinstance(strides, tuple)):
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
    return Tensor(storage, offset, shape, strides)


def _storage(saved: object) -> tuple[Storage, Storage]:
    """("storage", type, key, location, count[, view]) -> the storage, and the part of it that is meant.

    The location (cpu, cuda:0) is no matter.
    """
    if not isinstance(saved, tuple) or len(saved) not in (5, 6) or saved[0] != "storage":
        raise ValueError("a reference to something other than a storage")
    _, kind, key, _, size, *view = saved
    if not (isinstance(kind, _Name) and kind.name in STORAGES and isinstance(key, str)):
        raise ValueError("a storage that is not described as torch does")
    if type(size) is not int or size < 0:
        raise ValueError("a storage that is not described as torch does")
    whole = Storage(key, kind.name, size)
    if not view or view[0] is None:
        return whole, whole
    begin, part = view[0][1:] if isinstance(view[0], tuple) and len(view[0]) == 3 else (None, None)
    if type(begin) is not int or type(part) is not int or not 0 <= begin <= begin + part <= size:
        raise ValueError("a view of a storage that does not lie in it")
    return whole, Storage(key, kind.name, part, begin)


# The pickle program -------------------------------------------------------------------------------------------------

_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_LITERALS = {
    "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINSTRING",
    "SHORT_BINSTRING",
}  # fmt: skip
_WITHOUT_ARGUMENT = {
    *_CONSTANTS, "STOP", "MARK", "MEMOIZE", "STACK_GLOBAL", "REDUCE", "BUILD", "BINPERSID", "EMPTY_DICT", "EMPTY_LIST",
    "EMPTY_TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "TUPLE", "SETITEM", "SETITEMS", "APPEND", "APPENDS",
}  # fmt: skip
_NUMBERED = {
    "PROTO": "<B", "FRAME": "<Q", "BININT": "<i", "BININT1": "<B", "BININT2": "<H", "BINFLOAT": ">d", "BINPUT": "<B",
    "LONG_BINPUT": "<I", "BINGET": "<B", "LONG_BINGET": "<I",
}  # fmt: skip
_SIZED = {"LONG1": "<B", "BINUNICODE": "<I", "SHORT_BINUNICODE": "<B", "BINSTRING": "<i", "SHORT_BINSTRING": "<B"}
_CODES = {info.code.encode("latin-1"): info.name for info in pickletools.opcodes}


def _instructions(stream: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """(name, argument) of each instruction to the end of the program; what is not known is not even read."""
    for _ in range(_INSTRUCTIONS):
        code = stream.read(1)
        name = _CODES.get(code, code.hex())
        if name == "STOP":
            return
        if name in _WITHOUT_ARGUMENT:
            yield name, None
        elif name in _NUMBERED:
            yield name, _number(stream, _NUMBERED[name])
        elif name in _SIZED:
            size = _number(stream, _SIZED[name])
            raw = stream.read(max(size, 0))
            if len(raw) != size:
                raise ValueError("the end of the pickle is missing")
            yield name, int.from_bytes(raw, "little", signed=True) if name == "LONG1" else raw.decode()
        elif name == "GLOBAL":
            lines = [stream.readline() for _ in range(2)]
            if not all(line.endswith(b"\n") for line in lines):
                raise ValueError("the end of the pickle is missing")
            yield name, [line[:-1].decode() for line in lines]
        elif code:
            raise Unwanted(f"uses the pickle instruction {name}")
        else:
            raise ValueError("the end of the pickle is missing")
    raise ValueError(f"a pickle of more than {_INSTRUCTIONS:,} instructions")


def _number(stream: IO[bytes], how: str) -> Any:
    return struct.unpack(how, stream.read(struct.calcsize(how)))[0]


class Program:
    """A small stack machine for one pickle; raises ValueError for whatever a state dict has no need of."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # the stacks under each mark
        self.memo: dict[int, Any] = {}
        self.storages: dict[str, Storage] = {}

    def run(self, stream: IO[bytes]) -> Any:
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
        for name, argument in _instructions(stream):
            if name in _LITERALS:
                self.stack.append(argument)
            elif name in _CONSTANTS:
                self.stack.append(_CONSTANTS[name])
            elif name in ("BINPUT", "LONG_BINPUT"):
                self.memo[argument] = self.stack[-1]
            elif name == "MEMOIZE":
                self.memo[len(self.memo)] = self.stack[-1]
            elif name in ("BINGET", "LONG_BINGET"):
                self.stack.append(self.memo[argument])
            elif name == "MARK":
                self.below.append(self.stack)
                self.stack = []
            elif name == "GLOBAL":
                self.stack.append(_asked(*argument))
            elif name in simple:
                value = simple[name]()  # first, since it may change the stack
                self.stack.append(value)
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


class Unwanted(ValueError):
    """The pickle is sound, and asks for more than tensors."""


def _asked(module: object, name: object) -> _Name:
    full = f"{module}.{name}" if isinstance(module, str) and isinstance(name, str) else "a name that is no text"
    if full not in _NAMES:
        raise Unwanted(f"asks for {one_line(full, 100)}")
    return _NAMES[full]
