"""One look tells what lies at a path; what is no model is told by what it is, or by what was looked for."""

from __future__ import annotations

import pytest

from zh_elmo.embed.store import Store
from zh_elmo.files import BadInput
from zh_elmo.formats.digest import digest
from zh_elmo.formats.find import load_bilm
from zh_elmo.formats.own import CONFIG, WEIGHTS


def refused(path, what):
    refused_in(path, path, what)


def refused_in(path, told, what):
    with pytest.raises(BadInput, match=what) as error:
        load_bilm(path)
    assert str(error.value).startswith(str(told))


def test_own_by_any_name_with_a_slash_and_as_a_string(folder, bilm):
    moved = folder.rename(folder.parent / "何か.txt")
    for path in (moved, str(moved), f"{moved}/"):
        assert load_bilm(path).digest == digest(bilm)


def test_a_damaged_model_of_ours_is_told_as_one(folder):
    (folder / CONFIG).unlink()
    refused(folder, "not a whole model: config.json missing")


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (["encoder.pkl", "char.dic", "config.json"], "a part of a model of ELMoForManyLangs"),
        (["options.json", "vocab.txt"], "options of a bilm-tf model without weights"),
        (["model_options.json", "model.ckpt-1.index"], "options of a bilm-tf model without weights"),
        (["tfhub_module.pb", "assets"], "a module of TensorFlow Hub without its variables"),
        (["manifest.json", "types.txt"], "a corpus; `zh-elmo pretrain` makes a model of it"),
        (["checkpoints", "log.jsonl"], "a training that has not ended"),
        (["pytorch_model.bin", "vocab.txt"], r"no model here; looked for .*model.safetensors.*ELMoForManyLangs"),
        (["pytorch_model.bin", "vocab.txt"], r"found pytorch_model.bin, vocab.txt$"),
        ([f"f{i:02}" for i in range(20)], r"found f00, .* f05 and 14 more$"),
        ([], "found nothing"),
        (["model.safetensors", "tokenizer.json"], "no model here"),
    ],
)
def test_folders_of_others(tmp_path, names, what):
    for name in names:
        (tmp_path / name).write_text("{}")
    refused(tmp_path, what)


def test_the_folder_of_a_run_stands_for_its_model(folder):
    (folder.parent / "log.jsonl").write_text("{}")
    assert load_bilm(folder.parent).path == folder


def test_a_store_of_vectors(tmp_path):
    Store.create(tmp_path / "s", n_layers=1, width=1, model="").close()
    refused(tmp_path / "s", "a store of vectors made by a model, not a model")


def test_files(folder, tmp_path):
    refused(folder / WEIGHTS, "one file of a model; give the folder that holds it")
    (tmp_path / "a.txt").write_text("a")
    refused(tmp_path / "a.txt", r"a file that is no model; looked for a zh_elmo model \(model.safetensors")


@pytest.mark.parametrize(
    ("name", "what"),
    [("0", "vectors that were made by a model"), ("embedding", "a table of word vectors alone"), ("x", "it has x")],
)
def test_hdf5_that_is_no_model(tmp_path, name, what):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        file[name] = [1.0]
    refused(tmp_path / "a.hdf5", what)
    refused_in(tmp_path, tmp_path / "a.hdf5", what)


def test_hdf5_that_is_none(tmp_path):
    (tmp_path / "a.h5").write_text("x")
    refused(tmp_path / "a.h5", "a file that is no model")


def test_nowhere(tmp_path):
    with pytest.raises(BadInput, match="no such model") as error:
        load_bilm(tmp_path / "nowhere")
    assert error.value.usage
