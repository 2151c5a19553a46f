"""Reading strictly, writing whole."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import sys

import pytest
import zstandard

from zh_elmo.files import BadInput, building, explain, lines, one_line, read_json, read_text, write_text, writing

PACKERS = {".xz": lzma.compress, ".gz": gzip.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}


def test_lines_are_numbered_and_stripped_of_their_ends(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeff甲\r\n乙\u2028丙\n\n丁".encode())
    assert list(lines(path)) == [(1, "甲"), (2, "乙\u2028丙"), (3, ""), (4, "丁")]


@pytest.mark.parametrize("suffix", [".txt", ".txt.xz", ".txt.gz", ".txt.bz2", ".txt.zst"])
def test_invalid_utf8_is_named_by_its_byte(tmp_path, suffix):
    pack = PACKERS.get(suffix[4:], bytes)
    path = tmp_path / f"a{suffix}"
    path.write_bytes(pack("好\n".encode() + b"ab\xff\n"))
    with pytest.raises(BadInput, match=r":2 \(byte 6\): not UTF-8: bytes ff") as caught:
        list(lines(path))
    assert caught.value.byte == 6
    with pytest.raises(BadInput, match="byte 6"):
        read_text(path)


def test_truncated_and_foreign_archives_are_said_so(tmp_path):
    path = tmp_path / "a.xz"
    path.write_bytes(lzma.compress(b"x" * 10000)[:-20])
    with pytest.raises(BadInput, match="damaged or truncated"):
        read_text(path)
    path.write_bytes(b"no archive")
    with pytest.raises(BadInput, match="damaged or truncated"):
        list(lines(path))


@pytest.mark.parametrize("suffix", [".xz", ".gz", ".bz2"])
def test_bytes_changed_inside_a_compressed_file_are_said(tmp_path, suffix):
    raw = bytearray(PACKERS[suffix]("".join(f"{number * number}\n" for number in range(9000)).encode()))
    raw[len(raw) // 2 : len(raw) // 2 + 8] = b"\xff" * 8
    (tmp_path / f"a{suffix}").write_bytes(raw)
    with pytest.raises(BadInput, match="damaged or truncated"):
        list(lines(tmp_path / f"a{suffix}"))


@pytest.mark.parametrize("suffix", PACKERS)
def test_files_of_several_frames_and_cut_ones(tmp_path, suffix):
    path, pack = tmp_path / f"a{suffix}", PACKERS[suffix]
    text = "".join(f"{number}\n" for number in range(200_000))
    whole = pack(text[:700_000].encode()) + pack(text[700_000:].encode())
    path.write_bytes(whole)
    assert read_text(path) == text
    assert "".join(f"{line}\n" for _, line in lines(path)) == text
    cuts = (whole[:-20], whole[:-1], whole[:3], b"no archive", b"", whole + b"no archive", whole + whole[:-20])
    for cut in cuts:
        path.write_bytes(cut)
        with pytest.raises(BadInput, match="damaged or truncated"):
            read_text(path)
    with pytest.raises(BadInput, match="no such file"):
        read_text(tmp_path / f"b{suffix}")


def test_padding_between_the_streams_of_xz(tmp_path):
    path = tmp_path / "a.xz"
    path.write_bytes(lzma.compress(b"a") + bytes(8) + lzma.compress(b"b") + bytes(4))
    assert read_text(path) == "ab"


def test_zst_without_its_package(tmp_path, monkeypatch):
    (tmp_path / "a.zst").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(BadInput, match=r"pip install 'zh-elmo\[zst\]'") as caught:
        read_text(tmp_path / "a.zst")
    assert caught.value.usage


def test_missing_file_is_wrong_usage(tmp_path):
    with pytest.raises(BadInput) as caught:
        read_text(tmp_path / "none")
    assert caught.value.usage


def test_json_faults_name_the_line(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"a":\n 1,}')
    with pytest.raises(BadInput, match=r"a\.json:2: not JSON"):
        read_json(path)
    path.write_text("[" * 100_000)
    with pytest.raises(BadInput, match="nested too deep"):
        read_json(path)


def test_a_failed_write_leaves_the_old_file_and_nothing_beside(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def fail():
        with writing(path) as stream:
            stream.write(b"half")
            raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full") as caught:
        fail()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert explain(caught.value) == f"{path}: the disk is full; make room and run the same command again"


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "model"

    def fail():
        with building(target) as folder:
            (folder / "a").write_text("1")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []
    for text in ("1", "2"):
        with building(target) as folder:
            (folder / text).write_text(text)
    assert [p.name for p in target.iterdir()] == ["2"]
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_written_files_obey_the_umask(tmp_path):
    old = os.umask(0o027)
    try:
        write_text(tmp_path / "a", "x")
        with building(tmp_path / "b"):
            pass
    finally:
        os.umask(old)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o750


def test_text_that_utf8_cannot_hold_is_replaced(tmp_path):
    write_text(tmp_path / "a", "甲\ud842乙")
    assert (tmp_path / "a").read_text("utf-8") == "甲\ufffd乙"


def test_one_line_shows_controls_and_cuts():
    assert one_line("a\nb\x00c\ud842d\u2028e") == "a b\\u0000c\\ud842d\\u2028e"
    assert len(one_line("x" * 5000)) < 700


def test_what_a_killed_process_left_is_cleared_away(tmp_path):
    import subprocess
    import sys

    code = f"""
import os, signal
from zh_elmo.files import building
with building({str(tmp_path / "model")!r}) as folder:
    (folder / "half").write_text("x")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run(
        [sys.executable, "-c", code], check=False, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert [p.suffix for p in tmp_path.iterdir()] == [".part"]
    with building(tmp_path / "model") as folder:
        (folder / "a").write_text("1")
        with building(tmp_path / "model"):  # another one at work is left alone
            assert len(list(tmp_path.iterdir())) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
