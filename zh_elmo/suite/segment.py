"""What `zh-elmo train` does for a recipe `segment-*`: a word segmenter from a treebank, scored on its test split."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from zh_elmo.files import BadInput, building, sha256, write_json
from zh_elmo.recipe import plain
from zh_elmo.suite import jobs, results, treebanks
from zh_elmo.suite.settings import SegmenterSettings, TrainRecipe
from zh_elmo.text.pipeline import Pipeline
from zh_elmo.text.segmenters import pkuseg, pkuseg_train
from zh_elmo.text.segmenters.quiet import version
from zh_elmo.ud.words import word_score

_OF_FORMS = ("script", "punctuation", "quotes")  # the settings that the words of a model depend on


def train_segmenter(
    recipe: TrainRecipe, folder: str | Path, *, command: str = "", quiet: bool = False
) -> dict[str, Any]:
    """Train a model of spacy-pkuseg on the words of a treebank, normalised as a corpus is, into `folder`, which is a
    `segmenter_model` then; gives what its segmenter.json says.

    `folder` appears whole, or not at all. Raises BadInput where it is something else already, where the treebank is
    missing, and where training fails.
    """
    settings, target = recipe.segmenter, Path(folder)
    assert settings is not None
    _check_target(target)
    bank = treebanks.load(recipe.data.treebank)
    with building(target) as beside:
        scores = _trained(recipe, settings, bank, beside, quiet=quiet)
        text = replace(recipe.text, segmenter="pkuseg", segmenter_model=str(beside))
        score = word_score(bank.split(bank.scored), Pipeline(text))
        facts = {
            "title": f"{bank.name}, spacy-pkuseg",
            "treebank": bank.name,
            "data": bank.facts,
            "text": {name: value for name, value in plain(recipe.text).items() if name in _OF_FORMS},
            "segmenter": plain(settings),
            "seed": recipe.seed,
            "held_out": {"split": _held_out(bank), "f1": scores},
            "score": {"split": bank.scored, **score.as_dict()},
            "command": command,
            "versions": results.versions() | {"spacy-pkuseg": version("spacy-pkuseg").partition(" ")[2]},
            "files": {path.name: sha256(path) for path in pkuseg.files(str(beside))},
        }
        write_json(beside / pkuseg.FACTS, facts)
    return facts


def show(facts: dict[str, Any]) -> str:
    """One line: the word F1 on the split that was scored."""
    score = facts["score"]
    return (
        f"{facts['treebank']} {score['split']}: word F1 {score['f1']:.2f} (precision {score['precision']:.2f}, "
        f"recall {score['recall']:.2f}, {score['words']:,} words; gold spans, white space ignored)"
    )


def _check_target(target: Path) -> None:
    if target.exists() and (not target.is_dir() or (any(target.iterdir()) and not (target / pkuseg.FACTS).is_file())):
        raise BadInput("exists and is not a segmenter; name another folder", path=target, usage=True)


def _held_out(bank: treebanks.Treebank) -> str:
    """The split that is scored after each iteration."""
    return "dev" if bank.dev else "test"


def _trained(
    recipe: TrainRecipe, settings: SegmenterSettings, bank: treebanks.Treebank, folder: Path, *, quiet: bool
) -> list[float]:
    """Train in a process of its own; gives the word F1 on held-out text by iteration."""
    pipeline = Pipeline(recipe.text)
    words = folder / "words"
    for name, sentences in (("train", bank.train), ("held-out", bank.split(_held_out(bank)))):
        gold = (pipeline.gold([token.form for token in sentence.tokens]) for sentence in sentences)
        pkuseg_train.write_words(words / name, gold)
    job = jobs.Job(
        "segmenter",
        pkuseg_train.train,
        (str(words / "train"), str(words / "held-out"), str(folder), settings.iterations, recipe.seed),
        seconds=10.0 + settings.iterations * sum(len(sentence.words) for sentence in bank.train) / 4000,
    )
    outcome = jobs.run([job], 1, title=f"{bank.name}", quiet=quiet)
    if job.name in outcome.failures:
        raise BadInput(f"training failed: {outcome.failures[job.name]}")
    shutil.rmtree(words)
    scores: list[float] = outcome.results[job.name]
    return scores
