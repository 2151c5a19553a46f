"""Paragraphs that were there before, found by their hashes on the disk: memory does not grow with the text."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

_ENTRY = np.dtype([("hash", "<u8"), ("place", "<u8")])
_IN_MEMORY = 1 << 20  # hashes that are sorted at once
_BLOCK = 1 << 18


class Repeated:
    """`add` the hashes of all paragraphs in order; `flags` then tells which are not the first of their kind.

    A hash of 0 stands for no paragraph and is never repeated.
    """

    def __init__(self, folder: Path) -> None:
        """`folder`: for files of its own, cleared by `clear`."""
        self.folder = folder
        self.number = 0
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self._stream: IO[bytes] = open(folder / "hashes", "wb")  # noqa: SIM115  (open until `flags`)

    def add(self, hashes: NDArray[np.uint64]) -> None:
        self._stream.write(hashes.astype("<u8").tobytes())
        self.number += len(hashes)

    def flags(self) -> NDArray[np.uint8]:
        """1 for each hash that was added before, by place; mapped from the disk."""
        self._stream.close()
        path = self.folder / "flags"
        with open(path, "wb") as stream:
            stream.truncate(max(self.number, 1))
        flags = np.memmap(path, np.uint8, mode="r+")
        for entries in self._buckets():
            order = np.argsort(entries["hash"], kind="stable")  # places stay in order
            hashes = entries["hash"][order]
            again = np.zeros(len(order), bool)
            again[1:] = (hashes[1:] == hashes[:-1]) & (hashes[1:] != 0)
            flags[entries["place"][order[again]]] = 1
        return flags[: self.number]

    def _buckets(self) -> Iterator[NDArray[np.void]]:
        """All (hash, place), parted by the first bits of the hashes so that each part fits into memory."""
        bits = max(0, (self.number // _IN_MEMORY).bit_length())
        if not self.number:
            return
        if not bits:
            yield from self._blocks(self.number)
            return
        streams = [open(self.folder / f"{bucket:04x}", "wb") for bucket in range(1 << bits)]  # noqa: SIM115
        try:
            for block in self._blocks(_BLOCK):
                of = block["hash"] >> np.uint64(64 - bits)
                order = np.argsort(of, kind="stable")
                edges = np.searchsorted(of[order], np.arange((1 << bits) + 1, dtype=np.uint64))
                for bucket, stream in enumerate(streams):
                    stream.write(block[order[edges[bucket] : edges[bucket + 1]]].tobytes())
        finally:
            for stream in streams:
                stream.close()
        for stream in streams:
            path = Path(stream.name)
            yield np.fromfile(path, _ENTRY)
            path.unlink()

    def _blocks(self, size: int) -> Iterator[NDArray[np.void]]:
        with open(self.folder / "hashes", "rb") as stream:
            place = 0
            while raw := stream.read(8 * size):
                hashes = np.frombuffer(raw, "<u8")
                block = np.empty(len(hashes), _ENTRY)
                block["hash"], block["place"] = hashes, np.arange(place, place + len(hashes))
                place += len(hashes)
                yield block

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
