"""What users of ELMo programs reported in public (allennlp, bilm-tf, ELMoForManyLangs, TensorFlow Hub, ...), as tests;
the numbers are those of the project's list of reports."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import textwrap
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import zh_elmo
from zh_elmo.files import BadInput
from zh_elmo.formats.convert import save_as
from zh_elmo.formats.find import load_bilm
from zh_elmo.lm.model import BiLM
from zh_elmo.lm.settings import Characters, Model

GOLDEN = Path(__file__).parents[1] / "golden" / "data"
KINDS = ["efml_word_char", "efml_enc_lstm", "bilm_skip", "bilm_plain", "bilm_ckpt_word", "elmo_th/elmo.th"]
SHORT, LONG = ["我", "買", "了", "苹果"], ["中", "x", "他", "是", "word"] * 4


def run(code: str) -> str:
    """Standard output of a fresh Python process."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("kind", KINDS)
def test_24_the_same_call_twice_gives_the_same(kind):
    """HIT-SCIR/ELMoForManyLangs#53, #30."""
    embedder = zh_elmo.load(GOLDEN / kind)
    first, second = (embedder.embed([SHORT, LONG], layers="all") for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_26_a_longer_sentence_beside_it_changes_nothing(kind):
    """tensorflow/hub#369."""
    embedder = zh_elmo.load(GOLDEN / kind)
    (alone,) = embedder.embed([SHORT], layers="all")
    beside = embedder.embed([LONG, SHORT, SHORT], layers="all")[1]
    assert np.abs(alone - beside).max() < 1e-5


def test_35_word_input_models_are_exported_and_unknown_words_are_the_unknown_entry(tmp_path):
    """allenai/bilm-tf#167, #146."""
    settings = Model(characters=Characters(filters=()), projection=4, cell=6)
    bilm = BiLM(settings, [], ["我", "苹果"])
    save_as(bilm, tmp_path / "out", "bilm-tf")
    embedder = zh_elmo.load(tmp_path / "out")
    known, unknown, other, marked = embedder.embed([["我"], ["没有"], ["也没有"], ["<UNK>"]])
    assert np.array_equal(unknown, other)
    assert np.array_equal(unknown, marked)
    assert not np.array_equal(known, unknown)


def test_39_two_models_in_one_process():
    """kermitt2/delft PR#101."""
    first, second = zh_elmo.load(GOLDEN / "efml_char"), zh_elmo.load(GOLDEN / "bilm_skip")
    due = first.embed([SHORT])[0], second.embed([SHORT])[0]
    for _ in range(2):
        assert np.array_equal(second.embed([SHORT])[0], due[1])
        assert np.array_equal(first.embed([SHORT])[0], due[0])


def test_55_hub_module_without_tensorflow():
    """tensorflow/hub#412, #402, #416, #798; tensorflow/hub#385, #88 (117): TensorFlow is never imported."""
    loaded = run(f"""
        import sys, warnings, zh_elmo
        warnings.simplefilter("ignore")
        for name in ("hub_like", "bilm_ckpt_char/model.ckpt-100.index", "efml_char"):
            zh_elmo.load({str(GOLDEN)!r} + "/" + name).embed([["我"]])
        print(any(name.partition(".")[0] in ("tensorflow", "overrides", "allennlp") for name in sys.modules))
    """)
    assert loaded == "False"


def test_58_a_model_on_this_machine_needs_no_network_and_a_missing_one_is_explained(monkeypatch, tmp_path):
    """HIT-SCIR/ELMoForManyLangs#36, #37, #81."""

    def none(*_: object, **__: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(socket.socket, "connect", none)
    assert zh_elmo.load(GOLDEN / "efml_char").embed([SHORT])[0].shape == (4, 32)
    with pytest.raises(BadInput, match="no such model; give the path of a folder, file or archive on this machine"):
        zh_elmo.load("zhs.model")
    with pytest.raises(BadInput, match="nothing is downloaded"):
        zh_elmo.load(tmp_path / "nowhere")


def test_58_archives_by_content_whatever_they_are_called(tmp_path):
    """The simplified Chinese model was passed on as zhs.model, a tar.bz2."""
    made = shutil.make_archive(str(tmp_path / "zhs"), "bztar", GOLDEN, "efml_char")
    renamed = Path(made).rename(tmp_path / "zhs.model")
    assert np.array_equal(zh_elmo.load(renamed).embed([SHORT])[0], zh_elmo.load(GOLDEN / "efml_char").embed([SHORT])[0])


def test_111_no_dependency_on_overrides():
    """HIT-SCIR/ELMoForManyLangs#100, #101."""
    assert not any(need.startswith("overrides") for need in metadata.requires("zh-elmo") or [])


def test_114_older_pythons_are_refused_by_pip():
    """allenai/allennlp#1471, #1379."""
    assert metadata.metadata("zh-elmo")["Requires-Python"] == ">=3.11"


def test_115_a_missing_optional_package_is_named_with_its_pip_line(monkeypatch):
    """flairNLP/flair#597."""
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(BadInput, match=r"h5py.*pip install 'zh-elmo\[formats\]'"):
        load_bilm(GOLDEN / "bilm_skip")


def test_40_vectors_of_single_characters():
    """HIT-SCIR/ELMoForManyLangs#14: a character is a word of one character; layer 0 says nothing of its neighbours."""
    embedder = zh_elmo.load(GOLDEN / "efml_word_char")
    (one,), (other,) = (embedder.embed([list(word)], layers=0) for word in ("苹果", "果苹"))
    assert np.array_equal(one, other[::-1])


def test_clip_0_is_none_and_said(tmp_path):
    """bilm-tf clips everything to 0 there, AllenNLP nothing."""
    folder = Path(shutil.copytree(GOLDEN / "bilm_skip", tmp_path / "a"))
    text = (folder / "options.json").read_text()
    (folder / "options.json").write_text(text.replace('"cell_clip": 1.0', '"cell_clip": 0'))
    with pytest.warns(UserWarning, match="a clip of 0 is taken for no clipping"):
        made = zh_elmo.load(folder)
    assert made.bilm.settings.cell_clip == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zh_elmo.load(GOLDEN / "bilm_skip")
