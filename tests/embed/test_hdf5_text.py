"""Lines of text in HDF5 files, read by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from zh_elmo.embed.hdf5_text import Lines, _chunks
from zh_elmo.files import BadInput

h5py = pytest.importorskip("h5py")
LINES = ["", "a", "买了苹果", "x" * 9000, *(f"line {number}" for number in range(700)), "", "\ud800", "end"]


def put(path, lines, chunks=None, **options):
    with h5py.File(path, "w", **options) as file:
        told = file.create_dataset("t", (len(lines),), h5py.string_dtype(), chunks=chunks)
        told[:] = np.array([line.encode("utf-8", "surrogatepass") for line in lines], object)
    return path


def lines_of(path):
    with h5py.File(path, "r", locking=False) as file:
        return Lines(path, "t", file["t"].id, file.userblock_size)


@pytest.mark.parametrize("chunks", [None, (1,), (100,), (5000,)])
@pytest.mark.parametrize("options", [{}, {"libver": "latest"}, {"libver": "earliest", "userblock_size": 512}], ids=str)
def test_lines_are_those_that_libhdf5_reads(tmp_path, chunks, options):
    lines = lines_of(put(tmp_path / "v.h5", LINES, chunks and (min(chunks[0], len(LINES)),), **options))
    assert len(lines) == len(LINES)
    assert list(lines) == LINES
    assert [lines[number] for number in (706, 0, 2, 3, 705, 4)] == [LINES[n] for n in (706, 0, 2, 3, 705, 4)]


def test_chunks_with_an_old_libhdf5():
    chunks = ["first", "second"]
    old = SimpleNamespace(get_num_chunks=lambda: 2, get_chunk_info=chunks.__getitem__)
    assert _chunks(old) == chunks


def patched(tmp_path, change):
    """`LINES` with bytes changed: change(content, where the places of the lines begin, where a collection does)."""
    path = put(tmp_path / "v.h5", LINES)
    with h5py.File(path) as file:
        where = file["t"].id.get_offset()
    content = bytearray(path.read_bytes())
    change(content, where, content.index(b"GCOL"))
    path.write_bytes(content)
    return path


def far_away(content, where, heap):
    content[where + 20 : where + 28] = b"\xf0" * 8  # the address of the second line


def elsewhere(content, where, heap):
    content[where + 20 : where + 28] = (8).to_bytes(8, "little")


def other_object(content, where, heap):
    content[where + 28 : where + 32] = (77).to_bytes(4, "little")


def other_length(content, where, heap):
    content[where + 16] = 2


def empty_object(content, where, heap, length=bytes(8)):
    begin = content.index(b"\1" + bytes(7) + b"a" + bytes(7))  # the length of the second line, and the line
    content[begin : begin + 8] = length


def huge_object(content, where, heap):
    empty_object(content, where, heap, b"\xff" * 8)


@pytest.mark.parametrize("change", [far_away, elsewhere, other_object, other_length, empty_object, huge_object])
def test_text_that_is_not_there_is_one_line(tmp_path, change):
    lines = lines_of(patched(tmp_path, change))
    for read in (lambda: lines[1], lambda: list(lines)):
        with pytest.raises(BadInput, match=r"v\.h5: damaged: the text of `t`: (line 1 is not where|no text lies at)"):
            read()


def test_collections_that_lie_in_one_another_are_refused(tmp_path):
    """Each of them would be read whole."""

    def change(content, where, heap):
        nested = b"".join(b"GCOL\1\0\0\0" + (len(content) // 2).to_bytes(8, "little") for _ in range(4))
        content[heap + 64 : heap + 128] = nested
        for number in range(4):
            content[where + 16 * number : where + 16 * number + 4] = b"\1\0\0\0"
            place = where + 16 * number + 4
            content[place : place + 8] = (heap + 64 + 16 * number).to_bytes(8, "little")

    with pytest.raises(BadInput, match="it lies at one place more than once"):
        list(lines_of(patched(tmp_path, change)))


def test_what_is_longer_than_the_file_or_packed_is_refused(tmp_path):
    def change(content, where, heap):
        content[where + 19] = 0x7F

    with pytest.raises(BadInput, match=r"its lines are said to have 2,1.* bytes, more than the file"):
        lines_of(patched(tmp_path, change))
    with h5py.File(tmp_path / "p.h5", "w") as file:
        file.create_dataset("t", (2,), h5py.string_dtype(), chunks=(2,), compression="gzip")[:] = ["a", "b"]
    with pytest.raises(BadInput, match="packed in a way that is not read"):
        lines_of(tmp_path / "p.h5")
