"""`zh-elmo report`: the tables and the page of a run once more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The output folder of `eval` or `quickstart`.")],
) -> None:
    """Show a run and write its page anew.

    Prints the tables of results.json and writes report.html beside it.

    \b
    Example:
      zh-elmo report results
    """
    from zh_elmo.files import read_json
    from zh_elmo.suite.report import write_report
    from zh_elmo.suite.tables import show

    page = write_report(run)
    show(read_json(page.with_name("results.json")))
    typer.echo(f"\n{page}")
