"""`zh-elmo eval`: run a suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from zh_elmo.cli.options import Out, Quiet, Sets, Threads, command_line, worker_count


def evaluate(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="A name of `zh-elmo suites`, or a TOML file.")],
    out: Out,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", metavar="MODEL", help="The biLM of the arm elmo.")
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option("--corpus", "-c", metavar="DIR", help="The corpus of the biLM, for the arm static."),
    ] = None,
    sets: Sets = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Run a suite: arms x treebanks x seeds.

    Ends with tables, results.json and report.html. Run again, the same command goes on where it was stopped: what is
    done is not done twice.

    \b
    Examples:
      zh-elmo eval gsd --model run/model --corpus corpus --out results
      zh-elmo eval gsd --set 'arms=["none"]' --set seeds=[1,2,3] --out results
    """
    from zh_elmo.recipe import find, load
    from zh_elmo.suite.run import complain, run_suite
    from zh_elmo.suite.settings import Suite
    from zh_elmo.suite.tables import show

    paths = {"model": model, "corpus": corpus}
    given = [f"{key}={json.dumps(str(path))}" for key, path in paths.items() if path is not None]
    settings = load(find("eval", suite), Suite, [*(sets or []), *given])
    results = run_suite(settings, out, workers=worker_count(threads), command=command_line(), quiet=quiet)
    show(results)
    typer.echo(f"\n{out / 'report.html'}")
    complain(results)
