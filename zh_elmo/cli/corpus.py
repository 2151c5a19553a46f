"""`zh-elmo corpus`: build a corpus of raw text, show one, get a data set of the catalogue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from zh_elmo.cli.options import HELP_SETTINGS, Json, Quiet, Sets, Threads, command_line, show_help, worker_count
from zh_elmo.corpus.encoding import OnUndecodable
from zh_elmo.text.script import Target
from zh_elmo.text.settings import Segmenter

if TYPE_CHECKING:
    from zh_elmo.corpus.settings import CorpusSettings

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None, context_settings=HELP_SETTINGS)


@app.callback()
def corpus(context: typer.Context) -> None:
    """Build, show and get corpora."""
    show_help(context)


Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="RECIPE|FILE...",
        help="A pretrain recipe, whose [corpus] is taken; files, folders, patterns, addresses, - (standard input); "
        "data sets, by name or by their TOML.",
        show_default=False,
    ),
]
To = Annotated[
    str, typer.Option("--out", "-o", metavar="DIR|ADDRESS", help="Folder to write, or an address (s3://bucket/c).")
]
Script = Annotated[
    Target | None, typer.Option(help="Bring all text to one script, or keep it; `traditional` is that of Taiwan.")
]
Words = Annotated[
    Segmenter | None,
    typer.Option(help="What makes words; `words` for text whose words are parted by blanks already."),
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of all files, such as gb18030; not given: found by looking.")
]
Field = Annotated[str | None, typer.Option(metavar="NAME", help="Of JSON lines and Parquet; not given: text.")]
Undecodable = Annotated[
    OnUndecodable | None,
    typer.Option(help="Bytes that do not decode: stop there (refuse), or put U+FFFD and count them."),
]
Exclude = Annotated[
    list[str] | None, typer.Option(metavar="TREEBANK", help="Keep out its dev and test sentences, in either script.")
]
Cutters = Annotated[
    Literal["local", "ray"],
    typer.Option(help="Processes of this machine, or a Ray cluster: that of RAY_ADDRESS, or one of this machine."),
]


@app.command()
def build(
    sources: Sources,
    out: To,
    script: Script = None,
    segmenter: Words = None,
    encoding: Encoding = None,
    field: Field = None,
    undecodable: Undecodable = None,
    exclude: Exclude = None,
    engine: Cutters = "local",
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
    from msgspec.structs import replace

    from zh_elmo.corpus.build import build as build_corpus
    from zh_elmo.corpus.remote import target
    from zh_elmo.corpus.show import show as show_corpus

    said = {
        "text.script": script, "text.segmenter": segmenter, "encoding": encoding, "field": field,
        "undecodable": undecodable,
    }  # fmt: skip
    options = [f"corpus.{key}={json.dumps(value)}" for key, value in said.items() if value is not None]
    settings, files = _settings(sources, [*options, *(sets or [])])
    settings = replace(settings, exclude=[*settings.exclude, *(exclude or [])])
    workers = worker_count(threads)
    with target(out, quiet=quiet) as folder:
        build_corpus(settings, files, folder, workers=workers, engine=engine, command=command_line(), quiet=quiet)
        page = show_corpus(folder).replace(str(folder), out, 1)
    typer.echo(page)


@app.command()
def show(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A corpus.")],
    top: Annotated[int, typer.Option("--top", metavar="N", min=0, help="How many of the most frequent words.")] = 20,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw both curves: a .png, .svg or .pdf.", show_default=False)
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say what is in a corpus.

    Sources with licences and digests, counts, script, what was dropped and why, the most frequent words, how many
    types cover how much of the text, how types grow with the text, lengths of sentences and words, first sentences.

    \b
    Examples:
      zh-elmo corpus show corpus
      zh-elmo corpus show corpus --top 100 --plot curves.png
      zh-elmo corpus show corpus --json | jq .words.coverage.table
    """
    from zh_elmo.corpus import page, picture
    from zh_elmo.corpus.show import facts

    if plot is not None:
        picture.check(plot)
    found = facts(folder, top=top, quiet=quiet)
    if plot is not None:
        picture.draw(found, plot)
        typer.echo(f"both curves: {plot}", err=True)
    typer.echo(json.dumps(found, ensure_ascii=False, indent=2) if as_json else page.text(found))


@app.command()
def get(
    name: Annotated[
        str, typer.Argument(metavar="NAME|ADDRESS", help="A data set, UD_..., wiki:..., or an address; see above.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Put the files there; not given: say where they lie."),
    ] = None,
    digest: Annotated[str, typer.Option("--sha256", metavar="HEX", help="What the file of an address must have.")] = "",
    release: Annotated[
        str, typer.Option(metavar="N.M", help="Of a UD treebank, such as 2.14; not given: the newest one.")
    ] = "",
    archive: Annotated[
        str, typer.Option(metavar="FILE|ADDRESS", help="Take a UD treebank out of this ud-treebanks-vN.M.tgz.")
    ] = "",
    mirror: Annotated[
        str | None,
        typer.Option(metavar="DIR|ADDRESS", help="Look there first; not given: what ZH_ELMO_MIRROR names."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Find or fetch a data set, a UD treebank, a Wikipedia, any file.

    A data set is one that `zh-elmo corpora` lists; it is looked for in the folder that ZH_ELMO_DATA names, on the
    shelf, in the cache, in an installed package, at the origin. UD_Chinese-GSD, or UD_Chinese-GSD@2.14, is a treebank
    from its official release, with licence and README. wiki:zh, or wiki:zh@20261101, is a dump of the articles of a
    Wikipedia. An address begins with https://, http:// or file://.

    A download that was stopped goes on where it was when the same command is run again. What is there already is
    checked against its SHA-256, which is kept beside it, and not fetched again. A mirror is a folder (or an address)
    with the same files, as HOST/PATH or by their names alone; with one, no network is needed.

    \b
    Examples:
      zh-elmo corpus get zh_gsd --out treebanks
      zh-elmo corpus get UD_Chinese-GSD@2.14 --out treebanks
      zh-elmo corpus get UD_Chinese-HK --archive ud-treebanks-v2.14.tgz --out treebanks
      zh-elmo corpus get wiki:zh@20261101 --out dumps
      zh-elmo corpus get https://example.org/news.txt.gz --out raw --mirror /media/disk
    """
    from zh_elmo.data import get as get_data

    got = get_data(name, out, digest=digest, release=release, archive=archive, mirror=mirror, quiet=quiet)
    for file in got.files:
        typer.echo(file.path)
        typer.echo(f"sha256 {file.sha256}  {file.path.name}: {file.how}", err=True)
    typer.echo(got.about, err=True)


def _settings(sources: list[str], sets: list[str]) -> tuple[CorpusSettings, list[str]]:
    """The settings of the recipe that comes first, or the usual ones; and what is left: files and data sets."""
    from zh_elmo.corpus.settings import Corpora
    from zh_elmo.data import is_dataset
    from zh_elmo.recipe import entries, find, load, usual

    first = Path(sources[0])
    named = {entry.name for entry in entries("recipes")}
    is_file = first.is_file()
    recipe = not (is_file and is_dataset(first)) if first.suffix == ".toml" else str(first) in named and not is_file
    if not recipe:
        return usual(Corpora, sets).corpus, sources
    from zh_elmo.lm.settings import Pretrain

    return load(find("recipes", sources[0]), Pretrain, sets).corpus, sources[1:]
