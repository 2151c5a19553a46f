"""What was found at a path, in plain words: kind, files, sizes, what the model knows, what lacks, what is assumed."""

from __future__ import annotations

from typing import Any

from zh_elmo.formats.opened import Opened
from zh_elmo.lm.model import BiLM


def describe(opened: Opened) -> dict[str, Any]:
    """Facts about an opened model, for people (`zh-elmo info`) and as JSON."""
    bilm = opened.bilm
    told: dict[str, Any] = {
        "kind": opened.kind,
        "path": str(opened.path),
        "files": ", ".join(file.name for file in opened.files),
        "reads": _reads(bilm),
        "layers": f"{bilm.n_layers} of {bilm.width} numbers a word{_of_what(bilm)}",
        "lstm": _lstm(bilm),
        "parameters": _parameters(bilm),
        "stored as": opened.dtype,
        "characters known": _characters(bilm),
        "words known": len(bilm.words) if bilm.words else None,
        "missing": _missing(opened),
        "assumed": list(opened.notes),
    }
    if opened.kind != "zh_elmo" and opened.facts.get("mixes"):
        told["mixes"] = [
            f"weights {mix['weights']} before the softmax, gamma {mix['gamma']}" for mix in opened.facts["mixes"]
        ]
    return told


def lines(told: dict[str, Any]) -> list[str]:
    """The facts as lines of text."""
    shown = []
    for name, value in told.items():
        if isinstance(value, list):
            shown += [f"{name + ':':18}{entry}" for entry in value]
        elif value is not None:
            shown.append(f"{name + ':':18}{f'{value:,}' if isinstance(value, int) else value}")
    return shown


def _reads(bilm: BiLM) -> str:
    settings, reads = bilm.settings, bilm.settings.characters
    parts = []
    if reads.filters:
        widths = ", ".join(f"{number} of width {width}" for width, number in reads.filters)
        seen = "seen" if reads.padded else "not seen"
        parts.append(
            f"the first {reads.maximum} {reads.unit}s of a word ({reads.size} numbers each; filters {widths}, "
            f"{reads.activation}, {reads.highways} highways, padding {seen})"
        )
    if settings.word_table:
        size = settings.word_size or settings.projection
        cut = f", cut to {reads.maximum} characters" if settings.cut_words else ""
        parts.append(f"whole words{cut}, from a table of {size} numbers each")
    return " and ".join(parts)


def _of_what(bilm: BiLM) -> str:
    if bilm.settings.lstm == "two-way":
        return ": the top alone"
    return " (0: token encoding, then the LSTM layers)"


def _lstm(bilm: BiLM) -> str:
    settings = bilm.settings
    parts = [f"{settings.layers} layers, {settings.cell} cells"]
    if settings.lstm != "plain":
        parts[0] += f" projected to {settings.projection}"
    if settings.lstm == "two-way":
        parts.append("each reads both directions of the one below")
    elif settings.layers > 1:
        parts.append("skip connections" if settings.skip else "no skip connections")
    for what, clip in (("cell", settings.cell_clip), ("output", settings.projection_clip)):
        if clip:
            parts.append(f"{what} clipped at {clip:g}")
    return ", ".join(parts)


def _parameters(bilm: BiLM) -> int:
    """Numbers that the model has; our table of bytes has a row for the unknown character, which no byte is."""
    reads = bilm.settings.characters
    unused = reads.size if reads.filters and reads.unit == "byte" else 0
    return sum(parameter.numel() for parameter in bilm.parameters()) - unused


def _characters(bilm: BiLM) -> str | int | None:
    reads = bilm.settings.characters
    if not reads.filters:
        return None
    return "all (bytes of UTF-8)" if reads.unit == "byte" else len(bilm.chars)


def _missing(opened: Opened) -> list[str]:
    bilm = opened.bilm
    lacks = []
    if bilm.softmax is None:
        lacks.append("the softmax: vectors, but no perplexity and no substitutes")
    if not bilm.words:
        lacks.append("a vocabulary: which words it was trained on is not known")
    if not opened.text:
        lacks.append("how its corpus was segmented and normalised: words are taken as they are given")
    return lacks
