"""`zh-elmo info`: what a model is, how it was made, and how much of a text it knows."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zh_elmo.cli.options import Json

if TYPE_CHECKING:
    from zh_elmo.formats.opened import Opened


def info(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model of any kind: folder, file or archive.")],
    text: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Say how much of this text the model knows (as `embed` takes it)."),
    ] = None,
    json: Json = False,
) -> None:
    """Say what a model is.

    Which program wrote it, its sizes, what it knows, what lacks, what is assumed; of our own models data, treatment of
    text, perplexity, licence, and how they were made as well.

    \b
    Examples:
      zh-elmo info run/model
      zh-elmo info zhs.model --text sentences.txt
    """
    from zh_elmo.files import BadInput
    from zh_elmo.formats.card import card
    from zh_elmo.formats.describe import describe, lines
    from zh_elmo.formats.find import load_bilm

    try:
        found = load_bilm(model, softmax=True, words=True)
    except BadInput:  # most came without a softmax; any other fault is said again
        found = load_bilm(model, words=True)
    told = describe(found)
    if text is not None:
        told["knows"] = _known(found, text)
    if json:
        facts = {**told, "digest": found.digest, "text": found.text, "facts": found.facts}
        typer.echo(json_format.dumps(facts, indent=2, ensure_ascii=False, default=str))
        return
    typer.echo("\n".join(lines(told)))
    if found.kind == "zh_elmo":
        typer.echo("\n" + card(found.bilm, text=found.text, facts=found.facts, dtype=found.dtype))


def _known(opened: Opened, text: Path) -> list[str]:
    """What the model knows of a text, in lines."""
    from zh_elmo.embed.embedder import of_opened
    from zh_elmo.embed.known import known, shares
    from zh_elmo.embed.read import kind_of, sentences

    embedder = of_opened(opened)
    kind = kind_of(text)
    words = (read.words for read in sentences(text, kind, embedder.cut))
    as_seen = words if kind == "text" else map(embedder.normalised, words)
    return [f"{text.name}, taken for {kind}", *shares(known(opened.bilm, as_seen))]
