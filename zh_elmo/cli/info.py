"""`zh-elmo info`: what a model is and how it was made."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from zh_elmo.cli.options import Json


def info(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    json: Json = False,
) -> None:
    """Say what a model is.

    Its sizes, data, treatment of text, perplexity, licence, and how it was made.

    \b
    Example:
      zh-elmo info run/model
    """
    from zh_elmo.files import read_json
    from zh_elmo.formats.card import card
    from zh_elmo.formats.find import load_bilm

    found = load_bilm(model)
    if json:
        facts = {"digest": found.digest, "text": found.text, "facts": found.facts}
        typer.echo(json_format.dumps(facts, indent=2, ensure_ascii=False))
        return
    dtype = read_json(found.path / "config.json")["dtype"]
    typer.echo(card(found.bilm, text=found.text, facts=found.facts, dtype=dtype))
