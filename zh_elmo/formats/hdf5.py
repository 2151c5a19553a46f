"""An HDF5 file -> its datasets, in which h5py finds where the numbers lie, and nothing more.

The numbers themselves are mapped, or unpacked by Python: libhdf5 (seen: 2.0.0) can crash when it reads the compressed
chunks of a damaged file, which no exception tells of; finding their places in the same files it does not.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import partial
from itertools import product
from math import ceil, prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zh_elmo.files import BadInput, one_line
from zh_elmo.formats.stored import Stored, begins, collected, count, damage, map_numbers, plain_file

_MAGIC = b"\x89HDF\r\n\x1a\n"
_CHUNKS = 200_000  # of all datasets
_TIMES = 32  # a compressed tensor may be so many times larger than it lies there; weights hardly shrink at all
_SLACK = 1 << 20
_COMPACT, _CONTIGUOUS, _CHUNKED = 0, 1, 2
_DEFLATE, _SHUFFLE, _FLETCHER32 = 1, 2, 3
_FILTERS = {4: "szip", 5: "nbit", 6: "scaleoffset", 307: "bzip2", 32000: "lzf", 32001: "blosc", 32015: "zstd"}


def read_hdf5(path: str | Path, *, most: int = 10_000) -> dict[str, Stored]:
    """Every dataset of the file by its path without the leading "/", in the order of the file; none is read yet.

    Datasets of strings and other things that are no numbers are there with dtype object, and refuse to be read. Raises
    BadInput where h5py is missing; for links to other files, external storage and virtual datasets; for datasets whose
    numbers are not all in the file, or unfold to more than 32 times what lies there; for more than `most` members; for
    damage.
    """
    file = plain_file(path)
    with damage(file, "not an HDF5 file that can be read, or a damaged one"):
        size = file.stat().st_size
        with open(file, "rb") as stream:
            head = stream.read(512)
        if not head.startswith(_MAGIC):
            raise BadInput(f"not an HDF5 file: {begins(head)}", path=file)
        h5py = _h5py(file)
        with _opened(h5py, file) as opened:
            found = _Walk(h5py, opened, file, most).datasets()
        return collected(found, file, size, most=_TIMES)


def _h5py(path: Path) -> Any:
    try:
        import h5py
    except ImportError:
        message = "an HDF5 file needs the package h5py: pip install 'zh-elmo[formats]'"
        raise BadInput(message, path=path, usage=True) from None
    return h5py


def _opened(h5py: Any, path: Path) -> Any:
    """The file, without a lock: a file system that has none, or a folder without rights, is no obstacle."""
    try:
        return h5py.File(path, "r", locking=False)
    except (TypeError, ValueError, OSError):  # an h5py without `locking`; or this process has the file open with it
        return h5py.File(path, "r")


class _Walk:
    """All members of a file, each once, none of them outside it."""

    def __init__(self, h5py: Any, opened: Any, path: Path, most: int) -> None:
        self.h5py, self.opened, self.path, self.most = h5py, opened, path, most
        self.members = self.chunks = 0

    def refuse(self, name: str, reason: str) -> BadInput:
        return BadInput(f"{one_line(name, 100)} {reason}", path=self.path)

    def datasets(self) -> list[Stored]:
        """Raises BadInput for what is not read, and whatever h5py raises for damage."""
        found: list[Stored] = []
        links: list[tuple[str, str]] = []
        seen = {self._address(self.opened["/"])}
        open_groups = [self._members("", self.opened["/"])]
        while open_groups:
            name, member = next(open_groups[-1], ("", None))
            if member is None:
                open_groups.pop()
            elif isinstance(member, str):
                links.append((name, member))
            elif isinstance(member, self.h5py.Dataset):
                found.append(self._dataset(name, member))
            elif isinstance(member, self.h5py.Group):
                if self._address(member) in seen:
                    raise self.refuse(name, "is a group that stands elsewhere too: not read")
                seen.add(self._address(member))
                open_groups.append(self._members(f"{name}/", member))
        by_name = {tensor.name: tensor for tensor in found}
        for name, target in links:
            if target not in by_name:
                raise self.refuse(name, f"is a link to {one_line(target, 100)}, which is no dataset of this file")
            there = by_name[target]
            found.append(Stored(name, there.shape, there.dtype, there.path, there.read))
        return found

    def _address(self, member: Any) -> int:
        return int(self.h5py.h5o.get_info(member.id).addr)

    def _members(self, prefix: str, group: Any) -> Iterator[tuple[str, Any]]:
        """(path, object), or (path, path of its target) for a soft link."""
        for key in group:
            name = f"{prefix}{key}"
            self.members += 1
            if self.members > self.most:
                message = f"more than {self.most:,} members: no weights of a model; are these vectors?"
                raise BadInput(message, path=self.path)
            if "/" in key or key in ("", ".", ".."):
                raise self.refuse(name, "is no name of a member: a damaged file")
            link = group.get(key, getlink=True)
            if isinstance(link, self.h5py.SoftLink):
                yield name, (link.path if link.path.startswith("/") else f"{prefix}{link.path}").strip("/")
            elif isinstance(link, self.h5py.HardLink):
                yield name, group[key]
            else:
                raise self.refuse(name, "is a link to another file: not read")

    def _dataset(self, name: str, dataset: Any) -> Stored:
        properties = dataset.id.get_create_plist()
        layout = properties.get_layout()
        if properties.get_external_count() or layout not in (_COMPACT, _CONTIGUOUS, _CHUNKED):
            raise self.refuse(name, "lies in another file (external storage or a virtual dataset): not read")
        dtype, kind = _dtype(self.h5py, dataset.id.get_type())
        shape = dataset.shape
        if dtype is None or shape is None:
            what = kind if dtype is None else "nothing"
            return Stored(name, shape or (), np.dtype(object), self.path, partial(_no_numbers, self.path, name, what))
        size = count(shape) * dtype.itemsize
        plain = dtype.newbyteorder("<")
        there = dataset.id.get_storage_size()
        if size == 0:
            fetch = partial(np.zeros, shape, plain)
        elif layout == _COMPACT:
            fetch = partial(np.array, dataset[()], plain)  # at most 64 KB, with the dataset's own description
        elif layout == _CONTIGUOUS:
            offset = dataset.id.get_offset()
            if offset is None or there != size:
                raise self.refuse(name, f"of shape {list(shape)} was never written, or not all of it")
            if offset + size > self.path.stat().st_size:
                raise self.refuse(name, f"should end at byte {offset + size:,}, behind the end: a file that was cut")
            fetch = partial(_mapped, self.path, dtype, shape, offset)
        else:
            self._check_chunks(name, shape, dtype, dataset, there)
            fetch = partial(_unpacked, self.path, name)
        return Stored(name, shape, plain, self.path, fetch)

    def _check_chunks(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], dataset: Any, there: int) -> None:
        """Raises BadInput unless every chunk is there, and has bytes behind what it unfolds to."""
        chunk = dataset.chunks
        count(chunk)
        due = prod(ceil(size / step) for size, step in zip(shape, chunk, strict=True))
        self.chunks += due
        if due > _CHUNKS or self.chunks > _CHUNKS:
            raise self.refuse(name, f"has {due:,} chunks, which is more than are read")
        written = dataset.id.get_num_chunks()
        if written != due:
            raise self.refuse(name, f"of shape {list(shape)} was not written whole: {written:,} of {due:,} chunks")
        unfolded = due * prod(chunk) * dtype.itemsize
        if unfolded > _TIMES * there + _SLACK:
            raise self.refuse(name, f"unfolds from {there:,} to {unfolded:,} bytes: not read")


def _dtype(h5py: Any, kind: Any) -> tuple[np.dtype[Any] | None, str]:
    """(numpy's type, "") of whole and floating numbers of 1 to 8 bytes, (None, what there is) for everything else."""
    h5t = h5py.h5t
    if not isinstance(kind, h5t.TypeFloatID | h5t.TypeIntegerID):
        return None, type(kind).__name__.removeprefix("Type").removesuffix("ID").lower()
    try:
        dtype = kind.dtype
        if dtype.itemsize <= 8 and h5t.py_create(dtype).equal(kind):
            return dtype, ""
    except (TypeError, ValueError):
        pass
    return None, "numbers of an uncommon format"


def _no_numbers(path: Path, name: str, kind: str) -> NDArray[Any]:
    raise BadInput(f"{one_line(name, 100)} holds {kind}; expected numbers", path=path)


def _mapped(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], offset: int) -> NDArray[Any]:
    return map_numbers(path, dtype, shape, offset).astype(dtype.newbyteorder("<"), copy=False)


# Chunks -------------------------------------------------------------------------------------------------------------


class _Chunk(NamedTuple):
    """Where a chunk belongs, which filters it did without (a bit each), and where its bytes lie."""

    place: tuple[int, ...]
    mask: int
    offset: int
    size: int


def _unpacked(path: Path, name: str) -> NDArray[Any]:
    """[*shape]: the chunks of a dataset, put together; raises ValueError for those that do not fit."""
    with _opened(_h5py(path), path) as opened:
        dataset = opened[name]
        shape, step = dataset.shape, dataset.chunks
        dtype = dataset.dtype  # as it was found, or nothing will fit
        properties = dataset.id.get_create_plist()
        filters = [properties.get_filter(number)[0] for number in range(properties.get_nfilters())]
        chunks: list[_Chunk] = []
        dataset.id.chunk_iter(lambda info: chunks.append(_Chunk(*info)))
    for code in filters:
        if code not in (_DEFLATE, _SHUFFLE, _FLETCHER32):
            known = _FILTERS.get(code, f"filter {code}")
            raise BadInput(f"{one_line(name, 100)} is compressed with {known}; expected gzip or none", path=path)
    starts = set(product(*(range(0, size, by) for size, by in zip(shape, step, strict=True))))
    if starts != {chunk.place for chunk in chunks}:
        raise ValueError("chunks that do not lie side by side")
    whole = np.empty(shape, dtype)
    with open(path, "rb") as stream:
        for chunk in chunks:
            stream.seek(chunk.offset)
            raw = stream.read(min(chunk.size, 2 * prod(step) * dtype.itemsize + _SLACK))
            numbers = np.frombuffer(_unfiltered(raw, chunk, filters, prod(step) * dtype.itemsize, dtype), dtype)
            part = tuple(slice(0, size - start) for size, start in zip(shape, chunk.place, strict=True))
            target = tuple(slice(start, start + by) for start, by in zip(chunk.place, step, strict=True))
            whole[target] = numbers.reshape(step)[part]
    return whole.astype(dtype.newbyteorder("<"), copy=False)


def _unfiltered(raw: bytes, chunk: _Chunk, filters: list[int], size: int, dtype: np.dtype[Any]) -> bytes:
    """The `size` bytes of a chunk, its filters undone from the last to the first."""
    if len(raw) != chunk.size:
        raise ValueError("a chunk that is cut")
    for number, code in reversed(list(enumerate(filters))):
        if chunk.mask >> number & 1:
            continue
        if code == _FLETCHER32:
            raw = raw[:-4]  # a checksum
        elif code == _SHUFFLE:
            raw = np.frombuffer(raw, "u1").reshape(dtype.itemsize, -1).T.tobytes()
        else:
            unfold = zlib.decompressobj()
            raw = unfold.decompress(raw, size + 5)  # a checksum may have been put in before, and the end is to be seen
            if not unfold.eof:
                raise ValueError("a chunk that unfolds to more than it should, or to less")
    if len(raw) != size:
        raise ValueError("a chunk of another size than its dataset says")
    return raw
