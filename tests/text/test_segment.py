"""Segmenters: the same words from jieba and rjieba, clusters kept whole, nothing printed, nothing written elsewhere."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from zh_elmo.corpus.exclude import treebank_sentences
from zh_elmo.files import BadInput
from zh_elmo.recipe import shelf_folder
from zh_elmo.text import segment

SAMPLE = shelf_folder("corpora") / "sample"
ASCII = [
    ("Type-C", "Type - C"),
    ("USB-3.0", "USB - 3.0"),
    ("2024-05-06", "2024 - 05 - 06"),
    ("e-mail", "e - mail"),
    ("3.5mm", "3.5 mm"),
    ("x.com", "x . com"),
    ("a_b", "a _ b"),
    ("AK-47步枪", "AK - 47 步枪"),
    ("C++和AT&T", "C++ 和 AT&T"),
    ("3.14%", "3.14%"),
    ("穿T恤", "穿 T恤"),
]


@pytest.fixture
def python_jieba(monkeypatch: pytest.MonkeyPatch) -> segment.Cut:
    monkeypatch.setattr(segment, "_has_rjieba", lambda: False)
    return segment.jieba(hmm=True)


@pytest.mark.parametrize(("text", "words"), ASCII)
def test_ascii_runs_are_cut_the_same_by_both(text: str, words: str, python_jieba: segment.Cut) -> None:
    assert python_jieba(text) == words.split(" ")
    pytest.importorskip("rjieba")
    assert segment.keep_clusters(segment._rjieba(True))(text) == words.split(" ")


@pytest.mark.parametrize("hmm", [True, False])
def test_rjieba_is_jieba_on_the_sample(hmm: bool) -> None:
    pytest.importorskip("rjieba")
    fast, slow = segment._rjieba(hmm), segment._python_jieba(hmm)
    for sentence in treebank_sentences(SAMPLE / "zh_sample-ud-test.conllu"):
        assert fast(sentence) == slow(sentence)


def test_rjieba_is_jieba_on_a_real_treebank(real_data: Path) -> None:
    pytest.importorskip("rjieba")
    fast, slow = segment._rjieba(True), segment._python_jieba(True)
    for sentence in treebank_sentences(real_data / "ud/zh_gsdsimp-ud-test.conllu.xz"):
        assert fast(sentence) == slow(sentence)


def test_the_one_in_use_is_named(python_jieba: segment.Cut) -> None:
    assert segment.jieba_version() == "jieba 0.42.1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我👍🏽你", "我 👍🏽 你"),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467来了", "\U0001f468\u200d\U0001f469\u200d\U0001f467 来 了"),
        ("\U0001f1e8\U0001f1f3队", "\U0001f1e8\U0001f1f3 队"),
        ("1\u20e3号", "1\u20e3 号"),
        ("x\u030cy好", "x\u030cy 好"),
        ("❤好", "❤ 好"),
    ],
)
def test_clusters_stay_whole(text: str, words: str) -> None:
    assert segment.jieba(hmm=True)(text) == words.split(" ")
    assert segment.keep_clusters(segment.characters)(text) == words.split(" ")


def test_characters() -> None:
    assert segment.characters("我用Python 3。") == ["我", "用", "Python", " ", "3", "。"]
    assert segment.characters("") == []


QUIET = """
import sys
from zh_elmo.text import segment
segment._has_rjieba = lambda: {rjieba}
from zh_elmo.text.pipeline import Pipeline, TextSettings
assert not {{"jieba", "rjieba", "opencc", "spacy_pkuseg", "torch"}} & set(sys.modules)
pipeline = Pipeline(TextSettings())
assert pipeline.forms("我買了六斤蘋果。") == [["我", "买", "了", "六斤", "苹果", "。"]]
"""


@pytest.mark.parametrize("rjieba", [True, False])
def test_nothing_is_printed_even_where_warnings_are_errors(rjieba: bool) -> None:
    if rjieba:
        pytest.importorskip("rjieba")
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    code = QUIET.format(rjieba=rjieba)
    root = str(Path(segment.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, env=environment, cwd=root, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_dictionary_is_kept_for_its_owner_only(tmp_path: Path) -> None:
    import jieba

    dictionary, folder = tmp_path / "dict.txt", tmp_path / "cache"
    dictionary.write_text("北京 5 ns\n北京大学 3 nt\n", "utf-8")
    wanted = ({"北": 0, "北京": 5, "北京大": 0, "北京大学": 3}, 8)
    assert segment._prefixes(jieba, dictionary, folder) == wanted
    (kept,) = folder.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    kept.write_bytes(b"garbage")
    assert segment._prefixes(jieba, dictionary, folder) == wanted
    assert segment._load_private(kept) == wanted
    kept.chmod(0o666)  # others could have written it, and marshal is not safe
    assert segment._load_private(kept) is None
    dictionary.write_text("北京 6 ns\n", "utf-8")
    assert segment._prefixes(jieba, dictionary, folder) == ({"北": 0, "北京": 6}, 6)


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    import jieba

    dictionary, folder = tmp_path / "dict.txt", tmp_path / "cache"
    dictionary.write_text("北京 5 ns\n", "utf-8")
    folder.write_text("a file stands where the folder is due")
    assert segment._prefixes(jieba, dictionary, folder) == ({"北": 0, "北京": 5}, 5)


# pkuseg --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pkuseg model of a few sentences of the sample."""
    spacy_pkuseg = pytest.importorskip("spacy_pkuseg")
    folder = tmp_path_factory.mktemp("pkuseg")
    for part in ("train", "dev"):
        lines = (SAMPLE / f"zh_sample-ud-{part}.conllu").read_text("utf-8").split("\n")
        sentences, words = [], []
        for line in lines:
            if line and not line.startswith("#"):
                words.append(line.split("\t")[1])
            elif words and not line:
                sentences.append(" ".join(words))
                words = []
        (folder / f"{part}.txt").write_text("\n".join(sentences[:80]) + "\n", "utf-8")
    with contextlib.redirect_stdout(io.StringIO()):
        spacy_pkuseg.train(str(folder / "train.txt"), str(folder / "dev.txt"), str(folder / "model"), train_iter=1)
    return folder / "model"


def test_pkuseg_cuts_the_whole_sentence(model: Path) -> None:
    sentence = "他说：“我去年买了 3.5 斤苹果。”"
    words = segment.pkuseg(str(model))(sentence)
    assert "".join(words) == sentence.replace(" ", "")
    assert "“" in words
    assert set(segment.pkuseg_version(str(model))) == {"package", "features.msgpack", "weights.npz"}


@pytest.mark.parametrize("name", ["", "spacy_ontonotes", "news", "no/such/folder"])
def test_pkuseg_models_are_never_fetched(name: str) -> None:
    with pytest.raises(BadInput, match="not fetched by name") as caught:
        segment.pkuseg(name)
    assert caught.value.usage


def test_marks_glued_to_words_are_cut_off() -> None:
    assert segment._split_marks('用"') == ["用", '"']
    assert segment._split_marks("（他") == ["（", "他"]
    assert segment._split_marks("……") == ["……"]
    assert segment._split_marks("3:4") == ["3:4"]
