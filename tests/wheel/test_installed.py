"""What an installed wheel must do by itself, from any folder."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import files, version
from pathlib import Path

import pytest

pytestmark = pytest.mark.wheel

GOLD = """\
# text = 猫睡了
1\t猫\t猫\tNOUN\t_\t_\t2\tnsubj\t_\tSpaceAfter=No
2\t睡\t睡\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
3\t了\t了\tAUX\t_\t_\t2\taux\t_\tSpaceAfter=No

"""


def run(*command: str, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def zh_elmo(*arguments: str, folder: Path) -> str:
    """The console script that stands beside this Python."""
    return run(str(Path(sys.executable).parent / "zh-elmo"), *arguments, folder=folder)


def test_the_wheel_installs_the_package_alone():
    inside = {file.parts[0] for file in files("zh-elmo") or [] if file.parts[0] != ".."}
    assert inside == {"zh_elmo", f"zh_elmo-{version('zh-elmo')}.dist-info"}


def test_licence_and_notice_ride_along():
    names = {file.name for file in files("zh-elmo") or []}
    assert {"LICENSE", "NOTICE", "py.typed"} <= names


def test_import_is_light(tmp_path: Path):
    heavy = "{'torch', 'jieba', 'opencc', 'matplotlib', 'gensim'}"
    code = f"import sys, zh_elmo; print(zh_elmo.__version__, *sorted({heavy} & set(sys.modules)))"
    assert run(sys.executable, "-c", code, folder=tmp_path).split() == [version("zh-elmo")]


def test_help_of_every_command(tmp_path: Path):
    assert "quickstart" in zh_elmo("--help", folder=tmp_path)
    assert "Example" in zh_elmo("corpus", "build", "--help", folder=tmp_path)


def test_the_shelves_are_there(tmp_path: Path):
    assert "pretrain-" in zh_elmo("recipes", folder=tmp_path)
    assert "gsd" in zh_elmo("suites", folder=tmp_path)
    assert "zh_sample" in zh_elmo("corpora", folder=tmp_path)


def test_the_sample_treebank_is_found_on_the_shelf(tmp_path: Path):
    code = "from zh_elmo.data import treebank; print(*sorted(treebank('zh_sample')))"
    assert run(sys.executable, "-c", code, folder=tmp_path).split() == ["dev", "test", "train"]


def test_a_score(tmp_path: Path):
    (tmp_path / "gold.conllu").write_text(GOLD, "utf-8")
    (tmp_path / "system.conllu").write_text(GOLD.replace("2\taux", "1\taux"), "utf-8")
    printed = json.loads(zh_elmo("score", "gold.conllu", "system.conllu", "--json", folder=tmp_path))
    assert printed["metrics"]["UPOS"]["f1"] == 1.0
    assert printed["metrics"]["LAS"]["f1"] == pytest.approx(2 / 3)
