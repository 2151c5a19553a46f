"""The text that pre-training is measured on, as a corpus: raw_zh_hans without any of our normalisation.

A paragraph is a line that is not blank; sentences end after 。！？!?；… and closing marks; words are jieba's, without
HMM. Every 200th paragraph is held out, and of those (shuffled with seed 1) as many sentences are used as make at most
19,968 predictions in one direction: shared/reference/prototype.md, section 2.
"""

from __future__ import annotations

import json
import lzma
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from zh_elmo.corpus.store import DOCUMENT_END, FORMAT, SENTENCE_END, Corpus
from zh_elmo.files import sha256, write_json

PREDICTIONS = 19_968
_SENTENCE = re.compile(r"[^。！？!?；…]*[。！？!?；…]+[”’」』）)]*|[^。！？!?；…]+")

Paragraph = list[list[str]]


def _paragraphs() -> Iterator[Paragraph]:
    import rjieba

    cut = rjieba.Jieba().cut
    for path in sorted((Path(os.environ["ZH_ELMO_DATA"]) / "raw_zh_hans").glob("*.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            for line in filter(None, map(str.strip, lines)):
                cuts = ([word for word in cut(part, False) if not word.isspace()] for part in _SENTENCE.findall(line))
                yield [words for words in cuts if words]


def corpus(folder: Path) -> Corpus:
    """The corpus in `folder`, made where it is not there yet (a minute)."""
    if (folder / "manifest.json").is_file():
        return Corpus.open(folder)
    folder.mkdir(parents=True, exist_ok=True)
    train, held = [], []
    for number, paragraph in enumerate(_paragraphs()):
        (held if number % 200 == 199 else train).append(paragraph)
    chosen = _chosen(held)
    counts = Counter(word for paragraph in train for sentence in paragraph for word in sentence)
    types = sorted(counts, key=lambda word: (-counts[word], word))
    types += sorted({word for paragraph in chosen for sentence in paragraph for word in sentence} - counts.keys())
    numbers = {word: number for number, word in enumerate(types)}
    (folder / "types.txt").write_text("".join(f"{word}\t{counts[word]}\n" for word in types), "utf-8")
    for name, part in (("shard-0000.bin", train), ("heldout.bin", chosen)):
        (folder / name).write_bytes(np.array(list(_ids(part, numbers)), "<u4").tobytes())
    files = {path.name: {"bytes": path.stat().st_size, "sha256": sha256(path)} for path in sorted(folder.iterdir())}
    digest = "".join(facts["sha256"] for facts in files.values())[:64]
    about = {"sources": [{"name": "raw_zh_hans"}], "settings": {"exclude": []}, "text": {"settings": {}}}
    write_json(folder / "manifest.json", {"format": FORMAT, "digest": digest, "files": files, **about})
    return Corpus.open(folder)


def _chosen(held: list[Paragraph]) -> list[Paragraph]:
    chosen: list[Paragraph] = []
    left = PREDICTIONS
    for at in np.random.default_rng(1).permutation(len(held)).tolist():
        chosen.append([])
        for sentence in held[at]:
            if len(sentence) + 1 > left:
                return chosen
            chosen[-1].append(sentence)
            left -= len(sentence) + 1
    return chosen


def _ids(part: list[Paragraph], numbers: dict[str, int]) -> Iterator[int]:
    for paragraph in part:
        for sentence in paragraph:
            yield from (numbers[word] for word in sentence)
            yield SENTENCE_END
        yield DOCUMENT_END


def describe(of: Corpus) -> str:
    held = of.ids("heldout")
    facts = {
        "training words": int(of.counts.sum()),
        "word types": int((of.counts > 0).sum()),
        "held-out predictions": int((held < DOCUMENT_END).sum() + (held == SENTENCE_END).sum()),
    }
    return json.dumps(facts)
