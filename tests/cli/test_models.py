"""`zh-elmo info` and `zh-elmo convert` over models of every kind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from small_model import save_small

from zh_elmo.embed.embedder import load

GOLDEN = Path(__file__).parents[1] / "golden" / "data"


TOLD = {
    "efml_word_char": [
        "kind:             ELMoForManyLangs\n", "characters known: 123\n", "words known:      71\n",
        "cell clipped at 1, output clipped at 0.6\n", "config.json, cnn_sample.json",
    ],
    "bilm_skip": [
        "bilm-tf / AllenNLP weights (HDF5)\n", "all (bytes of UTF-8)\n", "parameters:       25,252\n",
        "missing:          the softmax",
    ],
    "bilm_ckpt_word": ["kind:             bilm-tf training checkpoint\n", "whole words, from a table of 12 numbers"],
    "elmo_th/elmo.th": [
        "kind:             AllenNLP state dict\n", "mixes:            weights [-0.137", "a vocabulary",
    ],
    "hub_like": ["TensorFlow Hub module\n", "assumed:          no options.json: sizes were read from the tensors"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "due"), TOLD.items())
def test_info(zh_elmo, name, due):
    ended = zh_elmo("info", GOLDEN / name)
    assert ended.code == 0, ended.err
    for part in due:
        assert part in ended.out, ended.out


def test_info_of_our_own_has_the_card_too(zh_elmo, tmp_path):
    ended = zh_elmo("info", save_small(tmp_path / "m"))
    assert "kind:             zh_elmo\n" in ended.out
    assert "# A zh_elmo biLM" in ended.out


def test_info_as_json(zh_elmo):
    told = json.loads(zh_elmo("info", GOLDEN / "efml_char", "--json").out)
    files = (GOLDEN / "efml_char" / name for name in ("token_embedder.pkl", "encoder.pkl"))
    parameters = sum(t.numel() for file in files for t in torch.load(file, weights_only=True).values())
    assert (told["kind"], told["characters known"], told["parameters"]) == ("ELMoForManyLangs", 123, parameters)


def test_info_of_a_text(zh_elmo):
    out = zh_elmo("info", GOLDEN / "efml_word_char", "--text", GOLDEN / "text.txt").out
    assert "knows:            text.txt, taken for words\n" in out
    assert "knows:            characters known: 98.32 % of 238\n" in out
    assert "knows:            words known: 94.05 % of 84\n" in out


def test_info_of_what_is_no_model(zh_elmo, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    ended = zh_elmo("info", "a.txt")
    assert ended.code == 1
    assert ended.line.startswith("a.txt: a file that is no model; looked for")
    assert zh_elmo("info", "nowhere").code == 2


def test_convert_there_and_back(zh_elmo, tmp_path):
    assert zh_elmo("convert", GOLDEN / "efml_word_char", "own").out == "own: written as own\n"
    assert zh_elmo("convert", "own", "back", "--to", "elmoformanylangs").code == 0
    first, second = (load(path).embed([["我", "買"]])[0] for path in (GOLDEN / "efml_word_char", tmp_path / "back"))
    assert (first == second).all()


def test_convert_says_who_can_read_it_and_what_it_cannot_do(zh_elmo, tmp_path):
    assert zh_elmo("convert", GOLDEN / "bilm_noskip", "a", "--to", "bilm-tf").out == (
        "note: AllenNLP cannot read this model (no skip connections); bilm-tf and zh_elmo can\na: written as bilm-tf\n"
    )
    ended = zh_elmo("convert", GOLDEN / "bilm_skip", "b", "--to", "elmoformanylangs")
    assert (ended.code, ended.line) == (
        1, "ELMoForManyLangs reads characters, this model reads bytes; convert it to bilm-tf"
    )  # fmt: skip
    assert zh_elmo("convert", GOLDEN / "bilm_skip", "a").code == 2  # there is something
    assert zh_elmo("convert", GOLDEN / "bilm_skip", "c", "--to", "onnx").code == 2
    assert not (tmp_path / "b").exists()


def test_convert_with_options_named(zh_elmo, tmp_path):
    shutil.copy(GOLDEN / "bilm_skip" / "weights.hdf5", tmp_path / "w.hdf5")
    named = ("--options", GOLDEN / "bilm_skip" / "options.json")
    assert zh_elmo("convert", "w.hdf5", "own", *named).code == 0
    assert load(tmp_path / "own").bilm.settings.cell_clip == 1.0
