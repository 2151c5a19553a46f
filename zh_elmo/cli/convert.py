"""`zh-elmo convert`: a model in the files of another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer


def convert(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model of any kind that `zh-elmo info` knows.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new folder.")],
    to: Annotated[
        Literal["own", "elmoformanylangs", "bilm-tf", "checkpoint"],
        typer.Option(help="The format; bilm-tf: options.json and HDF5, which AllenNLP reads as well."),
    ] = "own",
    dtype: Annotated[
        Literal["float32", "float16"], typer.Option(help="Of the weights in a folder of our own.")
    ] = "float32",
    lossy: Annotated[
        bool,
        typer.Option("--lossy", help="To elmoformanylangs: words that are cut there may lose vectors of their own."),
    ] = False,
    options: Annotated[Path | None, typer.Option(metavar="FILE", help="If it is not beside the weights.")] = None,
    vocabulary: Annotated[Path | None, typer.Option(metavar="FILE", help="If it is not beside the weights.")] = None,
) -> None:
    """Convert a model; its vectors stay the same.

    What the other format cannot hold is refused, with the reason.

    \b
    Examples:
      zh-elmo convert run/model old-style --to elmoformanylangs --lossy
      zh-elmo convert zhs.model chinese
      zh-elmo convert training/model.ckpt-935588.index elmo --to bilm-tf
    """
    from zh_elmo.formats.convert import convert as converted

    files = {name: file for name, file in (("options", options), ("vocabulary", vocabulary)) if file is not None}
    for note in converted(model, out, to, dtype=dtype, lossy=lossy, files=files):
        typer.echo(f"note: {note}")
    typer.echo(f"{out}: written as {to}")
