"""The two curves of a corpus as a picture: PNG, SVG or PDF, drawn by matplotlib."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zh_elmo.files import BadInput, write_bytes

SUFFIXES = (".png", ".svg", ".pdf")
_COLOUR, _OTHER = "#2b7bba", "#c44e16"


def check(path: Path) -> None:
    """Raise BadInput (usage) where `path` is no picture that can be drawn here, before any work is done."""
    if path.suffix.lower() not in SUFFIXES:
        raise BadInput(f"a picture is a file of the kind {', '.join(SUFFIXES)}", path=path, usage=True)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise BadInput("a picture needs the package matplotlib: pip install 'zh-elmo[plots]'", usage=True) from None


def draw(facts: Mapping[str, Any], path: Path) -> None:
    """Coverage and type-token curve of what `show.facts` found, side by side."""
    check(path)
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    words = facts["words"]
    style: dict[Any, Any] = {
        "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e4e4e4",
        "axes.axisbelow": True, "font.size": 10, "svg.hashsalt": facts["digest"],
    }  # fmt: skip
    kind = path.suffix.lower().removeprefix(".")
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(10, 4), layout="constrained")
        FigureCanvasAgg(figure)  # no window system, and no state shared with the user's own plots
        first, second = figure.subplots(1, 2)
        _coverage(first, words)
        _growth(second, words)
        figure.suptitle(f"corpus {facts['digest'][:12]}: {facts['counts']['train']['words']:,} words in training")
        buffer = io.BytesIO()
        dates: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
        figure.savefig(buffer, format=kind, dpi=150, metadata=dates[kind])
    write_bytes(path, buffer.getvalue())


def _coverage(axes: Any, words: Mapping[str, Any]) -> None:
    rows = words["coverage"]["curve"]
    sizes = [row["types"] for row in rows]
    axes.plot(sizes, [100 * row["train"] for row in rows], color=_COLOUR, marker=".", label="training")
    if rows and "heldout" in rows[0]:
        axes.plot(sizes, [100 * row["heldout"] for row in rows], color=_OTHER, marker=".", label="held out")
        axes.legend(frameon=False)
    axes.set_xscale("log")
    axes.set_ylim(0, 102)
    axes.set_xlabel("most frequent word types")
    axes.set_ylabel("running words that they cover, %")
    axes.set_title("Coverage")


def _growth(axes: Any, words: Mapping[str, Any]) -> None:
    rows = words["type_token"]
    axes.plot([row["words"] for row in rows], [row["types"] for row in rows], color=_COLOUR, marker=".")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("running words read")
    axes.set_ylabel("word types among them")
    axes.set_title("Types and tokens")
