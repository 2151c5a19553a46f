"""A tensor that lies in a file: what is known of it, and its numbers when they are asked for."""

from __future__ import annotations

import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zh_elmo.files import BadInput, existing, explain, one_line

_AXES = 16
_LONGEST_AXIS = 1 << 40
_SLACK = 1 << 24  # bytes that small tensors may share with each other without a question

# What readers of damaged files raise, Python's own and those of its libraries. None of it tells of a fault of ours
# alone: a negative size is a ValueError here and an OverflowError there.
_DAMAGE = (
    ArithmeticError, EOFError, LookupError, MemoryError, NotImplementedError, OSError, RuntimeError, TypeError,
    ValueError, lzma.LZMAError, struct.error, tarfile.TarError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


_MAGICS = {
    b"version https://git-lfs": "this is a pointer of Git LFS, not the file itself; fetch it with `git lfs pull`",
    b"<!doctype": "this is a web page; the download went wrong",
    b"<html": "this is a web page; the download went wrong",
    b"<?xml": "this is a web page; the download went wrong",
    b"PK\x03\x04": "this is a zip archive",
    b"\x1f\x8b": "this is a gzip file",
    b"BZh": "this is a bzip2 file",
    b"\xfd7zXZ": "this is an xz file",
    b"\x89HDF": "this is an HDF5 file",
    b"\x80": "this is a pickle",
}


@dataclass(frozen=True)
class Stored:
    """One tensor of a file of weights. Its size was checked against the file when this was made."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]  # of what `read` gives, little-endian; object: not numbers, and `read` says so
    path: Path
    _fetch: Callable[[], NDArray[Any]] = field(repr=False, compare=False)

    def read(self) -> NDArray[Any]:
        """The numbers, [*shape] of `dtype`: an array or a view of the mapped file, read-only or not; copy before use.

        Raises BadInput where they cannot be had after all.
        """
        with damage(self.path, f"damaged: {one_line(self.name, 100)} cannot be read"):
            return self._fetch()

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize


@contextmanager
def damage(path: Path, what: str) -> Iterator[None]:
    """Whatever a damaged file makes a reader raise becomes one line: the file, `what`, and the reason in brackets."""
    try:
        yield
    except BadInput:
        raise
    except FileNotFoundError:
        raise BadInput("no such file", path=path, usage=True) from None
    except IsADirectoryError:
        raise BadInput("a folder stands where a file is due", path=path, usage=True) from None
    except _DAMAGE as error:
        reason = explain(error) if isinstance(error, OSError) and error.errno else str(error)
        raise BadInput(f"{what} ({one_line(reason, 200) or type(error).__name__})", path=path) from None


def plain_file(path: str | Path) -> Path:
    """`path` if a regular file stands there; a named pipe, which would be waited for, does not count."""
    place = existing(path, "file")
    if place.is_dir():
        raise BadInput("a folder stands where a file is due", path=place, usage=True)
    if not place.is_file():
        raise BadInput("not a regular file", path=place, usage=True)
    return place


def begins(head: bytes) -> str:
    """What the first bytes of a file tell of it, for a message."""
    for magic, kind in _MAGICS.items():
        if head.lstrip().lower().startswith(magic) or head.startswith(magic):
            return kind
    if head[257:262] == b"ustar":
        return "this is a tar archive"
    return f"it begins with {head[:8].hex(' ')}" if head else "the file is empty"


def count(shape: Sequence[int]) -> int:
    """How many numbers `shape` has; raises ValueError for what is no shape, before numpy sees it."""
    if len(shape) > _AXES:
        raise ValueError(f"a tensor of {len(shape)} axes; expected at most {_AXES}")
    if any(type(size) is not int or not 0 <= size <= _LONGEST_AXIS for size in shape):
        raise ValueError(f"a tensor of shape {one_line(str(list(shape)), 100)}")
    return prod(shape)


def map_numbers(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int) -> NDArray[Any]:
    """[*shape] of `dtype` at byte `offset` of the file, mapped: it goes when the array goes, and is never written."""
    if prod(shape) == 0:
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape)


def from_bfloat16(bits: NDArray[Any]) -> NDArray[Any]:
    """[*shape] of uint16 -> float32, which holds every such value; numpy has no type for them."""
    return (bits.astype("<u4") << 16).view("<f4")


def collected(tensors: Iterable[Stored], path: Path, size: int, *, most: float) -> dict[str, Stored]:
    """The tensors by name, if all of them together take at most `most` times the `size` bytes that the file has.

    Tensors may share their bytes (tied weights); a small file that unfolds into gigabytes is refused here.
    """
    found: dict[str, Stored] = {}
    total = 0
    for tensor in tensors:
        if tensor.name in found:
            raise BadInput(f"{one_line(tensor.name, 100)} is there twice", path=path)
        found[tensor.name] = tensor
        total += tensor.nbytes
    if total > most * size + _SLACK:
        raise BadInput(f"{total:,} bytes of tensors in a file of {size:,} bytes: not read", path=path)
    return found
