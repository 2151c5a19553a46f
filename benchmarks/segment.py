"""Segmenters: word F1 on UD test files with and without the detour through simplified, rates, and what offsets cost.

    ZH_ELMO_DATA=../shared/data python benchmarks/segment.py [PKUSEG_MODEL]

F1 is of the whole pipeline on the raw text of each sentence, script kept: exact gold spans, white space ignored. Rates
are CPU time of the segmenter alone, with offsets, on those texts normalised (jieba's first words, which load its
dictionary, apart). Claim: our segmenter by rjieba, made equal to jieba and with offsets, takes at most 1.5 times
as long as bare `rjieba.cut`; both in one run on the same sentences, batch by batch in turn, the best of ROUNDS for each
batch. PKUSEG_MODEL is the folder that `zh-elmo train segment-gsd` makes.
"""

from __future__ import annotations

import lzma
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from zh_elmo.text import script, segment, sentences
from zh_elmo.text.normalise import normalise
from zh_elmo.text.pipeline import Pipeline, TextSettings
from zh_elmo.text.segmenters import jieba
from zh_elmo.ud import conllu
from zh_elmo.ud.words import word_score

TREEBANKS = ("zh_gsdsimp", "zh_gsd", "zh_hk")
CHARACTERS = 20_000  # of every file of raw text
BATCH, ROUNDS = 100, 15
NEEDED = 1.5  # the claim


def rows(model: str) -> Iterator[tuple[str, str, TextSettings]]:
    """(title, library, settings)."""
    for library in ("jieba", "rjieba"):
        for hmm in (True, False):
            for detour in (True, False):
                name = f"{library}{'' if hmm else ', no HMM'}, {'through simplified' if detour else 'direct'}"
                yield name, library, TextSettings(script="keep", hmm=hmm, through_simplified=detour)
    yield "characters", "", TextSettings(script="keep", segmenter="characters")
    if model:
        for detour in (True, False):
            given = TextSettings(script="keep", segmenter="pkuseg", segmenter_model=model, through_simplified=detour)
            yield f"pkuseg, {'through simplified' if detour else 'direct'}", "", given


def table(data: Path, model: str) -> None:
    banks = {name: conllu.read(data / f"ud/{name}-ud-test.conllu.xz") for name in TREEBANKS}
    texts = [normal(sentence.text) for bank in banks.values() for sentence in bank]
    print(f"{'word F1':36s}" + "".join(f"{name:>12s}" for name in banks) + f"{'characters/s':>16s}")
    for title, library, settings in rows(model):
        jieba._has_rjieba = lambda library=library: library == "rjieba"  # which of the two cuts
        scores = [word_score(bank, Pipeline(settings)).f1 for bank in banks.values()]
        tokens = segment.segmenter(settings).tokens
        tokens(texts[0])
        rate = sum(map(len, texts)) / min(seconds(tokens, texts) for _ in range(3))
        print(f"{title:36s}" + "".join(f"{score:12.2f}" for score in scores) + f"{rate:16,.0f}", flush=True)


def normal(text: str) -> str:
    return normalise(text, punctuation="full", quotes="curly").text


def seconds(run: Callable[[str], object], texts: list[str]) -> float:
    start = time.process_time()
    for text in texts:
        run(text)
    return time.process_time() - start


def overhead(data: Path) -> bool:
    """Bare rjieba against our segmenter, on sentences and on lines of raw text in simplified script."""
    jieba._has_rjieba = lambda: True
    bare = jieba._rust_engine(
        None, ()
    ).cut  # the same object, so that neither has the caches of the processor for itself
    ours = segment.segmenter(TextSettings())
    runs: dict[str, Callable[[str], Any]] = {"bare cut": bare, "our cut": ours.cut, "our tokens": ours.tokens}
    held = True
    print(f"\n{'time over bare rjieba.cut':36s}" + "".join(f"{name:>12s}" for name in runs))
    for folder in ("raw_zh_hans", "raw_zh_hant"):
        lines = [script.to_simplified(normal(line)) for line in raw_lines(data / folder)]
        cut_lines = [line[start:end] for line in lines for start, end in sentences.split(line)]
        for unit, texts in (("lines", [line for line in lines if line]), ("sentences", cut_lines)):
            times = in_turn(runs, texts)
            ratios = [times[name] / times["bare cut"] for name in runs]
            held &= ratios[-1] <= NEEDED
            mean = sum(map(len, texts)) / len(texts)
            print(f"{f'{folder}, {unit} of {mean:.0f}':36s}" + "".join(f"{ratio:12.2f}" for ratio in ratios))
    return held


def raw_lines(folder: Path) -> list[str]:
    lines: list[str] = []
    for path in sorted(folder.glob("*.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as stream:
            lines += stream.read(CHARACTERS).split("\n")
    return lines


def in_turn(runs: dict[str, Callable[[str], Any]], texts: list[str]) -> dict[str, float]:
    total = dict.fromkeys(runs, 0.0)
    for first in range(0, len(texts), BATCH):
        batch = texts[first : first + BATCH]
        best = dict.fromkeys(runs, 1e9)
        for _ in range(ROUNDS):
            for name, run in runs.items():
                start = time.perf_counter()
                for text in batch:
                    run(text)
                best[name] = min(best[name], time.perf_counter() - start)
        for name in runs:
            total[name] += best[name]
    return total


def main() -> int:
    data = Path(os.environ["ZH_ELMO_DATA"])
    table(data, sys.argv[1] if len(sys.argv) > 1 else "")
    held = overhead(data)
    print(f"\nat most {NEEDED} times bare rjieba, offsets included: {'yes' if held else 'NO'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
