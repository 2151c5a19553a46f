"""`zh-elmo recipes`, `corpora`, `suites`: what is on the shelves."""

from __future__ import annotations

import typer

from zh_elmo.recipe import Entry, entries


def recipes() -> None:
    """List the recipes for training.

    \b
    Example:
      zh-elmo recipes
    """
    _show(entries("recipes"))


def suites() -> None:
    """List the suites for evaluation.

    \b
    Example:
      zh-elmo suites
    """
    _show(entries("eval"))


def corpora() -> None:
    """List the known treebanks and texts.

    \b
    Example:
      zh-elmo corpora
    """
    from zh_elmo.data import catalogue

    known = catalogue()
    width = max(map(len, known), default=0)
    for name, dataset in known.items():
        typer.echo(f"{name:{width}}  {dataset.kind:8}  {dataset.title} ({dataset.licence})")


def _show(found: list[Entry]) -> None:
    width = max((len(entry.name) for entry in found), default=0)
    for entry in found:
        typer.echo(f"{entry.name:{width}}  {entry.about}")
