"""A corpus in figures: sources, counts, what was dropped and why, how its words are spread, a few sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from zh_elmo.corpus import curves, page
from zh_elmo.corpus.curves import Counts
from zh_elmo.corpus.store import DOCUMENT_END, SENTENCE_END, Corpus
from zh_elmo.files import BadInput, lines

TOP = 20
_SENTENCES = 3
_LONG_WORDS = 10  # characters a word: no language is like that
_LOOKED_AT = 10_000  # ids in which sentences to show are sought
_SIZES = (10, 100, 1_000, 5_000, 10_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
_SHARES = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99)
_DUE = ("sources", "text", "settings", "counts", "drops", "files")
# What the manifests of newer builds say besides; shown where it is there.
_MORE = ("passed_over", "undecodable", "made_by", "seconds", "characters_per_second")
Facts = dict[str, Any]


def show(folder: str | Path, *, top: int = TOP, blocks: bool | None = None) -> str:
    """What `zh-elmo corpus show` prints, at most 100 columns wide. Raises BadInput where `folder` is not a corpus.

    blocks: draw with Braille and block characters; False: in ASCII; None: as the terminal can.
    """
    return page.text(facts(folder, top=top), blocks=blocks)


def facts(folder: str | Path, *, top: int = TOP, quiet: bool = False) -> Facts:
    """All that is known of a corpus, ready for JSON: the manifest's counts and drops, and what its words are like.

    Memory: some tens of bytes a word type; the shards are read once, a block at a time.
    """
    corpus = Corpus.open(folder)
    manifest = corpus.manifest
    for name in _DUE:
        if name not in manifest:
            raise BadInput(f"the manifest says nothing of {name!r}; build the corpus again", path=corpus.folder)
    types = curves.of_types(corpus)
    run = curves.of_text(corpus, len(types.counts), quiet=quiet)
    return {
        "folder": str(folder),
        "digest": corpus.digest,
        "sources": manifest["sources"],
        "text": manifest["text"],
        "counts": manifest["counts"],
        "drops": manifest["drops"],
        **{name: manifest[name] for name in _MORE if name in manifest},
        "words": _words(corpus, types, run, top),
        "sentence_length": {**curves.spread(run.sentence_lengths), "max": run.longest, "unit": "words"}
        | {"sentences": _histogram(run.sentence_lengths)},
        "first_sentences": first_sentences(corpus, _SENTENCES),
        "warnings": _warnings(manifest, types.word_lengths),
    }


def first_sentences(corpus: Corpus, number: int) -> list[list[str]]:
    """The first sentences of the training part."""
    ids = np.asarray(corpus.shards("train")[0][:_LOOKED_AT])
    ends = np.flatnonzero(ids == SENTENCE_END)[:number]
    starts = [0, *(int(end) + 1 for end in ends[:-1])]
    sentences = [ids[start:end] for start, end in zip(starts, ends, strict=False)]
    sentences = [sentence[sentence < DOCUMENT_END] for sentence in sentences]
    words = _words_at(corpus, {int(word) for sentence in sentences for word in sentence})
    return [[words[int(word)] for word in sentence] for sentence in sentences]


def _words_at(corpus: Corpus, places: set[int]) -> dict[int, str]:
    """The words of these places in types.txt, without the others in memory."""
    last = max(places, default=-1)
    found = islice(lines(corpus.folder / "types.txt"), last + 1)
    return {number - 1: line.rpartition("\t")[0] for number, line in found if number - 1 in places}


def _top(corpus: Corpus, counts: Counts, number: int) -> Iterable[tuple[str, int]]:
    seen = min(number, int(np.count_nonzero(counts)))
    for place, line in islice(lines(corpus.folder / "types.txt"), seen):
        yield line.rpartition("\t")[0], int(counts[place - 1])


def _words(corpus: Corpus, types: curves.Types, run: curves.Run, top: int) -> Facts:
    counts = types.counts
    total, seen = int(counts.sum()), int(np.count_nonzero(counts))
    once = int(np.count_nonzero(counts == 1))
    return {
        "top": [
            {"word": word, "count": count, "share": count / max(1, total)} for word, count in _top(corpus, counts, top)
        ],
        "hapax": {"types": once, "share_of_types": once / max(1, seen), "share_of_words": once / max(1, total)},
        "coverage": {
            "table": _coverage(corpus, counts, [*(size for size in _SIZES if size < seen), seen]),
            "curve": _coverage(corpus, counts, curves.points(seen)),
            "types_for": dict(zip(map(str, _SHARES), curves.types_for(counts, _SHARES), strict=True)),
        },
        "type_token": [{"words": words, "types": number} for words, number in run.types],
        "length": {**curves.spread(types.word_lengths), "unit": "characters"}
        | {"words": _histogram(types.word_lengths), "types": _histogram(types.type_lengths)},
    }


def _coverage(corpus: Corpus, counts: Counts, sizes: list[int]) -> list[dict[str, float]]:
    """For so many of the most frequent types: the share of running words, and the same in the held-out part if any."""
    train, heldout = curves.coverage(counts, sizes), curves.held_out_coverage(corpus, sizes)
    rows: list[dict[str, float]] = [{"types": size, "train": share} for size, share in zip(sizes, train, strict=True)]
    for row, share in zip(rows, heldout, strict=False):
        row["heldout"] = share
    return rows


def _histogram(lengths: Counts) -> dict[str, int]:
    """Length -> how many, without zeros."""
    return {str(length): int(lengths[length]) for length in np.flatnonzero(lengths)}


def _warnings(manifest: Mapping[str, Any], lengths: Counts) -> list[str]:
    mean = curves.spread(lengths)["mean"]
    if manifest["settings"]["text"]["segmenter"] != "words" or mean < _LONG_WORDS:
        return []
    return [f"words are {mean:.1f} characters long on average; is this text segmented by spaces?"]
