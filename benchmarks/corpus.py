"""Raw text to shards against a plain pipeline, where the time goes, two workers, and memory.

    ZH_ELMO_DATA=../shared/data python benchmarks/corpus.py [speed] [jieba] [workers] [memory]

Text is all of raw_zh_hans and of raw_zh_hant, repeated with seeded changes (one character in 40 by another of the
text) until it is MEGABYTES of UTF-8. The plain pipeline reads a line, converts it by opencc-python-reimplemented's
t2s, cuts it by jieba and writes the words. Ours is `build` with everything on: normalise, script, sentences, segment,
exact duplicates, shards, types. Rates are characters by CPU time of one core, both in one run: for each tenth of the
text the plain pipeline on the beginning of it, then ours on all of it. Claims: with rjieba 12 times as fast on either
script, with jieba 1.2 times; the type index takes at most 15 % of the whole; two workers reach 95 % of what two copies
of a bare `rjieba.cut` loop over the same text reach over one (wall clock, on an idle machine); with two workers the
memory of all processes together (PSS, every half second) stays under 600 MB, and 1 GB of text takes at most 80 MB more
than 100 MB.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import lzma
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from zh_elmo.corpus import build as building
from zh_elmo.corpus import index, order, processes, repeated
from zh_elmo.corpus.cut import Cutter
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.text import batch, script, sentence_arrays
from zh_elmo.text.pipeline import Pipeline
from zh_elmo.text.segmenters import jieba as our_jieba

MEGABYTES = 50
SCRIPTS = ("hans", "hant")
BLOCKS = 10  # of the text; the plain pipeline takes a tenth of each
NEEDED, NEEDED_JIEBA, MOST_FOR_TYPES, NEEDED_OF_TWO = 12, 1.2, 0.15, 0.95
MOST_MEMORY, MOST_GROWTH = 600, 80  # MB
BARE = """
import sys, time
import rjieba
jieba, lines = rjieba.Jieba(), open(sys.argv[1], encoding="utf-8").read().split("\\n")
jieba.cut(lines[0], True)
print("ready", flush=True)
sys.stdin.readline()
start = time.perf_counter()
for line in lines:
    jieba.cut(line, True)
print(time.perf_counter() - start, flush=True)
"""


def text(name: str, megabytes: float) -> Iterator[str]:
    """Lines of raw text of about that size, none of them repeated by us."""
    data = Path(os.environ["ZH_ELMO_DATA"])
    lines: list[str] = []
    for path in sorted((data / f"raw_zh_{name}").glob("*.xz")):
        lines += [*lzma.decompress(path.read_bytes()).decode().split("\n"), ""]
    characters = "".join(lines)
    draw = random.Random(0)
    left, first = megabytes * 1e6, True
    while True:
        for line in lines:
            if line and not first:
                changed = list(line)
                for _ in range(1 + len(line) // 40):
                    changed[draw.randrange(len(line))] = characters[draw.randrange(len(characters))]
                line = "".join(changed)
            left -= len(line.encode()) + 1
            yield line
            if left < 0:
                return
        first = False


# Speed ---------------------------------------------------------------------------------------------------------------


def plain(lines: list[str]) -> float:
    """CPU seconds of the plain pipeline."""
    import jieba
    import opencc

    jieba.setLogLevel(logging.WARNING)
    jieba.initialize()
    converter, out = opencc.OpenCC("t2s"), io.StringIO()
    start = time.process_time()
    for line in lines:
        out.write(" ".join(jieba.cut(converter.convert(line))) + "\n")
    return time.process_time() - start


def ours(lines: list[str], folder: Path) -> tuple[float, dict[str, float]]:
    """CPU seconds of a build, and of its parts."""
    (folder / "text.txt").write_text("\n".join(lines) + "\n", "utf-8")
    with timed() as parts:
        start = time.process_time()
        building.build(CorpusSettings(), [folder / "text.txt"], folder / "corpus", quiet=True)
        total = time.process_time() - start
    shutil.rmtree(folder / "corpus")
    return total, parts


STEPS: list[tuple[str, Any, str]] = [
    ("read", processes, "reading"), ("all cutting", Cutter, "__call__"), ("  normalise", Pipeline, "normalised"),
    ("  script", script.Converter, "documents"), ("  sentences", sentence_arrays, "split"),
    ("  words and ids", batch.Batch, "_words"), ("chunks to disk", processes, "pack"),
    ("chunks to disk", processes, "write"), ("chunks from disk", building.Work, "chunk"),
    ("type index", index.TypeIndex, "numbers"), ("type index", order.WordFile, "by_frequency"),
    ("duplicates", repeated.Repeated, "flags"), ("counting and shards", building, "_written"),
]  # fmt: skip


@contextlib.contextmanager
def timed() -> Iterator[dict[str, float]]:
    """CPU seconds in STEPS, while the context lasts."""
    spent: dict[str, float] = defaultdict(float)
    before = [getattr(owner, name) for _, owner, name in STEPS]

    def watched(title: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def inner(*given: Any, **named: Any) -> Any:
            start = time.process_time()
            result = call(*given, **named)
            spent[title] += time.process_time() - start
            return each(result) if hasattr(result, "send") else result

        def each(items: Iterator[Any]) -> Iterator[Any]:
            while True:
                start = time.process_time()
                item = next(items, None)
                spent[title] += time.process_time() - start
                if item is None:
                    return
                yield item

        return inner

    for (title, owner, name), call in zip(STEPS, before, strict=True):
        setattr(owner, name, watched(title, call))
    try:
        yield spent
    finally:
        for (_, owner, name), call in zip(STEPS, before, strict=True):
            setattr(owner, name, call)


def speed(name: str, megabytes: float, needed: float, folder: Path) -> bool:
    lines = list(text(name, megabytes))
    size = -(-len(lines) // BLOCKS)
    blocks = [lines[start : start + size] for start in range(0, len(lines), size)]
    ours(blocks[0][:100], folder)  # tables and dictionary
    ratios: list[float] = []
    spent: dict[str, float] = defaultdict(float)
    total, characters, plain_seconds, plain_characters = 0.0, 0, 0.0, 0
    for block in blocks:
        part = block[: size // 10]
        seconds = plain(part)
        own, parts = ours(block, folder)
        of_part, of_block = sum(map(len, part)), sum(map(len, block))
        ratios.append((of_block / own) / (of_part / seconds))
        total, characters = total + own, characters + of_block
        plain_seconds, plain_characters = plain_seconds + seconds, plain_characters + of_part
        for step, taken in parts.items():
            spent[step] += taken
    ratio = (characters / total) / (plain_characters / plain_seconds)
    types = spent["type index"] / total
    print(
        f"{name}: {characters:,} characters, plain {plain_characters / plain_seconds:,.0f}/s, ours "
        f"{characters / total:,.0f}/s: {ratio:.1f} times (median of {len(ratios)} blocks {median(ratios):.1f}); "
        f"type index {types:.1%}"
    )
    for step, taken in spent.items():
        print(f"    {step:22s}{taken / total:7.1%}{taken / characters * 1e9:8.0f} ns a character")
    print(flush=True)
    return ratio >= needed and types <= MOST_FOR_TYPES


# Two workers ---------------------------------------------------------------------------------------------------------


def bare(path: Path, copies: int) -> float:
    """Wall seconds of so many loops at once."""
    command = [sys.executable, "-c", BARE, str(path)]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(copies)
    ]
    for process in running:
        process.stdout.readline()
    for process in running:
        process.stdin.write("\n")
        process.stdin.flush()
    return max(float(process.communicate()[0]) for process in running)


def workers(folder: Path) -> bool:
    """Speed-up by two workers, and that of two bare loops; alternately, medians of three."""
    path = folder / "text.txt"
    path.write_text("\n".join(text("hans", 3 * MEGABYTES)) + "\n", "utf-8")
    reached, possible = [], []
    for _ in range(3):
        seconds = {}
        for number in (1, 2):
            start = time.perf_counter()
            building.build(CorpusSettings(), [path], folder / "corpus", workers=number, quiet=True)
            seconds[number] = time.perf_counter() - start
            shutil.rmtree(folder / "corpus")
        reached.append(seconds[1] / seconds[2])
        possible.append(2 * bare(path, 1) / bare(path, 2))
        of_bare = f"bare loops {possible[-1]:.2f} times"
        print(f"    one worker {seconds[1]:.1f} s, two {seconds[2]:.1f} s; {of_bare}", flush=True)
    share = median(reached) / median(possible)
    print(f"two workers {median(reached):.2f} times as fast as one; two bare loops {median(possible):.2f}: {share:.1%}")
    return share >= NEEDED_OF_TWO


# Memory --------------------------------------------------------------------------------------------------------------


def memory(folder: Path) -> bool:
    """PSS of a build with two workers, of 100 MB and of 1 GB."""
    most = []
    for megabytes in (100, 1000):
        path = folder / "text.txt"
        with open(path, "w", encoding="utf-8") as stream:
            stream.writelines(line + "\n" for line in text("hans", megabytes))
        code = (
            "import sys; from pathlib import Path; from zh_elmo.corpus.build import build\n"
            "from zh_elmo.corpus.settings import CorpusSettings\n"
            "if __name__ == '__main__':\n"
            "    build(CorpusSettings(), [sys.argv[1]], Path(sys.argv[2]), workers=2, quiet=True)"
        )
        (folder / "job.py").write_text(code, "utf-8")
        process = subprocess.Popen([sys.executable, str(folder / "job.py"), str(path), str(folder / "corpus")])
        samples = []
        while process.poll() is None:
            samples.append(pss(process.pid))
            time.sleep(0.5)
        assert process.returncode == 0
        most.append(max(samples))
        types = json.loads((folder / "corpus/manifest.json").read_text("utf-8"))["counts"]["types"]
        print(f"{megabytes} MB of text, {types:,} word types: {most[-1]:.0f} MB at most, {median(samples):.0f} usually")
        shutil.rmtree(folder / "corpus")
    print(f"1 GB takes {most[1] - most[0]:.0f} MB more than 100 MB", flush=True)
    return max(most) < MOST_MEMORY and most[1] - most[0] < MOST_GROWTH


def pss(pid: int) -> float:
    """MB of a process and of all below it."""
    total = 0.0
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) / 1000
        children = Path(f"/proc/{pid}/task").glob("*/children")
        for child in {child for path in children for child in path.read_text().split()}:
            total += pss(int(child))
    return total


def main(wanted: list[str]) -> int:
    wanted = wanted or ["speed", "jieba", "workers"]
    kept = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "speed" in wanted:
            kept += [speed(of, MEGABYTES, NEEDED, folder) for of in SCRIPTS]
        if "jieba" in wanted:
            our_jieba._has_rjieba = lambda: False
            print("by jieba:")
            kept += [speed(of, MEGABYTES / 10, NEEDED_JIEBA, folder) for of in SCRIPTS]
            del our_jieba._has_rjieba
        if "workers" in wanted:
            kept.append(workers(folder))
        if "memory" in wanted:
            kept.append(memory(folder))
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
