"""Hashes on the disk in place of sets in memory: the same answers; builds that are interrupted go on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from zh_elmo.corpus import index as indexing
from zh_elmo.corpus import order as ordering
from zh_elmo.corpus import repeated as repeating
from zh_elmo.corpus import tasks as tasking
from zh_elmo.corpus.build import build
from zh_elmo.corpus.chunk import is_whole, pack, unpack
from zh_elmo.corpus.cut import Cutter, Task
from zh_elmo.corpus.exclude import Excluded
from zh_elmo.corpus.index import TypeIndex, of_paragraphs
from zh_elmo.corpus.order import PADDING, WordFile
from zh_elmo.corpus.repeated import Repeated
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.corpus.store import Corpus
from zh_elmo.corpus.work import Work
from zh_elmo.files import BadInput
from zh_elmo.text.pipeline import TextSettings

SETTINGS = CorpusSettings(text=TextSettings(segmenter="words"), held_out=0.1)


def hashes(words: list[str]) -> np.ndarray:
    return indexing.hashes(words, np.array(list(map(len, words)), np.int64))


def random_words(number: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    letters = "abcé中国的是了😀\ud800" + "".join(map(chr, range(0x4E00, 0x4E40)))
    return ["".join(draw.choices(letters, k=draw.choice((1, 2, 2, 3, 9, 30)))) for _ in range(number)]


def text(lines: int, seed: int = 0) -> str:
    draw = random.Random(seed)
    words = [word.replace("\ud800", "x") for word in random_words(500, seed)]
    return "".join(" ".join(draw.choices(words, k=draw.randrange(1, 9))) + "\n" for _ in range(lines))


# Types --------------------------------------------------------------------------------------------------------------


def test_hashes_tell_words_apart_and_do_not_depend_on_company():
    words = list(dict.fromkeys([*random_words(20_000), "", "a", "aa", "ab", "ba", "\0", "\0\0"]))
    found = hashes(words)
    assert len(np.unique(found[:, 0])) == len(np.unique(found[:, 1])) == len(words)
    assert np.array_equal(hashes(words[7:9]), found[7:9])
    assert hashes([]).shape == (0, 2)
    bits = np.unpackbits(found.view(np.uint8)).mean()
    assert abs(bits - 0.5) < 0.005


def test_hashes_of_paragraphs_depend_on_words_their_order_and_the_seed_alone():
    words = hashes(["a", "b", "a", "b", "b", "a", "a", "b"])[:, 0]
    bounds = np.array([0, 2, 4, 4, 6, 7, 8, 8])
    found = of_paragraphs(words, bounds, 0).tolist()
    assert found[0] == found[1]
    assert found[2] == found[6]  # of no words
    assert len(set(found)) == 5  # ab, nothing, ba, a, b
    assert found[3:6] == of_paragraphs(words[4:], bounds[3:7] - 4, 0).tolist()
    assert not {*found} & {*of_paragraphs(words, bounds, 1).tolist()}


def test_hashes_of_paragraphs_are_spread_evenly():
    words = hashes([str(number) for number in range(20_000)])[:, 0]
    found = of_paragraphs(words, np.arange(0, 20_001, 2), 5)
    assert len(np.unique(found)) == 10_000
    assert abs((found < 2**64 // 10).mean() - 0.1) < 0.01


def test_numbers_come_in_the_order_of_first_sight(tmp_path, monkeypatch):
    monkeypatch.setattr(indexing, "_SLOTS", 4)  # grows often, and its end is met
    words, due = random_words(3000, 1), {}
    index = TypeIndex(tmp_path / "words")
    for start in range(0, len(words), 100):
        distinct = list(dict.fromkeys(words[start : start + 100]))
        numbers = [due.setdefault(word, len(due)) for word in distinct]
        assert index.numbers(hashes(distinct), distinct).tolist() == numbers
    assert len(index) == len(due)
    index.close()
    monkeypatch.setattr(ordering, "_READ", 9)
    found = WordFile(tmp_path / "words", len(due)).lists(np.arange(len(due), dtype=np.uint32))
    assert [word.decode("utf-8", "surrogatepass") for words in found for word in words] == list(due)


def test_a_collision_of_hashes_is_an_error_not_a_wrong_corpus(tmp_path):
    index = TypeIndex(tmp_path / "words")
    index.numbers(np.array([[5, 1 << 32]], np.uint64), ["a"])
    with pytest.raises(BadInput, match="same first 64 bits"):
        index.numbers(np.array([[5, 2 << 32]], np.uint64), ["b"])
    with pytest.raises(BadInput, match="same first 64 bits"):
        index.numbers(np.array([[6, 1 << 32], [6, 2 << 32]], np.uint64), ["c", "d"])
    index.close()


@pytest.mark.parametrize("at_once", [7, 1 << 19])
def test_order_is_by_frequency_then_by_code_point(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr(ordering, "_AT_ONCE", at_once)
    words = list(dict.fromkeys([*random_words(4000, 2), *("共" * 9 + c for c in "甲乙丙"), "共" * 5, "共" * 6, "a"]))
    counts = np.random.default_rng(1).integers(0, 4, len(words))
    raw = "".join(word + "\n" for word in words).encode("utf-8", "surrogatepass")
    (tmp_path / "words").write_bytes(raw + PADDING)
    file = WordFile(tmp_path / "words", len(words))
    order = file.by_frequency(counts, np.arange(len(words), dtype=np.uint32))
    assert [words[n] for n in order] == [w for _, w in sorted(zip((-counts).tolist(), words, strict=True))]
    some = file.by_frequency(counts, np.arange(0, len(words), 3, dtype=np.uint32))
    assert some.tolist() == [number for number in order.tolist() if number % 3 == 0]
    (tmp_path / "none").write_bytes(PADDING)
    none = np.empty(0, np.uint32)
    assert len(WordFile(tmp_path / "none", 0).by_frequency(np.empty(0, np.int64), none)) == 0


# Duplicates -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_memory", [10, 1000, 1 << 20])
def test_what_was_there_before(tmp_path, monkeypatch, in_memory):
    monkeypatch.setattr(repeating, "_IN_MEMORY", in_memory)
    monkeypatch.setattr(repeating, "_BLOCK", 300)
    values = np.random.default_rng(3).integers(0, 2**64, 900, dtype=np.uint64)
    all_of_them = np.random.default_rng(4).choice(np.concatenate([values, np.zeros(50, np.uint64)]), 5000)
    repeated = Repeated(tmp_path / "r")
    for part in np.split(all_of_them, [7, 7, 1000, 4000]):
        repeated.add(part)
    seen: set[int] = set()
    due = [int(value != 0 and value in seen) or seen.add(value) or 0 for value in all_of_them.tolist()]
    assert repeated.flags().tolist() == due
    repeated.clear()
    assert not (tmp_path / "r").exists()


def test_nothing_is_repeated_where_there_is_nothing(tmp_path):
    assert len(Repeated(tmp_path / "r").flags()) == 0


# Chunks and work ------------------------------------------------------------------------------------------------------


def test_a_chunk_as_bytes():
    chunk = Cutter(SETTINGS, Excluded([]))(Task(["甲 乙 甲", "", "\u200b", "丙 " * 300], 10, 12))
    raw = pack(chunk)
    assert is_whole(raw)
    assert not any(is_whole(damaged) for damaged in (raw[:-1], raw[1:], raw[:20] + b"x" + raw[21:], b"", b"x" * 40))
    again = unpack(raw)
    assert (again.types, again.dropped, again.changes) == (chunk.types, chunk.dropped, chunk.changes)
    assert (again.characters, again.read) == (10, 12)
    for name in ("ids", "bounds", "hashes", "type_hashes"):
        assert np.array_equal(getattr(again, name), getattr(chunk, name))
    empty = unpack(pack(Cutter(SETTINGS, Excluded([]))(Task([], 0, 0))))
    assert empty.types == []


def test_two_builds_of_one_corpus_at_once_are_refused(tmp_path):
    with Work(tmp_path / "c", 1), pytest.raises(BadInput, match="another process builds this corpus"):
        Work(tmp_path / "c", 1)


def test_an_interrupted_build_goes_on_and_gives_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(tasking, "TASK", 2000)
    (tmp_path / "t.txt").write_text(text(1000).replace("\n", "\n\n"), "utf-8")  # each line a document
    due = build(SETTINGS, [tmp_path / "t.txt"], tmp_path / "whole", quiet=True)["digest"]
    cut, calls = Cutter.__call__, []

    def failing(self, task):
        calls.append(1)
        if len(calls) == 4:
            raise OSError(28, "No space left on device")
        return cut(self, task)

    monkeypatch.setattr(Cutter, "__call__", failing)
    with pytest.raises(OSError, match="No space"):
        build(SETTINGS, [tmp_path / "t.txt"], tmp_path / "c", quiet=True)
    assert not (tmp_path / "c").exists()
    left = len(list((tmp_path / ".c.build").glob("*.chunk")))
    assert left == 3
    calls[:] = [1] * 10
    damaged = tmp_path / ".c.build" / "000000-000001.chunk"
    damaged.write_bytes(damaged.read_bytes()[:-5])  # lost in a power failure: cut again
    assert build(SETTINGS, [tmp_path / "t.txt"], tmp_path / "c", quiet=True)["digest"] == due
    total = len(text(1000)) // 2000
    assert total - left <= len(calls) - 10 <= total - left + 5
    assert not (tmp_path / ".c.build").exists()


def test_other_settings_begin_anew(tmp_path):
    work = Work(tmp_path / "c", [1])
    work.path((0, 0)).write_bytes(b"x")
    work.__exit__(KeyboardInterrupt)
    work = Work(tmp_path / "c", [1])
    assert work.path((0, 0)).exists()
    work.__exit__(KeyboardInterrupt)
    with Work(tmp_path / "c", [2]) as work:
        assert not work.path((0, 0)).exists()
    assert not (tmp_path / ".c.build").exists()


BUILD = """
import sys
from pathlib import Path
from zh_elmo.corpus import build as building, tasks
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.text.pipeline import TextSettings
tasks.TASK = 3000
settings = CorpusSettings(text=TextSettings(segmenter="words"), held_out=0.1)
building.build(settings, [Path(sys.argv[1])], Path(sys.argv[2]), quiet=True)
"""


WITH_WORKERS = """
import sys, time
from pathlib import Path
from zh_elmo.corpus import processes, tasks
from zh_elmo.corpus.build import build
from zh_elmo.corpus.settings import CorpusSettings
if __name__ == "__main__":
    tasks.TASK = 3000
    write = processes.write
    processes.write = lambda path, raw: (time.sleep(1), write(path, raw))
    build(CorpusSettings(), [sys.argv[1]], Path(sys.argv[2]), workers=2, quiet=True)
"""


@pytest.fixture
def with_workers(tmp_path):
    """The command of a build with one process beside it."""
    (tmp_path / "t.txt").write_text(text(20_000), "utf-8")
    (tmp_path / "script.py").write_text(WITH_WORKERS, "utf-8")
    return [sys.executable, *map(str, (tmp_path / "script.py", tmp_path / "t.txt", tmp_path / "c"))]


def worker_of(process):
    """Of a build that has just begun."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    until = time.monotonic() + 60
    while True:
        for pid in children.read_text().split():
            if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        assert time.monotonic() < until
        time.sleep(0.02)


def test_workers_end_when_the_build_is_killed(with_workers):
    process = subprocess.Popen(with_workers)
    worker = worker_of(process)
    time.sleep(1)
    process.kill()
    process.wait()
    until = time.monotonic() + 60
    while state(worker) != "Z":
        assert time.monotonic() < until, "it lives on"
        time.sleep(0.05)


@pytest.mark.parametrize("moment", [0.0, 0.2, 0.5, 1.0, 1.5, 3.0])
def test_a_worker_that_is_killed_ends_the_build(moment, with_workers):
    """Also while it starts, and while it is told what to do."""
    process = subprocess.Popen(with_workers, stderr=subprocess.PIPE, text=True)
    worker = worker_of(process)
    time.sleep(moment)
    os.kill(int(worker), signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert said.splitlines()[-1].startswith("OSError: a worker process died (exit code -9)")


def test_interrupted_a_build_says_nothing_of_its_workers(with_workers):
    for moment in (0.0, 0.3, 1.5):
        process = subprocess.Popen(with_workers, stderr=subprocess.PIPE, text=True, start_new_session=True)
        worker_of(process)
        time.sleep(moment)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, said = process.communicate(timeout=60)
        assert said.count("Traceback") == 1  # of the script
        assert said.splitlines()[-1] == "KeyboardInterrupt"


def state(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_killed_at_any_moment_a_corpus_is_whole_or_not_there(tmp_path):
    """20 times SIGKILL, each a little later; then the build ends, with the same bytes as one that was let alone."""
    (tmp_path / "t.txt").write_text(text(20_000), "utf-8")
    command = [sys.executable, "-c", BUILD, str(tmp_path / "t.txt")]
    started = time.monotonic()
    subprocess.run([*command, str(tmp_path / "whole")], check=True)
    whole = time.monotonic() - started
    draw, out = random.Random(7), tmp_path / "c"
    for _ in range(20):
        process = subprocess.Popen([*command, str(out)])
        time.sleep(draw.uniform(0.2, 1.0) * whole)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if out.exists():
            Corpus.open(out)
            break
    subprocess.run([*command, str(out)], check=True)
    assert Corpus.open(out).digest == Corpus.open(tmp_path / "whole").digest
    assert sorted(path.name for path in tmp_path.iterdir() if "part" not in path.name) == ["c", "t.txt", "whole"]
