"""What users reported in public of commands that prepare Chinese text, each as a test: `test_report_NN` is row NN of
the project's list of reports (area cli, and rows of text that only a command can show)."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_model import save_small

from zh_elmo.corpus.store import Corpus
from zh_elmo.text.pipeline import Pipeline, TextSettings

Command = Callable[..., Any]
TEXT = "我们在云计算方面工作。\n他买了云计算方面的书。\n"
RECIPE = '[corpus]\nsources = ["text.txt"]\nheld_out = 0\n[corpus.text]\nuser_dict = "user.txt"\n'


def test_report_09_user_dictionary_from_the_command_line(zh_elmo: Command, tmp_path: Path) -> None:
    """lancopku/pkuseg-python#59: a dictionary worked in a call and not for a file."""
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    (tmp_path / "user.txt").write_text("云计算方面\n", "utf-8")
    (tmp_path / "recipe.toml").write_text(RECIPE, "utf-8")
    assert zh_elmo("corpus", "build", "recipe.toml", "--out", "corpus", "--quiet").code == 0
    corpus = Corpus.open(tmp_path / "corpus")
    forms = Pipeline(TextSettings(user_dict=str(tmp_path / "user.txt"))).forms(TEXT)
    assert sorted(set(corpus.types)) == sorted({form for sentence in forms for form in sentence})
    assert "云计算方面" in corpus.types
    assert corpus.manifest["text"]["segmenter"]["user_words"] == 1


def test_report_12_a_script_that_is_not_there(zh_elmo: Command, tmp_path: Path) -> None:
    """yichen0831/opencc-python#35: a configuration that is missing is told with those that are there."""
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    (tmp_path / "recipe.toml").write_text('[corpus]\nsources = ["text.txt"]\n[corpus.text]\nscript = "tw2t"\n', "utf-8")
    ended = zh_elmo("corpus", "build", "recipe.toml", "--out", "corpus")
    assert ended.code == 1
    due = "due is one of keep, simplified, traditional, traditional-hk, traditional-opencc"
    assert ended.line == f"recipe.toml: corpus.text.script = 'tw2t': {due}"
    assert not (tmp_path / "corpus").exists()


def test_report_23_words_that_were_cut_are_shown(zh_elmo: Command, tmp_path: Path) -> None:
    """adobe/NLP-Cube#100: a limit on words is reported when it bites."""
    (tmp_path / "text.txt").write_text("天" * 150 + "\n地 玄 黄\n", "utf-8")
    ended = zh_elmo("corpus", "build", "text.txt", "--out", "corpus", "--segmenter", "words", "--quiet")
    assert ended.code == 0
    assert "words as long as a word can be, mostly cut" in ended.out


def test_report_103_what_the_file_must_look_like(zh_elmo: Command) -> None:
    """HIT-SCIR/ELMoForManyLangs#9: an example of two lines of each kind. (How kinds are told apart:
    embed/test_write.py::test_kinds_are_told_apart.)"""
    shown = zh_elmo("embed", "--help").out
    assert "我买了六斤苹果。               我 买 了 六 斤 苹果 。" in shown
    assert "苹果公司发布了新手机。         苹果 公司 发布 了 新 手机 。" in shown


def test_report_106_no_network(zh_elmo: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """yzhangcs/parser#83: a local model, and text to be cut, need none."""

    def none(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", none)
    monkeypatch.setattr(socket.socket, "connect", none)
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    save_small(tmp_path / "model")
    assert zh_elmo("corpus", "build", "text.txt", "--out", "corpus", "--quiet").code == 0
    assert zh_elmo("embed", "model", "text.txt", "--out", "vectors.h5", "--quiet").code == 0


def test_report_108_places_that_were_looked_in(
    zh_elmo: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """stanfordnlp/stanza#1062: a treebank was not found, and nobody said where it was looked for."""
    monkeypatch.setenv("ZH_ELMO_DATA", str(tmp_path / "data"))
    ended = zh_elmo("corpus", "get", "zh_gsd")
    assert ended.code == 1
    for place in ("zh_gsd-ud-train.conllu.xz", str(tmp_path / "data"), "shelf (", "cache ("):
        assert place in ended.line
    assert "there are: " in zh_elmo("corpus", "get", "zh_gst").line


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ("embed",),
            "Raw text is cut into sentences and words as the model's corpus was; words are taken",
        ),
        (("corpus", "build"), "What makes words; `words` for text whose words are parted by blanks already."),
    ],
)
def test_report_110_who_segments(zh_elmo: Command, command: tuple[str, ...], said: str) -> None:
    """UKPLab/elmo-bilstm-cnn-crf#5: users had to find out that words are needed; and there is a Chinese start."""
    assert said in " ".join(zh_elmo(*command, "--help").out.split())
    readme = Path(__file__).parents[2] / "README.zh.md"
    assert "zh-elmo quickstart" in readme.read_text("utf-8")
