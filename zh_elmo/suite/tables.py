"""Results as tables of text: rows of arm and slice, for the terminal (rich) and for the page."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from zh_elmo.files import BadInput
from zh_elmo.suite.slices import ALL, OFTEN, ONCE
from zh_elmo.ud.oov import OOV_SHARES, SEEN, UNSEEN

SHOWN = ("UPOS", "UAS", "LAS")
_GROUPS = {
    "pre-training": "OOV words, by whether pre-training has seen them as words",
    "share": "all words, by the share of OOV words in their sentence",
    "frequency": "IV words, by how often the training split has them",
}
_SHORT = {SEEN: "seen", UNSEEN: "never seen", OFTEN: "twice or more", ONCE: "once"}
_SHORT |= {share: share.removeprefix("OOV ") for share in OOV_SHARES}  # so that a table fits into 80 columns
Results = Mapping[str, Any]


class Table(NamedTuple):
    """A title that says what is counted, columns, rows; the first `labels` columns are text, the rest figures."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    labels: int


def tables(results: Results) -> list[Table]:
    """All tables of a results.json, those of each treebank together; raises BadInput where it is no such thing."""
    try:
        found = [table for name in results["treebanks"] for table in _of_treebank(results, name)]
        return found + [table for table in (mix_table(results), effort_table(results)) if table.rows]
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise BadInput(f"these are no results of zh_elmo: {type(error).__name__} {error}") from None


def main_tables(results: Results) -> list[Table]:
    """What is shown first: the scores of each treebank on all, IV and OOV words, and the layer weights."""
    found = [
        score_table(results, name, _main_slices(results, name), what_is_scored(results, name))
        for name in results["treebanks"]
    ]
    return found + [table for table in [mix_table(results)] if table.rows]


def show(results: Results, *, brief: bool = False, width: int | None = None, stream: Any = None) -> None:
    """Print all tables (`brief`: the main ones) to `stream` (default: standard output)."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    console = Console(file=stream, width=width, highlight=False)
    for table in main_tables(results) if brief else tables(results):
        console.print(Text(f"\n{table.title}", style="bold"))
        grid = Grid(box=box.SIMPLE_HEAD, padding=0)
        for index, column in enumerate(table.columns):
            grid.add_column(column, justify="left" if index < table.labels else "right", no_wrap=True)
        for previous, row in zip([None, *table.rows], table.rows, strict=False):
            if previous is not None and previous[0] != row[0] and table.labels > 1:
                grid.add_section()
            grid.add_row(*(Text(cell) for cell in row))
        grid.width = console.measure(grid, options=console.options.update(width=1000)).maximum
        console.print(grid, crop=False, width=1000)  # figures are never cut; a terminal too narrow wraps them


# Tables -------------------------------------------------------------------------------------------------------------


def _of_treebank(results: Results, name: str) -> Iterator[Table]:
    arms = arms_of(results, name)
    if not arms:
        return
    groups, main = results["treebanks"][name]["groups"], _main_slices(results, name)
    yield score_table(results, name, main, what_is_scored(results, name))
    if len(arms) > 1:
        yield difference_table(results, name, main)
    for group, title in _GROUPS.items():
        if groups.get(group):
            yield score_table(results, name, groups[group], f"{name}: {title}")


def _main_slices(results: Results, name: str) -> list[str]:
    return [ALL, *results["treebanks"][name]["groups"]["vocabulary"]]


def what_is_scored(results: Results, name: str) -> str:
    """The title that leaves no doubt about what the figures are."""
    facts = results["treebanks"][name]
    seeds = len({cell["seed"] for cell in results["cells"] if cell["treebank"] == name})
    several = f"; mean over {seeds} seeds" if seeds > 1 else ""
    return (
        f"{name} {facts['scored']}: gold segmentation, predicted tags, CoNLL 2018 F1 in % with 95 % intervals "
        f"(bootstrap over {facts['sentences']:,} sentences){several}; "
        f"OOV rate {100 * facts['oov_rate']:.1f} % ({facts['slices']['OOV']:,} of {facts['slices']['all']:,} words)"
    )


def score_table(results: Results, name: str, slices: Sequence[str], title: str) -> Table:
    """Arm x slice: how many words, and each metric with its interval."""
    found = scores_of(results, name)
    sizes = results["treebanks"][name]["slices"]
    metrics = [metric for metric in SHOWN if any(key[2] == metric for key in found)]
    rows = []
    for arm in arms_of(results, name):
        for words in slices:
            cells = [_score(found.get((arm, words, metric))) for metric in metrics]
            rows.append([arm, short(words), f"{sizes[words]:,}", *cells])
    return Table(title, ["arm", "words", "number", *metrics], rows, 2)


def difference_table(results: Results, name: str, slices: Sequence[str]) -> Table:
    """Each arm against each arm before it, on the same sampled sentences."""
    found = {
        (row["first"], row["second"], row["slice"], row["metric"]): row
        for row in results["comparisons"]
        if row["treebank"] == name
    }
    metrics = [metric for metric in SHOWN if any(key[3] == metric for key in found)]
    rows = []
    for first, second in itertools.combinations(arms_of(results, name), 2):
        for words in slices:
            cells = [_difference(found.get((first, second, words, metric))) for metric in metrics]
            rows.append([f"{second} - {first}", words, *cells])
    title = f"{name}: differences in points, two-sided p by paired bootstrap over sentences"
    return Table(title, ["arms", "words", *metrics], rows, 2)


def mix_table(results: Results) -> Table:
    """The learned layer weights of taggers and parsers."""
    rows, most = [], 0
    for cell in results["cells"]:
        for part, mix in (cell.get("mix") or {}).items():
            weights = [f"{weight:.3f}" for weight in mix["s"]]
            most = max(most, len(weights))
            label = f"{cell['treebank']} {cell['arm']}, seed {cell['seed']}"
            rows.append([label, part, *weights, f"{mix['gamma']:.3f}"])
    columns = ["", "part", *(f"s_{layer}" for layer in range(most)), "gamma"]
    title = "Learned layer weights (layer 0: the word alone; above it: the word in its sentence)"
    return Table(title, columns, rows, 2)


def effort_table(results: Results) -> Table:
    """What training took, and how good its best state was on dev."""
    rows = []
    for cell in results["cells"]:
        label = f"{cell['treebank']} {cell['arm']}, seed {cell['seed']}"
        for part, seconds in (cell.get("training_seconds") or {}).items():
            score = (cell.get("dev") or {}).get(part, {}).get("score")
            rows.append([label, part, f"{seconds:,.0f}", "-" if score is None else f"{score:.2f}"])
    title = "Training: seconds, and the best state on dev in % (tagger: UPOS; parser: LAS, greedy heads)"
    return Table(title, ["", "part", "seconds", "dev"], rows, 2)


def short(label: str) -> str:
    """A slice as its table names it, where the title says the rest."""
    return _SHORT.get(label, label)


# What the tables are made of ----------------------------------------------------------------------------------------


def arms_of(results: Results, name: str) -> list[str]:
    """The arms of a treebank that have a score, in the order of the suite."""
    return list(dict.fromkeys(row["arm"] for row in results["scores"] if row["treebank"] == name))


def scores_of(results: Results, name: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    """(arm, slice, metric) -> {"f1", "low", "high"} in percent; None where a slice has no word."""
    return {(row["arm"], row["slice"], row["metric"]): row for row in results["scores"] if row["treebank"] == name}


def _score(row: Mapping[str, Any] | None) -> str:
    if row is None or row["f1"] is None:
        return "-"
    return f"{row['f1']:.2f} ({row['low']:.1f}–{row['high']:.1f})"


def _difference(row: Mapping[str, Any] | None) -> str:
    if row is None or row["difference"] is None:
        return "-"
    return f"{row['difference']:+.2f} {probability(row['p'])}"


def probability(p: float) -> str:
    return "p<0.001" if p < 0.001 else f"p={p:.3f}"
