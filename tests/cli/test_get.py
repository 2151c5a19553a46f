"""`zh-elmo corpus get`: by address, treebank, dump and data set, from servers that misbehave and from mirrors."""

from __future__ import annotations

import bz2
import errno
import fcntl
import gzip
import hashlib
import io
import json
import random
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flaky_server import Server, serving

from zh_elmo.fetch import download as downloads
from zh_elmo.fetch import treebank
from zh_elmo.fetch.bring import relative
from zh_elmo.fetch.digest import parse, sums
from zh_elmo.files import BadInput

Command = Callable[..., Any]
CONTENT = random.Random(7).randbytes(300_000)
OTHER = random.Random(8).randbytes(300_000)
UD = "raw.githubusercontent.com/UniversalDependencies"
GSD = f"{UD}/UD_Chinese-GSD/r2.14"
DUMPS = "dumps.wikimedia.org/zhwiki"
README = b"# Summary\n\n<pre>\nLicense: CC BY-SA 4.0\nContributors: Shen, Mo; Qi, Peng\n</pre>\n"
SENTENCE = "1\t我\t我\tPRON\t_\t_\t0\troot\t_\t_\n\n".encode()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting, no mirror, a cache of its own, and no way out: an address elsewhere is refused at once."""
    monkeypatch.setattr(downloads, "PAUSES", (0.0, 0.0, 0.0, 0.0))
    monkeypatch.delenv("ZH_ELMO_MIRROR", raising=False)
    monkeypatch.setenv("ZH_ELMO_CACHE", str(tmp_path / "cache"))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "127.0.0.1")


# By address ---------------------------------------------------------------------------------------------------------


def test_an_address_once_and_then_from_what_was_noted(zh_elmo: Command, server: Server) -> None:
    url = server.add("data/news.txt", CONTENT)
    ended = zh_elmo("corpus", "get", url, "--out", "raw", "--quiet")
    assert ended.code == 0, ended.err
    assert ended.out == "raw/news.txt\n"
    assert Path("raw/news.txt").read_bytes() == CONTENT
    assert f"sha256 {sha256(CONTENT)}  news.txt" in ended.err
    assert names(Path("raw")) == ["news.txt", "news.txt.sha256"]
    assert Path("raw/news.txt.sha256").read_text() == f"# {url}\n{sha256(CONTENT)}  news.txt\n"
    again = zh_elmo("corpus", "get", url, "--out", "raw", "--quiet")
    assert again.code == 0
    assert "was there, sha256 as it should be" in again.err
    assert len(server.asked) == 1


def test_without_out_it_lies_in_the_cache_by_host_and_path(zh_elmo: Command, server: Server, tmp_path: Path) -> None:
    ended = zh_elmo("corpus", "get", server.add("a/b.txt", CONTENT), "--quiet")
    host = server.address.removeprefix("http://").replace(":", "_")
    assert ended.out == f"{tmp_path / 'cache/data' / host / 'a/b.txt'}\n"
    copied = zh_elmo("corpus", "get", f"{server.address}/a/b.txt", "--out", "raw", "--quiet")
    assert copied.code == 0
    assert Path("raw/b.txt").read_bytes() == CONTENT
    assert len(server.asked) == 1


def test_a_file_that_was_changed_since_is_told_with_both_digests(zh_elmo: Command, server: Server) -> None:
    url = server.add("news.txt", CONTENT)
    zh_elmo("corpus", "get", url, "--out", "raw", "--quiet")
    Path("raw/news.txt").write_bytes(OTHER)
    ended = zh_elmo("corpus", "get", url, "--out", "raw", "--quiet")
    assert ended.code == 1
    assert sha256(CONTENT) in ended.line
    assert sha256(OTHER) in ended.line
    assert Path("raw/news.txt").read_bytes() == OTHER


def test_a_file_of_another_address_or_of_nobody_is_left_alone(zh_elmo: Command, server: Server) -> None:
    zh_elmo("corpus", "get", server.add("a/x.txt", CONTENT), "--out", "raw", "--quiet")
    ended = zh_elmo("corpus", "get", server.add("b/x.txt", OTHER), "--out", "raw")
    assert ended.code == 2
    assert "comes from" in ended.line
    Path("raw/y.txt").write_text("mine")
    ended = zh_elmo("corpus", "get", server.add("y.txt", OTHER), "--out", "raw")
    assert ended.code == 2
    assert Path("raw/y.txt").read_text() == "mine"
    digest = sha256(b"mine")
    assert zh_elmo("corpus", "get", f"{server.address}/y.txt", "--out", "raw", "--sha256", digest).code == 0


def test_connections_that_break_are_gone_on_with(zh_elmo: Command, server: Server) -> None:
    url = server.add("news.txt", CONTENT, cuts=[100_000, 50_000, 10_000, 5_000, 0, 700])
    ended = zh_elmo("corpus", "get", url, "--out", "raw", "--sha256", sha256(CONTENT))
    assert ended.code == 0, ended.err
    assert Path("raw/news.txt").read_bytes() == CONTENT
    assert [wanted for _, wanted in server.asked] == [
        None, "bytes=100000-", "bytes=150000-", "bytes=160000-", "bytes=165000-", "bytes=165000-", "bytes=165700-",
    ]  # fmt: skip
    assert "at byte 100,000; trying again" in ended.err
    assert names(Path("raw")) == ["news.txt", "news.txt.sha256"]


def test_a_server_that_gives_up_leaves_a_part_for_the_next_call(zh_elmo: Command, server: Server) -> None:
    url = server.add("news.txt", CONTENT, cuts=[120_000, 0, 0, 0, 0])
    ended = zh_elmo("corpus", "get", url, "--out", "raw", "--quiet")
    assert ended.code == 1
    assert "120,000 bytes are kept" in ended.line
    assert names(Path("raw")) == ["news.txt.part", "news.txt.part.json"]
    assert zh_elmo("corpus", "get", url, "--out", "raw", "--quiet").code == 0
    assert Path("raw/news.txt").read_bytes() == CONTENT
    assert server.asked[-1][1] == "bytes=120000-"
    assert names(Path("raw")) == ["news.txt", "news.txt.sha256"]


def test_a_server_that_knows_no_range_starts_again(zh_elmo: Command, server: Server) -> None:
    url = server.add("news.txt", CONTENT, ranges=False, cuts=[100_000, 200_000])
    assert zh_elmo("corpus", "get", url, "--out", "raw", "--quiet").code == 0
    assert Path("raw/news.txt").read_bytes() == CONTENT


def test_a_server_that_always_breaks_at_the_same_place_is_left(zh_elmo: Command, server: Server) -> None:
    url = server.add("news.txt", CONTENT, ranges=False, cuts=[100_000] * 50)
    ended = zh_elmo("corpus", "get", url, "--out", "raw", "--quiet")
    assert ended.code == 1
    assert len(server.asked) <= 6


@pytest.mark.parametrize("heeds", [True, False])
def test_a_file_that_changes_between_attempts_is_not_stitched(zh_elmo: Command, server: Server, heeds: bool) -> None:
    """With If-Range the server sends all of the new file; one that does not heed it is found out by its ETag."""
    url = server.add("news.txt", CONTENT, cuts=[100_000, 0, 0, 0, 0])
    assert zh_elmo("corpus", "get", url, "--out", "raw", "--quiet").code == 1
    server.add("news.txt", OTHER, etag='"2"', heeds_if_range=heeds)
    assert zh_elmo("corpus", "get", url, "--out", "raw", "--quiet").code == 0
    assert Path("raw/news.txt").read_bytes() == OTHER


def test_pieces_of_two_versions_are_found_out_by_the_digest(zh_elmo: Command, server: Server) -> None:
    """A server that says neither ETag nor time: the rest is asked for, since a digest will tell, and does."""
    digest = sha256(OTHER)
    url = server.add("news.txt", CONTENT, etag="", cuts=[100_000, 0, 0, 0, 0])
    assert zh_elmo("corpus", "get", url, "--out", "raw", "--sha256", digest, "--quiet").code == 1
    server.add("news.txt", OTHER, etag="")
    assert zh_elmo("corpus", "get", url, "--out", "raw", "--sha256", digest, "--quiet").code == 0
    assert Path("raw/news.txt").read_bytes() == OTHER
    assert [wanted for _, wanted in server.asked[-2:]] == ["bytes=100000-", None]


def test_without_version_and_digest_nothing_is_gone_on_with(zh_elmo: Command, server: Server) -> None:
    url = server.add("news.txt", CONTENT, etag="", cuts=[100_000])
    assert zh_elmo("corpus", "get", url, "--out", "raw", "--quiet").code == 0
    assert [wanted for _, wanted in server.asked] == [None, None]
    dated = server.add("dated.txt", CONTENT, etag="", modified="Mon, 02 Nov 2026 08:00:00 GMT", cuts=[100_000])
    assert zh_elmo("corpus", "get", dated, "--out", "raw", "--quiet").code == 0
    assert server.asked[-1][1] == "bytes=100000-"


def test_a_part_that_is_whole_already_is_only_finished(zh_elmo: Command, server: Server) -> None:
    url = server.add("news.txt", CONTENT, cuts=[100_000, 0, 0, 0, 0])
    zh_elmo("corpus", "get", url, "--out", "raw", "--quiet")
    Path("raw/news.txt.part").write_bytes(CONTENT)
    assert zh_elmo("corpus", "get", url, "--out", "raw", "--quiet").code == 0
    assert server.asked[-1][1] == "bytes=300000-"
    assert Path("raw/news.txt").read_bytes() == CONTENT


def test_a_wrong_digest_is_one_line_and_leaves_nothing(zh_elmo: Command, server: Server) -> None:
    url = server.add("news.txt", CONTENT)
    ended = zh_elmo("corpus", "get", url, "--out", "raw", "--sha256", sha256(OTHER), "--quiet")
    assert ended.code == 1
    assert sha256(CONTENT) in ended.line
    assert sha256(OTHER) in ended.line
    assert names(Path("raw")) == []


def test_a_server_in_trouble_is_asked_again(zh_elmo: Command, server: Server) -> None:
    url = server.add("news.txt", CONTENT, answers=[500, 503, 429])
    assert zh_elmo("corpus", "get", url, "--out", "raw", "--quiet").code == 0
    assert len(server.asked) == 4


@pytest.mark.parametrize(("status", "requests"), [(404, 1), (403, 1), (500, 5)])
def test_refusals_are_one_line(zh_elmo: Command, server: Server, status: int, requests: int) -> None:
    url = server.add("news.txt", CONTENT, answers=[status] * 9)
    ended = zh_elmo("corpus", "get", url, "--out", "raw", "--quiet")
    assert ended.code == 1
    assert f"the server answers {status}" in ended.line
    assert url in ended.line
    assert len(server.asked) == requests
    assert names(Path("raw")) == []


def test_no_network_is_one_line(zh_elmo: Command) -> None:
    ended = zh_elmo("corpus", "get", "http://127.0.0.1:9/news.txt", "--out", "raw", "--quiet")
    assert ended.code == 1
    assert "cannot be fetched" in ended.line
    assert "--mirror" in ended.line
    assert names(Path("raw")) == []


def test_a_server_that_does_not_say_how_long_it_is(zh_elmo: Command, server: Server) -> None:
    url = server.add("news.txt", CONTENT, length=False)
    assert zh_elmo("corpus", "get", url, "--out", "raw").code == 0
    assert Path("raw/news.txt").read_bytes() == CONTENT


def test_packed_for_the_way_is_unpacked_but_not_a_gz_file(zh_elmo: Command, server: Server) -> None:
    packed = gzip.compress(CONTENT)
    coded = {"Content-Encoding": "gzip"}
    assert zh_elmo("corpus", "get", server.add("a.txt", packed, headers=coded), "--out", "raw", "--quiet").code == 0
    assert zh_elmo("corpus", "get", server.add("b.txt.gz", packed, headers=coded), "--out", "raw", "--quiet").code == 0
    assert Path("raw/a.txt").read_bytes() == CONTENT
    assert Path("raw/b.txt.gz").read_bytes() == packed


def test_a_full_disk_is_one_line_before_and_during(
    zh_elmo: Command, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.add("news.txt", CONTENT)
    with monkeypatch.context() as patch:
        patch.setattr(downloads.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 200_000})())
        ended = zh_elmo("corpus", "get", url, "--out", "raw", "--quiet")
    assert ended.code == 1
    assert "the disk is full: 300,000 bytes" in ended.line
    with monkeypatch.context() as patch:
        patch.setattr(downloads, "_check_room", lambda part, needed: None)
        patch.setattr(downloads.Progress, "advance", full)
        ended = zh_elmo("corpus", "get", url, "--out", "raw", "--quiet")
    assert ended.code == 1
    assert "raw/news.txt: the disk is full; make room and run the same command again" in ended.line
    assert "news.txt" not in names(Path("raw"))
    assert zh_elmo("corpus", "get", url, "--out", "raw", "--quiet").code == 0
    assert server.asked[-1][1] is not None  # it went on
    assert Path("raw/news.txt").read_bytes() == CONTENT


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_an_interrupted_download_goes_on(zh_elmo: Command, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    url = server.add("news.txt", CONTENT)

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(downloads.Progress, "advance", interrupt)
        assert zh_elmo("corpus", "get", url, "--out", "raw", "--quiet").code == 130
    assert "news.txt" not in names(Path("raw"))
    assert zh_elmo("corpus", "get", url, "--out", "raw", "--quiet").code == 0
    assert server.asked[-1][1] is not None
    assert Path("raw/news.txt").read_bytes() == CONTENT


def test_two_at_once_do_not_write_into_each_other(zh_elmo: Command, server: Server) -> None:
    url = server.add("news.txt", CONTENT)
    Path("raw").mkdir()
    with open("raw/news.txt.part", "ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        ended = zh_elmo("corpus", "get", url, "--out", "raw", "--quiet")
    assert ended.code == 1
    assert "another process" in ended.line
    assert zh_elmo("corpus", "get", url, "--out", "raw", "--quiet").code == 0


def test_progress_and_notes_go_to_standard_error(zh_elmo: Command, server: Server) -> None:
    ended = zh_elmo("corpus", "get", server.add("news.txt", CONTENT), "--out", "raw")
    assert ended.out == "raw/news.txt\n"
    assert "news.txt: 300 of 300 kB (100 %)" in ended.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ftp://host/x"], "begins with https://"),
        (["https://host/"], "names no file"),
        (["https://host/a/../b"], "no file here can have"),
        (["https://host/a%2fb"], "no file here can have"),
        (["https://host/x", "--sha256", "abc"], "no digest"),
        (["zh_gsd", "--release", "2.2"], "for UD treebanks"),
        (["zh_gsd", "--sha256", "0" * 64], "for an address"),
        (["UD_Chinese-GSD@2.2", "--release", "2.14"], "one release at a time"),
        (["UD_Chinese-GSD", "--release", "new"], "called like 2.14"),
        (["UD_Chinese-GSD", "--archive", "all.tgz"], "which release"),
        (["UD_Klingon-X@2.14"], "--archive"),
        (["wiki:zh@2026"], "wiki:zh@20261101"),
        (["zh_gsdsim"], "zh_gsdsimp"),
        (["zh_gsd", "--mirror", "nowhere"], "no such folder"),
        (["file:///nowhere/x.txt"], "no such file"),
    ],
)
def test_wrong_usage(zh_elmo: Command, arguments: list[str], said: str) -> None:
    ended = zh_elmo("corpus", "get", *arguments)
    assert ended.code == 2
    assert said in ended.line


def test_a_file_address_is_used_where_it_lies_or_copied(zh_elmo: Command, tmp_path: Path) -> None:
    (tmp_path / "here.txt").write_bytes(CONTENT)
    url = (tmp_path / "here.txt").as_uri()
    assert zh_elmo("corpus", "get", url).out == f"{tmp_path / 'here.txt'}\n"
    assert zh_elmo("corpus", "get", url, "--out", "raw", "--sha256", sha256(CONTENT)).out == "raw/here.txt\n"
    assert Path("raw/here.txt").read_bytes() == CONTENT
    assert zh_elmo("corpus", "get", url, "--sha256", sha256(OTHER)).code == 1


def test_where_an_address_lies() -> None:
    assert str(relative("https://a.org/b/c%20d.txt")) == "a.org/b/c d.txt"
    assert str(relative("https://user:word@a.org:8080/c")) == "a.org_8080/c"
    assert relative("https://a.org/get?id=1") != relative("https://a.org/get?id=2")
    assert relative("https://a.org/get?id=1").name == "get"


def test_digests_as_they_are_said() -> None:
    assert parse("SHA256:" + "A" * 64) == ("sha256", "a" * 64)
    assert parse("b" * 40).kind == "sha1"
    with pytest.raises(BadInput, match="64 hex digits"):
        parse("g" * 64)
    assert sums(f"# x\n{'a' * 32}  one two.txt\n{'b' * 64} *three\nnonsense\n") == {
        "one two.txt": ("md5", "a" * 32), "three": ("sha256", "b" * 64),
    }  # fmt: skip


# Mirrors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("below", ["example.org/data/news.txt", "news.txt"])
@pytest.mark.parametrize("by", ["option", "environment"])
def test_a_mirror_folder_needs_no_network(
    zh_elmo: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str, by: str
) -> None:
    file = tmp_path / "mirror" / below
    file.parent.mkdir(parents=True)
    file.write_bytes(CONTENT)
    url = "https://example.org/data/news.txt"
    options = ["--mirror", tmp_path / "mirror"] if by == "option" else []
    if by == "environment":
        monkeypatch.setenv("ZH_ELMO_MIRROR", str(tmp_path / "mirror"))
    assert zh_elmo("corpus", "get", url, *options).out == f"{file}\n"  # where it lies
    assert zh_elmo("corpus", "get", url, *options, "--out", "raw").out == "raw/news.txt\n"
    assert Path("raw/news.txt.sha256").read_text().startswith(f"# {url}\n{sha256(CONTENT)}")
    assert zh_elmo("corpus", "get", url, *options, "--sha256", sha256(OTHER)).code == 1


def test_a_mirror_address_is_asked_first(zh_elmo: Command, server: Server) -> None:
    server.add("example.org/data/news.txt", CONTENT)
    url = "https://example.org/data/news.txt"
    ended = zh_elmo("corpus", "get", url, "--mirror", server.address, "--out", "raw", "--quiet")
    assert ended.code == 0
    assert f"fetched from {server.address}" in ended.err
    missing = zh_elmo("corpus", "get", "https://example.org/x.txt", "--mirror", server.address, "--quiet")
    assert missing.code == 1
    assert "nor is it in the mirror" in missing.line


# Treebanks ----------------------------------------------------------------------------------------------------------


def stats(**sizes: int) -> bytes:
    parts = "".join(
        f"    <{split}><sentences>{n}</sentences><tokens>9</tokens></{split}>\n" for split, n in sizes.items()
    )
    return f"<treebank>\n  <size>\n    <total><sentences>9</sentences></total>\n{parts}  </size>\n</treebank>".encode()


def repository(server: Server, below: str, splits: dict[str, bytes], code: str = "zh_gsd", **about: bytes) -> None:
    for split, content in splits.items():
        server.add(f"{below}/{code}-ud-{split}.conllu", content)
    for name, content in {"README.md": README, "LICENSE.txt": b"licence", **about}.items():
        server.add(f"{below}/{name}", content)


ALL = {"train": SENTENCE * 3, "dev": SENTENCE, "test": SENTENCE * 2}


def test_a_treebank_from_its_repository(zh_elmo: Command, server: Server) -> None:
    repository(server, GSD, ALL, **{"stats.xml": stats(train=3, dev=1, test=2)})
    server.pages[f"/{GSD}/zh_gsd-ud-train.conllu"].cuts = [10]
    get = ["corpus", "get", "UD_Chinese-GSD@2.14", "--out", "banks", "--mirror", server.address, "--quiet"]
    ended = zh_elmo(*get)
    assert ended.code == 0, ended.err
    folder = Path("banks/UD_Chinese-GSD")
    assert ended.out.split() == [str(folder / f"zh_gsd-ud-{split}.conllu") for split in ALL]
    assert {split: (folder / f"zh_gsd-ud-{split}.conllu").read_bytes() for split in ALL} == ALL
    assert "UD_Chinese-GSD 2.14; licence CC BY-SA 4.0; Shen, Mo; Qi, Peng" in ended.err
    assert sha256(ALL["dev"]) in ended.err
    assert names(folder) == ["LICENSE.txt", "README.md", "SHA256SUMS", *(f"zh_gsd-ud-{s}.conllu" for s in sorted(ALL))]
    assert names(Path("banks")) == ["UD_Chinese-GSD"]
    subprocess.run(["sha256sum", "-c", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, check=True)
    asked = len(server.asked)
    for again in (get, ["corpus", "get", "UD_Chinese-GSD", "--out", "banks"]):
        ended = zh_elmo(*again)
        assert ended.code == 0
        assert "was there" in ended.err
    assert len(server.asked) == asked
    other = zh_elmo("corpus", "get", "UD_Chinese-GSD@2.2", "--out", "banks", "--mirror", server.address)
    assert other.code == 2
    assert "holds UD_Chinese-GSD r2.14" in other.line
    (folder / "zh_gsd-ud-dev.conllu").write_bytes(SENTENCE * 9)
    ended = zh_elmo(*get)
    assert ended.code == 1
    assert sha256(SENTENCE) in ended.line


def test_a_treebank_of_a_test_split_alone(zh_elmo: Command, server: Server) -> None:
    """With stats.xml the others are not asked for; without it their absence says so."""
    for number, about in enumerate([{"stats.xml": stats(train=0, dev=0, test=2)}, {}]):
        below = f"{UD}/UD_Chinese-HK/r2.{number}"
        repository(server, below, {"test": SENTENCE}, code="zh_hk", **about)
        get = ["corpus", "get", f"UD_Chinese-HK@2.{number}", "--mirror", server.address, "--quiet"]
        ended = zh_elmo(*get, "--out", f"banks{number}")
        assert ended.out == f"banks{number}/UD_Chinese-HK/zh_hk-ud-test.conllu\n"
        trains = [path for path, _ in server.asked if path == f"/{below}/zh_hk-ud-train.conllu"]
        assert len(trains) == number


def test_a_split_that_is_there_in_pieces_is_not_left_out(zh_elmo: Command, server: Server) -> None:
    below = f"{UD}/UD_Czech-PDT/r2.14"
    repository(
        server, below, {"dev": SENTENCE, "test": SENTENCE}, "cs_pdt", **{"stats.xml": stats(train=9, dev=1, test=1)}
    )
    ended = zh_elmo("corpus", "get", "UD_Czech-PDT@2.14", "--out", "banks", "--mirror", server.address, "--quiet")
    assert ended.code == 1
    assert "9 sentences in train" in ended.line
    assert "--archive" in ended.line
    assert "UD_Czech-PDT" not in names(Path("banks"))


def test_the_newest_release_by_the_tags(zh_elmo: Command, server: Server) -> None:
    tags = [{"name": name} for name in ("r2.9", "r2.14", "r2.2", "dev-x")]
    server.add(str(relative(treebank._TAGS.format("UD_Chinese-GSD"))), json.dumps(tags).encode())
    repository(server, GSD, ALL)
    ended = zh_elmo("corpus", "get", "UD_Chinese-GSD", "--out", "banks", "--mirror", server.address, "--quiet")
    assert ended.code == 0, ended.err
    assert "UD_Chinese-GSD 2.14" in ended.err


def test_no_such_release(zh_elmo: Command, server: Server) -> None:
    ended = zh_elmo("corpus", "get", "UD_Chinese-GSD", "--out", "banks", "--mirror", server.address, "--quiet")
    assert ended.code == 2
    assert "name one: UD_Chinese-GSD@2.14" in ended.line
    assert names(Path("banks")) == []


@pytest.mark.parametrize("place", [GSD, "UD_Chinese-GSD", ""])
def test_a_treebank_from_a_mirror_folder(zh_elmo: Command, tmp_path: Path, place: str) -> None:
    mirror = tmp_path / "mirror"
    (mirror / place).mkdir(parents=True)
    (mirror / place / "zh_gsd-ud-test.conllu").write_bytes(SENTENCE)
    (mirror / place / "README.md").write_bytes(README)
    ended = zh_elmo("corpus", "get", "UD_Chinese-GSD@2.14", "--out", "banks", "--mirror", mirror)
    assert ended.code == 0, ended.err
    assert ended.out == "banks/UD_Chinese-GSD/zh_gsd-ud-test.conllu\n"
    said = "CC BY-SA 4.0" if place else "not stated"  # a README of the whole mirror says nothing of the treebank
    assert f"licence {said}" in ended.err
    if place == GSD:
        assert "2.14" in zh_elmo("corpus", "get", "UD_Chinese-GSD", "--mirror", mirror).err


def archive(path: Path, release: str = "2.14") -> None:
    """A release of two treebanks, with members that must not be followed."""
    with tarfile.open(path, "w:gz") as tar:

        def add(name: str, content: bytes, kind: bytes = tarfile.REGTYPE, link: str = "") -> None:
            member = tarfile.TarInfo(name)
            member.size, member.type, member.linkname = len(content), kind, link
            tar.addfile(member, io.BytesIO(content))

        top = f"ud-treebanks-v{release}"
        add(f"{top}/UD_Afrikaans-X/af_x-ud-test.conllu", SENTENCE)
        for split, content in ALL.items():
            add(f"{top}/UD_Chinese-GSD/zh_gsd-ud-{split}.conllu", content)
        add(f"{top}/UD_Chinese-GSD/zh_gsd-ud-test.txt", b"text")
        add(f"{top}/UD_Chinese-GSD/README.md", README)
        add(f"{top}/UD_Chinese-GSD/LICENSE.txt", b"", tarfile.SYMTYPE, "/etc/passwd")
        add("../../../escaped/UD_Chinese-GSD/../evil.conllu", b"evil")
        add(f"{top}/UD_Zaar-X/say_x-ud-test.conllu", SENTENCE)


@pytest.mark.parametrize("by", ["path", "mirror", "address"])
def test_a_treebank_out_of_a_release_of_all(zh_elmo: Command, server: Server, tmp_path: Path, by: str) -> None:
    (tmp_path / "mirror").mkdir()
    path = tmp_path / "mirror" / "ud-treebanks-v2.14.tgz"
    archive(path)
    options = {
        "path": ["--archive", path],
        "mirror": ["--mirror", tmp_path / "mirror"],
        "address": ["--archive", server.add("ud-treebanks-v2.14.tgz", path.read_bytes())],
    }[by]
    ended = zh_elmo("corpus", "get", "UD_Chinese-GSD", *options, "--out", "banks", "--quiet")
    assert ended.code == 0, ended.err
    folder = Path("banks/UD_Chinese-GSD")
    assert names(folder) == ["README.md", "SHA256SUMS", *(f"zh_gsd-ud-{split}.conllu" for split in sorted(ALL))]
    assert (folder / "zh_gsd-ud-train.conllu").read_bytes() == ALL["train"]
    assert not list(tmp_path.rglob("evil*"))
    assert "CC BY-SA 4.0" in ended.err


def test_an_archive_that_is_damaged_or_of_others(zh_elmo: Command, tmp_path: Path) -> None:
    path = tmp_path / "ud-treebanks-v2.14.tgz"
    archive(path)
    ended = zh_elmo("corpus", "get", "UD_Chinese-HK", "--archive", path, "--out", "banks")
    assert ended.code == 1
    assert "holds no treebank UD_Chinese-HK" in ended.line
    whole = path.read_bytes()
    for content in (whole[:200], b"nonsense" * 100, whole[:60] + b"\0" * 40 + whole[100:]):
        path.write_bytes(content)
        ended = zh_elmo("corpus", "get", "UD_Chinese-GSD", "--archive", path, "--out", "banks")
        assert ended.code == 1
        assert "damaged or truncated archive" in ended.line
    assert names(Path("banks")) == []


def test_a_folder_in_the_way_is_left_alone(zh_elmo: Command, tmp_path: Path) -> None:
    path = tmp_path / "ud-treebanks-v2.14.tgz"
    archive(path)
    mine = tmp_path / "banks/UD_Chinese-GSD/mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    ended = zh_elmo("corpus", "get", "UD_Chinese-GSD", "--archive", path, "--out", "banks")
    assert ended.code == 2
    assert mine.read_text() == "mine"


def test_names_of_treebanks() -> None:
    assert treebank.is_treebank("UD_Classical_Chinese-Kyoto@r2.14")
    assert not treebank.is_treebank("UD_chinese")
    assert treebank._code("UD_Classical_Chinese-Kyoto") == "lzh_kyoto"
    assert treebank._code("UD_Cantonese-HK") == "yue_hk"


# Dumps --------------------------------------------------------------------------------------------------------------

PAGES = bz2.compress(b"<mediawiki/>")
WHOLE = "zhwiki-20261101-pages-articles.xml.bz2"


def sha1(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


@pytest.mark.parametrize("by", ["sha1sums", "md5sums", "dumpstatus", "nothing"])
def test_a_dump_is_checked_by_the_list_beside_it(zh_elmo: Command, server: Server, by: str) -> None:
    server.add(f"{DUMPS}/20261101/{WHOLE}", PAGES)
    if by == "dumpstatus":
        jobs = {"articlesdump": {"status": "done", "files": {WHOLE: {"sha1": sha1(PAGES), "size": len(PAGES)}}}}
        server.add(f"{DUMPS}/20261101/dumpstatus.json", json.dumps({"jobs": jobs}).encode())
    elif by != "nothing":
        value = hashlib.new(by.removesuffix("sums"), PAGES).hexdigest()
        server.add(f"{DUMPS}/20261101/zhwiki-20261101-{by}.txt", f"{value}  {WHOLE}\n".encode())
    get = ["corpus", "get", "wiki:zh@20261101", "--out", "dumps", "--mirror", server.address, "--quiet"]
    ended = zh_elmo(*get)
    assert ended.code == 0, ended.err
    assert ended.out == f"dumps/{WHOLE}\n"
    assert ("as it should be" in ended.err) == (by != "nothing")
    assert "zhwiki 20261101; licence CC BY-SA 4.0; the contributors of Wikipedia" in ended.err
    asked = len(server.asked)
    assert zh_elmo(*get).code == 0
    assert len(server.asked) == asked


def test_a_dump_that_is_not_what_the_list_says(zh_elmo: Command, server: Server) -> None:
    server.add(f"{DUMPS}/20261101/{WHOLE}", PAGES)
    server.add(f"{DUMPS}/20261101/zhwiki-20261101-sha1sums.txt", f"{'0' * 40}  {WHOLE}\n".encode())
    ended = zh_elmo("corpus", "get", "wiki:zh@20261101", "--out", "dumps", "--mirror", server.address, "--quiet")
    assert ended.code == 1
    assert "0" * 40 in ended.line
    assert sha1(PAGES) in ended.line
    assert names(Path("dumps")) == []


def test_the_latest_dump_gets_the_name_of_its_date(zh_elmo: Command, server: Server) -> None:
    server.add(f"{DUMPS}/20261101/{WHOLE}", PAGES)
    lines = f"{sha1(PAGES)}  {WHOLE}\n{'1' * 40}  zhwiki-20261101-pages-articles-multistream.xml.bz2\n"
    server.add(f"{DUMPS}/latest/zhwiki-latest-sha1sums.txt", lines.encode())
    ended = zh_elmo("corpus", "get", "wiki:zh", "--out", "dumps", "--mirror", server.address, "--quiet")
    assert ended.out == f"dumps/{WHOLE}\n"


def test_a_dump_in_several_files_in_their_order(zh_elmo: Command, server: Server) -> None:
    parts = [f"zhwiki-20261101-pages-articles{n}.xml-p{p}.bz2" for n, p in ((1, "1p9"), (2, "10p19"), (10, "20p99"))]
    for name in parts:
        server.add(f"{DUMPS}/20261101/{name}", bz2.compress(name.encode()))
    listed = [*sorted(parts), "zhwiki-20261101-pages-articles-multistream1.xml-p1p9.bz2"]
    content = {name: bz2.compress(name.encode()) for name in listed}
    lines = "".join(f"{sha1(content[name])}  {name}\n" for name in listed)
    server.add(f"{DUMPS}/20261101/zhwiki-20261101-sha1sums.txt", lines.encode())
    ended = zh_elmo("corpus", "get", "wiki:zh@20261101", "--out", "dumps", "--mirror", server.address, "--quiet")
    assert ended.out.split() == [f"dumps/{name}" for name in parts]


def test_a_dump_that_is_not_ready(zh_elmo: Command, server: Server) -> None:
    name = "zhwiki-20261101-site_stats.sql.gz"
    server.add(f"{DUMPS}/20261101/zhwiki-20261101-sha1sums.txt", f"{'0' * 40}  {name}\n".encode())
    ended = zh_elmo("corpus", "get", "wiki:zh@20261101", "--mirror", server.address, "--quiet")
    assert ended.code == 1
    assert "not ready" in ended.line


@pytest.mark.parametrize("below", ["", f"{DUMPS}/20261101"])
@pytest.mark.parametrize("asked", ["wiki:zh", "wiki:zh@20261101"])
def test_a_dump_from_a_mirror_folder_without_network(zh_elmo: Command, tmp_path: Path, below: str, asked: str) -> None:
    folder = tmp_path / "mirror" / below
    folder.mkdir(parents=True)
    (folder / WHOLE).write_bytes(PAGES)
    (folder / "zhwiki-20261101-sha1sums.txt").write_text(f"{sha1(PAGES)}  {WHOLE}\n")
    ended = zh_elmo("corpus", "get", asked, "--mirror", tmp_path / "mirror")
    assert ended.code == 0, ended.err
    assert ended.out == f"{folder / WHOLE}\n"
    assert "sha1 as it should be" in ended.err


def test_wikis_with_names_of_their_own(zh_elmo: Command, server: Server) -> None:
    name = "zh_yuewiki-20261101-pages-articles.xml.bz2"
    server.add(f"dumps.wikimedia.org/zh_yuewiki/20261101/{name}", PAGES)
    for language in ("yue", "zh-yue"):
        ended = zh_elmo("corpus", "get", f"wiki:{language}@20261101", "--out", "dumps", "--mirror", server.address)
        assert ended.out == f"dumps/{name}\n"


def test_fetching_brings_no_heavy_package_and_requests_only_when_needed() -> None:
    code = "import sys, zh_elmo.data; print('requests' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
