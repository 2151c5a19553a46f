"""Does the arm elmo win on OOV words? Said in a sentence either way, with how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zh_elmo.suite.tables import probability
from zh_elmo.ud.oov import OOV

_METRICS = ("UPOS", "LAS")
_CLEAR = 0.05  # a difference with a smaller p is called clear


def verdict(results: Mapping[str, Any]) -> list[str]:
    """A sentence for each treebank with the arm elmo and another one."""
    return [said for name in results["treebanks"] if (said := _of_treebank(results, name))]


def _of_treebank(results: Mapping[str, Any], name: str) -> str:
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in results["comparisons"]:
        place = (row["treebank"], row["second"], row["slice"])
        if place == (name, "elmo", OOV) and row["metric"] in _METRICS and row["difference"] is not None:
            rows.setdefault(row["first"], []).append(row)
    if not rows:
        return ""
    figures = "; ".join(f"against {arm} {', '.join(map(_figure, found))}" for arm, found in rows.items())
    judged = " and ".join(f"{_judged(found)} {arm}" for arm, found in rows.items())
    return f"{name}, OOV words, elmo {figures}. On OOV words elmo is {judged}."


def _figure(row: Mapping[str, Any]) -> str:
    return f"{row['metric']} {row['difference']:+.2f} ({probability(row['p'])})"


def _judged(rows: list[Mapping[str, Any]]) -> str:
    """How the arm stands on all metrics together."""
    clear = [row["p"] < _CLEAR for row in rows]
    signs = {row["difference"] > 0 for row in rows}
    if signs == {True}:
        return "clearly ahead of" if all(clear) else "ahead, but not clearly on every metric, of"
    if signs == {False}:
        return "NOT ahead of"
    return "ahead on one metric and NOT on the other of"
