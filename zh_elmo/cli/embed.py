"""`zh-elmo embed`: the vectors of every sentence of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from zh_elmo.cli.options import Quiet, Resume, Threads, use_threads


def embed(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="UTF-8: raw text, words parted by blanks, or CoNLL-U.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="OUT", help="A store (folder), or an HDF5 file if it ends in .h5.")
    ],
    kind: Annotated[
        Literal["text", "words", "conllu"] | None,
        typer.Option("--input", help="What FILE is; not given: found by looking, and said."),
    ] = None,
    layers: Annotated[
        str, typer.Option(help="For HDF5: `all`, the number of one layer, or `mean`. A store has all.")
    ] = "all",
    dtype: Annotated[
        Literal["float16", "float32"] | None, typer.Option(help="Not given: float16 in a store, float32 in HDF5.")
    ] = None,
    resume: Resume = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Embed every sentence of a file.

    Raw text is cut into sentences and words as the model's corpus was; words are taken as they are.

    \b
    A file of raw text:            A file of words:
      我买了六斤苹果。               我 买 了 六 斤 苹果 。
      苹果公司发布了新手机。         苹果 公司 发布 了 新 手机 。

    \b
    Examples:
      zh-elmo embed run/model sentences.txt --out vectors.store
      zh-elmo embed run/model zh_gsd-ud-test.conllu --out vectors.h5 --layers mean
    """
    from zh_elmo.files import BadInput, existing

    if layers not in ("all", "mean") and not layers.isdecimal():
        raise BadInput(f"--layers {layers}: expected all, mean or the number of a layer", usage=True)
    existing(file, "file")
    use_threads(threads)
    from zh_elmo.embed.embedder import load
    from zh_elmo.embed.write import write

    chosen: Literal["all"] | int | None = int(layers) if layers.isdecimal() else None if layers == "mean" else "all"
    written = write(load(model), file, out, kind=kind, layers=chosen, dtype=dtype, resume=resume, quiet=quiet)
    typer.echo(
        f"{written.path}: {written.sentences:,} sentences, {written.words:,} words, taken for {written.kind}; "
        f"{written.words / max(written.seconds, 1e-9):,.0f} words/s"
    )
