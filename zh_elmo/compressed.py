"""Compressed files as a stream of bytes, read strictly: one that is empty, ends too early, or goes on with something
else is an error, where Python's own readers take it for the end."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from typing import IO, Any, cast

_BLOCK = 1 << 17
_MOST = 1 << 20  # bytes that bz2 and xz give at once; zstandard knows no bound
# What readers raise for a damaged file. bz2 and gzip raise OSError as well, but then without a number.
DAMAGED = (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error)


class FrameReader(io.RawIOBase):
    """The decompressed bytes of a file of one frame (stream, member) or more, which stays open."""

    def __init__(self, file: IO[bytes], new: Callable[[], Any], error: type[Exception]) -> None:
        """`new` makes what decompresses one frame, and raises `error` where it cannot."""
        self._file, self._new, self._error = file, new, error
        self._frame: Any = new()  # that is being read; None between two
        self._raw = self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Raises EOFError where the file is empty, damaged, or ends inside a frame."""
        while not self._ready and self._fill():
            pass
        taken, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def _fill(self) -> bool:
        """Decompress some more; False at the end."""
        if self._frame is not None and not getattr(self._frame, "needs_input", True):
            return self._take(b"")
        raw = self._raw or self._file.read(_BLOCK)
        self._raw = b""
        if raw and self._frame is None:
            raw = raw.lstrip(b"\0")  # padding between the streams of .xz; no frame begins with it
            return self._take(raw) if raw else True
        if raw:
            return self._take(raw)
        if self._frame is not None:
            raise EOFError("the file ends inside a frame")
        return False

    def _take(self, raw: bytes) -> bool:
        frame = self._new() if self._frame is None else self._frame
        try:
            self._ready = frame.decompress(raw, _MOST) if hasattr(frame, "needs_input") else frame.decompress(raw)
        except self._error as error:
            raise EOFError(str(error)) from None
        self._raw, self._frame = (frame.unused_data, None) if frame.eof else (b"", frame)
        return True


class _Begun:
    """A file of which the first byte has been read."""

    def __init__(self, first: bytes, file: Any) -> None:
        self._first, self._file = first, file

    def read(self, size: int = -1) -> bytes:
        first, self._first = self._first, b""
        return first + bytes(self._file.read(size - len(first) if size >= 0 else size))


def _gz(file: Any) -> IO[bytes]:
    """Which sees all but an empty file."""
    first = file.read(1)
    if not first:
        raise EOFError("it is empty")
    rest: Any = _Begun(first, file)
    return cast("IO[bytes]", gzip.GzipFile(fileobj=rest, mode="rb"))


def _xz(file: Any) -> IO[bytes]:
    return io.BufferedReader(FrameReader(file, lzma.LZMADecompressor, lzma.LZMAError), _BLOCK)


def _bz2(file: Any) -> IO[bytes]:
    return io.BufferedReader(FrameReader(file, bz2.BZ2Decompressor, OSError), _BLOCK)


def _zst(file: Any) -> IO[bytes]:
    """Raises ImportError without the package zstandard."""
    import zstandard

    new = zstandard.ZstdDecompressor
    return io.BufferedReader(FrameReader(file, lambda: new().decompressobj(), zstandard.ZstdError), _BLOCK)


# By suffix, what opens a stream of the stored bytes; it need only have `read`.
OPENERS: dict[str, Callable[[Any], IO[bytes]]] = {".xz": _xz, ".gz": _gz, ".bz2": _bz2, ".zst": _zst}
