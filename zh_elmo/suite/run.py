"""A suite as jobs: vectors, taggers, parsers of all cells in parallel, then scores, tables and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import zh_elmo.suite.cell as steps
from zh_elmo.corpus.store import Corpus
from zh_elmo.embed.embedder import load as load_embedder
from zh_elmo.files import BadInput, write_json
from zh_elmo.recipe import plain
from zh_elmo.suite import jobs, results, static, treebanks
from zh_elmo.suite.cell import Cell
from zh_elmo.suite.jobs import Job, Outcome
from zh_elmo.suite.report import write_report
from zh_elmo.suite.results import Scored
from zh_elmo.suite.settings import Suite
from zh_elmo.suite.slices import PreTraining
from zh_elmo.suite.verdict import verdict
from zh_elmo.text.pipeline import Pipeline

_STATIC = "static vectors"


class Sources(NamedTuple):
    """The corpus and the biLM of a suite: what names their content, and the jobs that make them if they are to come."""

    corpus_key: Any = None
    model_key: Any = None
    corpus_jobs: tuple[str, ...] = ()
    model_jobs: tuple[str, ...] = ()


def run_suite(
    suite: Suite, folder: str | Path, *, workers: int, command: str = "", quiet: bool = False
) -> dict[str, Any]:
    """Run a suite into `folder` and write results.json and report.html there; gives the results.

    `workers` cores are kept busy. What an earlier run into the same folder did with the same settings and data is not
    done again. A job that fails leaves the other cells alone: it is named in `results["failures"]`, and see `complain`.
    Raises BadInput where treebank, model or corpus are missing or do not belong together, and KeyboardInterrupt.
    """
    folder = Path(folder)
    return run_cells(suite, cells_of(suite, folder), folder, workers=workers, command=command, quiet=quiet)


def run_cells(
    suite: Suite, cells: Sequence[Cell], folder: Path, *, workers: int, command: str, quiet: bool
) -> dict[str, Any]:
    """`run_suite` for cells that may lie anywhere."""
    suite.check()
    listed = suite_jobs(suite, cells, folder, _checked_sources(suite))
    outcome = jobs.run(listed, workers, records=folder / "jobs", title=suite.title, quiet=quiet)
    found = score_cells(suite, cells, folder, outcome, command=command)
    write_results(found, folder)
    return found


def complain(found: Mapping[str, Any]) -> None:
    """Raise BadInput naming what failed, if anything did."""
    if failures := found.get("failures"):
        said = "; ".join(f"{name}: {reason}" for name, reason in failures.items())
        raise BadInput(f"{len(failures)} jobs failed, the others are done ({said})")


def cells_of(suite: Suite, folder: Path) -> list[Cell]:
    """The cells of a suite, in the order in which they are shown."""
    return [
        Cell(
            treebank=name,
            arm=arm,
            seed=seed,
            folder=str(folder / "cells" / f"{treebanks.title(name)}-{arm}-{seed}"),
            vectors={"none": "", "static": str(folder / "static"), "elmo": str(_features(folder, name))}[arm],
            model=suite.model,
            text=suite.text,
            tagger=suite.tagger,
            parser=suite.parser,
            threads=suite.elmo_threads if arm == "elmo" else 1,
        )
        for name in suite.treebanks
        for seed in suite.seeds
        for arm in suite.arms
    ]


# Jobs ---------------------------------------------------------------------------------------------------------------


def suite_jobs(suite: Suite, cells: Sequence[Cell], folder: Path, sources: Sources) -> list[Job]:
    """Vectors first, then taggers, then parsers, so that what is left at the end is divided among the cores."""
    listed: list[Job] = []
    if "static" in suite.arms:
        listed.append(_static_job(suite, folder, sources))
    if "elmo" in suite.arms:
        listed += [_features_job(suite, name, folder, sources) for name in suite.treebanks]
    listed += [_tagger_job(cell) for cell in cells if cell.tagger is not None]
    listed += [_parser_job(cell) for cell in cells if cell.parser is not None]
    return listed


def _static_job(suite: Suite, folder: Path, sources: Sources) -> Job:
    place = folder / "static"
    return Job(
        _STATIC,
        static.train,
        (suite.corpus, suite.static, str(place)),
        needs=sources.corpus_jobs,
        key=[sources.corpus_key, plain(suite.static)],
        outputs=(place / "static.json",),
        seconds=20,
    )


def _features_job(suite: Suite, treebank: str, folder: Path, sources: Sources) -> Job:
    place = _features(folder, treebank)
    return Job(
        _features_name(treebank),
        steps.store_features,
        (suite.model, treebank, str(place)),
        needs=sources.model_jobs,
        key=[sources.model_key, treebanks.digests(treebank)],
        outputs=(place / "meta.json",),
        folder=place,
        threads=suite.elmo_threads,
        seconds=10,
    )


def _tagger_job(cell: Cell) -> Job:
    folder = Path(cell.folder)
    return Job(
        _name(cell, "tagger"),
        steps.train_tagger,
        (cell,),
        needs=_vectors_needed(cell),
        key=[treebanks.digests(cell.treebank), cell.arm, cell.seed, plain(cell.text), plain(cell.tagger)],
        outputs=(folder / "tagger", *([] if cell.parser else _predictions(cell))),
        folder=folder / "tagger-training",
        threads=cell.threads,
        seconds=30,
    )


def _parser_job(cell: Cell) -> Job:
    folder = Path(cell.folder)
    return Job(
        _name(cell, "parser"),
        steps.train_parser,
        (cell,),
        needs=(_name(cell, "tagger"),) if cell.tagger is not None else _vectors_needed(cell),
        key=[treebanks.digests(cell.treebank), cell.arm, cell.seed, plain(cell.text), plain(cell.parser)],
        outputs=(folder / "parser", *_predictions(cell)),
        folder=folder / "parser-training",
        threads=cell.threads,
        seconds=60,
    )


def _vectors_needed(cell: Cell) -> tuple[str, ...]:
    return {"none": (), "static": (_STATIC,), "elmo": (_features_name(cell.treebank),)}[cell.arm]


def _predictions(cell: Cell) -> list[Path]:
    """The files that a cell writes; the last one is scored."""
    return [Path(cell.folder) / f"{role}.conllu" for role in treebanks.find(cell.treebank) if role != "train"]


def _name(cell: Cell, part: str) -> str:
    return f"{treebanks.title(cell.treebank)} {cell.arm} {cell.seed}: {part}"


def _features_name(treebank: str) -> str:
    return f"{treebanks.title(treebank)}: features"


def _features(folder: Path, treebank: str) -> Path:
    return folder / "features" / treebanks.title(treebank)


def _checked_sources(suite: Suite) -> Sources:
    """Look at all that is given before hours are spent: it is there, and static's corpus is the biLM's own."""
    for name in suite.treebanks:
        treebanks.find(name)
    corpus = Corpus.open(Path(suite.corpus)).digest if suite.corpus else ""
    model = ""
    if "elmo" in suite.arms:
        embedder = load_embedder(suite.model)
        model = f"{embedder.digest} {embedder.text_digest}"
        theirs = embedder.facts.get("corpus", {}).get("digest", "")
        if corpus and theirs and theirs != corpus:
            message = f"the biLM {suite.model} was pre-trained on another corpus; give the very same"
            raise BadInput(message, path=suite.corpus)
    return Sources(corpus, model)


# Results ------------------------------------------------------------------------------------------------------------


def score_cells(suite: Suite, cells: Sequence[Cell], folder: Path, outcome: Outcome, *, command: str) -> dict[str, Any]:
    """The results of all cells that are done: what results.json holds."""
    seen, text = _seen(suite), Pipeline(suite.text)
    found: dict[str, Any] = {
        "title": suite.title,
        "created": results.now(),
        "command": command,
        "versions": results.versions(),
        "suite": plain(suite),
        "treebanks": {},
        **{name: [] for name in ("cells", "scores", "comparisons", "examples")},
        "failures": outcome.failures,
    }
    for name in suite.treebanks:
        scored = [_scored(cell, outcome, folder) for cell in cells if cell.treebank == name]
        done = [cell for cell in scored if cell is not None]
        if done:
            part = results.of_treebank(treebanks.load(name), done, text, seen, suite.samples, suite.examples)
            found["treebanks"][treebanks.title(name)] = part.pop("treebank")
            for key, rows in part.items():
                found[key] += rows
    return found | {"notes": verdict(found)}


def write_results(found: Mapping[str, Any], folder: Path) -> None:
    """results.json, and report.html made from it."""
    write_json(folder / "results.json", found)
    write_report(folder)


def _scored(cell: Cell, outcome: Outcome, folder: Path) -> Scored | None:
    """What is known of a finished cell, None where a part of it is missing."""
    parts = [part for part, there in (("tagger", cell.tagger), ("parser", cell.parser)) if there is not None]
    done = {part: outcome.results.get(_name(cell, part)) for part in parts}
    files = _predictions(cell)
    if None in done.values():
        return None
    trained = {part: found for part, found in done.items() if found is not None}
    facts = {
        "seconds": round(sum(outcome.seconds[_name(cell, part)] for part in parts), 1),
        "training_seconds": {part: found["seconds"] for part, found in trained.items()},
        "dev": {part: found["dev"] for part, found in trained.items()},
        "mix": {part: found["mix"] for part, found in trained.items() if found["mix"]},
        "files": {file.stem: file.relative_to(folder).as_posix() for file in files},
    }
    return Scored(cell.arm, cell.seed, files[-1], tuple(parts), facts)


def _seen(suite: Suite) -> PreTraining | None:
    """The words of the biLM's corpus, where it is known."""
    if not suite.corpus:
        return None
    corpus = Corpus.open(Path(suite.corpus))
    types = {word for word, count in zip(corpus.types, corpus.counts, strict=True) if count > 0}
    return PreTraining(types, Pipeline(static.text_of(corpus)))
