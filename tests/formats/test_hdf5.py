"""HDF5 files of weights: what h5py reads, without what could lead out of the file or out of memory."""

from __future__ import annotations

import struct
import sys
import tracemalloc
from pathlib import Path

import h5py
import numpy as np
import pytest

from zh_elmo.files import BadInput
from zh_elmo.formats import hdf5
from zh_elmo.formats.hdf5 import read_hdf5

GOLDEN = Path(__file__).parents[1] / "golden" / "data"
FILES = sorted(GOLDEN.rglob("*.hdf5"))
LAYOUTS = pytest.mark.parametrize("libver", ["earliest", "latest"])


def as_h5py_reads(path):
    found = {}
    with h5py.File(path, "r") as file:

        def visit(name, member):
            if isinstance(member, h5py.Dataset):
                found[name] = member[()] if member.dtype.kind in "iuf" else None

        file.visititems(visit)
    return found


def same(path):
    due, found = as_h5py_reads(path), read_hdf5(path)
    assert list(found) == list(due)
    for name, array in due.items():
        assert found[name].path == path
        if array is None:
            assert found[name].dtype == object
            continue
        read = found[name].read()
        assert found[name].dtype == read.dtype == np.asarray(array).dtype.newbyteorder("<")
        assert found[name].shape == read.shape == np.shape(array)
        np.testing.assert_array_equal(read, array)
    return found


def refused(path, what, **how):
    with pytest.raises(BadInput, match=what) as error:
        [tensor.read() for tensor in read_hdf5(path, **how).values()]
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)
    return error.value


@pytest.fixture
def path(tmp_path):
    return tmp_path / "f.hdf5"


# Right values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_golden(path):
    same(path)


def test_golden_names():
    found = read_hdf5(GOLDEN / "bilm_skip" / "weights.hdf5")
    assert found["RNN_1/RNN/MultiRNNCell/Cell0/LSTMCell/W_P_0"].shape == (32, 16)
    assert found["CNN/W_cnn_2"].dtype == np.float32
    vectors = read_hdf5(GOLDEN / "bilm_skip" / "allennlp_cli_all.hdf5")
    assert vectors["0"].shape[0] == 3
    with pytest.raises(BadInput, match=r"allennlp_cli_all.hdf5: sentence_to_index holds vlen|string; expected numbers"):
        vectors["sentence_to_index"].read()


@LAYOUTS
def test_kinds_shapes_and_byte_orders(path, libver):
    with h5py.File(path, "w", libver=libver) as file:
        for kind in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
            file[f"little/{kind}"] = np.arange(6).reshape(2, 3).astype(f"<{kind}")
            file[f"big/{kind}"] = np.arange(6).reshape(2, 3).astype(f">{kind}")
        file["scalar"] = np.float32(1.5)
        file["empty"] = np.zeros((0, 3), "f4")
        file["名字"] = np.ones(2)
        file["a.b c"] = np.ones(2)
        file.create_group("nothing/in/here")
    found = same(path)
    assert found["big/f4"].dtype == np.dtype("<f4")
    assert len(found) == 26


@LAYOUTS
@pytest.mark.parametrize(
    "how",
    [
        {"chunks": (3, 5)},
        {"chunks": (7, 10)},
        {"chunks": (8, 16), "maxshape": (None, None)},
        {"chunks": (1, 1)},
        {"chunks": (3, 5), "compression": "gzip"},
        {"chunks": (3, 5), "shuffle": True},
        {"chunks": (3, 5), "fletcher32": True},
        {"chunks": (3, 5), "compression": "gzip", "shuffle": True, "fletcher32": True},
        {"maxshape": (None, None)},
        {"maxshape": (None, 11), "compression": 9},
    ],
)
@pytest.mark.parametrize("kind", ["<f4", ">f8", "i1"])
def test_chunks(path, libver, how, kind):
    draw = np.random.default_rng(3)
    with h5py.File(path, "w", libver=libver) as file:
        file.create_dataset("w", data=(100 * draw.normal(size=(7, 11))).astype(kind), **how)
        file.create_dataset("v", data=np.arange(1000, dtype=kind), compression="gzip", chunks=(64,))
    same(path)


def test_a_chunk_that_a_filter_was_no_use_for(path):
    """h5py leaves a filter out of a chunk, bit by bit of a mask."""
    with h5py.File(path, "w") as file:
        made = file.create_dataset("w", (4,), "<f4", chunks=(2,), compression="gzip")
        made.id.write_direct_chunk((0,), np.array([1, 2], "<f4").tobytes(), filter_mask=1)
        made[2:] = [3, 4]
    assert same(path)["w"].read().tolist() == [1, 2, 3, 4]


def test_a_compact_dataset(path):
    with h5py.File(path, "w") as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((3,))
        made = h5py.h5d.create(file.id, b"w", h5py.h5t.IEEE_F32BE, space, properties)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, 2, 3], "f4"))
    assert same(path)["w"].read().tolist() == [1, 2, 3]


def test_things_that_are_no_numbers_have_names_and_are_not_read(path):
    with h5py.File(path, "w") as file:
        file["w"] = np.ones(2)
        file["compound"] = np.zeros(2, [("a", "f4")])
        file["bool"] = np.array([True])
        file["fixed"] = np.array([b"a"])
        file["long double"] = np.ones(2, "longdouble")
        file["complex"] = np.ones(2, complex)
        file["null"] = h5py.Empty("f4")
        file["reference"] = np.array([file.ref], h5py.ref_dtype)
        file["type"] = np.dtype("f4")  # no dataset
        file.create_dataset("strings", data=["我", "b"], dtype=h5py.string_dtype())
        strange = h5py.h5t.IEEE_F32LE.copy()
        strange.set_ebias(100)
        h5py.h5d.create(file.id, b"strange", strange, h5py.h5s.create_simple((3,)))
    found = read_hdf5(path)
    assert {name for name, tensor in found.items() if tensor.dtype == object} == set(found) - {"w"}
    assert "type" not in found
    assert len(found) == 10
    assert found["w"].read().tolist() == [1, 1]
    for name, what in {
        "compound": "compound", "bool": "enum", "fixed": "string", "long double": "numbers of an uncommon format",
        "null": "nothing", "reference": "reference", "strings": "string", "strange": "numbers of an uncommon format",
    }.items():  # fmt: skip
        with pytest.raises(BadInput, match=f"f.hdf5: {name} holds {what}; expected numbers"):
            found[name].read()


def test_a_memory_map_and_not_a_copy(path):
    with h5py.File(path, "w") as file:
        file["w"] = np.ones((1000, 1000), "f4")
    read_hdf5(path)
    tracemalloc.start()
    try:
        assert read_hdf5(path)["w"].read().sum() == 1_000_000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_file_that_is_open_here_or_cannot_be_locked(path, monkeypatch):
    """h5py#1066: a lock is asked for where none can be had."""
    with h5py.File(path, "w") as file:
        file["w"] = np.arange(5.0)
        file.create_dataset("c", data=np.arange(5.0), compression="gzip")
    with h5py.File(path, "r"):
        same(path)
    asked = []
    original = h5py.File

    def watched(*args, **how):
        asked.append(how)
        return original(*args, **how)

    monkeypatch.setattr(h5py, "File", watched)
    read_hdf5(path)
    assert asked == [{"locking": False}]


def test_an_h5py_that_does_not_know_of_locks(path, monkeypatch):
    with h5py.File(path, "w") as file:
        file["w"] = np.arange(5.0)
    original = h5py.File

    def old(name, mode, **how):
        if how:
            raise ValueError("h5py version >= 3.5.0 and HDF5 >= 1.12.1 required for file locking.")
        return original(name, mode)

    monkeypatch.setattr(h5py, "File", old)
    assert read_hdf5(path)["w"].read().tolist() == [0, 1, 2, 3, 4]


def test_without_h5py(monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    error = refused(GOLDEN / "bilm_skip" / "weights.hdf5", r"needs the package h5py: pip install 'zh-elmo\[formats\]'")
    assert error.usage


# What leads out of the file -----------------------------------------------------------------------------------------


def test_links_inside_the_file(path):
    with h5py.File(path, "w") as file:
        file["a/w"] = np.arange(3.0)
        file["a/near"] = h5py.SoftLink("w")
        file["far"] = h5py.SoftLink("/a/w")
        file["hard"] = file["a/w"]
    found = read_hdf5(path)
    assert set(found) == {"a/w", "a/near", "far", "hard"}
    assert all(tensor.read().tolist() == [0, 1, 2] for tensor in found.values())


@pytest.mark.parametrize("target", ["/etc/passwd", "../f", "/a/nowhere", "/a", "/", "/far", "/far/far"])
def test_soft_links_that_lead_nowhere(path, target):
    with h5py.File(path, "w") as file:
        file["a/w"] = np.arange(3.0)
        file["far"] = h5py.SoftLink(target)
    refused(path, "far is a link to .*, which is no dataset of this file")


@LAYOUTS
@pytest.mark.parametrize("place", ["x", "a/b/x"])
def test_external_links(path, tmp_path, libver, place):
    with h5py.File(tmp_path / "other", "w") as file:
        file["w"] = np.arange(3.0)
    with h5py.File(path, "w", libver=libver) as file:
        file[place] = h5py.ExternalLink(str(tmp_path / "other"), "/w")
    refused(path, f"{place} is a link to another file: not read")
    with h5py.File(path, "a") as file:
        del file[place]
        file[place] = h5py.ExternalLink(str(tmp_path / "other"), "/")
        file["zz"] = h5py.SoftLink(f"/{place}/w")
    refused(path, f"{place} is a link to another file: not read")


def test_external_storage(path, tmp_path):
    np.arange(100.0).tofile(tmp_path / "secret")
    with h5py.File(path, "w") as file:
        file.create_dataset("w", (100,), "f8", external=[(str(tmp_path / "secret"), 0, 800)])
    refused(path, "w lies in another file")


@pytest.mark.parametrize("grows", [False, True])
def test_virtual_datasets(path, tmp_path, grows):
    with h5py.File(tmp_path / "other", "w") as file:
        file.create_dataset("w", data=np.arange(100.0), maxshape=(None,))
    size = h5py.h5s.UNLIMITED if grows else 100
    layout = h5py.VirtualLayout((100,), "f8", maxshape=(size if not grows else None,))
    source = h5py.VirtualSource(str(tmp_path / "other"), "w", (100,), maxshape=(None,))
    layout[: size if grows else 100] = source[: size if grows else 100]
    with h5py.File(path, "w", libver="latest") as file:
        file.create_virtual_dataset("w", layout)
    refused(path, "w lies in another file")


def test_a_group_within_itself(path):
    with h5py.File(path, "w") as file:
        file["a/b/w"] = np.arange(3.0)
        file["a/b/again"] = file["a"]
    refused(path, "a/b/again is a group that stands elsewhere too")
    with h5py.File(path, "w") as file:
        file["root"] = file["/"]
    refused(path, "root is a group that stands elsewhere too")


# What would not fit -------------------------------------------------------------------------------------------------


@LAYOUTS
@pytest.mark.parametrize(
    ("chunks", "what"),
    [
        (None, "was never written"),
        (1000, "was not written whole: 0 of|more than are read"),
        (2**13, "was not written whole: 0 of|more than are read"),
    ],
)
@pytest.mark.parametrize("shape", [(2**20, 2**18), (2**41,), (2**30, 2**30), (10**6, 10**4)])
def test_huge_declared_sizes_without_numbers(path, libver, chunks, what, shape):
    with h5py.File(path, "w", libver=libver) as file:
        file.create_dataset("w", shape, "f4", chunks=chunks and (chunks,) * len(shape))
    refused(path, f"w .*({what})|a tensor of shape")


def test_half_written(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("w", (100, 100), "f4", chunks=(10, 100))[:50] = 1
    refused(path, r"w of shape \[100, 100\] was not written whole: 5 of 10 chunks")


def test_a_bomb(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("w", data=np.zeros(10**7, "f4"), chunks=(10**6,), compression=9)
    assert path.stat().st_size < 100_000
    refused(path, r"w unfolds from [\d,]+ to 40,000,000 bytes: not read")


def test_chunks_larger_than_their_dataset(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("w", data=np.zeros(10, "f4"), chunks=(10**7,), maxshape=(None,), compression=9)
    refused(path, r"w unfolds from [\d,]+ to 40,000,000 bytes: not read")


def test_one_dataset_under_many_names(path):
    with h5py.File(path, "w") as file:
        file["w"] = np.zeros(10**6, "f4")
        for number in range(50):
            file[str(number)] = file["w"]
    refused(path, "204,000,000 bytes of tensors in a file of 4,[0-9,]+ bytes")


@LAYOUTS
def test_many_members(path, libver):
    with h5py.File(path, "w", libver=libver) as file:
        for number in range(30):
            file[f"{number % 3}/{number}"] = np.zeros(1)
    assert len(read_hdf5(path, most=33)) == 30
    refused(path, "more than 32 members: no weights of a model; are these vectors?", most=32)


def test_many_chunks(path, monkeypatch):
    with h5py.File(path, "w") as file:
        file.create_dataset("v", data=np.zeros(30), chunks=(1,))
        file.create_dataset("w", data=np.zeros(30), chunks=(1,))
    assert len(read_hdf5(path)) == 2
    monkeypatch.setattr(hdf5, "_CHUNKS", 59)
    refused(path, "w has 30 chunks, which is more than are read")


@pytest.mark.parametrize(("how", "what"), [({"compression": "lzf"}, "lzf"), ({"scaleoffset": 3}, "scaleoffset")])
def test_other_compressions(path, how, what):
    with h5py.File(path, "w") as file:
        file.create_dataset("w", data=np.arange(1000.0), **how)
    refused(path, f"w is compressed with {what}; expected gzip or none")


# Damage -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["weights.hdf5", "embedding_weights.hdf5"])
def test_cut_anywhere(path, name):
    content = (GOLDEN / "bilm_skip" / name).read_bytes()
    for kept in {*range(0, len(content), len(content) // 40), len(content) - 1}:
        path.write_bytes(content[:kept])
        refused(path, "not an HDF5 file")


@LAYOUTS
def test_chunks_that_are_damaged(path, libver):
    """Reading them with libhdf5 itself can end the process."""
    with h5py.File(path, "w", libver=libver) as file:
        whole = np.random.default_rng(1).normal(size=(8, 8))
        made = file.create_dataset("w", data=whole, chunks=(4, 8), compression="gzip", shuffle=True, fletcher32=True)
        chunk = made.id.get_chunk_info(1)
    content = path.read_bytes()
    for begin, put in ((0, b"\0\0"), (2, b"\xff" * 20), (30, b"\0" * 30), (0, b"x\x9c\x03\0\0\0\0\x01")):
        place = chunk.byte_offset + begin
        path.write_bytes(content[:place] + put + content[place + len(put) :])
        refused(path, r"f.hdf5: damaged: w cannot be read \(")


def test_a_chunk_of_no_bytes(path):
    """The size of a chunk is zero in the list of chunks: libhdf5 2.0.0 crashes when it reads one with a checksum."""
    with h5py.File(path, "w") as file:
        made = file.create_dataset("w", data=np.ones((8, 8)), chunks=(4, 8), compression="gzip", fletcher32=True)
        chunk = made.id.get_chunk_info(1)
    content = path.read_bytes()
    listed = struct.pack("<IIQQQQ", chunk.size, 0, *chunk.chunk_offset, 0, chunk.byte_offset)
    assert content.count(listed) == 1
    path.write_bytes(content.replace(listed, bytes(4) + listed[4:]))
    refused(path, "w cannot be read .a chunk that unfolds to more than it should, or to less")


def test_a_smaller_chunk_than_its_dataset_says(path):
    with h5py.File(path, "w") as file:
        made = file.create_dataset("w", (4,), "<f4", chunks=(2,), compression="gzip")
        made[:] = 1
        made.id.write_direct_chunk((0,), b"abcd", filter_mask=1)
    refused(path, "w cannot be read .a chunk of another size than its dataset says")


def test_a_user_block_git_lfs_and_other_files(path):
    with h5py.File(path, "w", userblock_size=512) as file:
        file["w"] = np.ones(2)
    refused(path, "not an HDF5 file: it begins with 00 00")
    for content, what in ((b"", "empty"), (b"version https://git-lfs.github.com", "Git LFS"), (b"PK\x03\x04", "zip")):
        path.write_bytes(content)
        refused(path, f"not an HDF5 file: .*{what}")


def test_no_file(tmp_path):
    for there in (tmp_path / "none", tmp_path):
        with pytest.raises(BadInput, match=r"no such file|a folder stands") as error:
            read_hdf5(there)
        assert error.value.usage
