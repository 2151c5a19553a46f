"""`zh-elmo train`: a tagger, a parser, or both; or a word segmenter."""

from __future__ import annotations

from typing import Annotated

import typer

from zh_elmo.cli.options import Out, Quiet, Sets, Threads, command_line, worker_count


def train(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A name of `zh-elmo recipes`, or a TOML file.")],
    out: Out,
    sets: Sets = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Train a tagger, a parser, or both; or a word segmenter.

    Ends with scores, the predictions of dev and test, and report.html. Run again, the same command goes on from its
    last checkpoint. A segmenter takes minutes and appears whole; its folder is a `segmenter_model` for [text].

    \b
    Examples:
      zh-elmo train parse-zh-sample --out parser
      zh-elmo train parse-zh-sample --out parser --set vectors.kind=elmo --set vectors.model=run/model
      zh-elmo train segment-gsd --out segmenter
    """
    from zh_elmo.recipe import find, load
    from zh_elmo.suite.run import complain
    from zh_elmo.suite.settings import TrainRecipe
    from zh_elmo.suite.tables import show
    from zh_elmo.suite.train import train as run

    settings = load(find("recipes", recipe), TrainRecipe, sets or [])
    if settings.segmenter is not None:
        from zh_elmo.suite.segment import show as show_score
        from zh_elmo.suite.segment import train_segmenter

        typer.echo(show_score(train_segmenter(settings, out, command=command_line(), quiet=quiet)))
        typer.echo(f"\n{out}")
        return
    results = run(settings, out, threads=worker_count(threads), command=command_line(), quiet=quiet)
    show(results)
    typer.echo(f"\n{out}")
    complain(results)
