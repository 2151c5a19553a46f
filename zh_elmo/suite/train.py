"""What `zh-elmo train` does: one arm of one treebank, from a recipe `tag-*` or `parse-*`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from zh_elmo.suite import treebanks
from zh_elmo.suite.cell import Cell
from zh_elmo.suite.run import run_cells
from zh_elmo.suite.settings import Suite, TrainRecipe


def train(
    recipe: TrainRecipe, folder: str | Path, *, threads: int = 1, command: str = "", quiet: bool = False
) -> dict[str, Any]:
    """Train the tagger and the parser of a recipe into `folder`; gives the results.

    Writes tagger/, parser/, text.json, vectors.json, the predictions dev.conllu and test.conllu, results.json and
    report.html. Run again, it goes on from the last checkpoint. Raises BadInput where treebank, model or corpus are
    missing; what goes wrong in training is in `results["failures"]` (see `run.complain`).
    """
    folder = Path(folder)
    kind = recipe.vectors.kind
    suite = Suite(
        title=f"{treebanks.title(recipe.data.treebank)}, {kind}",
        treebanks=[recipe.data.treebank],
        arms=[kind],
        seeds=[recipe.seed],
        model=recipe.vectors.model,
        corpus=recipe.vectors.corpus,
        text=recipe.text,
        static=recipe.static,
        tagger=recipe.tagger,
        parser=recipe.parser,
        elmo_threads=threads,
    )
    vectors = {"none": "", "static": "static", "elmo": f"features/{treebanks.title(recipe.data.treebank)}"}[kind]
    cell = Cell(
        treebank=recipe.data.treebank,
        arm=kind,
        seed=recipe.seed,
        folder=str(folder),
        vectors=str(folder / vectors),
        model=recipe.vectors.model,
        text=recipe.text,
        tagger=recipe.tagger,
        parser=recipe.parser,
        threads=threads,
    )
    return run_cells(suite, [cell], folder, workers=threads, command=command, quiet=quiet)
