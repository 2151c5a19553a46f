"""Traditional to simplified: our conversion against the library's `t2s`, which makes the same of every line.

    ZH_ELMO_DATA=../shared/data python benchmarks/script.py [CHARACTERS]

CPU time on CHARACTERS (20,000) of every file of raw_zh_hant and raw_zh_hans, median of five rounds, both sides in each.
`same` is the library's text to the last character; `own` has our own words over it and leaves what is simplified.
"""

from __future__ import annotations

import lzma
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from zh_elmo.text import script, script_library

ROUNDS = 5
PARAGRAPHS = 50  # of one document


def lines_of(folder: Path, characters: int) -> list[str]:
    lines: list[str] = []
    for path in sorted(folder.glob("*.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as stream:
            lines += stream.read(characters).split("\n")
    return lines


def seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def compare(name: str, lines: list[str]) -> None:
    library = script_library.converter("t2s").convert
    to_simplified = script.converter("simplified")
    documents = ["\n".join(lines[first : first + PARAGRAPHS]) for first in range(0, len(lines), PARAGRAPHS)]
    assert [script.by_library(line) for line in lines] == [library(line) for line in lines]
    runs: dict[str, Callable[[], object]] = {
        "library, by lines": lambda: [library(line) for line in lines],
        "same, by lines": lambda: [script.by_library(line) for line in lines],
        "same, by documents": lambda: [script.by_library(document) for document in documents],
        "own, by lines": lambda: [to_simplified(line) for line in lines],
        "own, by documents": lambda: [to_simplified(document) for document in documents],
    }
    times: dict[str, list[float]] = {run: [] for run in runs}
    for _ in range(ROUNDS):
        for run, function in runs.items():
            times[run].append(seconds(function))
    characters = sum(map(len, lines)) + len(lines)
    print(f"{name}: {characters:,} characters in {len(lines):,} lines")
    for run, taken in times.items():
        ratios = [one / other for one, other in zip(times["library, by lines"], taken, strict=True)]
        rate = characters / statistics.median(taken) / 1e6
        print(f"  {run:20} {rate:8.2f} M characters a second  {statistics.median(ratios):7.1f} x the library")


def main() -> None:
    data = os.environ.get("ZH_ELMO_DATA")
    if not data:
        sys.exit("ZH_ELMO_DATA must name the folder of raw_zh_hant and raw_zh_hans")
    characters = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    print(" ".join(script.package().values()))
    for name in ("raw_zh_hant", "raw_zh_hans"):
        compare(name, lines_of(Path(data, name), characters))


if __name__ == "__main__":
    main()
