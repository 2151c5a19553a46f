"""TensorFlow checkpoints: what TensorFlow wrote, several data files, and every way in which they are damaged."""

from __future__ import annotations

import shutil
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from zh_elmo.files import BadInput, read_json
from zh_elmo.formats import checkpoint
from zh_elmo.formats.checkpoint import read_checkpoint
from zh_elmo.formats.crc32c import crc32c, masked

GOLDEN = Path(__file__).parents[1] / "golden" / "data"
CODES = {
    "f4": 1,
    "f8": 2,
    "i4": 3,
    "u1": 4,
    "i2": 5,
    "i1": 6,
    "i8": 9,
    "b1": 10,
    "u2": 17,
    "f2": 19,
    "u4": 22,
    "u8": 23,
}
BFLOAT16, STRING = 14, 7


# Right values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["bilm_ckpt_char", "bilm_ckpt_word"])
@pytest.mark.parametrize("suffix", ["", ".index"])
def test_golden(folder, suffix):
    found = read_checkpoint(GOLDEN / folder / f"model.ckpt-100{suffix}")
    with np.load(GOLDEN / folder / "variables.npz") as due:
        assert set(found) == set(due)
        for name in due:
            read = found[name].read()
            assert (found[name].shape, found[name].dtype) == (due[name].shape, due[name].dtype)
            assert (read.shape, read.dtype) == (due[name].shape, due[name].dtype)
            np.testing.assert_array_equal(read, due[name])
            assert found[name].path.name == "model.ckpt-100.data-00000-of-00001"


def test_golden_of_tensorflow_hub():
    found = read_checkpoint(str(GOLDEN / "hub_like" / "variables" / "variables"))
    assert {name: list(tensor.shape) for name, tensor in found.items()} == read_json(GOLDEN / "hub_like" / "names.json")


def test_checksums_as_everyone_computes_them():
    """RFC 3720, B.4."""
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(bytes(range(32))) == 0x46DD794E


# A writer, to write what is wrong -----------------------------------------------------------------------------------


def varint(value):
    value &= 2**64 - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


def entry(code, shape, offset=0, size=0, shard=0, more=b"", content=None):
    """content: whose checksum is told; None: of nothing."""
    check = b"" if content is None else b"\x35" + struct.pack("<I", masked(crc32c(content)))
    axes = b"".join(field(2, field(1, axis)) for axis in shape)
    return field(1, code) + field(2, axes) + field(3, shard) + field(4, offset) + field(5, size) + check + more


def block(entries, method=0, restarts=None, every=4):
    """Entries share their beginning with the one before, but every fourth."""
    out, last, places = b"", b"", []
    for number, (name, value) in enumerate(entries):
        shared = 0
        if number % every == 0:
            places.append(len(out))
        else:
            while shared < min(len(last), len(name)) and last[shared] == name[shared]:
                shared += 1
        out += varint(shared) + varint(len(name) - shared) + varint(len(value)) + name[shared:] + value
        last = name
    out += b"".join(struct.pack("<I", place) for place in places)
    out += struct.pack("<I", len(places) if restarts is None else restarts) + bytes([method])
    return out + struct.pack("<I", masked(crc32c(out)))


def index(entries, size=3, **how):
    """An index with `size` entries a block."""
    out, handles = b"", []
    for begin in range(0, len(entries), size):
        part = block(entries[begin : begin + size], **how)
        handles.append((entries[begin][0], varint(len(out)) + varint(len(part) - 5)))
        out += part
    whole = varint(len(out)) + varint(8)
    out += block([])
    whole += varint(len(out)) + varint(len(block(handles)) - 5)
    return out + block(handles) + whole.ljust(40, b"\0") + checkpoint._MAGIC


def header(shards=1, endian=0):
    return b"", field(1, shards) + field(2, endian) + field(3, field(1, 1))


def written(folder, arrays, shards=1, more=()):
    """A checkpoint with the arrays in turn on its data files; returns its prefix."""
    entries, data = [header(shards), *more], [b""] * shards
    for number, (name, array) in enumerate(sorted(arrays.items())):
        shard = number % shards
        code = CODES[array.dtype.str[1:]]
        entries.append(
            (name.encode(), entry(code, array.shape, len(data[shard]), array.nbytes, shard, content=array.tobytes()))
        )
        data[shard] += array.tobytes()
    (folder / "m.index").write_bytes(index(sorted(entries)))
    for shard, content in enumerate(data):
        (folder / f"m.data-{shard:05d}-of-{shards:05d}").write_bytes(content)
    return folder / "m"


def alone(folder, *entries, data=bytes(64), **how):
    (folder / "m.index").write_bytes(index([header(), *entries], **how))
    (folder / "m.data-00000-of-00001").write_bytes(data)
    return folder / "m"


def refused(prefix, what, name="m.index"):
    with pytest.raises(BadInput, match=what) as error:
        [tensor.read() for tensor in read_checkpoint(prefix).values()]
    assert str(error.value).startswith(str(prefix.parent / name))
    assert "\n" not in str(error.value)
    return error.value


@pytest.fixture
def arrays():
    draw = np.random.default_rng(1)
    found = {f"lm/RNN_{i}/kernel": draw.normal(size=(3, i)).astype("f4") for i in range(9)}
    for kind in CODES:
        found[f"kinds/{kind}"] = draw.normal(size=(2, 3)).astype(kind)
    return found | {"global_step": np.array(100), "标量": np.array(1.5), "empty": np.zeros((0, 4), "f4")}


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_several_blocks_and_data_files(tmp_path, arrays, shards):
    found = read_checkpoint(written(tmp_path, arrays, shards))
    assert list(found) == sorted(arrays, key=str.encode)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name].read(), array)
    assert len({tensor.path for tensor in found.values()}) == shards


def test_bfloat16(tmp_path):
    values = np.array([[1.0, -2.5], [3e38, 2**-120]], "f4")
    halves = (values.view("u4") >> 16).astype("u2")
    found = read_checkpoint(alone(tmp_path, (b"w", entry(BFLOAT16, (2, 2), size=8)), data=halves.tobytes()))["w"]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.read(), (halves.astype("u4") << 16).view("f4"))
    assert found.read()[0].tolist() == [1.0, -2.5]


def test_strings_and_unknown_kinds_are_left_out(tmp_path):
    entries = [(b"a", entry(STRING, (), size=10**9)), (b"b", entry(1, (2,), size=8)), (b"c", entry(99, (2,), size=8))]
    assert list(read_checkpoint(alone(tmp_path, *entries))) == ["b"]


def test_slices_are_told_of_when_they_are_asked_for(tmp_path):
    prefix = alone(
        tmp_path,
        (b"\0\1part", entry(1, (2,), size=8)),
        (b"w", entry(1, (4,), more=field(7, field(1, b"")))),
        (b"x", entry(1, (2,), size=8)),
    )
    found = read_checkpoint(prefix)
    assert list(found) == ["w", "x"]
    assert found["x"].read().tolist() == [0, 0]
    refused(prefix, r"w was saved in slices \(a partitioned variable\): not read")


def test_a_memory_map_and_not_a_copy(tmp_path):
    prefix = written(tmp_path, {"w": np.ones((1000, 1000), "f4")})
    tracemalloc.start()
    try:
        assert read_checkpoint(prefix)["w"].read().sum() == 1_000_000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


# Damage -------------------------------------------------------------------------------------------------------------


def test_missing_files(tmp_path, arrays):
    with pytest.raises(BadInput, match=r"m.index: no such file") as error:
        read_checkpoint(tmp_path / "m")
    assert error.value.usage
    prefix = written(tmp_path, arrays, 3)
    (tmp_path / "m.data-00001-of-00003").unlink()
    refused(prefix, r"no such file; the checkpoint has 3 data file\(s\)", "m.data-00001-of-00003")


def test_an_index_cut_anywhere(tmp_path, arrays):
    prefix = written(tmp_path, arrays)
    content = (tmp_path / "m.index").read_bytes()
    for kept in range(0, len(content), 7):
        (tmp_path / "m.index").write_bytes(content[:kept])
        refused(prefix, "its last bytes are not those of an index: cut, or")


def test_an_index_of_git_lfs(tmp_path, arrays):
    prefix = written(tmp_path, arrays)
    (tmp_path / "m.index").write_text("version https://git-lfs.github.com/spec/v1\n")
    refused(prefix, "a pointer of Git LFS")


def test_data_that_are_cut(tmp_path, arrays):
    prefix = written(tmp_path, arrays)
    name = "m.data-00000-of-00001"
    content = (tmp_path / name).read_bytes()
    for kept in (0, 1, len(content) // 2, len(content) - 1):
        (tmp_path / name).write_bytes(content[:kept])
        refused(prefix, rf"cut: .* should end at byte [\d,]+ of {kept:,}", name)


def test_golden_data_that_are_cut(tmp_path):
    for path in (GOLDEN / "bilm_ckpt_char").glob("model.ckpt-100.*"):
        shutil.copyfile(path, tmp_path / path.name)
    data = tmp_path / "model.ckpt-100.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:-4])
    refused(tmp_path / "model.ckpt-100", "cut: train_perplexity should end", data.name)


def test_any_bit_that_is_turned_in_a_block(tmp_path, arrays):
    prefix = written(tmp_path, arrays)
    content = (tmp_path / "m.index").read_bytes()
    spare = content.rindex(block([]))  # of meta-data, which nobody reads
    for place in {*range(0, len(content) - 48, 31)} - {*range(spare, spare + 13)}:
        (tmp_path / "m.index").write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        refused(prefix, "a checksum does not fit|compressed with")


@pytest.mark.parametrize(("method", "what"), [(1, "snappy"), (2, "method 2")])
def test_compressed(tmp_path, method, what):
    prefix = alone(tmp_path, (b"w", entry(1, (2,), size=8)), method=method)
    refused(prefix, f"compressed with {what}: not read")


def test_big_endian(tmp_path):
    (tmp_path / "m.index").write_bytes(index([header(endian=1), (b"w", entry(1, (2,), size=8))]))
    refused(tmp_path / "m", "big-endian")


@pytest.mark.parametrize(
    ("made", "what"),
    [
        (entry(1, (2,), size=9), r"w of shape \[2\] has 9 bytes"),
        (entry(1, (3,), size=8), r"w of shape \[3\] has 8 bytes"),
        (entry(1, (2**40, 2**40), size=8), "has 8 bytes"),
        (entry(1, (2**32, 2**32), size=0), "has 0 bytes"),
        (entry(1, (-1,), size=8), "a tensor of shape"),
        (entry(1, (2**62,), size=8), "a tensor of shape"),
        (entry(1, (1,) * 17, size=4), "17 axes"),
        (entry(1, (10**6,), size=4 * 10**6), "cut: w should end at byte 4,000,000 of 64"),
        (entry(1, (2,), offset=60, size=8), "cut: w should end at byte 68 of 64"),
        (entry(1, (2,), offset=-4, size=8), "cut: w should end"),
        (entry(1, (2,), size=8, shard=1), "data file 1 of 1"),
        (entry(1, (2,), size=8, shard=-1), "data file"),
        (entry(1, (2,), size=8, content=b"")[:-2], "a field that is cut"),
        (b"\x0b", "a field of kind 3"),
        (b"\xff" * 11, "a number of more than 64 bits"),
        (b"\xff", "index out of range"),
        (field(1, 1) + field(2, 5), "not the index"),
        (field(1, 1) + field(2, field(2, 5)), "not the index"),
        (field(1, 1) + field(2, field(2, field(1, b"x"))), "a tensor of shape"),
        (field(1, 1) + field(5, b"x"), "not the index"),
    ],
)
def test_entries_that_are_wrong(tmp_path, made, what):
    with pytest.raises(BadInput, match=what) as error:
        read_checkpoint(alone(tmp_path, (b"w", made)))
    assert str(error.value).startswith(str(tmp_path / "m."))


@pytest.mark.parametrize(
    ("entries", "what"),
    [
        ([header(), (b"b", entry(1, (), size=4)), (b"a", entry(1, (), size=4))], "names out of order"),
        ([header(), (b"a", entry(1, (), size=4)), (b"a", entry(1, (), size=4))], "names out of order"),
        ([(b"a", entry(1, (), size=4))], "not the index"),
        ([header(0)], "0 data files"),
        ([header(10**9)], "1000000000 data files"),
        ([header(), (b"\xff", entry(1, (), size=4))], "can't decode byte"),
        ([header(), (b"n" * 2000, entry(1, (), size=4))], "an entry that does not lie in its block"),
    ],
)
def test_tables_that_are_wrong(tmp_path, entries, what):
    (tmp_path / "m.index").write_bytes(index(entries))
    (tmp_path / "m.data-00000-of-00001").write_bytes(bytes(8))
    refused(tmp_path / "m", what)


def footed(*blocks, meta=(0, 8), whole=None):
    """Blocks, and a footer that names the last as the index block."""
    out = b"".join(blocks)
    whole = whole or (len(out) - len(blocks[-1]), len(blocks[-1]) - 5)
    handles = b"".join(map(varint, (*meta, *whole)))
    return out + handles.ljust(40, b"\0")[:40] + checkpoint._MAGIC


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (footed(block([]), whole=(0, 2**40)), "a block that does not lie in the file"),
        (footed(block([]), whole=(2**40, 8)), "a block that does not lie in the file"),
        (footed(block([]), whole=(0, 0)), "a block that does not lie in the file"),
        (footed(block([], restarts=2**31)), "more restarts than room"),
        (footed(block([(b"z", varint(2**40) + varint(9))])), "a block that does not lie in the file"),
        (footed(block([(b"z", varint(0) + varint(4))])), "a checksum does not fit|more restarts"),
        (footed(block([(b"z", b"\x80")])), "index out of range"),
        (footed(block([header()]), block([(b"a", b"\0\x18"), (b"b", b"\0\x18")])), "blocks that overlap|checksum"),
        (b"\x80" * 40 + checkpoint._MAGIC, "more than 64 bits"),
        (bytes(9) + checkpoint._MAGIC, "cut, or it begins with 00 00"),
    ],
)
def test_blocks_that_are_wrong(tmp_path, content, what):
    (tmp_path / "m.index").write_bytes(content)
    refused(tmp_path / "m", what)


def test_one_block_twice(tmp_path):
    data = block([header(), (b"a", entry(1, (), size=4))])
    handle = varint(0) + varint(len(data) - 5)
    (tmp_path / "m.index").write_bytes(footed(data, block([(b"a", handle), (b"b", handle)])))
    (tmp_path / "m.data-00000-of-00001").write_bytes(bytes(8))
    refused(tmp_path / "m", "blocks that overlap")


@pytest.mark.parametrize("sizes", [(9, 0, 0), (0, 200, 0), (0, 0, 200), (0, 2**40, 0), (0, 0, 2**40)])
def test_entries_longer_than_their_block(tmp_path, sizes):
    out = b"".join(map(varint, sizes)) + struct.pack("<II", 0, 1) + b"\0"
    out += struct.pack("<I", masked(crc32c(out)))
    (tmp_path / "m.index").write_bytes(footed(out))
    refused(tmp_path / "m", "an entry that does not lie in its block")


def test_an_index_that_is_too_large(tmp_path, monkeypatch):
    prefix = alone(tmp_path, *((f"{i:03d}".encode(), entry(1, (), size=4)) for i in range(20)))
    assert len(read_checkpoint(prefix)) == 20
    monkeypatch.setattr(checkpoint, "_NAMES", 20)
    refused(prefix, "more than 20 variables")  # with the header
    monkeypatch.setattr(checkpoint, "_INDEX", 100)
    refused(prefix, "more than 100 bytes")


def test_many_variables_of_the_same_bytes(tmp_path):
    entries = [(f"{i}".encode(), entry(1, (10**6,), size=4 * 10**6)) for i in range(8)]
    refused(
        alone(tmp_path, *entries, data=bytes(4 * 10**6)), "32,000,000 bytes of tensors in a file of 4,000,000 bytes"
    )
