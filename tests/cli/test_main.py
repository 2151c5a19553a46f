"""The frame of the commands: help, exit codes, one line for every error."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zh_elmo.cli import main as frame
from zh_elmo.cli import shelves
from zh_elmo.files import BadInput

COMMANDS = (
    ["quickstart"],
    ["corpus", "build"],
    ["corpus", "show"],
    ["corpus", "get"],
    ["pretrain"],
    ["perplexity"],
    ["convert"],
    ["info"],
    ["embed"],
    ["train"],
    ["predict"],
    ["score"],
    ["eval"],
    ["report"],
    ["recipes"],
    ["corpora"],
    ["suites"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_has_an_example(zh_elmo: Callable[..., Any], command: list[str]):
    ended = zh_elmo(*command, "--help")
    assert ended.code == 0
    assert f"\n    zh-elmo {' '.join(command)}" in ended.out
    assert ended.err == ""


def test_every_command_is_in_this_list_and_has_a_whole_summary(zh_elmo: Callable[..., Any]):
    shown = [line.split() for line in zh_elmo("--help").out.partition("Commands:\n")[2].splitlines()]
    assert {words[0] for words in shown} == {command[0] for command in COMMANDS}
    assert all(words[-1].endswith(".") and not words[-1].endswith("...") for words in shown)


@pytest.mark.parametrize("arguments", [[], ["corpus"]])
def test_a_group_by_itself_shows_its_commands(zh_elmo: Callable[..., Any], arguments: list[str]):
    ended = zh_elmo(*arguments)
    assert ended.code == 0
    assert "Commands:" in ended.out


def test_version(zh_elmo: Callable[..., Any]):
    ended = zh_elmo("--version")
    assert ended.code == 0
    assert ended.out.startswith("zh-elmo ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pretrian"], "pretrian"),
        (["score"], "Missing argument"),
        (["score", "a", "b", "--frobnicate"], "--frobnicate"),
        (["recipes", "extra"], "extra"),
        (["pretrain", "x", "--corpus", "c", "--out", "o", "--threads", "0"], "--threads"),
        (["pretrain", "x", "--corpus", "c", "--out", "o", "--threads", "many"], "valid integer"),
        (["corpus", "build", "x", "--out", "o", "--script", "klingon"], "klingon"),
    ],
)
def test_wrong_usage_is_one_line_that_names_the_help(zh_elmo: Callable[..., Any], arguments: list[str], said: str):
    ended = zh_elmo(*arguments)
    assert ended.code == 2
    assert said in ended.line
    assert ended.line.endswith("--help")
    assert ended.out == ""


def failing(error: BaseException) -> Callable[[str], list[Any]]:
    def entries(shelf: str) -> list[Any]:
        raise error

    return entries


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (BadInput("no roots", path="x.conllu", line=3), 1, "x.conllu:3: no roots"),
        (BadInput("no such recipe", usage=True), 2, "no such recipe"),
        (OSError(errno.ENOSPC, "No space left on device", "out/model"), 1, "out/model: the disk is full"),
        (PermissionError(errno.EACCES, "Permission denied", "out"), 1, "out: permission denied"),
        (MemoryError(), 1, "out of memory"),
        (ModuleNotFoundError("No module named 'gensim'", name="gensim"), 2, "pip install"),
        (ZeroDivisionError("division\nby zero"), 1, "unexpected ZeroDivisionError: division by zero"),
        (ValueError("a lone \ud800 surrogate"), 1, "\\ud800"),
    ],
)
def test_every_error_is_one_line(
    zh_elmo: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, said: str
):
    monkeypatch.setattr(shelves, "entries", failing(error))
    ended = zh_elmo("recipes")
    assert ended.code == code
    assert said in ended.line


@pytest.mark.parametrize("arguments", [["--debug", "recipes"], ["recipes", "--debug"]])
def test_debug_shows_the_traceback(zh_elmo: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, arguments: list[str]):
    monkeypatch.setattr(shelves, "entries", failing(BadInput("no roots")))
    ended = zh_elmo(*arguments)
    assert ended.code == 1
    assert "Traceback" in ended.err
    assert ended.err.endswith("zh-elmo: no roots\n")


def test_interrupted_is_130(zh_elmo: Callable[..., Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shelves, "entries", failing(KeyboardInterrupt()))
    ended = zh_elmo("recipes")
    assert ended.code == 130
    assert "interrupted" in ended.line


def test_a_missing_package_is_named_with_our_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.metadata.requires", lambda name: ['gensim>=4; extra == "gensim"', "numpy>=1"])
    assert frame._how_to_install("gensim.models") == "install it with: pip install 'zh-elmo[gensim]'"
    assert frame._how_to_install("numpy") == "install it with: pip install numpy"


def test_warnings_are_one_line_each(zh_elmo: Callable[..., Any], monkeypatch: pytest.MonkeyPatch):
    def warn(shelf: str) -> list[Any]:
        import warnings

        warnings.warn("line 7: 40 characters\nwithout a blank", stacklevel=1)
        return []

    monkeypatch.setattr(shelves, "entries", warn)
    ended = zh_elmo("recipes")
    assert ended.code == 0
    assert ended.line == "note: line 7: 40 characters without a blank"


def test_whoever_stops_reading_is_not_told_of_it():
    """`zh-elmo corpora | head -1`, where the reader is gone before anything is written."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "zh_elmo", "corpora"], stdout=writer, stderr=subprocess.PIPE, check=False, text=True
    )
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode == 141


def test_output_is_utf8_in_any_locale(tmp_path: Path):
    code = (
        "from zh_elmo.cli import main, shelves; from zh_elmo.recipe import Entry; "
        "shelves.entries = lambda shelf: [Entry('\\u7532', '\\u5206\\u8bcd', None)]; "
        "raise SystemExit(main.main(['recipes']))"
    )
    environment = os.environ | {"PYTHONIOENCODING": "latin-1", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment)
    assert done.stdout.decode("utf-8") == "甲  分词\n"


def test_sigterm_unwinds_as_ctrl_c_does(tmp_path: Path):
    code = (
        "import sys, time, zh_elmo.cli.main as frame; from zh_elmo.cli import shelves; "
        "from zh_elmo.files import writing\n"
        "def entries(shelf):\n"
        "    with writing(sys.argv[1]) as stream:\n"
        "        print('writing', flush=True); time.sleep(60)\n"
        "shelves.entries = entries\n"
        "sys.exit(frame.main(['recipes']))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "x.txt")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in err
    assert list(tmp_path.iterdir()) == []
