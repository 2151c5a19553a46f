"""The catalogue: what it says is true, and files are found, checked and fetched."""

from __future__ import annotations

import functools
import http.server
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from flaky_server import serving

from zh_elmo import data
from zh_elmo.data import DataFile, Dataset
from zh_elmo.files import BadInput, sha256
from zh_elmo.recipe import entries, shelf_folder

ROLES = {"train", "dev", "test"}


def test_every_entry_is_complete() -> None:
    known = data.catalogue()
    assert [entry.name for entry in entries("corpora")] == list(known)
    for name, one in known.items():
        assert one.name == name
        assert one.licence
        assert one.attribution
        assert one.origin
        for file in one.files:
            assert re.fullmatch("[0-9a-f]{64}", file.sha256)
            assert bool(file.url) == bool(re.fullmatch("[0-9a-f]{64}", file.url_sha256))
            assert not file.path.startswith("/")
            assert (file.role in ROLES) == (one.kind == "treebank")


def test_the_sample_lies_on_the_shelf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ZH_ELMO_DATA", raising=False)
    found = data.treebank("zh_sample")
    assert list(found) == ["train", "dev", "test"]
    assert all(path.parent == shelf_folder("corpora") / "sample" for path in found.values())
    assert data.fetch("zh_sample", "dev") == [found["dev"]]


def test_real_files_have_their_digests(real_data: Path) -> None:
    for name, one in data.catalogue().items():
        if one.files[0].path.startswith(("ud/", "raw_")):
            assert data.fetch(name) == [real_data / file.path for file in one.files]


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(BadInput, match="zh_gsdsimp") as caught:
        data.dataset("zh_gsdsim")
    assert caught.value.usage


def test_raw_text_is_no_treebank() -> None:
    with pytest.raises(BadInput, match="treebank is due"):
        data.treebank("raw_zh_hans")


def test_the_named_folder_comes_first_and_a_changed_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZH_ELMO_DATA", str(tmp_path))
    (tmp_path / "sample").mkdir()
    copy = tmp_path / "sample/zh_sample-ud-dev.conllu"
    shutil.copy(shelf_folder("corpora") / "sample/zh_sample-ud-dev.conllu", copy)
    assert data.fetch("zh_sample", "dev") == [copy]
    copy.write_bytes(copy.read_bytes()[:-1])
    expected = next(file.sha256 for file in data.dataset("zh_sample").files if file.role == "dev")
    with pytest.raises(BadInput) as caught:
        data.fetch("zh_sample", "dev")
    assert expected in str(caught.value)
    assert sha256(copy) in str(caught.value)
    assert str(copy) in str(caught.value)


def test_places_tried_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZH_ELMO_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ZH_ELMO_CACHE", str(tmp_path / "cache"))
    with pytest.raises(BadInput, match="no address") as caught:
        data.fetch("raw_other_kk")
    for place in (tmp_path / "data/raw_other/kk.txt.xz", tmp_path / "cache/data/raw_other/kk.txt.xz"):
        assert str(place) in str(caught.value)


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalogue of one data set whose file holds "text\\n"; the folder for its cache and its package."""
    monkeypatch.delenv("ZH_ELMO_DATA", raising=False)
    monkeypatch.setenv("ZH_ELMO_CACHE", str(tmp_path / "cache"))
    (tmp_path / "text.txt").write_bytes(b"text\n")
    return tmp_path


def entry(folder: Path, origin: str, url: str = "", digest: str = "") -> Dataset:
    right = sha256(folder / "text.txt")
    file = DataFile(path="made_up/text.txt", sha256=right, role="text", url=url, url_sha256=digest or right)
    return Dataset(
        name="made-up", title="Made up", kind="text", language="zh", licence="CC0", attribution="nobody",
        origin=origin, reader="lines", files=[file],
    )  # fmt: skip


def test_a_package_is_read_without_importing_it(made_up: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = made_up / "site/made_up"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    shutil.copy(made_up / "text.txt", package / "text.txt")
    one = entry(made_up, "package made_up 1.0")
    with pytest.raises(BadInput, match="pip install made_up"):
        data.bring(one, one.files[0])
    monkeypatch.syspath_prepend(str(made_up / "site"))
    assert data.bring(one, one.files[0]) == package / "text.txt"
    assert "made_up" not in sys.modules


@pytest.fixture
def server(made_up: Path) -> Iterator[str]:
    """An address that serves the folder."""
    handler = functools.partial(QuietHandler, directory=str(made_up))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()
        thread.join()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def test_the_origin_is_asked_once(made_up: Path, server: str) -> None:
    one = entry(made_up, server, f"{server}/text.txt")
    path = data.bring(one, one.files[0])
    assert path.read_bytes() == b"text\n"
    assert path.is_relative_to(made_up / "cache")
    gone = entry(made_up, server, "http://127.0.0.1:9/text.txt")
    assert data.bring(gone, gone.files[0]) == path


def test_what_the_origin_sends_is_checked(made_up: Path, server: str) -> None:
    one = entry(made_up, server, f"{server}/text.txt", digest="0" * 64)
    with pytest.raises(BadInput, match="0000"):
        data.bring(one, one.files[0])
    assert not list((made_up / "cache").rglob("*.txt"))


@pytest.mark.parametrize("below", ["127.0.0.1_9/text.txt", "text.txt"])
def test_a_mirror_stands_for_the_origin(made_up: Path, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    copy = made_up / "mirror" / below
    copy.parent.mkdir(parents=True)
    shutil.copy(made_up / "text.txt", copy)
    monkeypatch.setenv("ZH_ELMO_MIRROR", str(made_up / "mirror"))
    one = entry(made_up, "somewhere", "http://127.0.0.1:9/text.txt")
    path = data.bring(one, one.files[0])
    assert path.read_bytes() == b"text\n"
    assert path.is_relative_to(made_up / "cache")
    path.unlink()
    copy.write_bytes(b"other\n")
    with pytest.raises(BadInput, match=sha256(copy)):
        data.bring(one, one.files[0])
    assert not path.exists()


def test_a_download_of_the_catalogue_goes_on(made_up: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zh_elmo.fetch.download.PAUSES", (0.0,))
    with serving() as server:
        url = server.add("text.txt", b"text\n", cuts=[2, 1])
        path = data.bring(one := entry(made_up, "somewhere", url), one.files[0])
        assert [wanted for _, wanted in server.asked] == [None, "bytes=2-", "bytes=3-"]
    assert path.read_bytes() == b"text\n"
    assert [file.name for file in path.parent.iterdir()] == ["text.txt"]


def test_an_origin_that_does_not_answer_is_one_line(made_up: Path) -> None:
    one = entry(made_up, "somewhere", "http://127.0.0.1:9/text.txt")
    with pytest.raises(BadInput, match="cannot be fetched") as caught:
        data.bring(one, one.files[0])
    assert "\n" not in str(caught.value)
