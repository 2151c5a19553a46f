"""The whole path on the sample: raw text, a tiny biLM, three arms of taggers and parsers, one table, one page."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from zh_elmo import data, recipe
from zh_elmo.corpus.build import build
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.corpus.store import Corpus
from zh_elmo.files import BadInput, sha256
from zh_elmo.formats import own
from zh_elmo.lm.pretrain import pretrain
from zh_elmo.lm.settings import Pretrain
from zh_elmo.recipe import plain
from zh_elmo.suite import jobs, static, tables
from zh_elmo.suite.jobs import Job
from zh_elmo.suite.run import Sources, cells_of, score_cells, suite_jobs, write_results
from zh_elmo.suite.settings import Suite

RECIPE, SUITE = "pretrain-zh-tiny", "sample"
_WORDS_A_SECOND = 3000  # of pre-training on one core, for the time left before anything is known
_SHOWS_THE_WAY = (
    "A model of this size shows the way, not the worth: it was pre-trained for minutes on one core, and the treebank "
    "is small and made for this. For figures that mean something, pre-train on more text (`zh-elmo recipes`) and run a "
    "suite on a real treebank (`zh-elmo suites`)."
)
_PLACES = {
    "corpus": "corpus",
    "biLM": "model",
    "taggers, parsers, predictions": "cells",
    "all figures": "results.json",
    "tables and pictures": "report.html",
}


def quickstart(folder: str | Path, *, threads: int, command: str = "", quiet: bool = False) -> dict[str, Any]:
    """Run the whole path into `folder` on `threads` cores; gives the results, and `tell` prints them.

    The biLM is pre-trained while the arms that do not need it are trained. Interrupted and run again, it goes on where
    it was. Raises BadInput where the raw text or gensim are not installed, and KeyboardInterrupt.
    """
    folder = Path(folder)
    pretraining = recipe.load(recipe.find("recipes", RECIPE), Pretrain)
    suite = recipe.load(recipe.find("eval", SUITE), Suite)
    suite = msgspec.structs.replace(suite, model=str(folder / "model"), corpus=str(folder / "corpus"))
    return run(pretraining, suite, folder, threads=threads, command=command, quiet=quiet)


def run(
    pretraining: Pretrain, suite: Suite, folder: Path, *, threads: int, command: str = "", quiet: bool = False
) -> dict[str, Any]:
    """`quickstart` with other settings; `suite` names the folders of the model and the corpus that will be made."""
    static.require_gensim()
    names = [*pretraining.corpus.sources, *pretraining.corpus.exclude]
    digests = {name: _digests(name) for name in names}  # text that is not there is told of now
    cells = cells_of(suite, folder)
    listed = _source_jobs(pretraining, suite, folder, digests, threads)
    listed += suite_jobs(suite, cells, folder, Sources(corpus_jobs=("corpus",), model_jobs=("biLM",)))
    outcome = jobs.run(listed, threads, records=folder / "jobs", title="quickstart", quiet=quiet)
    if "corpus" in outcome.failures:  # nothing can be said of OOV words without it
        raise BadInput(f"the corpus could not be built: {outcome.failures['corpus']}")
    found = score_cells(suite, cells, folder, outcome, command=command)
    found["pretraining"] = outcome.results.get("biLM")
    found["notes"] = [*found["notes"], _SHOWS_THE_WAY]
    write_results(found, folder)
    return found


def tell(results: Mapping[str, Any], folder: str | Path) -> None:
    """Print the main table and the layer weights, what they say, and where everything lies."""
    tables.show(results, brief=True)
    for note in results["notes"]:
        print(f"\n{note}")
    print("\nWhere things lie:")
    for what, name in _PLACES.items():
        print(f"  {what:<31}{Path(folder) / name}")


# Jobs ---------------------------------------------------------------------------------------------------------------


def _source_jobs(
    pretraining: Pretrain, suite: Suite, folder: Path, digests: Mapping[str, Any], threads: int
) -> list[Job]:
    """Corpus and biLM; the biLM has all cores but one, on which the other arms are trained meanwhile."""
    training = folder / "pretraining"
    words = pretraining.training.steps * pretraining.streams.batch * pretraining.streams.window
    return [
        Job(
            "corpus",
            build_corpus,
            (pretraining.corpus, suite.corpus),
            key=[plain(pretraining.corpus), digests],
            outputs=(Path(suite.corpus) / "manifest.json",),
            seconds=20,
        ),
        Job(
            "biLM",
            pretrain_bilm,
            (pretraining, suite.corpus, str(training), suite.model),
            needs=("corpus",),
            key=plain(pretraining),
            outputs=(Path(suite.model) / "config.json",),
            folder=training,
            threads=max(1, threads - 1),
            seconds=words / _WORDS_A_SECOND,
        ),
    ]


def _digests(name: str) -> list[str]:
    """SHA-256 of the files of a data set, or of a file."""
    return [sha256(path) for path in ([Path(name)] if Path(name).is_file() else data.fetch(name))]


def build_corpus(settings: CorpusSettings, folder: str) -> dict[str, Any]:
    """The corpus of a recipe; gives its counts."""
    counts: dict[str, Any] = build(settings, [], Path(folder))["counts"]
    return counts


def pretrain_bilm(settings: Pretrain, corpus: str, training: str, model: str) -> dict[str, Any]:
    """Pre-train, going on from a checkpoint, and save the model; gives what its card says and the curve of the loss."""
    text, folder = Corpus.open(corpus), Path(training)
    trained = pretrain(settings, text, folder, resume=True)
    facts = trained.facts | {"recipe": RECIPE}
    own.save(model, trained.bilm, text=text.manifest["text"], facts=facts)
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    entries = [json.loads(line) for line in (folder / "log.jsonl").read_text("utf-8").splitlines()]
    return facts | {"curve": [[entry["step"], entry["loss"]] for entry in entries]}
