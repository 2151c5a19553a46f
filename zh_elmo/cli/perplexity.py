"""`zh-elmo perplexity`: how well a model predicts the held-out words of a corpus."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from zh_elmo.cli.options import Json, Quiet, Threads, use_threads


def perplexity(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    corpus: Annotated[Path, typer.Argument(metavar="CORPUS", help="A corpus folder, whose held-out part is read.")],
    threads: Threads = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Measure held-out perplexity.

    By the full softmax: forward, backward, and their geometric mean. Every word and both sentence ends are predicted;
    a word outside the vocabulary counts as <unk>.

    \b
    Example:
      zh-elmo perplexity model corpus
    """
    use_threads(threads)
    from zh_elmo.corpus.store import Corpus
    from zh_elmo.formats.find import load_bilm
    from zh_elmo.lm.perplexity import corpus_perplexity

    figures = corpus_perplexity(load_bilm(model, softmax=True).bilm, Corpus.open(corpus), quiet=quiet)
    if json:
        typer.echo(json_format.dumps(figures, indent=2))
        return
    for direction in ("forward", "backward", "mean"):
        typer.echo(f"{direction:9} {figures[direction]:12,.2f}")
    typer.echo(
        f"{figures['bits_per_character']:.3f} bits per character; {figures['words']:,} words, "
        f"{100 * figures['unknown']:.2f} % of them <unk>"
    )
