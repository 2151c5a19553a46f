"""Skip-gram vectors: the same each time, made once, of the corpus's own words."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from zh_elmo.corpus.build import build
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.corpus.store import Corpus
from zh_elmo.files import BadInput, read_json
from zh_elmo.suite import static
from zh_elmo.suite.static import StaticSettings, StaticVectors
from zh_elmo.text.pipeline import TextSettings

SETTINGS = StaticSettings(width=6, epochs=2, minimum_count=3)


@pytest.fixture(scope="module")
def trained(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors") / "static"
    static.train(corpus, SETTINGS, folder)
    return folder


def test_sentences_are_those_of_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tmp_path / "text.txt"
    text.write_text("我 买 了 苹果\n苹果 很 好\n\n好\n", "utf-8")
    settings = CorpusSettings(text=TextSettings(segmenter="words"), held_out=0, drop_duplicates=False)
    build(settings, [text], tmp_path / "corpus", quiet=True)
    corpus = Corpus.open(tmp_path / "corpus")
    expected = [["我", "买", "了", "苹果"], ["苹果", "很", "好"], ["好"]]
    assert list(static.sentences(corpus)) == expected
    monkeypatch.setattr(static, "_BLOCK", 3)  # sentences that go over the end of a block
    assert list(static.sentences(corpus)) == expected


def test_every_frequent_word_has_a_vector_and_no_other(corpus: Path, trained: Path) -> None:
    text = Corpus.open(corpus)
    frequent = [word for word, count in zip(text.types, text.counts, strict=True) if count >= 3]
    assert (trained / "words.txt").read_text("utf-8").split("\n")[:-1] == frequent
    assert read_json(trained / "static.json")["words"] == len(frequent)


def test_the_same_seed_gives_the_same_bytes_and_another_other_ones(corpus: Path, trained: Path, tmp_path: Path) -> None:
    static.train(corpus, SETTINGS, tmp_path / "again")
    first, again = (folder / "vectors.safetensors" for folder in (trained, tmp_path / "again"))
    assert first.read_bytes() == again.read_bytes()
    static.train(corpus, StaticSettings(width=6, epochs=2, minimum_count=3, seed=2), tmp_path / "again")
    assert first.read_bytes() != again.read_bytes()


def test_what_lies_there_is_used_when_it_is_of_this_corpus_and_these_settings(
    corpus: Path, trained: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "static"
    shutil.copytree(trained, folder)
    before = (folder / "vectors.safetensors").stat().st_ino
    assert static.train(corpus, SETTINGS, folder) == read_json(folder / "static.json")
    assert (folder / "vectors.safetensors").stat().st_ino == before
    static.train(corpus, StaticSettings(width=4, epochs=1), folder)
    assert StaticVectors.open(folder).width == 4


def test_a_word_has_one_vector_in_either_script_and_an_unknown_one_zeros(trained: Path) -> None:
    vectors = StaticVectors.open(trained)
    first, second, empty = vectors([["的", "個", "龘龘"], ["个", "的"], []])
    assert (vectors.n_layers, first.shape, first.dtype) == (1, (1, 3, 6), np.float32)
    assert np.array_equal(first[0, [1, 0]], second[0])
    assert np.abs(second).sum(axis=2).all()
    assert not first[0, 2].any()
    assert empty.shape == (1, 0, 6)


def test_bad_input_is_named(corpus: Path, trained: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no word occurs 1000000 times"):
        static.train(corpus, StaticSettings(minimum_count=1_000_000), tmp_path / "none")
    with pytest.raises(BadInput, match="no such folder of static vectors"):
        StaticVectors.open(tmp_path / "nothing")
    folder = tmp_path / "damaged"
    shutil.copytree(trained, folder)
    (folder / "vectors.safetensors").write_bytes(b"x" * 20)
    with pytest.raises(BadInput, match="not vectors that can be read"):
        StaticVectors.open(folder)
