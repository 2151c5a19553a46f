"""Checkpoints that are written: read back they are the same, and the golden ones come out byte for byte."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from zh_elmo.formats import bilm_tf
from zh_elmo.formats.checkpoint import read_checkpoint
from zh_elmo.formats.checkpoint_write import training_names, write_checkpoint
from zh_elmo.formats.crc32c import crc32c, masked

GOLDEN = Path(__file__).parents[1] / "golden" / "data"
CHECKPOINTS = ("bilm_ckpt_char", "bilm_ckpt_word")
DATA = ".data-00000-of-00001"


def back(prefix):
    return {name: stored.read() for name, stored in read_checkpoint(prefix).items()}


# Checksums ----------------------------------------------------------------------------------------------------------

RFC_3720 = [  # B.4
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (bytes(range(31, -1, -1)), 0x113FDB5C),
    (
        bytes.fromhex(
            "01c000000000000000000000000000001400000000000400000000140000001828000000000000000200000000000000"
        ),
        0xD9963A56,
    ),
    (b"123456789", 0xE3069283),  # the check value of the catalogues
    (b"a", 0xC1D04330),
    (b"", 0),
]


@pytest.mark.parametrize(("content", "value"), RFC_3720)
def test_known_checksums(content, value):
    assert crc32c(content) == value
    assert crc32c(np.frombuffer(content, np.uint8)) == value


def byte_by_byte(content):
    value = 0xFFFFFFFF
    for byte in content:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def test_checksums_of_sizes_around_powers_of_two():
    content = np.random.default_rng(3).bytes(2 * 65536 + 3)
    for size in (*range(1, 70), 127, 128, 129, 1020, 1024, 1027, 65535, 65537, len(content)):
        assert crc32c(content[:size]) == byte_by_byte(content[:size]), size


def test_zeros_before_and_behind_count():
    assert len({crc32c(zeros + b"a" + more) for zeros in (b"", b"\0", bytes(65536)) for more in (b"", b"\0")}) == 6


def test_checksum_of_an_array_is_that_of_its_memory():
    for array in (np.arange(6, dtype="<f2").reshape(2, 3), np.array(7, "<i8"), np.zeros((0, 4), "<f4")):
        assert crc32c(array) == crc32c(array.tobytes())


def test_masked_as_the_table_of_strings_has_it():
    assert masked(0) == 0xA282EAD8
    assert masked(0x8000) == 0xA282EAD9  # turned by 15 bits


# Round trips --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", CHECKPOINTS)
def test_golden_checkpoints_come_out_byte_for_byte(folder, tmp_path):
    golden = GOLDEN / folder / "model.ckpt-100"
    tensors = back(golden)
    shuffled = dict(sorted(tensors.items(), key=lambda item: item[0][::-1]))
    write_checkpoint(tmp_path / "model.ckpt-0", shuffled)
    for ending in (".index", DATA):
        assert Path(f"{tmp_path / 'model.ckpt-0'}{ending}").read_bytes() == Path(f"{golden}{ending}").read_bytes()
    expected = np.load(GOLDEN / folder / "variables.npz")
    read = back(tmp_path / "model.ckpt-0")
    assert sorted(read) == sorted(expected)
    for name, array in read.items():
        assert array.dtype == expected[name].dtype
        assert array.shape == expected[name].shape
        assert np.array_equal(array, expected[name])


def test_types_shapes_and_orders_in_memory(tmp_path):
    random = np.random.default_rng(1)
    tensors = {
        "half": random.normal(size=(3, 5)).astype("float16"),
        "double": random.normal(size=(2, 3, 4)),
        "int": np.array([-(2**31), 2**31 - 1], np.int32),
        "long": np.array(-(2**63)),
        "nothing": np.zeros((3, 0, 2), np.float32),
        "transposed": random.normal(size=(4, 6)).astype("float32").T,
        "other end": random.normal(size=7).astype(">f4"),
        "汉字/é": np.array([np.nan, np.inf, -0.0], np.float32),
    }
    write_checkpoint(tmp_path / "new" / "m", tensors)
    read = back(tmp_path / "new" / "m")
    assert sorted(read) == sorted(tensors)
    for name, array in tensors.items():
        assert read[name].shape == array.shape
        assert read[name].dtype == array.dtype.newbyteorder("<")
        assert read[name].tobytes() == array.astype(array.dtype.newbyteorder("<")).tobytes()


@pytest.mark.parametrize("number", [0, 1, 15, 16, 17, 400])
def test_any_number_of_names(number, tmp_path):
    names = [f"{'shared/' * (i % 5)}{i}" for i in range(number)]
    write_checkpoint(tmp_path / "m", {name: np.array([i], np.int32) for i, name in enumerate(names)})
    assert {name: int(array[0]) for name, array in back(tmp_path / "m").items()} == {n: i for i, n in enumerate(names)}


def test_what_cannot_be_written_leaves_nothing(tmp_path):
    for tensors in ({"": np.zeros(2, np.float32)}, {"a": np.zeros(2, np.float32), "b": np.array(["x"])}):
        with pytest.raises(ValueError, match="cannot be written"):
            write_checkpoint(tmp_path / "m", tensors)
        assert not list(tmp_path.iterdir())


# Names --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", CHECKPOINTS)
def test_names_of_the_trainer(folder):
    stored = read_checkpoint(GOLDEN / folder / "model.ckpt-100")
    layers = json.loads((GOLDEN / folder / "options.json").read_text())["lstm"]["n_layers"]
    variables = {name for name in stored if not re.search(r"/Adagrad$|^global_step$|^train_perplexity$", name)}
    names = bilm_tf.canonical(stored)
    assert len(names) > 10
    assert {training_names(name, layers=layers) for name in names} == variables
    assert all(training_names(name, layers=layers) == found.name for name, found in names.items())


def test_one_layer_stands_in_no_stack(tmp_path):
    assert training_names("RNN_1/Cell0/W_P_0", layers=1) == "lm/RNN_1/rnn/lstm_cell/projection/kernel"
    assert training_names("RNN_0/Cell0/B", layers=1) == "lm/RNN_0/rnn/lstm_cell/bias"
    ours = [f"RNN_{d}/Cell0/{part}" for d in (0, 1) for part in ("W_0", "B", "W_P_0")]
    write_checkpoint(tmp_path / "m", {training_names(name, layers=1): np.zeros(4, np.float32) for name in ours})
    assert set(bilm_tf.canonical(read_checkpoint(tmp_path / "m"))) == set(ours)
