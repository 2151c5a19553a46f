"""The largest differences of every golden set, as a table: `python tests/golden/differences.py`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]  # as in pyproject.toml

from golden.comparison import Comparison, against_golden, against_plain, largest  # noqa: E402
from golden.registry import GROUPS  # noqa: E402


def rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """(set, kind of array, float32 against the program, float64 against the twin, the twin against the program)."""
    product = largest(against_golden(comparison, comparison.product("float32")))
    twin = largest(against_plain(comparison)) if comparison.plain is not None else {}
    plain = largest(against_golden(comparison, comparison.plain())) if comparison.plain is not None else {}
    columns = (product, twin, plain)
    return [
        (comparison.name, kind, *(f"{column[kind]:.1e}" if kind in column else "" for column in columns))
        for kind in product
    ]


def main() -> None:
    head = ("set", "arrays", "float32 - program", "float64 - twin", "twin - program")
    table = [head, *(row for group in GROUPS.values() for comparison in group for row in rows(comparison))]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


if __name__ == "__main__":
    main()
