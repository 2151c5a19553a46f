"""Text out of a store by its address, and a corpus into one: the same bytes as from and to a folder."""

from __future__ import annotations

import gzip
import json
import lzma
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from zh_elmo.corpus import remote
from zh_elmo.corpus.build import build
from zh_elmo.corpus.remote import Remote, publish, target
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.corpus.sources import find
from zh_elmo.corpus.store import Corpus
from zh_elmo.files import BadInput, sha256
from zh_elmo.text.pipeline import TextSettings

fsspec = pytest.importorskip("fsspec", reason="needs the extra remote")
SETTINGS = CorpusSettings(text=TextSettings(segmenter="characters"), held_out=0.0)
FILES = {
    "a.txt": "甲乙丙。\n\n丁戊。\n".encode(),
    "b/c.txt.gz": gzip.compress("己庚辛。\n".encode("gb18030") * 40, mtime=0),
    "b/d.jsonl.xz": lzma.compress(json.dumps({"text": "壬癸\n子丑"}).encode()),
    "b/LICENSE.txt": b"not text",
    "e.bin": b"\0",
}


@pytest.fixture
def store() -> Iterator[Any]:
    """What `memory://` holds."""
    found = fsspec.filesystem("memory")
    for name, content in FILES.items():
        found.pipe_file(f"/bucket/{name}", content)
    yield found
    found.rm("/bucket", recursive=True)
    if found.exists("/out"):
        found.rm("/out", recursive=True)


def test_a_folder_of_a_store_is_read_like_one_of_the_disk(store: Any, tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / "texts" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "texts" / name).write_bytes(content)
    due = build(SETTINGS, [tmp_path / "texts"], tmp_path / "local", quiet=True)
    manifest = build(SETTINGS, ["memory://bucket"], tmp_path / "c", quiet=True)
    assert manifest["digest"] == due["digest"]
    assert manifest["counts"] == due["counts"]
    assert manifest["counts"]["train"]["paragraphs"] == 5
    for found, local in zip(manifest["sources"], due["sources"], strict=True):
        assert found == local | {"name": "memory://bucket"}
    assert [one["file"] for one in manifest["sources"]] == ["a.txt", "c.txt.gz", "d.jsonl.xz"]
    assert manifest["sources"][1]["encoding"] == "gb18030"
    assert build(SETTINGS, ["memory://bucket"], tmp_path / "c2", workers=2, quiet=True)["digest"] == due["digest"]


def test_files_and_patterns(store: Any) -> None:
    assert [source.path.name for source in find(["memory://bucket/a.txt"])] == ["a.txt"]
    assert [source.path.name for source in find(["memory://bucket/b/*.txt.gz"])] == ["c.txt.gz"]
    [source] = find(["memory://bucket/b/c.txt.gz"])
    assert sha256(source.path) == source.describe()["sha256"]
    copy = pickle.loads(pickle.dumps(source))
    assert copy == source
    assert isinstance(copy.path, Remote)
    with copy.path.stream() as stream:
        assert stream.read() == FILES["b/c.txt.gz"]


def test_a_file_address_is_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("甲乙\n", "utf-8")
    due = build(SETTINGS, [tmp_path / "a.txt"], tmp_path / "local", quiet=True)["digest"]
    assert build(SETTINGS, [f"file://{tmp_path}/a.txt"], tmp_path / "c", quiet=True)["digest"] == due


def test_parquet_is_read_from_a_store(store: Any, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    import pyarrow as pa

    pyarrow.write_table(pa.table({"text": ["甲乙\n丙", "丁"]}), tmp_path / "t.parquet")
    store.pipe_file("/bucket/t.parquet", (tmp_path / "t.parquet").read_bytes())
    manifest = build(SETTINGS, ["memory://bucket/t.parquet"], tmp_path / "c", quiet=True)
    assert manifest["counts"]["train"]["paragraphs"] == 3
    assert manifest["sources"][0]["bytes"] == (tmp_path / "t.parquet").stat().st_size


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("memory://bucket/none.txt", "memory://bucket/none.txt: no such file or folder there"),
        ("memory://bucket/*.doc", "memory://bucket/*.doc: no file is called like this"),
        ("nothing://x/y", "nothing:// is no protocol that fsspec knows"),
        ("memory://bucket/e.bin/", "memory://bucket/e.bin/:"),
    ],
)
def test_what_is_not_there_is_one_line(store: Any, url: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        find([url])
    assert said in str(caught.value)
    assert caught.value.usage


def test_a_damaged_file_in_a_store_is_named(store: Any, tmp_path: Path) -> None:
    store.pipe_file("/bucket/x.txt.gz", FILES["b/c.txt.gz"][:-9])
    with pytest.raises(BadInput, match=r"memory://bucket/x\.txt\.gz"):
        build(SETTINGS, ["memory://bucket/x.txt.gz"], tmp_path / "c", quiet=True)
    store.pipe_file("/bucket/y.txt", "好\n".encode() * 9 + b"\xff\n")
    with pytest.raises(BadInput, match=r"memory://bucket/y\.txt:10 \(byte 36\)"):
        build(CorpusSettings(encoding="utf-8"), ["memory://bucket/y.txt"], tmp_path / "c", quiet=True)
    assert not (tmp_path / "c").exists()


def test_a_store_that_breaks_off_is_one_line(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaking(*_: Any, **__: Any) -> Any:
        raise ConnectionResetError("peer")

    monkeypatch.setattr(type(store), "info", breaking)
    with pytest.raises(BadInput, match=r"the store failed \(ConnectionResetError: peer\)"):
        find(["memory://bucket"])


# Into a store --------------------------------------------------------------------------------------------------------


def built(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str = "甲乙丙。\n") -> dict[str, Any]:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "t.txt").write_text(text, "utf-8")
    with target(url, quiet=True) as folder:
        return build(SETTINGS, [tmp_path / "t.txt"], folder, quiet=True)


def test_a_corpus_is_brought_to_an_address(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = built("memory://out/c", tmp_path, monkeypatch)
    names = {entry.rpartition("/")[2] for entry in store.ls("/out/c", detail=False)}
    assert names == {"manifest.json", *manifest["files"]}
    store.get("/out/c", str(tmp_path / "back"), recursive=True)
    assert Corpus.open(tmp_path / "back").digest == manifest["digest"]
    assert not any(path.name.startswith("zh_elmo-") for path in tmp_path.iterdir())
    again = built("memory://out/c", tmp_path, monkeypatch, "丁戊。\n")
    assert json.loads(store.cat_file("/out/c/manifest.json"))["digest"] == again["digest"]


def test_half_a_corpus_never_reads_as_whole(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built("memory://out/c", tmp_path, monkeypatch)
    build(SETTINGS, [tmp_path / "t.txt"], tmp_path / "c", quiet=True)
    calls: list[str] = []
    whole = type(store).put_file

    def failing(self: Any, local: str, there: str, **how: Any) -> None:
        calls.append(there)
        if len(calls) == 2:
            raise OSError("gone")
        whole(self, local, there, **how)

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "put_file", failing)
        with pytest.raises(BadInput, match="the store failed"):
            publish(tmp_path / "c", "memory://out/c", quiet=True)
    assert not store.exists("/out/c/manifest.json")
    publish(tmp_path / "c", "memory://out/c", quiet=True)
    assert store.exists("/out/c/manifest.json")
    assert not store.exists("/out/c/manifest.json.part")


def test_what_is_no_corpus_is_not_replaced(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="exists and is not a corpus"), target("memory://bucket", quiet=True):
        raise AssertionError("must not begin")
    assert store.exists("/bucket/a.txt")


def test_an_interrupted_build_for_an_address_goes_on(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(KeyboardInterrupt), target("memory://out/c", quiet=True) as folder:  # noqa: PT012
        (folder.parent / "left").write_bytes(b"")
        raise KeyboardInterrupt
    with target("memory://out/c", quiet=True) as folder:
        assert (folder.parent / "left").exists()
        build(SETTINGS, ["memory://bucket/a.txt"], folder, quiet=True)
    assert not folder.parent.exists()


def test_a_corpus_is_opened_from_a_folder_alone() -> None:
    with pytest.raises(BadInput, match="copy it there first"):
        Corpus.open("s3://bucket/c")


def test_without_fsspec_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec.config", None)
    with pytest.raises(BadInput, match=r"zh-elmo\[remote\]") as caught:
        remote.found("s3://bucket/c")
    assert caught.value.usage
