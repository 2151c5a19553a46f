"""Treebanks by name or folder: their files, what is known of them, their sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from zh_elmo import data
from zh_elmo.files import BadInput, sha256
from zh_elmo.ud import conllu

ROLES = ("train", "dev", "test")


class Treebank(NamedTuple):
    """The sentences of a treebank; splits that it lacks are empty."""

    name: str
    train: list[conllu.Sentence]
    dev: list[conllu.Sentence]
    test: list[conllu.Sentence]
    facts: dict[str, Any]  # "about": title, licence, who made it; "files": what was read, with digests

    @property
    def scored(self) -> str:
        """The split that is scored: test, or dev where there is no test."""
        return "test" if self.test else "dev"

    def split(self, role: str) -> list[conllu.Sentence]:
        return {"train": self.train, "dev": self.dev, "test": self.test}[role]


def title(name: str) -> str:
    """What a treebank is called in results: its name, or the name of its folder."""
    return Path(name).name if Path(name).is_dir() else name


def find(name: str) -> dict[str, Path]:
    """Role -> file of a treebank of the catalogue, or of a folder with one file a split.

    Raises BadInput where there is none, or what is there cannot be trained on and scored.
    """
    paths = _in_folder(Path(name)) if Path(name).is_dir() else data.treebank(name)
    if "train" not in paths or not {"dev", "test"} & set(paths):
        there = ", ".join(paths) or "nothing"
        raise BadInput(f"a training split and a dev or test split are needed; there is {there}", path=name)
    return {role: paths[role] for role in ROLES if role in paths}


def digests(name: str) -> dict[str, str]:
    """Role -> SHA-256 of its file."""
    return {role: sha256(path) for role, path in find(name).items()}


def load(name: str) -> Treebank:
    """Read a treebank whole; raises BadInput naming file and line of what is wrong with it."""
    paths = find(name)
    splits = {role: conllu.read(path) for role, path in paths.items()}
    empty = [str(paths[role]) for role, sentences in splits.items() if not any(s.words for s in sentences)]
    if empty:
        raise BadInput("no sentence in it", path=empty[0])
    files = {
        role: {
            "name": path.name,
            "sha256": sha256(path),
            "sentences": len(splits[role]),
            "words": sum(len(sentence.words) for sentence in splits[role]),
        }
        for role, path in paths.items()
    }
    train, dev, test = (splits.get(role, []) for role in ROLES)
    return Treebank(title(name), train, dev, test, {"about": _about(name), "files": files})


def _in_folder(folder: Path) -> dict[str, Path]:
    found = {}
    for role in ROLES:
        paths = sorted(path for path in folder.glob(f"*{role}*.conllu*") if path.is_file())
        if len(paths) > 1:
            raise BadInput(f"several files for {role}: {paths[0].name}, {paths[1].name}", path=folder)
        if paths:
            found[role] = paths[0]
    return found


def _about(name: str) -> str:
    if Path(name).is_dir():
        return ""
    facts = data.dataset(name)
    notes = f" {facts.notes}" if facts.notes else ""
    return f"{facts.title}, {facts.licence}, by {facts.attribution}.{notes}"
