"""What several commands share: options, the number of threads, how help is shown."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

HELP_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="Cores to compute with; not given: OMP_NUM_THREADS, else all usable ones."),
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override one value of the recipe, such as training.steps=500."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint in the output folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write; made if it is not there.")]


def use_threads(given: int | None) -> int:
    """Have torch and OpenMP compute with `worker_count(given)` threads; returns their number.

    Said outright, since torch's own guess counts cores that a container does not have.
    """
    count = worker_count(given)
    os.environ["OMP_NUM_THREADS"] = str(count)
    import torch

    torch.set_num_threads(count)
    return count


def worker_count(given: int | None) -> int:
    """Cores to use: what `--threads` says, else OMP_NUM_THREADS, else all usable ones."""
    value = os.environ.get("OMP_NUM_THREADS", "")
    return given or (int(value) if value.isdecimal() else 0) or usable_cores()


def usable_cores() -> int:
    """Cores this process may run on: its affinity, and the quota of its control group where there is one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text("ascii").split()
        return max(1, min(cores, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no control group, or one without a quota ("max")
        return cores


def command_line() -> str:
    """The command as it was typed, for the records of what it makes."""
    return shlex.join(["zh-elmo", *sys.argv[1:]])


def show_version(asked: bool) -> None:
    if asked:
        from zh_elmo import __version__

        typer.echo(f"zh-elmo {__version__}")
        raise typer.Exit()


def show_help(context: typer.Context) -> None:
    """A group called without a command shows what there is."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit()
