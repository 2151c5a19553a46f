"""The card of a model: what it was made of, how large and how good it is, how it is used; Markdown for a person."""

from __future__ import annotations

import json
from typing import Any

from zh_elmo.files import one_line
from zh_elmo.lm.model import BiLM

_SAID_ABOVE = ("corpus", "held_out_perplexity", "parameters", "licence", "settings")


def card(bilm: BiLM, *, text: dict[str, Any], facts: dict[str, Any], dtype: str) -> str:
    """`README.md` of a model folder. What `facts` does not tell is said to be unknown, never left out silently."""
    parts = [
        "# A zh_elmo biLM\n\nContextual word vectors of the ELMo kind (Peters et al. 2018).",
        '```python\nimport zh_elmo\nelmo = zh_elmo.load("this folder")\n'
        'vectors = elmo.embed([["我", "买", "了", "苹果"]])\n```',
        _section("Sizes", _sizes(bilm, dtype)),
        _section("Data", _mapping(facts.get("corpus")), "Not told."),
        _section("Text", _mapping(text), "Not told."),
        _section("Held-out perplexity", _perplexity(facts.get("held_out_perplexity")), "Not measured."),
        _section("Licence", _mapping(facts.get("licence")), "Not told: ask who made the model."),
        _section("How it was made", _mapping({k: v for k, v in facts.items() if k not in _SAID_ABOVE}), "Not told."),
    ]
    if facts.get("settings"):
        parts.append("Settings:\n\n```json\n" + json.dumps(facts["settings"], ensure_ascii=False, indent=2) + "\n```")
    return "\n\n".join(parts) + "\n"


def _section(title: str, points: list[str], otherwise: str = "") -> str:
    body = "\n".join(f"- {one_line(point)}" for point in points) or otherwise
    return f"## {title}\n\n{body}"


def _sizes(bilm: BiLM, dtype: str) -> list[str]:
    total = sum(p.numel() for p in bilm.parameters())
    of_softmax = sum(p.numel() for p in bilm.softmax.parameters()) if bilm.softmax is not None else 0
    return [
        f"parameters: {total:,}, "
        + (f"of which the softmax has {of_softmax:,}" if of_softmax else "without a softmax"),
        f"characters: {len(bilm.chars):,}; words: {len(bilm.words):,}",
        f"layers: {bilm.n_layers} of {bilm.width} numbers a word (0: token encoding, then the LSTM layers)",
        f"weights stored as {dtype}",
    ]


def _perplexity(figures: Any) -> list[str]:
    rule = "by the full softmax; the mean is geometric; a word outside the vocabulary counts as `<unk>`"
    return [*_mapping(figures), rule] if figures else []


def _mapping(values: Any) -> list[str]:
    if not isinstance(values, dict):
        return [str(values)] if values else []
    return [f"{str(name).replace('_', ' ')}: {_value(value)}" for name, value in values.items()]


def _value(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "unknown"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(inner)}" for name, inner in value.items())
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
