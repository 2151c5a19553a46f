"""`zh-elmo predict`: tags and trees of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zh_elmo.cli.options import Threads, use_threads


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="What `zh-elmo train` made, or a cell of a suite.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CoNLL-U by its name (.conllu), else raw text.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="CoNLL-U file to write; else standard output.")
    ] = None,
    bilm: Annotated[
        Path | None, typer.Option("--bilm", metavar="DIR", help="The biLM, if it lies elsewhere than at the training.")
    ] = None,
    threads: Threads = None,
) -> None:
    """Tag and parse a file.

    CoNLL-U keeps sentences, words and comments; raw text is split and segmented first.

    \b
    Examples:
      zh-elmo predict parser text.txt
      zh-elmo predict parser zh_gsd-ud-test.conllu --out predicted.conllu
    """
    use_threads(threads)
    from zh_elmo.suite.predict import predict as annotate
    from zh_elmo.ud.conllu import dumps, write

    sentences = annotate(model, file, model=bilm)
    if out is not None:
        write(out, sentences)
        typer.echo(out)
        return
    for sentence in sentences:
        typer.echo(dumps([sentence]), nl=False)
