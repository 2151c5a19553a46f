"""Pictures of results as inline SVG; text stays text, so that the fonts of the reader's browser draw Chinese."""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from zh_elmo.suite.tables import SHOWN, arms_of, scores_of, short

FONTS = (
    "Noto Sans CJK SC",
    "Source Han Sans SC",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
    "DejaVu Sans",
    "sans-serif",
)
COLOURS = {"none": "#767676", "static": "#2b7bba", "elmo": "#c44e16"}
_MARKS = {"none": "s", "static": "D", "elmo": "o"}


class Plot(NamedTuple):
    """A caption and the `<svg>` element."""

    caption: str
    svg: str


def available() -> bool:
    """Is matplotlib there?"""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def plots(results: Mapping[str, Any]) -> list[Plot]:
    """All pictures of a results.json; ids in the page do not clash."""
    with _style():
        found = [plot for name in results["treebanks"] for plot in _of_treebank(results, name)]
        found += [*_by_treebank(results), *_mixes(results), *_learning(results)]
    return [Plot(plot.caption, _own_ids(plot.svg, f"plot{number}-")) for number, plot in enumerate(found, 1)]


def _of_treebank(results: Mapping[str, Any], name: str) -> Iterator[Plot]:
    arms, found, facts = arms_of(results, name), scores_of(results, name), results["treebanks"][name]
    slices = ["all", *facts["groups"]["vocabulary"]]
    for metric in SHOWN:
        if any(key[2] == metric for key in found):
            svg = _intervals(found, arms, slices, metric, facts)
            yield Plot(f"{name}: {metric} by slice, with 95 % intervals · 各类词的得分与置信区间", svg)
    shares = [share for share in facts["groups"]["share"] if facts["slices"][share]]
    if len(shares) > 1:
        for metric in SHOWN:
            if any(key[2] == metric for key in found):
                svg = _intervals(found, arms, shares, metric, facts, joined=True)
                yield Plot(f"{name}: {metric} by the share of OOV words in the sentence · 句中未登录词比例", svg)


def _intervals(
    found: Mapping[tuple[str, str, str], Mapping[str, Any]],
    arms: Sequence[str],
    slices: Sequence[str],
    metric: str,
    facts: Mapping[str, Any],
    joined: bool = False,
) -> str:
    """A point with its interval for each arm and slice."""
    figure, axes = _figure()
    for index, arm in enumerate(arms):
        rows = [found.get((arm, words, metric)) for words in slices]
        points = [(x, row) for x, row in enumerate(rows) if row is not None and row["f1"] is not None]
        xs = [x + 0.2 * (index - (len(arms) - 1) / 2) for x, _ in points]
        ys = [row["f1"] for _, row in points]
        errors = [[y - row["low"] for y, (_, row) in zip(ys, points, strict=True)]]
        errors.append([row["high"] - y for y, (_, row) in zip(ys, points, strict=True)])
        axes.errorbar(
            xs,
            ys,
            yerr=errors,
            label=arm,
            color=COLOURS.get(arm),
            marker=_MARKS.get(arm, "o"),
            linestyle="-" if joined else "none",
            linewidth=1.2,
            markersize=5,
            capsize=3,
        )
    axes.set_xticks(range(len(slices)), [f"{short(words)}\n{facts['slices'][words]:,}" for words in slices])
    axes.set_xlim(-0.5, len(slices) - 0.5)
    axes.set_ylabel(f"{metric}, %")
    axes.set_xlabel("share of OOV words, number of words" if joined else "words, number of words")
    axes.legend(frameon=False)
    return _svg(figure, f"{metric}-{joined}")


def _by_treebank(results: Mapping[str, Any]) -> Iterator[Plot]:
    """What contextual vectors gain, against the OOV rate: one point a treebank."""
    for metric in SHOWN:
        rows = [
            (100 * results["treebanks"][row["treebank"]]["oov_rate"], row)
            for row in results["comparisons"]
            if (row["first"], row["second"], row["slice"], row["metric"]) == ("none", "elmo", "all", metric)
        ]
        if len(rows) < 2:
            continue
        figure, axes = _figure()
        for x, row in rows:
            errors = [[row["difference"] - row["low"]], [row["high"] - row["difference"]]]
            axes.errorbar([x], [row["difference"]], yerr=errors, color=COLOURS["elmo"], marker="o", capsize=3)
            axes.annotate(row["treebank"], (x, row["difference"]), xytext=(5, 5), textcoords="offset points")
        axes.axhline(0, color="#999", linewidth=0.8)
        axes.set_xlabel("OOV rate of the treebank, %")
        axes.set_ylabel(f"{metric}: elmo - none, points")
        yield Plot(f"{metric}: gain of elmo against the OOV rate · 增益与未登录词率", _svg(figure, f"gain-{metric}"))


def _mixes(results: Mapping[str, Any]) -> Iterator[Plot]:
    rows = [(cell, part, mix) for cell in results["cells"] for part, mix in (cell.get("mix") or {}).items()]
    if not rows:
        return
    figure, axes = _figure()
    width = 0.8 / len(rows)
    for index, (cell, part, mix) in enumerate(rows):
        xs = [layer + width * (index - (len(rows) - 1) / 2) for layer in range(len(mix["s"]))]
        label = f"{part}, {cell['treebank']}, seed {cell['seed']}"
        axes.bar(xs, mix["s"], width=0.9 * width, label=label)
    layers = range(max(len(mix["s"]) for _, _, mix in rows))
    axes.set_xticks(layers, [f"layer {layer}" for layer in layers])
    axes.set_ylabel("weight s_j")
    axes.set_ylim(top=1.3 * max(max(mix["s"]) for _, _, mix in rows))  # room for the legend
    if len(rows) <= 8:
        axes.legend(frameon=False)
    yield Plot("Learned layer weights (arm elmo) · 学到的层权重", _svg(figure, "mix"))


def _learning(results: Mapping[str, Any]) -> Iterator[Plot]:
    curve = (results.get("pretraining") or {}).get("curve") or []
    if len(curve) < 2:
        return
    figure, axes = _figure()
    axes.plot([step for step, _ in curve], [loss for _, loss in curve], color=COLOURS["elmo"], linewidth=1.2)
    axes.set_xlabel("updates")
    axes.set_ylabel("training loss (sampled), nats")
    yield Plot("Pre-training of the biLM · 预训练", _svg(figure, "learning"))


# Drawing ------------------------------------------------------------------------------------------------------------


@contextmanager
def _style() -> Iterator[None]:
    """Settings of matplotlib for these pictures; the fonts named need not be there, since the browser has its own."""
    import matplotlib

    logger = logging.getLogger("matplotlib.font_manager")
    level = logger.level
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "font.family": list(FONTS),
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#e4e4e4",
        "axes.unicode_minus": False,
    }
    try:
        logger.setLevel(logging.CRITICAL)
        with matplotlib.rc_context(settings), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing")
            yield
    finally:
        logger.setLevel(level)


def _figure() -> tuple[Any, Any]:
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 3.2))
    figure.subplots_adjust(left=0.14, right=0.98, bottom=0.2, top=0.97)
    FigureCanvasSVG(figure)  # no window system, and no state shared with the user's own plots
    return figure, figure.add_subplot()


def _svg(figure: Any, salt: str) -> str:
    """The figure as an `<svg>` element alone: no XML head, no metadata, no address of a name space."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": salt}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :].rstrip()
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text)
    return text.replace("xlink:href=", "href=")


def _own_ids(svg: str, prefix: str) -> str:
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}", svg)
