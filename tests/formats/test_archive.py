"""Archives: regular files come out as they went in, and nothing else comes out anywhere."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import stat
import struct
import tarfile
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from zh_elmo.files import BadInput
from zh_elmo.formats import archive
from zh_elmo.formats.archive import unpacked

FILES = {
    "options.json": b"{}",
    "a/b/weights.bin": bytes(range(256)) * 4500,
    "a/empty": b"",
    "a/" + "long" * 40 + "/" + "name" * 30: b"long",
    "名字/é.txt": "我".encode(),
}
TARS = {"tar": "w:", "tar.gz": "w:gz", "tar.bz2": "w:bz2", "tar.xz": "w:xz"}
KINDS = ["zip", "deflated.zip", *TARS]
every_kind = pytest.mark.parametrize("kind", KINDS)
zip_and_tar = pytest.mark.parametrize("kind", ["deflated.zip", "tar", "tar.gz"])


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory, monkeypatch):
    """Temporary folders go where this test sees them; none may be left."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def made(folder, kind, files, *, tar_format=tarfile.PAX_FORMAT):
    """An archive of the files; its name says nothing of its kind. files: name -> bytes, or (tar: TarInfo)."""
    path = folder / "archive"
    if kind.endswith("zip"):
        how = zipfile.ZIP_DEFLATED if "deflated" in kind else zipfile.ZIP_STORED
        with zipfile.ZipFile(path, "w", how) as new:
            for name, content in files.items():
                new.writestr(name, content)
        return path
    with tarfile.open(path, TARS[kind], format=tar_format) as new:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            new.addfile(member, io.BytesIO(content))
    return path


def files_of(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def refused(path, what):
    with pytest.raises(BadInput, match=what) as error, unpacked(path):
        pass
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)
    return error.value


# Right files --------------------------------------------------------------------------------------------------------


@every_kind
def test_files_come_out_as_they_went_in(tmp_path, temporary, kind):
    with unpacked(made(tmp_path, kind, FILES)) as folder:
        assert folder.parent == temporary
        assert files_of(folder) == FILES
        assert not any(path.stat().st_mode & (stat.S_ISUID | 0o111) for path in folder.rglob("*") if path.is_file())
    assert not folder.exists()


@pytest.mark.parametrize("tar_format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_format_of_tar(tmp_path, tar_format):
    files = {name: content for name, content in FILES.items() if len(name) < 100 or tar_format != tarfile.USTAR_FORMAT}
    files["d" * 90 + "/" + "f" * 90] = b"prefix"
    with unpacked(made(tmp_path, "tar", files, tar_format=tar_format)) as folder:
        assert files_of(folder) == files


@pytest.mark.parametrize("kind", ["zip", *TARS])
def test_a_folder_as_shutil_packs_it(tmp_path, kind):
    for name, content in FILES.items():
        (tmp_path / "model" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "model" / name).write_bytes(content)
    (tmp_path / "model" / "nothing").mkdir()
    names = {"tar.gz": "gztar", "tar.bz2": "bztar", "tar.xz": "xztar"}
    path = shutil.make_archive(str(tmp_path / "packed"), names.get(kind, kind), tmp_path, "model")
    with unpacked(path) as folder:
        assert files_of(folder / "model") == FILES
        assert (folder / "model" / "nothing").is_dir()
    path = shutil.make_archive(str(tmp_path / "flat"), names.get(kind, kind), tmp_path / "model")
    with unpacked(path) as folder:  # names begin with ./
        assert files_of(folder) == FILES


def test_the_folder_goes_on_errors_too(tmp_path):
    path = made(tmp_path, "zip", FILES)
    with pytest.raises(ZeroDivisionError), unpacked(path) as folder:  # an error of the block stays what it is
        print(1 / 0)
    assert not folder.exists()


def test_backslashes_of_windows(tmp_path):
    with unpacked(made(tmp_path, "zip", {"a\\b.txt": b"x", "c\\": b""})) as folder:
        assert files_of(folder) == {"a/b.txt": b"x"}
        assert (folder / "c").is_dir()


def test_names_in_another_encoding(tmp_path):
    name = "模型".encode("gbk")
    with zipfile.ZipFile(tmp_path / "archive", "w") as new:
        new.writestr("x" * len(name), b"1")
    content = (tmp_path / "archive").read_bytes().replace(b"x" * len(name), name)
    (tmp_path / "archive").write_bytes(content)
    with unpacked(tmp_path / "archive") as folder:
        assert list(files_of(folder).values()) == [b"1"]
    with tarfile.open(tmp_path / "archive", "w", format=tarfile.GNU_FORMAT, encoding="gbk") as new:
        member = tarfile.TarInfo("模型")
        new.addfile(member)
    with unpacked(tmp_path / "archive") as folder:
        assert [os.fsencode(path.name) for path in folder.iterdir()] == [name]


@pytest.mark.parametrize(("module", "kind"), [(gzip, "tar.gz"), (bz2, "tar.bz2"), (lzma, "tar.xz")])
def test_compressed_in_pieces(tmp_path, module, kind):
    """As pigz, pbzip2 and pixz do."""
    content = made(tmp_path, "tar", FILES).read_bytes()
    parts = [module.compress(content[i : i + 5000]) for i in range(0, len(content), 5000)]
    (tmp_path / "archive").write_bytes(b"".join(parts))
    with unpacked(tmp_path / "archive") as folder:
        assert files_of(folder) == FILES


def test_empty_archives(tmp_path):
    for kind in set(KINDS) - {"tar"}:  # which would be zeros, and nothing to know it by
        with unpacked(made(tmp_path, kind, {})) as folder:
            assert files_of(folder) == {}


# Names that lead out ------------------------------------------------------------------------------------------------


@zip_and_tar
@pytest.mark.parametrize(
    "name", ["../evil", "a/../../evil", "a/..", "..", "/evil", "//evil", "/", "C:/evil", "c:evil", "..\\evil", "\\evil"]
)
def test_names_that_lead_out(tmp_path, temporary, kind, name):
    error = refused(made(tmp_path, kind, {"ok": b"", name: b"x"}), "would lie outside the folder: not unpacked")
    assert f"member {name!r}" in str(error)
    assert not (temporary / "evil").exists()


@zip_and_tar
@pytest.mark.parametrize("names", [("a", "./a"), ("a", "a/b"), ("a/b", "a"), ("a//b", "a/b"), ("a", "a/")])
def test_names_that_stand_there_twice(tmp_path, kind, names):
    what = "stands there twice, or in the place of a folder|in the place of a file|would lie outside"
    refused(made(tmp_path, kind, dict.fromkeys(names, b"x")), what)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_the_same_name_twice_in_a_zip(tmp_path):
    with zipfile.ZipFile(tmp_path / "z", "w") as new:
        new.writestr("a", b"1")
        new.writestr("a", b"2")
    refused(tmp_path / "z", "member 'a' stands there twice")


def test_a_nul_in_a_name(tmp_path):
    path = made(tmp_path, "zip", {"abcd": b"x"})
    path.write_bytes(path.read_bytes().replace(b"abcd", b"a\0cd"))
    refused(path, "has a NUL in its name")
    path = made(tmp_path, "tar", {"我" * 80: b"x"})
    path.write_bytes(path.read_bytes().replace("path=我".encode(), b"path=\0xx"))
    refused(path, "has a NUL in its name")


@zip_and_tar
def test_names_that_are_too_long_or_too_deep(tmp_path, kind):
    refused(made(tmp_path, kind, {"a/" * 16 + "b": b""}), "lies deeper than 16 folders")
    refused(made(tmp_path, kind, {"a" * 300: b""}), "cannot be unpacked here .*name too long")


@zip_and_tar
def test_a_member_without_a_name(tmp_path, kind):
    refused(made(tmp_path, kind, {".": b"x"}), "has no name|in the place of")


@pytest.mark.parametrize(
    ("type", "what"),
    [
        (tarfile.SYMTYPE, "a link"), (tarfile.LNKTYPE, "a link"), (tarfile.CHRTYPE, "a device"),
        (tarfile.BLKTYPE, "a device"), (tarfile.FIFOTYPE, "a pipe"), (b"Z", "no regular file"),
        (tarfile.GNUTYPE_SPARSE, "no regular file"), (tarfile.GNUTYPE_LONGLINK, "no regular file"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["tar", "tar.gz"])
def test_members_of_tars_that_are_no_files(tmp_path, kind, type, what):
    with tarfile.open(tmp_path / "t", TARS[kind]) as new:
        member = tarfile.TarInfo("evil")
        member.type, member.linkname = type, "/etc/passwd"
        new.addfile(member)
    refused(tmp_path / "t", f"member 'evil' is {what}: not unpacked")


@pytest.mark.parametrize(
    ("mode", "what"), [(stat.S_IFLNK, "a link"), (stat.S_IFCHR, "a device"), (stat.S_IFIFO, "a pipe")]
)
def test_members_of_zips_that_are_no_files(tmp_path, mode, what):
    member = zipfile.ZipInfo("evil")
    member.external_attr = (mode | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "z", "w") as new:
        new.writestr(member, "/etc/passwd")
    refused(tmp_path / "z", f"member 'evil' is {what}: not unpacked")


def test_files_with_holes(tmp_path):
    with tarfile.open(tmp_path / "t", "w") as new:
        member = tarfile.TarInfo("x")
        member.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.realsize": str(2**60)}
        new.addfile(member)
    refused(tmp_path / "t", "is a file with holes")


def test_encrypted(tmp_path):
    path = made(tmp_path, "zip", {"a": b"x"})
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    refused(path, "member 'a' is encrypted")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_of_zip(tmp_path, method):
    with zipfile.ZipFile(tmp_path / "z", "w", method) as new:
        new.writestr("a", b"x" * 1000)
    refused(tmp_path / "z", f"member 'a' has the compression {method}; expected deflate")


# Bombs --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def little_room(monkeypatch):
    """The same proportions with a hundredth of the room, and quick."""
    monkeypatch.setattr(archive, "_SLACK", 1 << 16)
    monkeypatch.setattr(archive, "_MEMBERS", 100)


@pytest.mark.parametrize("kind", ["deflated.zip", "tar.gz", "tar.bz2", "tar.xz"])
@pytest.mark.parametrize("members", [1, 4])
def test_bombs(tmp_path, kind, members, little_room):
    path = made(tmp_path, kind, {str(number): bytes(8 << 20) for number in range(members)})
    assert 200 * path.stat().st_size + (1 << 16) < members * (8 << 20)
    tracemalloc.start()
    try:
        refused(path, "unpacks to more than 200 times its size: not unpacked")
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_a_bomb_with_the_true_limits(tmp_path):
    path = made(tmp_path, "deflated.zip", {"a": bytes(90 << 20)})
    assert 200 * path.stat().st_size + (64 << 20) < 90 << 20
    refused(path, "unpacks to more than 200 times its size: not unpacked")


def test_a_zip_whose_members_share_their_bytes(tmp_path, little_room):
    path = made(tmp_path, "deflated.zip", {"a": bytes(200_000)})
    content = path.read_bytes()
    start = content.index(b"PK\x01\x02")
    end = content.index(b"PK\x05\x06")
    entry = content[start:end]
    many = content[:start] + entry * 50
    many += struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 50, 50, 50 * len(entry), start, 0)
    path.write_bytes(many)
    refused(path, "unpacks to more than 200 times|stands there twice|[Oo]verlap")


def test_what_lies_behind_the_end_of_a_tar_is_counted(tmp_path, little_room):
    content = made(tmp_path, "tar", {"a": b"x"}).read_bytes()
    (tmp_path / "t").write_bytes(gzip.compress(content + bytes(8 << 20)))
    refused(tmp_path / "t", "unpacks to more than 200 times its size")


@zip_and_tar
def test_many_members(tmp_path, kind, little_room):
    path = made(tmp_path, kind, {str(number): b"" for number in range(100)})
    with unpacked(path) as folder:
        assert len(files_of(folder)) == 100
    refused(made(tmp_path, kind, {str(number): b"" for number in range(101)}), "more than 100 members: not unpacked")


@pytest.mark.parametrize("type", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_headers_without_end_and_without_measure(tmp_path, type, little_room):
    member = tarfile.TarInfo("x")
    member.type = type
    (tmp_path / "t").write_bytes(member.tobuf() * 1000 + bytes(1024))
    refused(tmp_path / "t", "more than 100 members: not unpacked")
    member.size = 1 << 33
    (tmp_path / "t").write_bytes(gzip.compress(member.tobuf(tarfile.GNU_FORMAT) + bytes(5 << 20)))
    refused(tmp_path / "t", "a header of 8,589,934,592 bytes")


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_sizes_that_lie(tmp_path, kind):
    if kind == "tar":
        member = tarfile.TarInfo("a")
        member.size = 1 << 60
        (tmp_path / "t").write_bytes(member.tobuf(tarfile.GNU_FORMAT) + bytes(2048))
    else:
        path = made(tmp_path, "zip", {"a": bytes(100)})
        content = bytearray(path.read_bytes())
        at = content.index(b"PK\x01\x02") + 24
        content[at : at + 4] = b"\xff\xff\xff\x7f"
        (tmp_path / "t").write_bytes(content)
    refused(tmp_path / "t", "unpacks to more than 200 times its size")


def test_a_list_of_members_that_is_too_long(tmp_path, monkeypatch):
    path = made(tmp_path, "zip", {str(number): b"" for number in range(50)})
    monkeypatch.setattr(archive, "_DIRECTORY", 1000)
    refused(path, r"[\d,]+ bytes for the list of members")


def test_no_more_than_is_free(tmp_path, monkeypatch):
    path = made(tmp_path, "zip", FILES)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=archive._DISK_MARGIN + 1_000_000))
    refused(path, r"asks for 1,152,000 bytes, more than are free")


def test_an_xz_that_asks_for_much_memory(tmp_path, monkeypatch):
    path = made(tmp_path, "tar.xz", FILES)
    monkeypatch.setattr(archive, "_XZ_MEMORY", 1 << 20)
    refused(path, "[Mm]emory usage limit")


# Damage -------------------------------------------------------------------------------------------------------------


@every_kind
def test_cut_anywhere(tmp_path, kind):
    content = made(tmp_path, kind, {**FILES, "r": os.urandom(3000)}).read_bytes()
    end = len(content) - (10_240 if kind == "tar" else 0)  # the filling of a tar may lack
    for kept in sorted({*range(1, end, max(1, end // 40)), end - 1}):
        (tmp_path / "t").write_bytes(content[:kept])
        refused(tmp_path / "t", "damaged or truncated|not a zip or tar|compressed, but what is in it is no tar")


@pytest.mark.parametrize("kind", ["deflated.zip", "zip", "tar.gz", "tar.bz2", "tar.xz"])
def test_a_bit_that_is_turned(tmp_path, kind):
    path = made(tmp_path, kind, {"a": os.urandom(5000)})
    content = bytearray(path.read_bytes())
    content[2500] ^= 16
    path.write_bytes(content)
    refused(path, "damaged or truncated")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", r"not a zip or tar \(plain, .gz, .bz2, .xz\): the file is empty"),
        (b"hello", "it begins with 68 65"),
        (b"version https://git-lfs.github.com", "Git LFS"),
        (b"<html><body>404", "a web page"),
        (gzip.compress(b"a file that is just compressed\n" * 100, mtime=0), "compressed, but what is in it is no tar"),
        (gzip.compress(b"short", mtime=0), "compressed, but what is in it is no tar"),
        (lzma.compress(b"a" * 5000), "compressed, but what is in it is no tar"),
    ],
)
def test_other_files(tmp_path, content, what):
    (tmp_path / "t").write_bytes(content)
    refused(tmp_path / "t", what)


def test_no_file(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        assert refused(path, r"no such file|a folder stands").usage
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "not a regular file")


@pytest.mark.parametrize(
    "record", [b"x", b"5 a=b", b"99 path=b\n", b"2 \n", b"-5 a=b\n", b" a=b\n", b"11 path=b\n9 size=\n", b"10 size=x\n"]
)
def test_extended_headers_that_are_wrong(tmp_path, record):
    member = tarfile.TarInfo("x")
    member.type, member.size = tarfile.XHDTYPE, len(record)
    plain = tarfile.TarInfo("a").tobuf()
    (tmp_path / "t").write_bytes(member.tobuf() + record.ljust(512, b"\0") + plain + bytes(1024))
    refused(tmp_path / "t", "a damaged or truncated archive")


def test_where_nothing_can_be_written(tmp_path, monkeypatch):
    def full(self, *args, **how):
        raise OSError(28, "No space left on device", "here")

    path = made(tmp_path, "zip", FILES)
    monkeypatch.setattr(Path, "mkdir", full)
    refused(path, "cannot be unpacked here .here: the disk is full")
