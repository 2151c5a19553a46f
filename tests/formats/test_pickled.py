"""Torch pickles: the same numbers as torch gives, and nothing but numbers."""

from __future__ import annotations

import os
import pickle
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from zh_elmo.files import BadInput
from zh_elmo.formats import pickled, program, stored
from zh_elmo.formats.pickled import read_pickle

GOLDEN = Path(__file__).parents[1] / "golden" / "data"
PICKLES = sorted([*GOLDEN.rglob("*.pkl"), *GOLDEN.rglob("*.th")])
LEGACY = {"_use_new_zipfile_serialization": False}
ZIP = {"_use_new_zipfile_serialization": True}
both_formats = pytest.mark.parametrize("saved_as", [LEGACY, ZIP], ids=["legacy", "zip"])


def numbers(tensor):
    """As torch reads them; bfloat16 as the float32 it is a part of."""
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def same(path, tensors):
    found = read_pickle(path)
    assert list(found) == list(tensors)
    for name, tensor in tensors.items():
        due = numbers(tensor)
        assert found[name].name == name
        assert found[name].shape == due.shape
        assert found[name].dtype == due.dtype == found[name].read().dtype
        assert found[name].path == path
        np.testing.assert_array_equal(found[name].read(), due)


def refused(path, what):
    with pytest.raises(BadInput, match=what) as error:
        [tensor.read() for tensor in read_pickle(path).values()]
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)
    return error.value


# Right values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PICKLES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_golden(path):
    same(path, torch.load(path, weights_only=True, map_location="cpu"))


def test_there_are_golden_files_of_both_formats():
    assert sorted(map(zipfile.is_zipfile, PICKLES)) == [False] * 3 + [True] * 14


def awkward():
    whole = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    return {
        "plain": whole.clone(),
        "transposed": torch.randn(3, 5).t(),
        "permuted": torch.randn(2, 3, 4).permute(2, 0, 1),
        "columns": whole[:, 1:5:2],
        "row": whole[2],
        "one of many": whole[1:2].t(),
        "half": torch.randn(3, 2).half(),
        "double": torch.randn(3, dtype=torch.float64),
        "bfloat16": torch.randn(2, 3).bfloat16().t(),
        "long": torch.tensor([2**62, -1]),
        **{str(kind): torch.tensor([1, 127]).to(kind) for kind in (torch.int32, torch.int16, torch.int8, torch.uint8)},
        "bool": torch.tensor([[True], [False]]),
        "scalar": torch.tensor(1.5),
        "empty": torch.zeros(0, 3),
        "expanded, but of one": torch.ones(1, 4).expand(1, 4),
        "名字/ü": torch.ones(1),
        "": torch.ones(2),
    }


@both_formats
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_awkward_tensors(tmp_path, saved_as, protocol):
    torch.save(awkward(), tmp_path / "a.pt", pickle_protocol=protocol, **saved_as)
    tensors = awkward()
    found = read_pickle(tmp_path / "a.pt")
    assert list(found) == list(tensors)
    if protocol == 2:  # later ones torch itself refuses to read
        same(tmp_path / "a.pt", torch.load(tmp_path / "a.pt", weights_only=True))


@both_formats
def test_a_real_module_with_metadata_and_tied_weights(tmp_path, saved_as):
    module = torch.nn.Sequential(
        torch.nn.LSTM(3, 4, bidirectional=True), torch.nn.BatchNorm1d(3), torch.nn.Linear(2, 2)
    )
    module.add_module("again", module[2])
    torch.save(module.state_dict(), tmp_path / "m.pt", **saved_as)
    same(tmp_path / "m.pt", module.state_dict())


@both_formats
def test_parameters(tmp_path, saved_as):
    torch.save({"w": torch.nn.Parameter(torch.ones(2))}, tmp_path / "p.pt", **saved_as)
    same(tmp_path / "p.pt", {"w": torch.ones(2)})


@both_formats
@pytest.mark.parametrize("key", ["state_dict", "model"])
def test_one_dict_inside_another_and_values_of_other_kinds(tmp_path, saved_as, key):
    inner = {"w": torch.ones(2), "step": 3, "name": "x", "none": None, "flag": True, "deep": [[1.5, ("a",)]]}
    torch.save(
        {"epoch": 3, key: inner, "optimizer": {"state": {0: {"avg": torch.ones(2)}}}}, tmp_path / "p", **saved_as
    )
    same(tmp_path / "p", {"w": torch.ones(2)})


@both_formats
def test_a_memory_map_and_not_a_copy(tmp_path, saved_as):
    torch.save({"w": torch.ones(1000, 1000).t()}, tmp_path / "p", **saved_as)
    tracemalloc.start()
    try:
        read = read_pickle(tmp_path / "p")["w"].read()
        assert read.sum() == 1_000_000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert not read.flags.writeable


# Pickles made by hand -----------------------------------------------------------------------------------------------


def name(module, attribute):
    return f"c{module}\n{attribute}\n".encode()


def text(value):
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def number(value):
    return b"\x8a\x09" + value.to_bytes(9, "little", signed=True)


def together(*values):
    return b"(" + b"".join(values) + b"t"


def storage(key="0", count=4, *, module="torch", kind="FloatStorage", location="cpu", more=(b"N",)):
    values = (text("storage"), name(module, kind), text(key), text(location), number(count), *more)
    return together(*values) + b"Q"


def tensor(stored=None, shape=(4,), strides=(1,), offset=0, *, function="_rebuild_tensor_v2", rest=None):
    hooks = name("collections", "OrderedDict") + b")R"
    rest = [b"\x89", hooks] if rest is None else rest
    sizes = [together(*map(number, values)) for values in (shape, strides)]
    return name("torch._utils", function) + together(stored or storage(), number(offset), *sizes, *rest) + b"R"


def table(**values):
    return b"}(" + b"".join(text(key) + value for key, value in values.items()) + b"u"


def legacy(path, program, storages=None, *, little=True):
    """A legacy file whose content is the program; storages: key -> array."""
    storages = {"0": np.arange(4, dtype="f4")} if storages is None else storages
    front = [pickled._MAGIC, pickled._PROTOCOL, {"protocol_version": 1001, "little_endian": little}]
    content = b"".join(pickle.dumps(value, 2) for value in front)
    content += b"\x80\x02" + program + b"." + pickle.dumps(list(storages), 2)
    for array in storages.values():
        content += struct.pack("<q", array.size) + array.tobytes()
    path.write_bytes(content)
    return path


def test_one_made_by_hand_is_what_torch_reads(tmp_path):
    path = legacy(tmp_path / "p", table(w=tensor()))
    same(path, torch.load(path, weights_only=True))
    same(path, {"w": torch.arange(4.0)})


@pytest.mark.parametrize("module", ["torch", "torch.cuda"])
def test_tensors_of_a_gpu(tmp_path, module):
    path = legacy(tmp_path / "p", table(w=tensor(storage(module=module, location="cuda:0"))))
    same(path, {"w": torch.arange(4.0)})


def test_the_first_torch_had_another_function_and_no_views(tmp_path):
    path = legacy(tmp_path / "p", table(w=tensor(storage(more=()), function="_rebuild_tensor", rest=[])))
    same(path, {"w": torch.arange(4.0)})


def test_an_ordered_dict_of_python_2(tmp_path):
    pairs = b"](](" + text("w") + tensor() + b"e](" + text("n") + number(1) + b"ee"
    path = legacy(tmp_path / "p", name("collections", "OrderedDict") + together(pairs) + b"R")
    same(path, {"w": torch.arange(4.0)})


def test_views_of_one_storage_and_the_order_of_the_keys(tmp_path):
    view = together(text("v"), number(2), number(3))
    program = table(
        b=tensor(storage("b", 2), shape=(2,)),
        v=tensor(storage("a", 6, more=(view,)), shape=(2,), offset=1),
        a=tensor(storage("a", 6), shape=(3, 2), strides=(2, 1)),
    )
    path = legacy(tmp_path / "p", program, {"a": np.arange(6, dtype="f4"), "b": np.array([7, 8], "f4")})
    same(path, torch.load(path, weights_only=True))
    same(path, {"b": torch.tensor([7.0, 8]), "v": torch.tensor([3.0, 4]), "a": torch.arange(6.0).reshape(3, 2)})


def test_memo_numbers_of_any_size(tmp_path):
    far = struct.pack("<I", 2**31)
    program = b"}(" + text("w") + tensor() + b"r" + far + text("again") + b"j" + far + b"u"
    same(legacy(tmp_path / "p", program), {"w": torch.arange(4.0), "again": torch.arange(4.0)})


# Malice -------------------------------------------------------------------------------------------------------------


class Evil:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@both_formats
@pytest.mark.parametrize("nested", [False, True])
def test_a_command_is_not_run(tmp_path, saved_as, nested):
    evil = Evil(os.system, f"touch {tmp_path / 'ran'}")
    torch.save({"w": torch.ones(1), "deep": [({"x": evil},)]} if nested else evil, tmp_path / "p", **saved_as)
    refused(tmp_path / "p", rf"asks for {os.system.__module__}.system: not loaded; only a dict of tensors")
    assert not (tmp_path / "ran").exists()


def test_a_plain_pickle_of_a_command(tmp_path):
    (tmp_path / "p").write_bytes(pickle.dumps(Evil(os.system, f"touch {tmp_path / 'ran'}")))
    refused(tmp_path / "p", "system: not loaded")
    (tmp_path / "p").write_bytes(b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.")
    refused(tmp_path / "p", "asks for os.system: not loaded")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("module", "attribute"),
    [
        ("builtins", "eval"), ("builtins", "getattr"), ("posix", "system"), ("torch", "load"), ("torch.hub", "load"),
        ("torch", "ComplexFloatStorage"), ("torch.storage", "_load_from_bytes"), ("collections", "Counter"),
        ("torch._utils", "_rebuild_tensor_v2.__globals__"), ("torch._utils _rebuild_tensor_v2", "x"),
        ("zh_elmo.files", "write_text"), ("numpy.core.multiarray", "_reconstruct"), ("", ""), ("a" * 5000, "b"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("how", ["GLOBAL", "STACK_GLOBAL"])
def test_other_names(tmp_path, module, attribute, how):
    asks = name(module, attribute) if how == "GLOBAL" else text(module) + text(attribute) + b"\x93"
    refused(legacy(tmp_path / "p", table(w=asks + together(text("1")) + b"R")), r"asks for .*: not loaded")


@pytest.mark.parametrize(
    "program",
    [
        name("torch", "FloatStorage") + together(number(3)) + b"R",
        name("collections", "OrderedDict") + together(number(3), number(4)) + b"R",
        name("collections", "OrderedDict") + together(number(3)) + b"R",
        name("collections", "OrderedDict") + together(b"](" + number(3) + b"e") + b"R",
        name("torch._utils", "_rebuild_parameter") + together(number(3), b"\x89", b"N") + b"R",
        name("torch._utils", "_rebuild_tensor_v2") + together(number(3)) + b"R",
        name("torch._utils", "_rebuild_tensor_v2") + b"NR",
        text("eval") + together(text("1")) + b"R",
        number(3) + together() + b"R",
        tensor() + together() + b"R",
        tensor() + table(x=number(1)) + b"b",
        text("x") + b"Q",
        together(text("module"), text("0")) + b"Q",
        storage(kind="FloatStorage", count=-4),
        together(text("storage"), text("FloatStorage"), text("0"), text("cpu"), number(4)) + b"Q",
        storage(more=(together(text("v"), number(3), number(2)),)),
        storage(more=(together(text("v"), number(-1), number(2)),)),
        storage(more=(number(3),)),
        storage() + storage(count=5),
        b"]" + b"Nb", b"](NeN", b"N(NNu", b"N(Ne", b"Na", b"NNNs", b"u", b"(u", b"h\x05", b"t", b"\x85", b"q\x00",
        b"}(" + text("a") + b"u", b"}(]Nu", b"}(" + together(text("a")) + b"Nu",
    ],
)  # fmt: skip
def test_programs_that_are_wrong(tmp_path, program):
    refused(legacy(tmp_path / "p", table(w=tensor(), x=program)), "not a torch state dict that can be read, or a part")


@pytest.mark.parametrize(
    ("program", "what"),
    [
        (b"\x81", "NEWOBJ"),
        (b"\x82\x01", "EXT1"),
        (b"i__main__\nX\n", "INST"),
        (b"0", "POP"),
        (b"\xff", "ff"),
        (b"S'\\R'\n", "STRING"),
    ],
)
def test_other_instructions(tmp_path, program, what):
    refused(
        legacy(tmp_path / "p", table(w=tensor(), x=b"(" + program)), f"uses the pickle instruction {what}: not loaded"
    )


def test_a_whole_module(tmp_path):
    torch.save(torch.nn.Linear(2, 2), tmp_path / "p")
    refused(tmp_path / "p", r"asks for torch.nn.modules.linear.Linear: not loaded; .* \(the state_dict of a model\)")


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"shape": (5,)}, "5 numbers in a storage of 4"),
        ({"offset": 1}, "5 numbers in a storage of 4"),
        ({"offset": -1}, "do not fit together"),
        ({"shape": (2,), "strides": (4,)}, "5 numbers in a storage of 4"),
        ({"shape": (-1,)}, "shape"),
        ({"shape": (4,), "strides": (-1,)}, "shape"),
        ({"shape": (2**62, 2**62), "strides": (1, 1)}, "shape"),
        ({"shape": (2**39, 2**39), "strides": (2**39, 1)}, "in a storage of 4"),
        ({"shape": (2**40,), "strides": (0,)}, "overlaps itself, or is expanded"),
        ({"shape": (4, 2), "strides": (1, 0)}, "overlaps itself, or is expanded"),
        ({"shape": (2, 2), "strides": (1, 1)}, "overlaps itself, or is expanded"),
        ({"shape": (2,), "strides": (1, 1)}, "do not fit together"),
        ({"shape": (1,) * 17, "strides": (1,) * 17}, "17 axes"),
        ({"rest": [b"\x89", b"}", table(conj=b"\x88")]}, "a kind of its own"),
    ],
)
def test_tensors_that_do_not_fit(tmp_path, given, what):
    given = {"strides": (1,) * len(given.get("shape", (4,)))} | given
    refused(legacy(tmp_path / "p", table(w=tensor(**given))), what)


@both_formats
@pytest.mark.parametrize("made", [torch.ones(1).expand(1000), torch.ones(9).as_strided((4, 4), (1, 1))])
def test_expanded_and_overlapping_tensors_of_torch(tmp_path, saved_as, made):
    torch.save({"w": made}, tmp_path / "p", **saved_as)
    refused(tmp_path / "p", "overlaps itself, or is expanded")


def test_programs_that_are_too_long(tmp_path, monkeypatch):
    refused(legacy(tmp_path / "p", b"N" * (program._INSTRUCTIONS + 1)), "more than 1,000,000 instructions")
    monkeypatch.setattr(pickled, "_PROGRAM", 500)
    path = legacy(tmp_path / "p", table(w=tensor(), x=text("x" * 500)))
    refused(path, "not a torch state dict that can be read, or a part of one")
    torch.save({"w": torch.ones(1), "x": "x" * 500}, tmp_path / "z")
    refused(tmp_path / "z", r"a pickle of \d+ bytes")


def test_nests_that_grow_without_end(tmp_path):
    """Twice itself, a hundred times over: as a value it is small; as a key its hash would never come."""
    twice = b")" + b"q\x00h\x00\x86" * 100
    same(legacy(tmp_path / "p", table(w=tensor(), x=twice)), {"w": torch.arange(4.0)})
    refused(legacy(tmp_path / "p", b"}" + twice + tensor() + b"s"), "a key that is neither text nor a number")


def test_deep_nests_and_a_list_of_itself(tmp_path):
    same(legacy(tmp_path / "p", table(w=tensor(), x=b")" + b"\x85" * 300_000)), {"w": torch.arange(4.0)})
    same(legacy(tmp_path / "p", table(w=tensor(), x=b"]q\x00h\x00a")), {"w": torch.arange(4.0)})
    refused(legacy(tmp_path / "p", b"}q\x00" + text("me") + b"h\x00s", {}), "no tensors")


def test_a_small_file_that_unfolds(tmp_path, monkeypatch):
    """Many names for one storage: tied weights, or a trap."""
    monkeypatch.setattr(stored, "_SLACK", 0)
    content = torch.ones(10_000)
    torch.save({str(i): content for i in range(3)}, tmp_path / "p")
    assert len(read_pickle(tmp_path / "p")) == 3
    torch.save({str(i): content for i in range(6)}, tmp_path / "p")
    refused(tmp_path / "p", "240,000 bytes of tensors in a file of 41,[0-9]+ bytes")


# Damage -------------------------------------------------------------------------------------------------------------


@both_formats
def test_cut_anywhere(tmp_path, saved_as):
    torch.save(awkward(), tmp_path / "whole", **saved_as)
    content = (tmp_path / "whole").read_bytes()
    for kept in {*range(0, len(content), 97), len(content) - 1}:
        (tmp_path / "p").write_bytes(content[:kept])
        refused(tmp_path / "p", "torch state dict|a pickle, but none")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "the file is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "a pointer of Git LFS"),
        (b"\n<!DOCTYPE html><html>", "a web page; the download went wrong"),
        (b"\x89HDF\r\n\x1a\n", "this is an HDF5 file"),
        (b"\x1f\x8b\x08\x00", "this is a gzip file"),
        (b"x" * 257 + b"ustar" + bytes(250), "this is a tar archive"),
        (b"hello, world", "it begins with 68 65 6c 6c 6f 2c 20 77"),
        (pickle.dumps({"w": 1}, 2), "a pickle, but none that torch.save wrote"),
        (b"PK\x05\x06" + bytes(18), "a zip archive without data.pkl"),
    ],
)
def test_other_files(tmp_path, content, what):
    (tmp_path / "p").write_bytes(content)
    refused(tmp_path / "p", what)


@pytest.mark.parametrize("name", ["none", "."])
def test_no_file(tmp_path, name):
    assert refused(tmp_path / name, r"no such file|a folder stands").usage


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ([torch.ones(1)], "something other than a dict"),
        ({"a": 1}, "holds no tensors; expected one state dict"),
        ({}, "holds no tensors"),
        ({"a": {"w": torch.ones(1)}, "b": {"w": torch.ones(1)}}, "holds several dicts of tensors: a, b"),
        ({3: torch.ones(1)}, "whose name is a number, 3"),
        ({"a": torch.ones(1, dtype=torch.complex64)}, "asks for torch.ComplexFloatStorage"),
        ({"a": torch.ones(2).to_sparse()}, r"asks for torch.*_rebuild_sparse_tensor|asks for torch.serialization"),
    ],
)
def test_pickles_of_other_things(tmp_path, content, what):
    torch.save(content, tmp_path / "p")
    refused(tmp_path / "p", what)


def test_legacy_files_that_are_wrong(tmp_path):
    refused(legacy(tmp_path / "p", table(w=tensor()), little=False), "big-endian")
    four = np.arange(4, dtype="f4")
    for storages in ({}, {"1": four}, {"0": four, "1": four}):
        refused(legacy(tmp_path / "p", table(w=tensor()), storages), "list of storages")
    refused(legacy(tmp_path / "p", table(w=tensor()), {"0": four[:3]}), "of another size")
    refused(legacy(tmp_path / "p", table(w=tensor()), {"0": np.arange(5, dtype="f4")}), "of another size")


def rewritten(source, target, change, compression=zipfile.ZIP_STORED):
    """A copy of a zip with other members: change(name, content) -> name, content, or None."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", compression) as new:
        for member in old.namelist():
            if changed := change(member, old.read(member)):
                new.writestr(*changed)
    return target


@pytest.fixture
def zipped(tmp_path):
    torch.save({"w": torch.arange(4.0)}, tmp_path / "zipped")
    return tmp_path / "zipped"


def test_a_zip_with_other_folders_and_without_byteorder(tmp_path, zipped):
    for change in (lambda n, c: None if "byteorder" in n else (f"a/b/{n}", c), lambda n, c: (n.split("/", 1)[1], c)):
        same(rewritten(zipped, tmp_path / "p", change), {"w": torch.arange(4.0)})


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda n, c: (n, b"big" if "byteorder" in n else c), "big-endian"),
        (lambda n, c: None if n.endswith("data/0") else (n, c), "lacks the member data/0"),
        (lambda n, c: (n.replace("data/0", "tensors/0"), c), "the trial zip format of torch 1.4"),
        (lambda n, c: (n, c[:-1] if n.endswith("data/0") else c), "data/0 has 15 bytes; its tensors ask for 16"),
        (lambda n, c: (n, c + b"x" if n.endswith("data/0") else c), "data/0 has 17 bytes; its tensors ask for 16"),
        (lambda n, c: None if n.endswith("data.pkl") else (n, c), "without data.pkl"),
        (lambda n, c: (n, c[:-1] if n.endswith("data.pkl") else c), "the end of the pickle is missing"),
    ],
)
def test_zips_that_are_wrong(tmp_path, zipped, change, what):
    refused(rewritten(zipped, tmp_path / "p", change), what)


def test_a_compressed_zip(tmp_path, zipped):
    path = rewritten(zipped, tmp_path / "p", lambda n, c: (n, c), zipfile.ZIP_DEFLATED)
    refused(path, r"member 'zipped/.*' is compressed or encrypted; torch writes neither")


def test_sizes_of_members_that_lie(tmp_path, zipped):
    content = zipped.read_bytes()
    entry = content.rindex(b"zipped/data/0", 0, content.index(b"PK\x01\x02") + 10_000) - 46
    assert content[entry : entry + 4] == b"PK\x01\x02"
    for size in (17, 2**31, 2**32 - 2):
        lie = struct.pack("<I", size) * 2
        (tmp_path / "p").write_bytes(content[: entry + 20] + lie + content[entry + 28 :])
        refused(tmp_path / "p", "a damaged archive|17 bytes; its tensors ask for 16")


def test_cut_after_it_was_opened(tmp_path, zipped):
    found = read_pickle(zipped)["w"]
    zipped.write_bytes(zipped.read_bytes()[:50])
    with pytest.raises(BadInput, match="damaged: w cannot be read"):
        found.read()
