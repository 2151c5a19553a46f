"""Zstandard files as a stream of bytes, read strictly: a file that ends inside a frame is an error, not an end."""

from __future__ import annotations

import io
from typing import IO, Any

_BLOCK = 1 << 17


class ZstReader(io.RawIOBase):
    """The decompressed bytes of a file of one frame or more, which stays open."""

    def __init__(self, file: IO[bytes]) -> None:
        """Raises ImportError without the package zstandard."""
        import zstandard

        self._new = zstandard.ZstdDecompressor
        self._error = zstandard.ZstdError
        self._frame: Any = None  # that is being read; None between two
        self._file = file
        self._raw = self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Raises EOFError where the file ends inside a frame, or holds no frame."""
        while not self._ready and self._fill():
            pass
        taken, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def _fill(self) -> bool:
        """Decompress some more; False at the end."""
        raw = self._raw or self._file.read(_BLOCK)
        self._raw = b""
        if not raw:
            if self._frame is not None:
                raise EOFError("the file ends inside a frame")
            return False
        if self._frame is None:
            self._frame = self._new().decompressobj()
        try:
            self._ready = self._frame.decompress(raw)
        except self._error as error:
            raise EOFError(str(error)) from None
        if self._frame.eof:
            self._raw, self._frame = self._frame.unused_data, None
        return True


def open_zst(file: IO[bytes]) -> io.BufferedReader:
    """A buffered stream of the decompressed bytes."""
    return io.BufferedReader(ZstReader(file), _BLOCK)
