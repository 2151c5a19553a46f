"""`zh-elmo embed`: the vectors of every sentence of a file."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from zh_elmo.cli.options import Quiet, Resume, Threads, command_line, use_threads

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model, of ours or of another program.")]
File = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="UTF-8: raw text, words parted by blanks or TABs, or CoNLL-U; - is stdin."),
]
Out = Annotated[
    Path, typer.Option("--out", "-o", metavar="OUT", help="A store (folder); HDF5 if it ends in .h5; text, in .txt.")
]
Input = Annotated[
    Literal["text", "words", "tabs", "conllu"] | None,
    typer.Option("--input", help="What FILE is; not given: found by looking, and said."),
]
Layers = Annotated[
    str | None,
    typer.Option(
        metavar="WHICH",
        help="`all`, `top`, `mean` (`average`) or a number from 0. Not given: all, or mean where only one vector fits.",
    ),
]
All = Annotated[bool, typer.Option("--all", help="As --layers all.")]
Top = Annotated[bool, typer.Option("--top", help="As --layers top.")]
Average = Annotated[bool, typer.Option("--average", help="As --layers mean.")]
Layout = Annotated[
    Literal["own", "bilm-tf", "allennlp", "elmoformanylangs"] | None,
    typer.Option(help="Of an HDF5 file: ours (the default), or as these programs write it."),
]
Dtype = Annotated[
    Literal["float16", "float32"] | None, typer.Option(help="Not given: float16 in a store, float32 in HDF5.")
]
State = Annotated[
    Literal["reset", "carry"], typer.Option(help="Before each sentence: zero, or what the one before left.")
]
BatchSize = Annotated[
    int | None, typer.Option("--batch-size", min=1, help="With --state carry: sentences of a batch; not given: 64.")
]
Warmup = Annotated[
    bool,
    typer.Option("--warmup", help="Read twice, once for the state alone: the first batch, or each sentence (reset)."),
]
Normalize = Annotated[
    Literal["model", "auto", "none"],
    typer.Option(help="Of words: as the model's corpus was; to forms that the model knows; not at all."),
]
Tokens = Annotated[
    bool, typer.Option("--tokens", help="FILE is a vocabulary, a word a line: write one context-free vector for each.")
]


def embed(
    model: Model,
    file: File,
    out: Out,
    kind: Input = None,
    layers: Layers = None,
    all_layers: All = False,
    top: Top = False,
    average: Average = False,
    layout: Layout = None,
    dtype: Dtype = None,
    state: State = "reset",
    batch_size: BatchSize = None,
    warmup: Warmup = False,
    normalize: Normalize = "model",
    tokens: Tokens = False,
    resume: Resume = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Embed every sentence of a file.

    Raw text is cut into sentences and words as the model's corpus was; words are taken as they are.

    \b
    A file of raw text:            A file of words (or with TABs between them):
      我买了六斤苹果。               我 买 了 六 斤 苹果 。
      苹果公司发布了新手机。         苹果 公司 发布 了 新 手机 。

    \b
    Examples:
      zh-elmo embed run/model sentences.txt --out vectors.store
      zh-elmo embed run/model zh_gsd-ud-test.conllu --out vectors.h5 --layers mean
      zh-elmo embed elmo words.txt --out vectors.h5 --layout allennlp --top --state carry
    """
    which = _which(layers, {"all": all_layers, "top": top, "mean": average})
    of_sentences = {"--input": kind, "--layers": which, "--layout": layout, "--dtype": dtype, "--warmup": warmup}
    _refuse(of_sentences | {"--state carry": state == "carry", "--resume": resume}, "with --tokens", tokens)
    _refuse({"--batch-size": batch_size}, "without --state carry", state == "reset")
    _check_file(file)
    use_threads(threads)
    from zh_elmo.embed.embedder import load
    from zh_elmo.embed.tokens import write_token_embeddings
    from zh_elmo.embed.write import write

    embedder = load(model, state=state, normalize=None if normalize == "none" else normalize)
    with _readable(file) as source:
        if tokens:
            table = write_token_embeddings(embedder, source, out, command=command_line(), quiet=quiet)
            typer.echo(f"{table.path}: {table.words:,} words, {table.width} numbers each")
            return
        written = write(
            embedder, source, out, kind=kind, layers=_layers(which, out, layout), layout=layout, dtype=dtype,
            warmup=warmup, batch_size=batch_size, resume=resume, command=command_line(), quiet=quiet,
        )  # fmt: skip
    typer.echo(
        f"{written.path}: {written.sentences:,} sentences, {written.words:,} words, taken for {written.kind}; "
        f"{written.words / max(written.seconds, 1e-9):,.0f} words/s"
    )


def _which(layers: str | None, flags: dict[str, bool]) -> str | None:
    """What was asked for, in one word: all, top, mean or a number; None: nothing was."""
    from zh_elmo.files import BadInput

    asked = [f"--{'average' if name == 'mean' else name}" for name, given in flags.items() if given]
    if len(asked) + (layers is not None) > 1:
        told = [f"--layers {layers}"] if layers is not None else []
        raise BadInput(f"{' and '.join([*told, *asked])} do not go together; give one of them", usage=True)
    if layers is None:
        return next((name for name, given in flags.items() if given), None)
    word = "mean" if layers == "average" else layers
    if word not in ("all", "top", "mean") and not (word.isascii() and word.isdecimal()):
        raise BadInput(f"--layers {layers}: expected all, top, mean or the number of a layer", usage=True)
    return word


def _layers(which: str | None, out: Path, layout: str | None) -> Literal["all"] | int | None:
    """The same as `Embedder.embed` takes it."""
    if which is None:
        which = "mean" if out.suffix.lower() == ".txt" or layout == "elmoformanylangs" else "all"
    if which == "all":
        return "all"
    return None if which == "mean" else -1 if which == "top" else int(which)


def _refuse(options: Mapping[str, object], where: str, here: bool) -> None:
    """Raise BadInput for options that were given where they have no meaning, if this is `here`."""
    from zh_elmo.files import BadInput

    if here and (given := [option for option, value in options.items() if value]):
        raise BadInput(f"{', '.join(given)} {where}: of no meaning here; leave it out", usage=True)


def _check_file(file: Path) -> None:
    from zh_elmo.files import existing

    if str(file) != "-":
        existing(file, "file")


@contextmanager
def _readable(file: Path) -> Iterator[Path]:
    """`file`, or for - a file of what standard input gives, since it is read more than once."""
    from zh_elmo.files import BadInput

    if str(file) != "-":
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="zh-elmo-") as folder:
        path = Path(folder) / "standard input"
        with open(path, "wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        try:
            yield path
        except BadInput as error:
            raise BadInput(str(error).replace(str(path), path.name), usage=error.usage) from None
