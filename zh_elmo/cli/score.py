"""`zh-elmo score`: the CoNLL 2018 metrics of one file against another."""

from __future__ import annotations

import json as json_format
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zh_elmo.cli.options import Json

if TYPE_CHECKING:
    from zh_elmo.ud.score import Score


def score(
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="CoNLL-U; .xz, .gz and .bz2 too.")],
    system: Annotated[Path, typer.Argument(metavar="SYSTEM", help="CoNLL-U of the same text.")],
    train: Annotated[
        Path | None, typer.Option(metavar="TRAIN", help="Training split: scores of its words (IV) and of others too.")
    ] = None,
    trees: Annotated[
        bool,
        typer.Option("--trees/--no-trees", help="--no-trees: heads may be missing or no tree; then wrong."),
    ] = True,
    json: Json = False,
) -> None:
    """Score an analysis as CoNLL 2018 did.

    All thirteen metrics; words are aligned by characters. OOV: the form, in simplified script, is not in the training
    split.

    \b
    Example:
      zh-elmo score zh_gsd-ud-test.conllu predicted.conllu --train zh_gsd-ud-train.conllu
    """
    from zh_elmo.ud.conllu import read
    from zh_elmo.ud.score import score as evaluate

    sentences = read(gold)
    evaluation = evaluate(sentences, read(system), trees=trees)
    parts: dict[str, Mapping[str, Score]] = {"all": evaluation.metrics}
    rate = None
    if train is not None:
        from zh_elmo.text.pipeline import Pipeline, TextSettings
        from zh_elmo.ud.oov import oov_rate, training_forms, vocabulary_bands

        normalise = Pipeline(TextSettings()).gold
        known = training_forms(read(train), normalise)
        parts |= evaluation.slices(vocabulary_bands(sentences, known, normalise))
        rate = oov_rate(sentences, known, normalise)
    if json:
        typer.echo(json_format.dumps(_plain(parts, rate), indent=2))
        return
    for name, scores in parts.items():
        _print(name, scores, rate)


def _print(part: str, scores: Mapping[str, Score], rate: float | None) -> None:
    oov = f", OOV rate {rate:.2%}" if part == "all" and rate is not None else ""
    typer.echo(f"{part} ({scores['Words'].gold_total:,} words{oov})")
    typer.echo(f"{'Metric':10} {'Precision':>10} {'Recall':>10} {'F1':>10} {'AlignedAcc':>10}")
    for metric, found in scores.items():
        figures = [found.precision, found.recall, found.f1, found.aligned_accuracy]
        typer.echo(f"{metric:10} " + " ".join(f"{'' if f is None else format(100 * f, '.2f'):>10}" for f in figures))
    typer.echo()


def _plain(parts: Mapping[str, Mapping[str, Score]], rate: float | None) -> dict[str, Any]:
    """What --json prints: counts as they are, ratios from 0 to 1."""
    whole, *slices = ({metric: _figures(found) for metric, found in scores.items()} for scores in parts.values())
    plain: dict[str, Any] = {"metrics": whole}
    if slices:
        plain |= {"oov_rate": rate, "slices": dict(zip(list(parts)[1:], slices, strict=True))}
    return plain


def _figures(found: Score) -> dict[str, float | None]:
    ratios = {name: getattr(found, name) for name in ("precision", "recall", "f1", "aligned_accuracy")}
    return {**found._asdict(), **ratios}
