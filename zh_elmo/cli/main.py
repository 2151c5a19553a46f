"""`zh-elmo`: the commands put together, and the one place where errors become lines and exit codes."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, TextIO

import typer

from zh_elmo.cli import (
    convert,
    corpus,
    embed,
    evaluate,
    info,
    perplexity,
    predict,
    pretrain,
    quickstart,
    report,
    score,
    shelves,
    train,
)
from zh_elmo.cli.options import HELP_SETTINGS, show_help, show_version
from zh_elmo.files import BadInput, explain, one_line

NAME = "zh-elmo"
DONE, BAD_DATA, WRONG_USAGE, INTERRUPTED, READER_GONE = 0, 1, 2, 130, 141

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
    context_settings=HELP_SETTINGS,
)


@app.callback()
def zh_elmo(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and end.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; also understood after the command.")
    ] = False,
) -> None:
    """Raw text in; a table out that says how much contextual embeddings help, and on which words.

    \b
    Examples:
      zh-elmo quickstart
      zh-elmo corpus build text.txt --out corpus
      zh-elmo pretrain pretrain-zh-tiny --corpus corpus --out run
      zh-elmo embed run/model sentences.txt --out vectors.store

    Ends with 0 when done, 1 for bad data, 2 for wrong usage, 130 when interrupted.
    """
    show_help(context)


app.command("quickstart")(quickstart.quickstart)
app.add_typer(corpus.app, name="corpus")
app.command("pretrain")(pretrain.pretrain)
app.command("perplexity")(perplexity.perplexity)
app.command("info")(info.info)
app.command("convert")(convert.convert)
app.command("embed")(embed.embed)
app.command("train")(train.train)
app.command("predict")(predict.predict)
app.command("score")(score.score)
app.command("eval")(evaluate.evaluate)
app.command("report")(report.report)
app.command("recipes")(shelves.recipes)
app.command("corpora")(shelves.corpora)
app.command("suites")(shelves.suites)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit code.

    `--debug` may stand anywhere: it is taken out before the commands look.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    _speak_utf8(sys.stdout)
    _speak_utf8(sys.stderr)
    try:
        with _terminate_as_interrupt(), _warnings_on_one_line():
            code = app(args=[word for word in given if word != "--debug"], prog_name=NAME, standalone_mode=False)
            sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except (BrokenPipeError, SystemExit):  # the latter is what typer makes of the former
        _silence(sys.stdout)
        return READER_GONE
    except Exception as error:
        if debug:
            traceback.print_exc()
        return _failed(error)
    if code == INTERRUPTED:
        _say("interrupted; what is written is whole; run the same command again (with --resume where it has one)")
    return code or DONE


def _failed(error: Exception) -> int:
    """Say on one line what went wrong; returns the exit code."""
    if isinstance(error, typer.Abort) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # typer takes any EOFError for the end of an input that it asked for
    if isinstance(error, BadInput):
        _say(str(error))
        return WRONG_USAGE if error.usage else BAD_DATA
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        _say(f"{error.format_message().rstrip('.')}; see {context.command_path if context else NAME} --help")
        return WRONG_USAGE
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("zh_elmo"):
        _say(f"this needs the package {error.name}, which is not installed; {_how_to_install(error.name)}")
        return WRONG_USAGE
    if isinstance(error, OSError):
        _say(explain(error))
    elif isinstance(error, MemoryError):
        _say("out of memory; give less at once or a smaller batch")
    else:
        _say(f"unexpected {type(error).__name__}: {error}; --debug shows where")
    return BAD_DATA


def _how_to_install(module: str) -> str:
    """The pip line that brings `module`: our own extra where one names it."""
    from importlib.metadata import PackageNotFoundError, requires

    package = module.partition(".")[0]
    try:
        needs = requires("zh-elmo") or []
    except PackageNotFoundError:
        needs = []
    for need in needs:
        name, _, condition = need.partition(";")
        if name.startswith(package) and "extra" in condition:
            return f"install it with: pip install 'zh-elmo[{condition.split('==')[1].strip(chr(34) + chr(39) + ' ')}]'"
    return f"install it with: pip install {package}"


def _say(line: str) -> None:
    print(f"{NAME}: {one_line(line)}", file=sys.stderr)


def _speak_utf8(stream: TextIO) -> None:
    """Chinese is written as UTF-8 whatever the locale says; what UTF-8 cannot hold is escaped."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace")


def _silence(stream: TextIO) -> None:
    """Whoever read our output is gone: let the rest go nowhere, so that Python's own flush at the end says nothing."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        return


@contextmanager
def _warnings_on_one_line() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: _say(f"note: {message}")
        yield


@contextmanager
def _terminate_as_interrupt() -> Iterator[None]:
    """SIGTERM unwinds as Ctrl-C does, so that unfinished files are cleared away."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
