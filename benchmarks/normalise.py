"""The normaliser's share of the whole pipeline: at most 10 % on clean text, 25 % where one line in ten needs work.

    ZH_ELMO_DATA=../shared/data python benchmarks/normalise.py [CHARACTERS]

CPU time on CHARACTERS (20,000) of every file of raw_zh_hant and raw_zh_hans, line by line with the settings of the `zh`
recipes, median of five rounds, both sides in every round. Clean: NFC, nothing to remove, no half-width Chinese mark.
Dirty: every tenth line with an ideographic space, full-width digits, an invisible character and a half-width comma.
"""

from __future__ import annotations

import lzma
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from zh_elmo.text.normalise import Normalised, normalise
from zh_elmo.text.pipeline import Pipeline, TextSettings

ROUNDS = 5


def lines_of(folder: Path, characters: int) -> list[str]:
    lines: list[str] = []
    for path in sorted(folder.glob("*.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as stream:
            lines += stream.read(characters).split("\n")
    return [line for line in lines if line]


def full(line: str) -> Normalised:
    return normalise(line, punctuation="full", quotes="curly")


def seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def share(name: str, lines: list[str], most: float) -> None:
    pipeline = Pipeline(TextSettings())
    pipeline.forms(lines[0])  # loads the segmenter
    of_normaliser, of_pipeline = [], []
    for _ in range(ROUNDS):
        of_normaliser.append(seconds(lambda: [full(line) for line in lines]))
        of_pipeline.append(seconds(lambda: [pipeline.forms(line) for line in lines]))
    parts = [one / whole for one, whole in zip(of_normaliser, of_pipeline, strict=True)]
    rate = sum(map(len, lines)) / statistics.median(of_normaliser) / 1e6
    print(
        f"  {name:28} {rate:6.1f} M characters a second  {statistics.median(parts):6.1%} of the pipeline (≤ {most:.0%})"
    )


def main() -> None:
    data = os.environ.get("ZH_ELMO_DATA")
    if not data:
        sys.exit("ZH_ELMO_DATA must name the folder of raw_zh_hant and raw_zh_hans")
    characters = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    for name in ("raw_zh_hant", "raw_zh_hans"):
        lines = lines_of(Path(data, name), characters)
        clean = [line for line in lines if full(line) == Normalised(line)]
        dirty = [f"\u3000{line}\u200b，１２,好" if number % 10 == 0 else line for number, line in enumerate(clean)]
        print(f"{name}: {len(clean) / len(lines):.1%} of {len(lines):,} lines are clean")
        share("clean lines", clean, 0.10)
        share("one line in ten needs work", dirty, 0.25)
        share("lines as they are", lines, 0.25)


if __name__ == "__main__":
    main()
