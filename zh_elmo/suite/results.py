"""Predictions -> results.json: counts of every slice, intervals, comparisons of arms, examples."""

from __future__ import annotations

import itertools
import math
import platform
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import zh_elmo
from zh_elmo.suite import slices
from zh_elmo.suite.examples import examples
from zh_elmo.suite.significance import Counts, compare, interval, weights
from zh_elmo.suite.slices import ALL, Division, PreTraining
from zh_elmo.suite.treebanks import Treebank
from zh_elmo.text.pipeline import Pipeline
from zh_elmo.ud import conllu
from zh_elmo.ud.score import METRICS, Evaluation, score

HEADLINES = ("UPOS", "UAS", "LAS", "CLAS", "MLAS")  # the metrics that have intervals and comparisons
_OF_TAGS = ("UPOS", "XPOS", "UFeats", "AllTags", "Lemmas")
_OF_TREES = ("UAS", "LAS", "CLAS")
_LIBRARIES = ("torch", "numpy", "gensim", "jieba", "rjieba", "opencc-python-reimplemented")


class Scored(NamedTuple):
    """A finished cell: what it is, what it took, and the file of its predictions for the scored split."""

    arm: str
    seed: int
    file: Path
    parts: tuple[str, ...]  # "tagger", "parser": what there is of them
    facts: dict[str, Any]  # goes into results.json as it is: seconds, mix, files


def of_treebank(
    treebank: Treebank, cells: Sequence[Scored], text: Pipeline, seen: PreTraining | None, samples: int, shown: int
) -> dict[str, Any]:
    """What results.json says of one treebank: "treebank", "cells", "scores", "comparisons", "examples"."""
    gold = treebank.split(treebank.scored)
    divisions = slices.divide(gold, treebank.train, text, seen)
    systems = [conllu.read(cell.file) for cell in cells]
    evaluations = [
        score(gold, system, trees="parser" in cell.parts) for cell, system in zip(cells, systems, strict=True)
    ]
    entries = [
        _cell(treebank.name, cell, evaluation, divisions) for cell, evaluation in zip(cells, evaluations, strict=True)
    ]
    by_arm: dict[str, list[int]] = {}
    for number, cell in enumerate(cells):
        by_arm.setdefault(cell.arm, []).append(number)
    metrics = [metric for metric in HEADLINES if all(metric in entry["metrics"][ALL] for entry in entries)]
    counts = {
        (arm, label, metric): _summed([evaluations[number] for number in numbers], metric, division, label)
        for arm, numbers in by_arm.items()
        for metric in metrics
        for division, label in _all_slices(divisions)
    }
    drawn = weights(len(gold), samples)
    first = {arm: systems[numbers[0]] for arm, numbers in by_arm.items()}
    return {
        "treebank": _facts(treebank, gold, divisions),
        "cells": entries,
        "scores": [_score(treebank.name, key, found, drawn) for key, found in counts.items()],
        "comparisons": _comparisons(treebank.name, list(by_arm), counts, drawn),
        "examples": examples(treebank.name, gold, first, divisions["vocabulary"].labels, shown),
    }


def versions() -> dict[str, str]:
    """What made the results."""
    found = {"zh_elmo": zh_elmo.__version__, "python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def now() -> str:
    return datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S %z")


# Of one treebank ----------------------------------------------------------------------------------------------------


def _facts(treebank: Treebank, gold: Sequence[conllu.Sentence], divisions: Mapping[str, Division]) -> dict[str, Any]:
    sizes = {ALL: sum(len(sentence.words) for sentence in gold)}
    for division in divisions.values():
        sizes |= {label: sum(row.count(label) for row in division.labels) for label in division.slices}
    return treebank.facts | {
        "scored": treebank.scored,
        "sentences": len(gold),
        "oov_rate": sizes["OOV"] / sizes[ALL],
        "slices": sizes,
        "groups": {name: division.slices for name, division in divisions.items()},
    }


def _cell(treebank: str, cell: Scored, evaluation: Evaluation, divisions: Mapping[str, Division]) -> dict[str, Any]:
    """What a cell scored, as [correct, gold, system, aligned] of every slice and metric that it has."""
    wanted = _metrics(cell.parts)
    metrics = {ALL: {name: list(found) for name, found in evaluation.metrics.items() if name in wanted}}
    for division in divisions.values():
        by_label = evaluation.slices(division.labels)
        for label in division.slices:
            found = by_label.get(label, {})
            metrics[label] = {name: list(counts) for name, counts in found.items() if name in wanted}
    return {"treebank": treebank, "arm": cell.arm, "seed": cell.seed, **cell.facts, "metrics": metrics}


def _metrics(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The metrics that mean something: no tags are scored without a tagger, no trees without a parser."""
    if len(parts) == 2:
        return METRICS
    return (*METRICS[:3], *(_OF_TAGS if "tagger" in parts else _OF_TREES))


def _all_slices(divisions: Mapping[str, Division]) -> list[tuple[Division | None, str]]:
    found: list[tuple[Division | None, str]] = [(None, ALL)]
    return found + [(division, label) for division in divisions.values() for label in division.slices]


def _summed(evaluations: Sequence[Evaluation], metric: str, division: Division | None, label: str) -> Counts:
    """Counts by sentence, summed over seeds."""
    labels = None if division is None else division.labels
    found = [evaluation.sentence_counts(metric, labels, label) for evaluation in evaluations]
    return Counts(*(np.sum(column, axis=0) for column in zip(*found, strict=True)))


def _score(treebank: str, key: tuple[str, str, str], counts: Counts, drawn: Any) -> dict[str, Any]:
    arm, label, metric = key
    low, high = interval(counts, drawn)
    row = {"treebank": treebank, "arm": arm, "slice": label, "metric": metric}
    return row | _finite({"f1": counts.f1, "low": low, "high": high})


def _comparisons(
    treebank: str, arms: Sequence[str], counts: Mapping[tuple[str, str, str], Counts], drawn: Any
) -> list[dict[str, Any]]:
    found = []
    for first, second in itertools.combinations(arms, 2):
        for (arm, label, metric), theirs in counts.items():
            if arm == first:
                row = {"treebank": treebank, "first": first, "second": second, "slice": label, "metric": metric}
                compared = compare(theirs, counts[second, label, metric], drawn)
                found.append(row | _finite(compared._asdict()))
    return found


def _finite(figures: Mapping[str, float]) -> dict[str, float | None]:
    """Rounded for the file; None for what is not a number, which JSON does not know."""
    return {name: None if math.isnan(value) else round(value, 6) for name, value in figures.items()}
