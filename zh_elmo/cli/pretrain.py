"""`zh-elmo pretrain`: a biLM from a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zh_elmo.cli.options import Out, Quiet, Resume, Sets, Threads, command_line, use_threads


def pretrain(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A name of `zh-elmo recipes`, or a TOML file.")],
    corpus: Annotated[Path, typer.Option("--corpus", "-c", metavar="DIR", help="What `zh-elmo corpus build` made.")],
    out: Out,
    sets: Sets = None,
    resume: Resume = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Pre-train a biLM.

    Checkpoints and a log go to the output folder, and at the end the model to `model` in it. Ctrl-C ends after the
    current update with a checkpoint; --resume goes on to the same bytes.

    \b
    Examples:
      zh-elmo pretrain pretrain-zh-tiny --corpus corpus --out run
      zh-elmo pretrain pretrain-zh-tiny --corpus corpus --out longer --set training.steps=20000
      zh-elmo pretrain pretrain-zh-tiny --corpus corpus --out longer --set training.steps=20000 --resume
    """
    use_threads(threads)
    from zh_elmo.corpus.store import Corpus
    from zh_elmo.formats.own import save
    from zh_elmo.lm.pretrain import pretrain as train
    from zh_elmo.lm.settings import Pretrain
    from zh_elmo.recipe import find, load

    settings = load(find("recipes", recipe), Pretrain, sets or [])
    text = Corpus.open(corpus)
    trained = train(settings, text, out, resume=resume, quiet=quiet)
    facts = trained.facts | {"recipe": recipe, "command": command_line()}
    save(out / "model", trained.bilm, text=text.manifest["text"], facts=facts)
    perplexity = trained.facts["held_out_perplexity"].get("mean")
    measured = f"held-out perplexity {perplexity:,.1f}" if perplexity else "no held-out text to measure perplexity on"
    typer.echo(f"{out / 'model'}: {measured}, {trained.facts['words_per_second']:,.0f} words/s")
