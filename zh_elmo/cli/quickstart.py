"""`zh-elmo quickstart`: the whole path on the sample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zh_elmo.cli.options import Quiet, Threads, command_line, worker_count


def quickstart(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write; made if it is not there.")
    ] = Path("quickstart"),
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Run the whole path on the sample.

    A corpus, a tiny biLM, taggers and parsers with and without it, scores by OOV, report.html: about 5 minutes on 2
    cores. It needs the extra `sample`. Run again, it goes on where it was stopped.

    \b
    Example:
      zh-elmo quickstart --out quickstart
    """
    from zh_elmo.suite.quickstart import quickstart as run
    from zh_elmo.suite.quickstart import tell
    from zh_elmo.suite.run import complain

    results = run(out, threads=worker_count(threads), command=command_line(), quiet=quiet)
    tell(results, out)
    complain(results)
