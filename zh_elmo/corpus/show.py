"""A corpus in words: sources, counts, what was dropped and why, the most frequent words, a few sentences."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from zh_elmo.corpus.store import DOCUMENT_END, SENTENCE_END, Corpus
from zh_elmo.progress import duration

_FREQUENT = 20
_SENTENCES = 3
_SHOWN = 40  # words of a sentence
_LONG_WORDS = 10  # characters a word: no language is like that
_LOOKED_AT = 10_000  # ids in which sentences to show are sought


def show(folder: str | Path) -> str:
    """What `zh-elmo corpus show` prints. Raises BadInput where `folder` is not a corpus."""
    corpus = Corpus.open(folder)
    manifest = corpus.manifest
    parts = [
        f"corpus {folder}",
        *_sources(manifest["sources"]),
        "",
        *_counts(manifest),
        *_drops(manifest["drops"]),
        *_warnings(corpus),
        "",
        f"words by {_text(manifest['text'])}",
        f"most frequent: {'  '.join(islice(corpus.types, _FREQUENT))}",
        "",
        *(f"  {_shortened(sentence)}" for sentence in first_sentences(corpus, _SENTENCES)),
        "",
        f"digest {corpus.digest}",
    ]
    return "\n".join(parts)


def first_sentences(corpus: Corpus, number: int) -> list[list[str]]:
    """The first sentences of the training part."""
    ids = corpus.shards("train")[0][:_LOOKED_AT]
    ends = np.flatnonzero(ids == SENTENCE_END)[:number]
    starts = [0, *(int(end) + 1 for end in ends[:-1])]
    types = corpus.types
    return [
        [types[word] for word in ids[start:end] if word < DOCUMENT_END]
        for start, end in zip(starts, ends, strict=False)
    ]


def _shortened(sentence: list[str]) -> str:
    return " ".join(sentence[:_SHOWN]) + (" ..." if len(sentence) > _SHOWN else "")


def _sources(sources: list[dict[str, Any]]) -> list[str]:
    return [
        f"  {source['name']}: {source['file']} ({source.get('licence', 'licence not stated')})" for source in sources
    ]


def _counts(manifest: dict[str, Any]) -> list[str]:
    counts = manifest["counts"]
    lines = [
        f"{counts['characters']:,} characters, {counts['paragraphs']:,} paragraphs read in "
        f"{duration(manifest['seconds'])} ({manifest['characters_per_second']:,} characters/s)",
        f"{counts['types']:,} word types in training, {counts['types_held_out_only']:,} more in the held-out part",
    ]
    for part, name in (("train", "training"), ("heldout", "held out")):
        facts = counts[part]
        lines.append(
            f"  {name}: {facts['words']:,} words, {facts['sentences']:,} sentences, "
            f"{facts['paragraphs']:,} paragraphs, {facts['documents']:,} documents"
        )
    changes = (("sentences_cut", "too long, cut"), ("sentences_too_short", "too short, dropped"))
    lines += [f"  {counts[key]:,} sentences {what}" for key, what in changes if counts[key]]
    return lines


def _drops(drops: dict[str, dict[str, Any]]) -> list[str]:
    lines = []
    for reason, facts in drops.items():
        lines.append(f"  dropped, {reason}: {facts['paragraphs']:,} paragraphs, such as {facts['examples'][0][:30]!r}")
    return lines


def _warnings(corpus: Corpus) -> list[str]:
    lengths = np.array([len(word) for word in corpus.types])
    mean = float((lengths * corpus.counts).sum() / corpus.counts.sum())
    if corpus.manifest["settings"]["text"]["segmenter"] != "words" or mean < _LONG_WORDS:
        return []
    return [f"  warning: words are {mean:.1f} characters long on average; is this text segmented by spaces?"]


def _text(text: dict[str, Any]) -> str:
    settings = text["settings"]
    segmenter = text["segmenter"]
    name = segmenter if isinstance(segmenter, str) else segmenter["package"]
    script = "brought to simplified script" if settings["script"] == "simplified" else "script kept"
    punctuation = "full-width punctuation" if settings["punctuation"] == "full" else "punctuation kept"
    return f"{name}; {script}; {punctuation}"
