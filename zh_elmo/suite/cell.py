"""One cell of a suite (treebank, arm, seed): tagger and parser trained, dev and test predicted. Each step is a job."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

from zh_elmo.embed.embedder import load as load_embedder
from zh_elmo.embed.store import Store
from zh_elmo.files import write_json
from zh_elmo.recipe import Settings
from zh_elmo.suite import features
from zh_elmo.suite.features import ElmoFeatures
from zh_elmo.suite.settings import Arm
from zh_elmo.suite.static import StaticVectors
from zh_elmo.suite.treebanks import Treebank, load
from zh_elmo.text.pipeline import Pipeline, TextSettings
from zh_elmo.ud import conllu
from zh_elmo.ud.inputs import Vectors
from zh_elmo.ud.parser import Parser, ParserSettings
from zh_elmo.ud.predict import annotate
from zh_elmo.ud.tagger import Tagger, TaggerSettings


class Cell(Settings):
    """What a cell is and where its things lie."""

    treebank: str  # as a suite names it
    arm: Arm
    seed: int
    folder: str  # of the cell alone: tagger/, parser/, dev.conllu, test.conllu
    text: TextSettings
    tagger: TaggerSettings | None
    parser: ParserSettings | None
    vectors: str = ""  # folder of static vectors or of stored features
    model: str = ""  # folder of the biLM, for sentences that are not stored
    threads: int = 1


def store_features(model: str, treebank: str, folder: str) -> dict[str, Any]:
    """The vectors of all sentences of a treebank, for the arm elmo."""
    loaded = load(treebank)
    sentences = [sentence.forms for role in ("train", "dev", "test") for sentence in loaded.split(role)]
    return features.write(model, sentences, folder)


def train_tagger(cell: Cell) -> dict[str, Any]:
    """Train and save the tagger of a cell; goes on from a checkpoint of an earlier try."""
    assert cell.tagger is not None
    treebank, folder = load(cell.treebank), Path(cell.folder)
    began = time.monotonic()
    tagger = Tagger.train(
        cell.tagger,
        treebank.train,
        treebank.dev,
        text=Pipeline(cell.text),
        vectors=open_vectors(cell.arm, cell.vectors),
        seed=cell.seed,
        folder=folder / "tagger-training",
        resume=True,
    )
    seconds = time.monotonic() - began
    tagger.save(folder / "tagger")
    _say_what_it_needs(cell)
    if cell.parser is None:
        _predict(cell, treebank, tagger, None)
    _drop_checkpoints(folder / "tagger-training")
    return _facts(tagger, seconds)


def train_parser(cell: Cell) -> dict[str, Any]:
    """Train and save the parser of a cell with the tags of its tagger, and write the predictions of both."""
    assert cell.parser is not None
    treebank, folder = load(cell.treebank), Path(cell.folder)
    vectors = open_vectors(cell.arm, cell.vectors)
    tagger = Tagger.load(folder / "tagger", vectors) if cell.tagger is not None else None
    began = time.monotonic()
    parser = Parser.train(
        cell.parser,
        treebank.train,
        treebank.dev,
        text=Pipeline(cell.text),
        vectors=vectors,
        tagger=tagger,
        seed=cell.seed,
        folder=folder / "parser-training",
        resume=True,
    )
    seconds = time.monotonic() - began
    parser.save(folder / "parser")
    _say_what_it_needs(cell)
    _predict(cell, treebank, tagger, parser)
    _drop_checkpoints(folder / "parser-training")
    return _facts(parser, seconds)


def open_vectors(arm: Arm, folder: str | Path, model: str | Path | None = None) -> Vectors | None:
    """The vectors of an arm: static ones or stored features from `folder`, or made by `model` if that is given.

    Raises BadInput where they are missing or damaged.
    """
    if arm == "none":
        return None
    if arm == "static":
        return StaticVectors.open(Path(folder))
    return ElmoFeatures(embedder=load_embedder(model)) if model else ElmoFeatures(Store.open(folder))


def _predict(cell: Cell, treebank: Treebank, tagger: Tagger | None, parser: Parser | None) -> None:
    """Write dev.conllu and test.conllu."""
    for role in ("dev", "test"):
        if sentences := treebank.split(role):
            conllu.write(Path(cell.folder) / f"{role}.conllu", annotate(sentences, tagger, parser))


def _say_what_it_needs(cell: Cell) -> None:
    """For `predict`: how text becomes words here, and where the vectors come from."""
    folder = Path(cell.folder)
    write_json(folder / "text.json", Pipeline(cell.text).describe())
    static = os.path.relpath(cell.vectors, folder) if cell.arm == "static" else ""
    model = str(Path(cell.model).absolute()) if cell.arm == "elmo" else ""
    write_json(folder / "vectors.json", {"kind": cell.arm, "static": static, "model": model})


def _facts(trained: Tagger | Parser, seconds: float) -> dict[str, Any]:
    fitted = trained.fitted
    assert fitted is not None  # it was not loaded
    return {"seconds": round(seconds, 1), "steps": fitted.step, "dev": fitted.figures, "mix": trained.mix()}


def _drop_checkpoints(training: Path) -> None:
    """The log stays; what is trained is saved, and its checkpoints are several times as large."""
    shutil.rmtree(training / "checkpoints", ignore_errors=True)
