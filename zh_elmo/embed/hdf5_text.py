"""Lines of text in an HDF5 file, read by hand: where a damaged file lies about the length of a line, libhdf5 takes
gigabytes, or reads without end.

Of each line a dataset holds its length, the address of a collection of a global heap, and the number of an object in
it; a collection is a row of objects (HDF5 File Format Specification 3.0, sections III.E and VIII.A).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from zh_elmo.embed.layouts import import_h5py
from zh_elmo.files import BadInput

_PLACE = np.dtype([("length", "<u4"), ("heap", "<u8"), ("number", "<u4")])
_HEAD = 16  # bytes before the objects of a collection, and before the bytes of an object


class Lines:
    """The strings of variable length of a dataset of one axis."""

    def __init__(self, path: Path, name: str, dataset: Any, shift: int) -> None:
        """`dataset`: its low-level id, whose bytes are all there; `shift`: of all addresses, the file's user block.

        Raises BadInput where the lines together are said to be longer than the file, and for a dataset that is
        compressed or lies in its own header, which no program that we know of writes."""
        self.path, self.name, self._shift = path, name, shift
        self._bytes = path.stat().st_size
        self._places = self._look_up(dataset)
        self._last: tuple[int, dict[int, bytes]] = (0, {})  # the collection that was read last
        told = int(self._places["length"].sum(dtype=np.uint64))
        if told > self._bytes:
            raise self._damaged(f"its lines are said to have {told:,} bytes, more than the file")

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, number: int) -> str:
        place = self._places[number]
        if not place["length"]:
            return ""
        heap = int(place["heap"])
        if self._last[0] != heap:
            self._last = heap, self._collection(heap)
        found = self._last[1].get(int(place["number"]), b"")
        if len(found) != place["length"]:
            raise self._damaged(f"line {number} is not where it is said to be")
        return found.rstrip(b"\0").decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        heaps = np.unique(self._places["heap"][self._places["length"] > 0])
        if sum(self._size(int(heap)) for heap in heaps) > self._bytes:
            raise self._damaged("it lies at one place more than once")  # and would be read again and again
        found = [""] * len(self)
        for number in np.argsort(self._places["heap"], kind="stable").tolist():
            found[number] = self[number]
        return iter(found)

    def _look_up(self, dataset: Any) -> Any:
        """Where each line is: [n] of `_PLACE`."""
        made, number = dataset.get_create_plist(), dataset.shape[0]
        found = np.zeros(number, _PLACE)
        at_once, parts = number, [(0, dataset.get_offset())]
        if made.get_layout() == import_h5py().h5d.CHUNKED:
            at_once = made.get_chunk()[0]
            parts = [(chunk.chunk_offset[0], chunk.byte_offset) for chunk in _chunks(dataset)]
        with open(self.path, "rb") as file:
            for begin, address in parts:
                if address is None or made.get_nfilters():
                    raise BadInput(f"the text of `{self.name}` is packed in a way that is not read", path=self.path)
                file.seek(address)
                content = file.read(min(at_once, number - begin) * _PLACE.itemsize)
                part = np.frombuffer(content, _PLACE, len(content) // _PLACE.itemsize)
                found[begin : begin + len(part)] = part
        return found

    def _size(self, heap: int) -> int:
        """Bytes of the collection at an address."""
        with open(self.path, "rb") as file:
            file.seek(min(heap + self._shift, self._bytes))
            head = file.read(_HEAD)
        size = int.from_bytes(head[8:], "little")
        if head[:5] != b"GCOL\1" or not _HEAD <= size <= self._bytes:
            raise self._damaged(f"no text lies at byte {heap:,}")
        return size

    def _collection(self, heap: int) -> dict[int, bytes]:
        """The objects of the collection at an address, by their numbers."""
        size = self._size(heap)
        with open(self.path, "rb") as file:
            file.seek(heap + self._shift + _HEAD)
            content = file.read(size - _HEAD)
        found: dict[int, bytes] = {}
        place = 0
        while number := int.from_bytes(content[place : place + 2], "little"):  # 0 is the free space at the end
            begin = place + _HEAD
            length = int.from_bytes(content[place + 8 : begin], "little")
            found[number] = content[begin : begin + length]
            place = begin + (length + 7) // 8 * 8
        return found

    def _damaged(self, what: str) -> BadInput:
        return BadInput(f"damaged: the text of `{self.name}`: {what}", path=self.path)


def _chunks(dataset: Any) -> list[Any]:
    """Where the pieces of a dataset lie."""
    found: list[Any] = []
    if hasattr(dataset, "chunk_iter"):  # since HDF5 1.12.3
        dataset.chunk_iter(found.append)
        return found
    return [dataset.get_chunk_info(number) for number in range(dataset.get_num_chunks())]
