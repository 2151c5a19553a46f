"""The engine `ray`: on a local cluster with two workers the same corpus, to the byte."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from zh_elmo.corpus import cluster
from zh_elmo.corpus import tasks as tasking
from zh_elmo.corpus.build import build
from zh_elmo.corpus.cut import Cutter
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.corpus.tasks import Read
from zh_elmo.corpus.work import Work
from zh_elmo.files import BadInput
from zh_elmo.text.pipeline import TextSettings

SETTINGS = CorpusSettings(text=TextSettings(segmenter="characters"), held_out=0.1, near_duplicates=0.8)


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """One cluster for all tests, since it takes seconds to start."""
    pytest.importorskip("ray.data", reason="needs the extra ray")
    with cluster._cluster(2) as started:
        yield started


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    """A file of several tasks, and small ones."""
    draw = random.Random(3)
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, lines in (("a", 9000), ("b", 40), ("c", 40)):
        content = ["".join(draw.choices("甲乙丙丁戊己庚辛壬癸。，", k=draw.randrange(0, 60))) for _ in range(lines)]
        (folder / f"{name}.txt").write_text("\n".join(content), "utf-8")
    return sorted(folder.iterdir())


def digest(texts: list[Path], out: Path, **how: Any) -> str:
    return str(build(SETTINGS, texts, out, quiet=True, **how)["digest"])


def test_the_same_bytes_by_either_engine(texts: list[Path], tmp_path: Path, ray: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tasking, "GROUP", 1000)  # each file a group
    due = digest(texts, tmp_path / "local")
    assert digest(texts, tmp_path / "two", workers=2) == due
    assert digest(texts, tmp_path / "ray", workers=2, engine="ray") == due
    counts = [json.loads((tmp_path / name / "manifest.json").read_text())["counts"] for name in ("local", "ray")]
    assert counts[0] == counts[1]
    assert counts[0]["train"]["words"] > 200_000


def test_a_build_goes_on_by_the_other_engine(
    texts: list[Path], tmp_path: Path, ray: Any, monkeypatch: pytest.MonkeyPatch
):
    due = digest(texts, tmp_path / "whole")
    whole = Cutter.__call__
    calls: list[int] = []

    def failing(self: Cutter, task: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        return whole(self, task)

    with monkeypatch.context() as patch:
        patch.setattr(Cutter, "__call__", failing)
        with pytest.raises(OSError, match="No space"):
            digest(texts, tmp_path / "c")
    there = {path.name: path.stat().st_mtime_ns for path in (tmp_path / ".c.build").glob("*.chunk")}
    assert len(there) == 2
    written: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "write", lambda path, raw: (written.append(path.name), path.write_bytes(raw)))
        assert digest(texts, tmp_path / "c", workers=2, engine="ray") == due
    assert written
    assert not set(there) & set(written)


def test_what_the_sources_are_not_is_said_as_by_the_local_engine(texts: list[Path], tmp_path: Path, ray: Any):
    texts[1].write_bytes("好\n".encode() * 200_000 + b"\xff\xff\n")
    said = []
    for engine in ("local", "ray"):
        with pytest.raises(BadInput, match=r"b\.txt:200001 \(byte 800,000\)") as caught:
            build(CorpusSettings(encoding="utf-8"), texts, tmp_path / engine, engine=engine, quiet=True)  # type: ignore[arg-type]
        said.append(str(caught.value))
        assert not (tmp_path / engine).exists()
    assert said[0] == said[1]


def test_a_worker_that_fails_is_one_line(texts: list[Path], tmp_path: Path, ray: Any):
    class Broken(Cutter):
        def __call__(self, task: Any) -> Any:
            raise ZeroDivisionError("why\nnot")

    from zh_elmo.corpus import sources
    from zh_elmo.corpus.exclude import Excluded

    groups = tasking.groups(sources.find(texts), [1] * 3)
    with Work(tmp_path / "c", 1) as work, pytest.raises(OSError, match="Ray cluster failed") as caught:
        list(cluster.cut(Broken(SETTINGS, Excluded([])), work, groups, workers=2))
    assert "\n" not in str(caught.value)


def test_chunks_in_any_order_are_given_out_in_order(tmp_path: Path):
    with Work(tmp_path / "c", 1) as work:
        work.keep(0, Read(2, 7, []))  # of an earlier build
        order = cluster._Order(work, [0, 1, 2], {1, 2})
        assert list(order.ready()) == [((0, 0), 0), ((0, 1), 7)]

        def take(group: int, number: int, payload: bytes, read: int = 5) -> list[Any]:
            order.take({"group": group, "number": number, "payload": payload, "read": read})
            return list(order.ready())

        assert take(2, 0, b"x", 3) == []
        assert take(1, 1, b"x") == []
        assert take(2, -1, pickle.dumps(Read(1, 3, []))) == []
        assert take(1, 0, b"", 4) == [((1, 0), 4), ((1, 1), 5)]
        assert take(1, -1, pickle.dumps(Read(2, 9, []))) == [((2, 0), 3)]
        assert not work.path((1, 0)).exists()
        assert work.path((1, 1)).read_bytes() == b"x"


def test_without_ray_one_line_says_what_to_install(texts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BadInput, match=r"zh-elmo\[ray\]") as caught:
        build(SETTINGS, texts, tmp_path / "c", engine="ray", quiet=True)
    assert caught.value.usage


def test_the_command_is_quiet(texts: list[Path], tmp_path: Path):
    pytest.importorskip("ray.data", reason="needs the extra ray")
    command = [
        sys.executable, "-m", "zh_elmo", "corpus", "build", str(texts[1]), "--out", str(tmp_path / "c"),
        "--engine", "ray", "--threads", "2", "--quiet",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "RAY_ADDRESS": ""})
    assert (done.returncode, done.stderr) == (0, "")
    assert "digest" in done.stdout
