"""Each rule of ELMoForManyLangs' models by itself."""

from __future__ import annotations

import json
import math
import shutil
import warnings

import msgspec
import numpy as np
import pytest
import torch
from golden import plain
from golden.archive import BATCHES, DATA
from golden.many_langs import FOLDERS
from golden.toys import OFF, ON, Gates, HighwayNumbers, copied, many_langs, save_pickle, sigmoid, top, x

import zh_elmo
from zh_elmo.files import BadInput
from zh_elmo.formats.find import load_bilm
from zh_elmo.formats.many_langs import SAMPLE, SAMPLE_NAMES, _configured, read_dictionary
from zh_elmo.formats.stored import Stored

SENTENCE = BATCHES[0][0]
LETTERS = {"a": 2.0, "b": 3.0}


def opened(path, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return zh_elmo.load(path, dtype="float64", **how)


def layers(embedder, *sentences, **how):
    return embedder.embed(list(sentences), layers="all", **how)


def same(one, other):
    return one.shape == other.shape and bool(np.abs(one - other).max() < 1e-12)


# Characters -----------------------------------------------------------------------------------------------------------


def test_a_word_begins_with_eow_and_ends_with_bow(tmp_path):
    letters = {"<eow>": 9.0, "a": 2.0, "<bow>": 3.0}
    assert x(many_langs(tmp_path, characters=letters, kernel=(100.0, 10.0, 1.0)), "a") == 923  # else 900


def test_an_empty_word_is_its_two_marks(tmp_path):
    folder = many_langs(tmp_path, characters={"<eow>": 1.0, "<bow>": 3.0, "<pad>": -1.0}, kernel=(10.0, 1.0))
    assert x(folder, "") == max(13, 30 - 1, -11)


def test_an_empty_word_is_unknown_to_the_table(tmp_path):
    assert x(many_langs(tmp_path, words={"<oov>": 7.0, "a": 2.0}), "") == 7


def test_padding_takes_part_and_is_no_zero(tmp_path):
    folder = many_langs(tmp_path, characters={"<pad>": 7.0, **LETTERS}, room=5)
    assert x(folder, "a") == 7
    assert x(folder, "aba") == 3  # no room is left for it


def test_characters_are_code_points_and_unknown_ones_are_oov(tmp_path):
    folder = many_langs(tmp_path, characters={"𠮷": 5.0, "<oov>": 6.0, "长": 4.0, "e": 2.0, "\u0301": 3.0})
    assert [x(folder, word) for word in ("𠮷", "长", "龘", "𠮷龘", "e\u0301", "é")] == [5, 4, 6, 6, 3, 6]


def test_three_characters_of_five_places_are_read(tmp_path):
    folder = many_langs(tmp_path, characters={**LETTERS, "<oov>": 9.0}, room=5)
    with pytest.warns(UserWarning, match="3 characters"):
        assert x(folder, "aab龘") == 3
    assert x(folder, "a龘b") == 9


def test_the_gate_of_a_highway_keeps_the_input(tmp_path):
    def by(gate):
        return x(many_langs(tmp_path, characters=LETTERS, highway=HighwayNumbers(5.0, 1.0, gate)), "a")

    share = sigmoid(-1.0)
    assert [by(gate) for gate in (ON, OFF, -1.0)] == pytest.approx([2, 11, share * 2 + (1 - share) * 11])


@pytest.mark.parametrize(("bias", "due"), [(-1.0, 0.0), (3.0, 3.0)])
def test_highways_have_relu_even_with_tanh(tmp_path, bias, due):
    highway = HighwayNumbers(0.0, bias, OFF)
    assert x(many_langs(tmp_path, characters=LETTERS, activation="tanh", highway=highway), "a") == pytest.approx(due)


@pytest.mark.parametrize(("activation", "due"), [("relu", 2.0), ("tanh", math.tanh(2.0))])
def test_the_activation_is_the_models(tmp_path, activation, due):
    assert x(many_langs(tmp_path, characters=LETTERS, activation=activation), "a") == pytest.approx(due)


# Words ----------------------------------------------------------------------------------------------------------------


def test_the_words_vector_comes_before_the_characters(tmp_path):
    folder = many_langs(tmp_path, words={"a": 3.0}, characters=LETTERS, projection=[1.0, 10.0])
    assert x(folder, "a") == 3 + 20


def test_an_unknown_word_is_oov(tmp_path):
    folder = many_langs(tmp_path, words={"The": 2.0, "<oov>": 7.0, "<pad>": 9.0})
    assert [x(folder, word) for word in ("The", "the", "THE", "<oov>", "龘")] == [2, 7, 7, 7, 7]


def test_nothing_is_normalised(tmp_path):
    folder = many_langs(tmp_path, words={"é": 2.0, "AB": 3.0, "１": 4.0, "<oov>": 7.0})
    assert [x(folder, word) for word in ("é", "e\u0301", "AB", "ＡＢ", "１", "1")] == [2, 7, 3, 7, 4, 7]


def test_words_are_cut_for_the_table_too(tmp_path):
    folder = many_langs(tmp_path, words={"长长长": 2.0, "长长长长": 3.0, "<oov>": 7.0}, room=5)
    with pytest.warns(UserWarning, match="3 characters"):
        assert x(folder, "长长长长") == 2
    assert x(folder, "长长长") == 2


def test_the_embedder_lstm_cuts_no_word(tmp_path):
    folder = many_langs(tmp_path, words={"长长长": 2.0, "长长长长": 3.0, "<oov>": 7.0}, embedder="lstm", room=5)
    assert [x(folder, "长" * number) for number in (3, 4, 5)] == [2, 3, 7]


def test_48_code_points_of_a_word_are_read():
    """A golden model: 48 characters, whatever number of bytes they are."""
    embedder = opened(DATA / "efml_word_char")
    with pytest.warns(UserWarning, match="48 characters"):
        one, other, shorter = layers(embedder, ["长" * 48], ["长" * 47 + "长级"], ["长" * 47])
    assert same(one[0], other[0])
    assert not same(one[0], shorter[0])


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_mark_typed_by_a_user_is_the_mark(folder):
    embedder = opened(DATA / folder)
    marks = embedder.bilm.encode(embedder.bilm.marks())
    typed = embedder.bilm.encode(embedder.bilm.spell(["<bos>", "<eos>"]))
    assert same(marks.numpy(), typed.numpy())
    assert not same(marks[0].numpy(), marks[1].numpy())


def test_a_typed_mark_is_one_character(tmp_path):
    letters = {"<bos>": 5.0, "<": 9.0, "<oov>": 8.0}
    folder = many_langs(tmp_path, characters=letters)
    assert [x(folder, word) for word in ("<bos>", "<eos>", "<bo")] == [5, 0, 9]
    with pytest.warns(UserWarning, match="3 characters"):  # what is cut is no mark any more
        assert x(many_langs(tmp_path, characters=letters, room=5), "<bos>") == 9


# Dictionaries ---------------------------------------------------------------------------------------------------------


def dictionary(tmp_path, content):
    (tmp_path / "word.dic").write_text(content, "utf-8", newline="")
    found = read_dictionary(tmp_path / "word.dic")
    return found.ids, found.notes


def test_an_entry_of_white_space_is_u_3000(tmp_path):
    assert dictionary(tmp_path, "a\t0\n\u3000\t1\nb\t2\n") == ({"a": 0, "\u3000": 1, "b": 2}, [])
    assert dictionary(tmp_path, "\u00a0\t4\n")[0] == {"\u3000": 4}
    assert dictionary(tmp_path, "5\n")[0] == {"\u3000": 5}


def test_u_3000_is_a_character_like_any_other(tmp_path):
    assert x(many_langs(tmp_path, characters={"\u3000": 4.0, "<oov>": 9.0}), "\u3000") == 4
    ids = plain.dictionary(DATA / "efml_char/char.dic")
    assert read_dictionary(DATA / "efml_char/char.dic").ids == ids
    assert ids["\u3000"] == 82


def test_the_last_of_two_entries_counts_and_is_told_of(tmp_path):
    ids, notes = dictionary(tmp_path, "a\t0\nb\t1\na\t2\n\u3000\t3\n\u00a0\t4\n")
    assert ids == {"a": 2, "b": 1, "\u3000": 4}
    assert len(notes) == 1
    assert "2 texts stand there twice" in notes[0]


def test_the_last_entry_of_a_word_gives_its_vector(tmp_path):
    folder = many_langs(tmp_path, words={"a": 2.0, "b": 3.0})
    with open(folder / "word.dic", "a", encoding="utf-8") as file:
        file.write("a\t5\n")
    with pytest.warns(UserWarning, match="twice"):
        assert x(folder, "a") == 3


def test_a_text_with_a_tab_ends_at_the_last_one(tmp_path):
    assert dictionary(tmp_path, "a\tb\t7\n\tc\t8\n")[0] == {"a\tb": 7, "c": 8}
    assert x(many_langs(tmp_path, words={"a\tb": 2.0, "<oov>": 7.0}), "a\tb") == 2


def test_lines_end_at_line_feeds_alone(tmp_path):
    torn = [f"a{separator}b" for separator in "\u0085\u2028\u2029\v\f\x1c\x1d\x1e\r"]
    ids, notes = dictionary(tmp_path, "".join(f"{text}\t{row}\n" for row, text in enumerate(torn)))
    assert ids == {text: row for row, text in enumerate(torn)}
    assert notes == []
    assert dictionary(tmp_path, "a\t0\r\nb\t1\r\n")[0] == {"a": 0, "b": 1}


def test_the_table_may_have_rows_that_no_entry_has(tmp_path):
    folder = many_langs(tmp_path, words={"a": 2.0, "b": 3.0})
    entries = (folder / "word.dic").read_text("utf-8").splitlines(keepends=True)
    (folder / "word.dic").write_text("".join(entries[:-2] + entries[-1:]), "utf-8")
    assert [x(folder, word) for word in ("b", "a")] == [3, 0]


def test_an_entry_without_a_row_is_refused_with_both_files(tmp_path):
    folder = many_langs(tmp_path, words={"a": 2.0})
    with open(folder / "word.dic", "a", encoding="utf-8") as file:
        file.write("b\t1000\n")
    with pytest.raises(BadInput, match=r"word.dic: has the id 1,000, but .*token_embedder.pkl has 5 rows"):
        opened(folder)


@pytest.mark.parametrize(
    ("name", "text"), [("word.dic", "<oov>"), ("char.dic", "<bow>"), ("char.dic", "<eow>"), ("char.dic", "<pad>")]
)
def test_what_every_sentence_needs(tmp_path, name, text):
    folder = many_langs(tmp_path, words={"a": 2.0}, characters=LETTERS)
    entries = (folder / name).read_text("utf-8").splitlines(keepends=True)
    (folder / name).write_text("".join(e for e in entries if not e.startswith(f"{text}\t")), "utf-8")
    with pytest.raises(BadInput, match=f"{name}: lacks {text}"):
        opened(folder)


def test_no_words_no_word_dic(tmp_path):
    folder = copied("efml_char", tmp_path / "model")
    (folder / "word.dic").unlink()
    assert same(layers(opened(folder), SENTENCE)[0], layers(opened(DATA / "efml_char"), SENTENCE)[0])


# LSTM -----------------------------------------------------------------------------------------------------------------


def memory(steps, forget, clip=math.inf):
    """c after some steps of a toy: i and o are 1, g is tanh(0.5)."""
    c = 0.0
    for _ in range(steps):
        c = min(forget * c + math.tanh(0.5), clip)
    return c


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_the_forget_bias_is_whole(tmp_path, bias):
    due = [math.tanh(memory(step, sigmoid(bias))) for step in (2, 3)]
    assert top(many_langs(tmp_path, words={"a": 2.0}, gates=Gates(forget=bias))) == pytest.approx(due)


def test_gates_lie_as_input_forget_new_output(tmp_path):
    gates = Gates(input=0.1, forget=0.2, memory=0.3, output=0.4)
    c = sigmoid(0.1) * math.tanh(0.3) * (1 + sigmoid(0.2) + sigmoid(0.2) ** 2)
    found = top(many_langs(tmp_path, words={"a": 2.0}, gates=gates))
    assert found[1] == pytest.approx(sigmoid(0.4) * math.tanh(c))


@pytest.mark.parametrize("none", [None, 0])
def test_a_clip_of_0_is_none(tmp_path, none):
    due = [2 * math.tanh(memory(step, 0.5)) for step in (2, 3)]
    assert top(many_langs(tmp_path, words={"a": 2.0}, state_projection=2.0, clips=(none, none))) == pytest.approx(due)


def test_clips_of_memory_and_output(tmp_path):
    due = [2 * math.tanh(memory(step, 0.5, clip=0.6)) for step in (2, 3)]
    assert top(many_langs(tmp_path, words={"a": 2.0}, state_projection=2.0, clips=(0.6, None))) == pytest.approx(due)
    assert top(many_langs(tmp_path, words={"a": 2.0}, state_projection=2.0, clips=(None, 0.6))) == [0.6, 0.6]


def test_the_projection_is_there_even_where_it_changes_no_size(tmp_path):
    plainly = top(many_langs(tmp_path, words={"a": 2.0}))
    assert top(many_langs(tmp_path, words={"a": 2.0}, state_projection=-3.0)) == pytest.approx(
        [-3 * h for h in plainly]
    )


def test_a_layers_input_is_added_from_the_second_on():
    """Of a golden model with two layers, the second one's own output is what the twin has without the sum."""
    model = plain.ManyLangs(DATA / "efml_word_char")
    due = model.fresh([SENTENCE])[0]
    model.skip = False
    alone = model.fresh([SENTENCE])[0]
    found = layers(opened(DATA / "efml_word_char"), SENTENCE)[0]
    assert same(found[1], alone[1])
    assert np.abs(found - due).max() < 1e-9
    assert np.abs(found[2] - found[1] - alone[2]).max() < 1e-9


# Encoder lstm ---------------------------------------------------------------------------------------------------------


def test_the_encoder_lstm_reads_padding_of_its_batch_only_with_state_carry():
    short, long = ["好"], BATCHES[0][1]
    carrying, resetting = (opened(DATA / "efml_enc_lstm", state=state) for state in ("carry", "reset"))
    alone, beside = layers(carrying, short)[0], layers(carrying, short, long)[0]
    assert np.abs(alone - beside).max() > 1e-3
    assert same(alone, layers(carrying, short)[0])  # no state is kept
    assert same(alone, layers(resetting, short)[0])
    assert same(alone, layers(resetting, long, short)[1])
    model = plain.ManyLangs(DATA / "efml_enc_lstm")
    assert np.abs(beside - model.carry([short, long])[0]).max() < 1e-9


def test_the_encoder_lstm_has_one_layer():
    embedder = opened(DATA / "efml_enc_lstm")
    assert embedder.n_layers == 1
    assert layers(embedder, SENTENCE)[0].shape == (1, 6, 32)
    assert np.array_equal(embedder.embed([SENTENCE])[0], layers(embedder, SENTENCE)[0][0])


def test_the_embedder_lstm_with_characters_is_refused_by_name(tmp_path):
    folder = copied("efml_word_char", tmp_path / "model")
    change(folder, "token_embedder", name="lstm")
    with pytest.raises(BadInput, match="token embedder `lstm` with characters: ELMoForManyLangs itself fails on it"):
        opened(folder)


# Configuration --------------------------------------------------------------------------------------------------------


def change(folder, part, **changes):
    config = json.loads((folder / "cnn_sample.json").read_text("utf-8"))
    config[part] |= changes
    (folder / "cnn_sample.json").write_text(json.dumps(config), "utf-8")


def named(folder, path):
    (folder / "config.json").write_text(json.dumps({"config_path": path}), "utf-8")
    return [file.name for file in load_bilm(folder).files if file.suffix == ".json"]


def test_where_the_configuration_is_looked_for(tmp_path):
    folder = copied("efml_word", tmp_path / "model")
    (folder / "configs").mkdir()
    shutil.copyfile(folder / "cnn_sample.json", folder / "configs" / "other.json")
    (folder / "other.json").write_text("{}", "utf-8")
    assert named(folder, "configs/other.json") == ["config.json", "other.json"]  # as it stands, before its last part
    for foreign in ("/home/someone/cnn_sample.json", "../x/cnn_sample.json", r"C:\models\cnn_sample.json"):
        assert named(folder, foreign) == ["config.json", "cnn_sample.json"]


def test_nothing_outside_the_folder_is_read(tmp_path):
    folder = copied("efml_word", tmp_path / "model")
    (folder / "cnn_sample.json").rename(tmp_path / "outside.json")
    for path in ("../outside.json", str(tmp_path / "outside.json")):
        assert named(folder, path) == []  # sizes come from the tensors


@pytest.mark.parametrize("gone", [["cnn_sample.json"], ["cnn_sample.json", "config.json"]])
def test_without_a_configuration_sizes_come_from_the_tensors(tmp_path, gone):
    """efml_word has the clips that are assumed."""
    folder = copied("efml_word", tmp_path / "model")
    for name in gone:
        (folder / name).unlink()
    with pytest.warns(UserWarning, match="sizes were read from the tensors, and assumed are relu, clips of 3"):
        embedder = zh_elmo.load(folder, dtype="float64")
    assert same(layers(embedder, SENTENCE)[0], layers(opened(DATA / "efml_word"), SENTENCE)[0])


SHAPES = {
    "token_embedder.pkl": {
        "word_emb_layer.embedding.weight": (9, 100), "char_emb_layer.embedding.weight": (9, 50),
        "highways._layers.0.bias": (4096,), "highways._layers.1.bias": (4096,), "projection.bias": (512,),
        **{f"convolutions.{i}.weight": (n, 50, w) for i, (w, n) in enumerate(SAMPLE["token_embedder"]["filters"])},
        **{f"convolutions.{i}.bias": (n,) for i, (_, n) in enumerate(SAMPLE["token_embedder"]["filters"])},
    },
    "encoder.pkl": {f"forward_layer_{layer}.state_projection.weight": (512, 4096) for layer in (0, 1)},
}  # fmt: skip


def without_numbers(tmp_path, file):
    return {
        name: Stored(name, shape, np.dtype("float32"), tmp_path / file, lambda: pytest.fail("numbers were read"))
        for name, shape in SHAPES[file].items()
    }


@pytest.mark.parametrize("path", [*SAMPLE_NAMES, "/home/someone/" + SAMPLE_NAMES[0], None])
def test_the_published_sizes_get_the_configuration_that_came_with_the_program(tmp_path, path):
    if path is not None:
        (tmp_path / "config.json").write_text(json.dumps({"config_path": path}))
    tensors = [without_numbers(tmp_path, file) for file in SHAPES]
    found = _configured(tmp_path, *tensors)
    assert f"taken is {SAMPLE_NAMES[0]}, the configuration of all published models" in found.notes[0]
    told = json.loads(msgspec.json.encode(found.configuration))
    assert told == {part: SAMPLE[part] for part in ("encoder", "token_embedder")}


def test_the_sample_is_that_of_the_program():
    assert SAMPLE["encoder"] | SAMPLE["token_embedder"] == {
        "projection_dim": 512, "cell_clip": 3, "proj_clip": 3, "dim": 4096, "n_layers": 2, "name": "cnn",
        "activation": "relu", "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
        "n_highway": 2, "word_dim": 100, "char_dim": 50, "max_characters_per_token": 50,
    }  # fmt: skip


def test_a_configuration_of_another_model_is_refused_with_both_files(tmp_path):
    folder = copied("efml_word_char", tmp_path / "model")
    change(folder, "encoder", dim=30)
    with pytest.raises(
        BadInput, match=r"encoder.pkl: .*has shape \[128, 16\], but .*cnn_sample.json asks for \[120, 16\]"
    ):
        opened(folder)


# The output layer -----------------------------------------------------------------------------------------------------


def test_few_models_came_with_their_output_layer():
    assert load_bilm(DATA / "efml_word_char").bilm.softmax is None
    with pytest.raises(BadInput, match=r"classifier\.pkl"):
        load_bilm(DATA / "efml_word", softmax=True)


def test_cnn_softmax_has_the_words_encodings_corrected(tmp_path):
    """One correction number a word, and oov's own column."""
    folder = many_langs(tmp_path, words={"<oov>": 7.0, "a": 2.0, "<bos>": 5.0}, layers=2)
    correction = {"M": [[10.0]], "oov_column": [[4.0]], "corr.weight": [[0.1], [0.2], [0.3], [0.4], [0.5]]}
    save_pickle(folder / "classifier.pkl", correction)
    bilm = load_bilm(folder, softmax=True).bilm
    rows = bilm.softmax.rows.weight[bilm.spell(["龘", "<bos>", "<eos>", "<pad>", "a"]).ids][:, 0]
    assert rows.tolist() == pytest.approx([4 + 1, 5 + 2, 0 + 3, 0 + 4, 2 + 5])
    assert not torch.any(bilm.softmax.bias.weight)
