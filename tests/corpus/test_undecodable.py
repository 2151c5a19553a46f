"""Bytes that do not decode: refused with their place, or replaced, counted and shown; never dropped silently."""

from __future__ import annotations

import gzip
import json
import pickle
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from zh_elmo.corpus.encoding import Undecodable, check, decide, replaced
from zh_elmo.corpus.readers import How, decoded, paragraphs
from zh_elmo.files import BadInput

HAO = "好".encode()

# encoding, bytes, the text, (line, byte, hex) of each sequence
CASES = [
    ("utf-8", b"a\xffb\n", "a\ufffdb", [(1, 1, "ff")]),
    ("utf-8", HAO + b"\n\n" + HAO[:2] + b"x\n", "好||\ufffdx", [(3, 5, "e5 a5")]),
    ("utf-8", HAO + b"\n" + HAO[:1], "好|\ufffd", [(2, 4, "e5")]),  # cut at the end
    ("utf-8", b"\xc0\xaf!", "\ufffd\ufffd!", [(1, 0, "c0"), (1, 1, "af")]),  # overlong
    ("utf-8", b"\xed\xa0\xbd\xed\xb8\x80", "\ufffd" * 6, [(1, at, hexed) for at, hexed in enumerate(
        ["ed", "a0", "bd", "ed", "b8", "80"])]),  # CESU-8: a pair of surrogates, byte by byte
    ("utf-8", b"\xf4\x90\x80\x80", "\ufffd" * 4, [(1, 0, "f4"), (1, 1, "90"), (1, 2, "80"), (1, 3, "80")]),
    ("utf-8", b"a\x00b\n" + HAO + b"\xef\xbb\xbf" + HAO, "a\x00b|好\ufeff好", []),  # NUL, a mark in the middle
    ("utf-8", b"\xef\xbb\xbf\xff" + HAO + b"\r\n\xfe\r\n", "\ufffd好|\ufffd", [(1, 3, "ff"), (2, 9, "fe")]),
    ("utf-8-sig", b"\xef\xbb\xbfa\xff", "a\ufffd", [(1, 4, "ff")]),
    ("utf-8", b"\xef\xbb\xbf", "", []),
    ("gb18030", "好😀".encode("gb18030")[:-1], "好\ufffd", [(1, 2, "94 39 fc")]),  # cut inside four bytes
    ("gb18030", "好\n".encode("gb18030") + b"\x94\x39\r\n\xff\n", "好|\ufffd|\ufffd", [(2, 3, "94 39"), (3, 7, "ff")]),
    ("big5hkscs", "好".encode("big5hkscs") + b"\x88\n\x88", "好\ufffd|\ufffd", [(1, 2, "88"), (2, 4, "88")]),
    ("utf-16-le", "好\n".encode("utf-16-le") + b"a", "好|\ufffd", [(2, 4, "61")]),  # an odd byte
    ("utf-16-le", "好\na".encode("utf-16-le") + b"\x3d\xd8a\x00\n\x00b\x00", "好|a\ufffda|b", [(2, 6, "3d d8")]),
    ("utf-16-be", "a".encode("utf-16-be") + b"\xdc\x00" + "\n\n好".encode("utf-16-be") + b"\xd8\x3d",
     "a\ufffd||好\ufffd", [(1, 2, "dc 00"), (3, 10, "d8 3d")]),
    ("utf-16", "\ufeff好\n😀".encode("utf-16-be") + b"\x00", "好|😀\ufffd", [(2, 10, "00")]),
    ("utf-32-le", "好\n".encode("utf-32-le") + b"\xff\xff\xff\xff" + "a".encode("utf-32-le") + b"\x00\x00",
     "好|\ufffda\ufffd", [(2, 8, "ff ff ff ff"), (2, 16, "00 00")]),
]  # fmt: skip


def write(folder: Path, name: str, raw: bytes) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def read(path: Path, how: How) -> tuple[list[str], Counter[str], Undecodable]:
    passed_over, found = Counter[str](), Undecodable()
    return [text for text, _ in paragraphs(path, how, passed_over, found)], passed_over, found


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
@pytest.mark.parametrize("block", [1 << 20, 8])
@pytest.mark.parametrize(("encoding", "raw", "text", "places"), CASES)
def test_counted_and_shown(tmp_path, monkeypatch, name, block, encoding, raw, text, places):
    monkeypatch.setattr("zh_elmo.corpus.readers._BLOCK", block)
    monkeypatch.setattr("zh_elmo.corpus.encoding._WINDOW", block)
    path = write(tmp_path, name, raw)
    lines, passed_over, found = read(path, How("lines", encoding, undecodable="replace"))
    assert lines == text.split("|")
    assert found.places == places[:5]
    assert (found.sequences, found.size) == (len(places), sum(len(bytes.fromhex(seen)) for _, _, seen in places))
    assert passed_over == ({"bytes that do not decode": found.size} if places else {})
    if not places:
        assert [line for _, line in decoded(path, encoding)] == lines
        return
    with pytest.raises(BadInput) as error:
        read(path, How("lines", encoding))
    if not raw.startswith(b"\xef\xbb\xbf"):
        assert (error.value.line, error.value.byte) == places[0][:2]


def test_what_was_found_is_plain_and_pickles(tmp_path):
    path = write(tmp_path, "a.txt", b"\xff\n" * 7)
    _, _, found = read(path, How("lines", undecodable="replace"))
    again = pickle.loads(pickle.dumps(found))
    places = [{"line": line, "byte": 2 * line - 2, "hex": "ff"} for line in range(1, 6)]
    assert again.describe() == {"bytes": 7, "sequences": 7, "places": places}
    assert json.loads(json.dumps(again.describe())) == again.describe()


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "big5hkscs", "utf-16-le", "utf-16-be", "utf-32-le", "cp1252"])
def test_windows_change_nothing(monkeypatch, encoding):
    """Against Python's own replacement of the whole."""
    generator = random.Random(encoding)
    monkeypatch.setattr("zh_elmo.corpus.encoding._WINDOW", 16)
    for _ in range(300):
        raw = bytearray("好的，a😀ü𠮷\n".encode(encoding, "ignore") * generator.randrange(1, 8))
        for _ in range(generator.randrange(6)):
            raw[generator.randrange(len(raw))] = generator.randrange(256)
        raw = raw[: generator.randrange(len(raw) + 1)]
        text, gaps = replaced(bytes(raw), encoding)
        assert text == bytes(raw).decode(encoding, "replace")
        ends = [gap.at + gap.size for gap in gaps]
        starts = [gap.at for gap in gaps]
        between = [raw[a:b].decode(encoding) for a, b in zip([0, *ends], [*starts, len(raw)], strict=True)]
        assert text == "\ufffd".join(between)
        assert [gap.character for gap in gaps] == [len("\ufffd".join(between[: n + 1])) for n in range(len(gaps))]


class Counted(bytes):
    """Counts the bytes of the slices that are taken."""

    taken = 0

    def __getitem__(self, key):
        part = super().__getitem__(key)
        self.taken += len(part)
        return part


def test_junk_is_read_in_linear_time():
    few, many = Counted(b"\xff" * 20_000), Counted(b"\xff" * 80_000)
    assert [len(replaced(raw, "utf-8")[1]) for raw in (few, many)] == [20_000, 80_000]
    assert 3 * few.taken < many.taken < 5 * few.taken  # the square would be 16


@pytest.mark.parametrize("undecodable", ["refuse", "replace"])
def test_a_compressed_file_that_ends_too_early_is_refused_in_either_case(tmp_path, undecodable):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(random.Random(0).randbytes(5000).hex().encode())[:-100])
    with pytest.raises(BadInput, match="damaged or truncated compressed file"):
        read(path, How("lines", undecodable=undecodable))  # type: ignore[arg-type]


def test_a_message_says_what_can_be_done(tmp_path):
    path = write(tmp_path, "a.txt", "好\n".encode("gb18030") + b"ab\xff\n")
    with pytest.raises(BadInput, match=r"a\.txt:2 \(byte 5\): not gb18030: bytes ff 0a .*--undecodable replace"):
        read(path, How("lines", "gb18030"))


@pytest.mark.parametrize("name", ["iso2022_jp", "iso2022-kr", "hz", "utf-7"])
def test_encodings_in_which_a_damaged_byte_changes_all_that_follow(name):
    check(name, "refuse")
    with pytest.raises(BadInput, match="cannot be replaced") as error:
        check(name, "replace")
    assert error.value.usage
    check("gb18030", "replace")


# Which encoding a damaged file is in --------------------------------------------------------------------------------

TEXT = "他说：“我们今天去公园看花。”\n\n這是第二段，有數字１２３和 English。\n" * 20


@pytest.mark.parametrize(
    ("encoding", "text", "answer"),
    [
        ("utf-8", TEXT, "utf-8"), ("utf-8", "Музей открыт ежедневно. " * 30, "utf-8"), ("gb18030", TEXT, "gb18030"),
        ("big5", "這是第二段，有數字和 English。\n" * 40, "big5hkscs"), ("utf-16-le", TEXT, "utf-16-le"),
    ],
)  # fmt: skip
def test_the_encoding_of_a_damaged_file_is_found(encoding, text, answer):
    raw = text.encode(encoding)
    bad = b"\xff" if encoding != "utf-16-le" else b"\x00\xd8"
    raw = raw[:100] + bad + raw[100:]
    found = decide(raw, whole=True, undecodable="replace")
    assert found is not None
    assert found.name == answer
    assert found.how


def test_junk_is_in_no_encoding():
    assert decide(random.Random(0).randbytes(10_000), whole=True, undecodable="replace") is None


# Files with a structure ---------------------------------------------------------------------------------------------


def test_json_lines(tmp_path):
    raw = b'{"text": "a\xff"}\n{"text": null}\n{"text": "b"}\n'
    path = write(tmp_path, "a.jsonl", raw)
    how = How("jsonl", undecodable="replace")
    lines, passed_over, found = read(path, how)
    assert lines == ["a\ufffd", "", "b", ""]
    assert found.places == [(1, 11, "ff")]
    assert passed_over == {"documents without text (null)": 1, "bytes that do not decode": 1}
    path.write_bytes(raw + b'{"text": "cut')
    with pytest.raises(BadInput, match=r"a\.jsonl:4: not JSON"):  # no character is missing there, but a document
        read(path, how)
    path.write_bytes(b'{"texts": "a"}\n')
    with pytest.raises(BadInput, match="no field 'text'"):  # not null: perhaps the wrong field
        read(path, how)


def test_treebanks(tmp_path):
    row = b"1\tA\xff\ta\tX\t_\t_\t0\troot\t_\t_\n\n"
    lines, _, found = read(write(tmp_path, "a.conllu", row), How("conllu", undecodable="replace"))
    assert (lines, found.places) == (["A\ufffd"], [(1, 3, "ff")])


@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_parquet(tmp_path, kind):
    pyarrow: Any = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    raws = ["甲".encode(), b"a\nb\xffc", None]
    binary = pyarrow.array(raws, "binary" if kind == "string" else "large_binary")
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": binary.view(kind)}), path)
    lines, passed_over, found = read(path, How("parquet", undecodable="replace"))
    assert lines == ["甲", "", "a", "b\ufffdc", ""]
    assert found.describe() == {"bytes": 1, "sequences": 1, "places": [{"line": 3, "byte": 3, "hex": "ff"}]}
    assert passed_over == {"documents without text (null)": 1, "bytes that do not decode": 1}
    with pytest.raises(BadInput, match=r"a\.parquet:3 \(byte 3\): not utf-8: bytes ff 63"):
        read(path, How("parquet"))
