"""Models of other programs: found by looking, whole or refused in one line that names the files and the reason."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import warnings
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

import zh_elmo
from zh_elmo.files import BadInput
from zh_elmo.formats.find import load_bilm

GOLDEN = Path(__file__).parents[1] / "golden" / "data"
SENTENCES = [["我", "買", "了", "苹果"], ["Ａ", "中", "x" * 60], ["<S>", "<bos>"]]


def copied(name: str, to: Path) -> Path:
    return Path(shutil.copytree(GOLDEN / name, to / name))


def vectors(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return zh_elmo.load(path, **options).embed(SENTENCES, layers="all")


def assert_same(path, other, **options):
    for ours, theirs in zip(vectors(path, **options), vectors(other), strict=True):
        assert np.array_equal(ours, theirs)


def refused(path, *what, **options):
    with pytest.raises(BadInput) as error:
        load_bilm(path, **options)
    said = str(error.value)
    assert "\n" not in said
    for part in what:
        assert str(part) in said, said


def edit(path: Path, change) -> None:
    raw = json.loads(path.read_text())
    change(raw)
    path.write_text(json.dumps(raw))


def weights(path: Path, change) -> None:
    """Rewrite an HDF5 file: change(dict of arrays)."""
    arrays: dict[str, np.ndarray] = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, one: arrays.update({name: one[...]}) if isinstance(one, h5py.Dataset) else None)
    change(arrays)
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array


# Found by looking ---------------------------------------------------------------------------------------------------


def test_weights_by_any_name(tmp_path):
    folder = copied("bilm_skip", tmp_path)
    for extra in ("bilm_tf_dump.hdf5", "allennlp_cli_all.hdf5", "embedding_weights.hdf5"):
        assert (folder / extra).is_file()  # vectors and tables beside it do not lead astray (simple_elmo took any)
    renamed = (folder / "weights.hdf5").rename(folder / "模型.bin")
    (folder / "options.json").rename(folder / "my_options_v2.json")
    assert_same(folder, GOLDEN / "bilm_skip")
    assert_same(renamed, GOLDEN / "bilm_skip")
    assert_same(str(renamed), GOLDEN / "bilm_skip", options=folder / "my_options_v2.json")


def test_damaged_and_huge_files_of_vectors_beside_the_weights(tmp_path):
    folder = copied("bilm_skip", tmp_path)
    (folder / "a_damaged.hdf5").write_bytes((folder / "bilm_tf_dump.hdf5").read_bytes()[:3000])
    with h5py.File(folder / "b_many.hdf5", "w") as file:
        for number in range(10_001):
            file.create_group(str(number))
    assert_same(folder, GOLDEN / "bilm_skip")
    (folder / "weights.hdf5").unlink()
    refused(folder, folder / "a_damaged.hdf5")


def test_several_options_are_told_apart_by_name_or_asked_for(tmp_path):
    folder = copied("bilm_skip", tmp_path)
    (folder / "weights.hdf5").rename(folder / "small_weights.hdf5")
    (folder / "options.json").rename(folder / "small_options.json")
    shutil.copy(GOLDEN / "bilm_noskip" / "options.json", folder / "large_options.json")
    assert_same(folder / "small_weights.hdf5", GOLDEN / "bilm_skip")
    (folder / "small_weights.hdf5").rename(folder / "w.hdf5")
    refused(folder / "w.hdf5", "several options files: large_options.json, small_options.json", "name one")


def test_several_weights_are_asked_for(tmp_path):
    folder = copied("bilm_skip", tmp_path)
    shutil.copy(folder / "weights.hdf5", folder / "older.hdf5")
    refused(folder, "2 files of weights: older.hdf5, weights.hdf5; name one (weights=...)")
    assert_same(folder, GOLDEN / "bilm_skip", weights=folder / "older.hdf5")


def test_checkpoint_by_prefix_file_folder_and_its_own_record(tmp_path):
    folder = copied("bilm_ckpt_char", tmp_path)
    (folder / "dumped_weights.hdf5").unlink()
    for suffix in (".index", ".data-00000-of-00001"):
        shutil.copy(folder / f"model.ckpt-100{suffix}", folder / f"model.ckpt-99{suffix}")
    with open(folder / "model.ckpt-99.data-00000-of-00001", "r+b") as file:
        file.write(b"\0" * 400)
    for path in (folder, folder / "model.ckpt-100.index", folder / "model.ckpt-100.data-00000-of-00001"):
        assert_same(path, GOLDEN / "bilm_ckpt_char")
    (folder / "checkpoint").write_text('model_checkpoint_path: "/home/someone/run/model.ckpt-99"\n')
    refused(folder, folder / "model.ckpt-99.data-00000-of-00001")  # damaged above; it is the one that is named
    (folder / "checkpoint").unlink()
    assert load_bilm(folder).files[0].name.startswith("model.ckpt-100.")  # of most steps


def test_softmax_comes_from_the_checkpoint_when_asked_for():
    assert load_bilm(GOLDEN / "bilm_ckpt_char").bilm.softmax is None
    assert load_bilm(GOLDEN / "bilm_ckpt_char", softmax=True).bilm.softmax is not None
    refused(GOLDEN / "bilm_skip", "came without its softmax", softmax=True)
    refused(GOLDEN / "efml_char", "classifier.pkl: no such file", softmax=True)


@pytest.mark.parametrize("name", ["bilm_skip", "efml_word_char"])
@pytest.mark.parametrize("inside", ["", "model/"])
def test_nlpl_zips_of_both_kinds(tmp_path, name, inside):
    with zipfile.ZipFile(tmp_path / "204.zip", "w") as archive:
        for file in sorted((GOLDEN / name).iterdir()):
            if file.suffix in (".json", ".dic", ".pkl", ".txt") or file.name == "weights.hdf5":
                new = "model.hdf5" if file.name == "weights.hdf5" else file.name
                archive.write(file, inside + new)
        archive.writestr(inside + "meta.json", "{}")
        archive.writestr(inside + "README", "")
    assert_same(tmp_path / "204.zip", GOLDEN / name)
    opened = load_bilm(tmp_path / "204.zip")
    assert opened.kind.endswith("in an archive")
    assert opened.files[0].parent in (tmp_path / "204.zip", tmp_path / "204.zip" / "model")


def test_allennlp_archive(tmp_path):
    config = {
        "model": {"text_field_embedder": {"elmo": {
            "options_file": "/home/someone/elmo_options.json", "do_layer_norm": False, "projection_dim": 8,
        }}},
    }  # fmt: skip
    with tarfile.open(tmp_path / "model.tar.gz", "w:gz") as archive:
        for name, content in (
            ("config.json", json.dumps(config).encode()),
            ("weights.th", (GOLDEN / "elmo_th" / "elmo.th").read_bytes()),
            ("fta/elmo_options.json", (GOLDEN / "elmo_th" / "options.json").read_bytes()),
            ("vocabulary/tokens.txt", b"a\n"),
        ):
            told = tarfile.TarInfo(name)
            told.size = len(content)
            archive.addfile(told, io.BytesIO(content))
    assert_same(tmp_path / "model.tar.gz", GOLDEN / "elmo_th" / "elmo.th")
    facts = load_bilm(tmp_path / "model.tar.gz").facts
    assert len(facts["mixes"]) == 2
    assert (facts["do_layer_norm"], facts["projection_dim"]) == (False, 8)


def test_state_dict_inside_a_task_model(tmp_path):
    state = torch.load(GOLDEN / "elmo_th" / "elmo_zip.th", weights_only=True)
    prefix = "text_field_embedder.token_embedder_elmo._elmo."
    renamed = {prefix + name: tensor for name, tensor in state.items()}
    torch.save({**renamed, "encoder._module.weight_ih_l0": torch.zeros(2, 2)}, tmp_path / "best.th")
    shutil.copy(GOLDEN / "elmo_th" / "options.json", tmp_path)
    assert_same(tmp_path / "best.th", GOLDEN / "elmo_th" / "elmo.th")
    assert_same(tmp_path, GOLDEN / "elmo_th" / "elmo.th")
    torch.save({**renamed, **state}, tmp_path / "best.th")
    refused(tmp_path / "best.th", "holds 2 ELMo models")


def test_language_models_of_allennlp_itself_are_refused_by_name(tmp_path):
    torch.save({"_lm._contextualizer.weight": torch.zeros(1)}, tmp_path / "weights.th")
    refused(tmp_path / "weights.th", "AllenNLP itself trained", "_lm._contextualizer.weight")


def test_hub_folder_and_its_characters_of_262_rows():
    opened = load_bilm(GOLDEN / "hub_like", files={"options": GOLDEN / "bilm_skip" / "options.json"})
    assert opened.kind == "TensorFlow Hub module"
    assert_same(GOLDEN / "hub_like", GOLDEN / "bilm_skip", options=GOLDEN / "bilm_skip" / "options.json")


# Pieces that lack or do not fit -----------------------------------------------------------------------------------


def test_without_options_sizes_are_read_from_the_tensors_and_the_rest_is_told(tmp_path):
    folder = copied("bilm_ckpt_char", tmp_path)
    (folder / "options.json").unlink()
    with pytest.warns(UserWarning, match=r"assumed are clips of 3, skip connections, relu, 50 bytes"):
        zh_elmo.load(folder)
    assert_same(folder, GOLDEN / "bilm_ckpt_char")


def test_state_dict_without_options(tmp_path):
    shutil.copy(GOLDEN / "elmo_th" / "elmo.th", tmp_path)
    opened = load_bilm(tmp_path / "elmo.th")
    assert "assumed are relu, clips of 3 and 50 bytes a word" in opened.notes[0]
    assert opened.bilm.settings.projection == 16


@pytest.mark.parametrize("trailing", ["", "/"])
def test_configuration_at_a_path_of_its_author(tmp_path, trailing):
    """Public report 41 (ELMoForManyLangs#19, #14, #77, #84, #27)."""
    folder = copied("efml_word_char", tmp_path)
    for named in ("/home/x/configs/cnn_sample.json", r"C:\elmo\configs\cnn_sample.json", "../cnn_sample.json"):
        edit(folder / "config.json", lambda raw, named=named: raw.update(config_path=named))
        assert_same(f"{folder}{trailing}", GOLDEN / "efml_word_char")
    (folder / "cnn_sample.json").unlink()
    (folder / "config.json").unlink()
    with pytest.warns(UserWarning, match=r"no config.json .* sizes were read from the tensors"):
        made = zh_elmo.load(folder)
    assert (made.bilm.settings.cell, made.bilm.settings.cell_clip) == (32, 3.0)


def test_a_configuration_outside_the_folder_is_not_read(tmp_path):
    folder = copied("efml_word_char", tmp_path)
    (tmp_path / "elsewhere.json").write_text("not JSON")
    edit(folder / "config.json", lambda raw: raw.update(config_path=str(tmp_path / "elsewhere.json")))
    with pytest.warns(UserWarning, match=r"taken is cnn_sample\.json"):
        zh_elmo.load(folder)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda o: o["lstm"].update(projection_dim=8), "asks for"),
        (lambda o: o["lstm"].update(dim=33), "asks for [32, 132]"),
        (lambda o: o["lstm"].update(n_layers=1), "has 2 LSTM layers, but"),
        (lambda o: o["lstm"].update(n_layers=3), "lacks RNN_0/Cell2/W_0"),
        (lambda o: o["char_cnn"].update(n_highway=1), "has 2 highways, but"),
        (lambda o: o["char_cnn"].update(n_highway=3), "lacks CNN_high_2/W_transform"),
        (lambda o: o["char_cnn"]["embedding"].update(dim=7), "asks for [261, 7]"),
        (lambda o: o["char_cnn"].update(filters=[[1, 8], [2, 8]]), "asks for"),
        (lambda o: o.pop("char_cnn"), "options without char_cnn"),
        (lambda o: o.pop("lstm"), "lstm"),
        (lambda o: o.update(lstm=[]), "lstm"),
        (lambda o: o["lstm"].update(dim="32"), "lstm.dim"),
        (lambda o: o["lstm"].update(dim=0), "lstm.dim"),
        (lambda o: o["lstm"].update(cell_clip=-1), "cell_clip"),
        (lambda o: o["char_cnn"].update(activation="gelu"), "activation"),
        (lambda o: o["char_cnn"].update(filters=[]), "filters"),
        (lambda o: o["char_cnn"].update(filters=[[60, 28]]), "max_characters_per_token"),
        (lambda o: o["char_cnn"].update(max_characters_per_token=2), "max_characters_per_token"),
        (lambda o: o["lstm"].update(dim=10**12), "asks for"),
        (lambda o: o["lstm"].update(n_layers=10**9), "lacks RNN_0/Cell2/W_0"),
    ],
)
def test_options_that_do_not_belong_to_the_weights(tmp_path, change, what):
    folder = copied("bilm_skip", tmp_path)
    edit(folder / "options.json", change)
    refused(folder, folder / "options.json", what)


@pytest.mark.parametrize("content", ["[]", "3", "null", '"x"', "{", "", "{}", "\xff"])
def test_options_that_are_none(tmp_path, content):
    folder = copied("bilm_skip", tmp_path)
    (folder / "options.json").write_bytes(content.encode("latin-1"))
    refused(folder, folder / "options.json")


def test_a_size_mismatch_names_both_files(tmp_path):
    folder = copied("bilm_skip", tmp_path)
    shutil.copy(GOLDEN / "bilm_noskip" / "options.json", folder / "options.json")
    refused(folder, folder / "weights.hdf5", folder / "options.json", "do not belong together")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda o: o["encoder"].update(dim=16), "asks for"),
        (lambda o: o["encoder"].update(name="transformer"), "an encoder 'transformer'"),
        (lambda o: o["encoder"].update(name=3), "encoder.name"),
        (lambda o: o["token_embedder"].update(name="lstm"), "ELMoForManyLangs itself fails on it"),
        (lambda o: o["token_embedder"].update(word_dim=11), "asks for [74, 11]"),
        (lambda o: o["token_embedder"].update(word_dim=-1), "word_dim"),
        (lambda o: o["token_embedder"].update(max_characters_per_token=2), "no room for a character"),
        (lambda o: o["token_embedder"].pop("char_dim"), "char_dim"),
        (lambda o: o["encoder"].update(cell_clip="3"), "cell_clip"),
    ],
)
def test_configurations_that_do_not_belong_to_the_weights(tmp_path, change, what):
    folder = copied("efml_word_char", tmp_path)
    edit(folder / "cnn_sample.json", change)
    refused(folder, what)


@pytest.mark.parametrize("named", [3, ["a"], "a\0b"])
def test_config_path_that_is_no_path(tmp_path, named):
    folder = copied("efml_word_char", tmp_path)
    edit(folder / "config.json", lambda raw: raw.update(config_path=named))
    refused(folder, folder / "config.json", "config_path must be a path")


@pytest.mark.parametrize(
    ("file", "lines", "what"),
    [
        ("word.dic", "新\t9999\n", "has the id 9,999, but"),
        ("char.dic", "新\t999\n", "has the id 999, but"),
        ("word.dic", "新\tx\n", "a TAB and a number, not"),
        ("word.dic", "\n", "a TAB and a number, not ''"),
        ("char.dic", "新\t-1\n", "a TAB and a number"),
        ("char.dic", "新\t٣\n", "a TAB and a number"),
    ],
)
def test_dictionaries_that_do_not_fit(tmp_path, file, lines, what):
    folder = copied("efml_word_char", tmp_path)
    with open(folder / file, "a", encoding="utf-8") as stream:
        stream.write(lines)
    refused(folder, folder / file, what)


@pytest.mark.parametrize(("file", "text"), [("word.dic", "<oov>"), ("char.dic", "<bow>"), ("char.dic", "<pad>")])
def test_dictionaries_without_what_every_sentence_needs(tmp_path, file, text):
    folder = copied("efml_word_char", tmp_path)
    kept = [line for line in (folder / file).read_text("utf-8").split("\n") if not line.startswith(text)]
    (folder / file).write_text("\n".join(kept), "utf-8")
    refused(folder, folder / file, f"lacks {text}")


def test_a_folder_without_a_dictionary(tmp_path):
    folder = copied("efml_word_char", tmp_path)
    (folder / "char.dic").unlink()
    refused(folder, folder / "char.dic", "no such file")


def test_word_input_needs_its_vocabulary(tmp_path):
    """Public report 51 (allennlp#2132): weights without a character CNN load as a word-input model."""
    folder = copied("bilm_ckpt_word", tmp_path)
    assert_same(folder / "dumped_weights.hdf5", GOLDEN / "bilm_ckpt_word")
    words = (folder / "vocab.txt").read_text("utf-8")
    (folder / "vocab.txt").write_text(words + "新\n", "utf-8")
    refused(folder, folder / "vocab.txt", "has 76 words, but", "has 75 rows", "do not belong together")
    (folder / "vocab.txt").write_text(words.replace("<UNK>\n", "unk\n"), "utf-8")
    refused(folder, "lacks <UNK>")
    (folder / "vocab.txt").unlink()
    refused(folder, "the vocabulary file is needed")


def test_weights_that_no_model_has(tmp_path):
    folder = copied("bilm_skip", tmp_path)
    cases = [
        (lambda a: a.update(char_embed=np.zeros((5000, 8), "f4")), "char_embed has 5,000 rows", "code points"),
        (lambda a: a.update(char_embed=a["char_embed"].astype("i4")), "not floats", "int32"),
        (lambda a: a["CNN/b_cnn_0"].__setitem__(0, np.nan), "CNN/b_cnn_0 holds numbers that are not finite", ""),
        (lambda a: a["CNN/b_cnn_0"].__setitem__(0, -np.inf), "CNN/b_cnn_0 holds numbers that are not finite", ""),
        (lambda a: [a.pop(n) for n in list(a) if n.startswith("RNN_1")], "forward direction only", ""),
        (lambda a: a.pop("CNN/W_cnn_1"), "lacks CNN/W_cnn_1, which", "options.json"),
        (lambda a: a.pop("CNN_proj/W_proj"), "without project the filters must give 16 numbers, not 28", ""),
        (lambda a: a.update({"CNN/b_cnn_0": np.full(8, 1e300)}), "too large for float32", ""),
    ]
    for change, *what in cases:
        shutil.copy(GOLDEN / "bilm_skip" / "weights.hdf5", folder)
        weights(folder / "weights.hdf5", change)
        refused(folder, *what)


def test_names_of_other_releases(tmp_path):
    """One layer has no MultiRNNCell in its names, and old TensorFlow called kernel and bias otherwise."""
    folder = copied("bilm_ckpt_char", tmp_path)
    edit(folder / "options.json", lambda o: o["lstm"].update(n_layers=1))
    due = None
    for layer, kernel, bias in (
        ("MultiRNNCell/Cell0/LSTMCell", "W_0", "B"), ("LSTMCell", "W_0", "B"),
        ("MultiRNNCell/Cell0/rnn/lstm_cell", "weights", "biases"),
    ):  # fmt: skip

        def rename(arrays, layer=layer, kernel=kernel, bias=bias):
            for name in [n for n in arrays if "RNN_" in n]:
                array = arrays.pop(name)
                if "Cell0" in name:
                    part = {"W_0": kernel, "B": bias, "W_P_0": "projection/" + kernel if kernel != "W_0" else "W_P_0"}
                    arrays[f"{name.split('/')[0]}/RNN/{layer}/{part[name.split('/')[-1]]}"] = array

        shutil.copy(GOLDEN / "bilm_ckpt_char" / "dumped_weights.hdf5", folder)
        weights(folder / "dumped_weights.hdf5", rename)
        now = vectors(folder / "dumped_weights.hdf5")
        due = due or now
        assert all(np.array_equal(a, b) for a, b in zip(now, due, strict=True))


def test_a_word_length_of_ten(tmp_path):
    """Public report 50 (allennlp#2128)."""
    folder = copied("bilm_skip", tmp_path)
    edit(folder / "options.json", lambda o: o["char_cnn"].update(max_characters_per_token=10))
    cut = zh_elmo.load(folder)
    with pytest.warns(UserWarning, match=r"reads 8 bytes of a word at the most; .* in 1 words such as '中华人民'"):
        (long,) = cut.embed([["中华人民"]], layers=0)
    assert np.array_equal(long, cut.embed([["中华人爱"]], layers=0)[0])  # 8 bytes: two characters and two thirds
    assert not np.array_equal(long, cut.embed([["中华天民"]], layers=0)[0])


def test_vectors_given_for_a_model():
    """Public report 43 (ELMoForManyLangs#3)."""
    refused(GOLDEN / "bilm_skip" / "bilm_tf_dump.hdf5", "this holds vectors that were made by a model, not a model")


def test_unknown_content_is_told_with_what_was_looked_for(tmp_path):
    """Public report 42 (ELMoForManyLangs#1, simple_elmo#5, #7)."""
    (tmp_path / "notes.txt").write_text("x")
    refused(tmp_path, "no model here; looked for", "ELMoForManyLangs", "NLPL", "found notes.txt")


# What a fresh user found ----------------------------------------------------------------------------------------------


def test_bits_that_are_turned_in_a_checkpoint_are_noticed(tmp_path):
    folder = copied("bilm_ckpt_char", tmp_path)
    (folder / "dumped_weights.hdf5").unlink()
    data = folder / "model.ckpt-100.data-00000-of-00001"
    raw = bytearray(data.read_bytes())
    raw[200] ^= 1
    data.write_bytes(raw)
    refused(folder, data, "its checksum is wrong")


def test_checkpoint_by_the_name_that_tensorflow_has_for_it():
    assert_same(GOLDEN / "bilm_ckpt_char" / "model.ckpt-100", GOLDEN / "bilm_ckpt_char" / "model.ckpt-100.index")


def test_a_dump_beside_a_checkpoint_is_told_of():
    opened = load_bilm(GOLDEN / "bilm_ckpt_char")
    assert opened.kind == "bilm-tf training checkpoint"
    assert opened.notes == ("dumped_weights.hdf5 beside it was not looked at",)


def test_options_as_allennlp_itself_archives_them(tmp_path):
    with tarfile.open(tmp_path / "model.tar.gz", "w:gz") as archive:
        archive.add(GOLDEN / "elmo_th" / "elmo.th", "weights.th")
        archive.add(GOLDEN / "elmo_th" / "options.json", "fta/model.text_field_embedder.elmo.options_file")
    assert_same(tmp_path / "model.tar.gz", GOLDEN / "elmo_th" / "elmo.th")


def test_a_configuration_under_any_name(tmp_path):
    folder = copied("efml_word_char", tmp_path)
    (folder / "config.json").unlink()
    (folder / "cnn_sample.json").rename(folder / "architecture.json")
    assert "taken is architecture.json" in load_bilm(folder).notes[0]
    assert_same(folder, GOLDEN / "efml_word_char")


def test_numbers_beyond_all_measure(tmp_path):
    folder = copied("bilm_skip", tmp_path)
    edit(folder / "options.json", lambda o: o["char_cnn"].update(max_characters_per_token=10**9))
    refused(folder, folder / "options.json", "no word is so long")
    (folder / "options.json").write_text('{"lstm": ' + "9" * 5000 + "}")
    refused(folder, folder / "options.json", "not JSON that can be read")
    folder = copied("efml_char", tmp_path)
    edit(folder / "cnn_sample.json", lambda o: o["token_embedder"].update(max_characters_per_token=10**9))
    refused(folder, "no word is so long")


def test_arrays_and_state_dicts_by_what_they_are(tmp_path):
    shutil.copy(GOLDEN / "elmo_th" / "elmo_zip.th", tmp_path / "pytorch_model.bin")
    shutil.copy(GOLDEN / "elmo_th" / "options.json", tmp_path)
    shutil.copy(GOLDEN / "elmo_th" / "allennlp.npz", tmp_path)
    (tmp_path / "old.pt").write_text("not a pickle")
    assert_same(tmp_path, GOLDEN / "elmo_th" / "elmo.th")
