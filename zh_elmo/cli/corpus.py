"""`zh-elmo corpus`: build a corpus of raw text, show one, get a data set of the catalogue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zh_elmo.cli.options import HELP_SETTINGS, Out, Quiet, Sets, Threads, command_line, show_help, worker_count
from zh_elmo.files import BadInput
from zh_elmo.text.script import Target
from zh_elmo.text.settings import Segmenter

if TYPE_CHECKING:
    from zh_elmo.corpus.settings import CorpusSettings

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None, context_settings=HELP_SETTINGS)


@app.callback()
def corpus(context: typer.Context) -> None:
    """Build, show and get corpora."""
    show_help(context)


@app.command()
def build(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="RECIPE|FILE...",
            help="A pretrain recipe, whose [corpus] is taken; files, folders, patterns, - (standard input); data sets.",
            show_default=False,
        ),
    ],
    out: Out,
    script: Annotated[
        Target | None,
        typer.Option(help="Bring all text to one script, or keep it; `traditional` is that of Taiwan."),
    ] = None,
    segmenter: Annotated[
        Segmenter | None,
        typer.Option(help="What makes words; `words` for text whose words are parted by blanks already."),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of all files, such as gb18030; not given: found by looking.")
    ] = None,
    field: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of JSON lines and Parquet; not given: text.")
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="TREEBANK", help="Keep out its dev and test sentences, in either script."),
    ] = None,
    sets: Sets = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Build a corpus from raw text.

    Text has one paragraph a line and a blank line between documents, in UTF-8, GB18030, Big5 or UTF-16, compressed
    (.gz, .bz2, .xz, .zst) or not; JSON lines, Parquet, CoNLL-U and MediaWiki dumps (.xml) are read as well. A build
    that was stopped goes on where it was when the same command is run again.

    \b
    Examples:
      zh-elmo corpus build pretrain-zh-tiny --out corpus
      zh-elmo corpus build news.txt.xz novels.txt --out corpus --exclude zh_gsd
    """
    from zh_elmo.corpus.build import build as build_corpus
    from zh_elmo.corpus.show import show as show_corpus

    settings, files = _settings(sources, sets or [])
    settings = _with_options(settings, script, segmenter, exclude or [], {"encoding": encoding, "field": field})
    build_corpus(settings, files, out, workers=worker_count(threads), command=command_line(), quiet=quiet)
    typer.echo(show_corpus(out))


@app.command()
def show(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A corpus.")]) -> None:
    """Say what is in a corpus.

    Its sources, counts, what was dropped and why, the most frequent words, a few sentences.

    \b
    Example:
      zh-elmo corpus show corpus
    """
    from zh_elmo.corpus.show import show as show_corpus

    typer.echo(show_corpus(folder))


@app.command()
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A data set; `zh-elmo corpora` lists them.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Copy the files there; else say where they lie.")
    ] = None,
) -> None:
    """Find or fetch a data set.

    Says where its files lie after checking their digests. Looked for in the folder that ZH_ELMO_DATA names, on the
    shelf, in the cache, in an installed package, at the origin.

    \b
    Example:
      zh-elmo corpus get zh_gsd --out treebanks
    """
    from zh_elmo.data import dataset, fetch
    from zh_elmo.files import write_bytes

    paths = fetch(name)
    if out is not None:
        targets = [out / path.name for path in paths]
        for path, target in zip(paths, targets, strict=True):
            write_bytes(target, path.read_bytes())
        paths = targets
    for path in paths:
        typer.echo(path)
    about = dataset(name)
    typer.echo(f"{about.title}; licence {about.licence}; {about.attribution}", err=True)


def _settings(sources: list[str], sets: list[str]) -> tuple[CorpusSettings, list[str]]:
    """The settings of the recipe that comes first, or the usual ones; and what is left: files and data sets."""
    from zh_elmo.corpus.settings import CorpusSettings
    from zh_elmo.recipe import entries, find, load

    first = sources[0]
    named = {entry.name for entry in entries("recipes")}
    if not (first.endswith(".toml") or (first in named and not Path(first).exists())):
        if sets:
            raise BadInput("--set changes a recipe; name one before the files", usage=True)
        return CorpusSettings(), sources
    from zh_elmo.lm.settings import Pretrain

    return load(find("recipes", first), Pretrain, sets).corpus, sources[1:]


def _with_options(
    settings: CorpusSettings,
    script: str | None,
    segmenter: str | None,
    exclude: list[str],
    reading: dict[str, str | None],
) -> CorpusSettings:
    """`settings` with what the command line says besides."""
    from msgspec.structs import replace

    chosen = {key: value for key, value in (("script", script), ("segmenter", segmenter)) if value is not None}
    text = replace(settings.text, **chosen)
    said = {key: value for key, value in reading.items() if value is not None}
    return replace(settings, text=text, exclude=[*settings.exclude, *exclude], **said)
