"""Each rule of bilm-tf's and AllenNLP's models by itself."""

from __future__ import annotations

import math
import re
import shutil
import warnings

import numpy as np
import pytest
import torch
from golden import toys
from golden.archive import BATCHES, DATA
from golden.bilm_tf import options
from golden.toys import OFF, ON, Gates, HighwayNumbers, changed_bilm_tf, sigmoid, tensors_of, top, write_bilm_tf, x

import zh_elmo
from zh_elmo.embed.mix import ScalarMix
from zh_elmo.files import BadInput
from zh_elmo.formats.bilm_tf import byte_ids
from zh_elmo.formats.find import load_bilm

SENTENCE = BATCHES[0][0]
PADDING, BEGIN_OF_WORD = 260, 258  # rows of the table of characters


def opened(path=DATA / "bilm_skip", **how):
    how = {"dtype": "float64", **how}
    if path == DATA / "bilm_skip":
        how.setdefault("weights", path / "weights.hdf5")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return zh_elmo.load(path, **how)


def layers(embedder, *sentences, **how):
    return embedder.embed(list(sentences), layers="all", **how)


def vector(embedder, word):
    """Context-free."""
    return layers(embedder, [word])[0][0, 0]


def same(one, other):
    return one.shape == other.shape and bool(np.abs(one - other).max() < 1e-12)


# Words ----------------------------------------------------------------------------------------------------------------


def test_bytes_are_cut_after_48_inside_a_character():
    """长 is e9 95 bf, 镾 is e9 95 be: cut inside, they are the same two bytes."""
    stem, embedder = "A" + "长" * 15, opened()
    with pytest.warns(UserWarning, match="48 bytes"):
        torn, other, short = (vector(embedder, word) for word in (stem + "长", stem + "镾", stem))
    assert same(torn, other)
    assert not same(torn, short)
    assert not same(vector(embedder, stem[1:] + "长"), vector(embedder, stem[1:] + "镾"))
    assert byte_ids([stem + "长"], 50)[0, -4:].tolist() == [0xBF + 1, 0xE9 + 1, 0x95 + 1, 259 + 1]


def test_how_many_bytes_is_the_models_to_say(tmp_path):
    folder = changed_bilm_tf(tmp_path, options=lambda o: o["char_cnn"].update(max_characters_per_token=10))
    embedder = opened(folder)
    with pytest.warns(UserWarning, match="8 bytes"):
        assert same(vector(embedder, "abcdefgh"), vector(embedder, "abcdefghi"))
    assert not same(vector(embedder, "abcdefgh"), vector(embedder, "abcdefg"))


def test_lone_surrogates_are_dropped():
    embedder = opened()
    assert same(vector(embedder, "\ud800x\udfff"), vector(embedder, "x"))
    assert byte_ids(["\ud800x"]).tolist() == byte_ids(["x"]).tolist()


def test_markers_typed_by_a_user_are_the_markers():
    embedder = opened()
    marked = layers(embedder, ["<S>", "</S>"], marks=True)[0][0]
    assert same(marked[0], marked[1])
    assert same(marked[2], marked[3])
    assert not same(marked[0], marked[3])
    assert byte_ids(["<S>", "</S>"], 6).tolist() == [[259, 257, 260, 261, 261, 261], [259, 258, 260, 261, 261, 261]]


def test_the_unknown_word_is_spelled_out():
    assert byte_ids(["<UNK>"], 7).tolist() == [[259, *(byte + 1 for byte in b"<UNK>"), 260]]
    assert not same(vector(opened(), "<UNK>"), vector(opened(), "x"))


def test_an_empty_word_is_its_two_marks(tmp_path):
    assert byte_ids([""], 5).tolist() == [[259, 260, 261, 261, 261]]
    folder = toys.bilm_tf(tmp_path, rows={258: 2.0, 259: 3.0}, kernel=(1.0, 10.0))
    assert x(folder, "") == pytest.approx(2 + 30)


def test_nothing_is_lower_cased_or_normalised():
    embedder = opened()
    assert not same(vector(embedder, "The"), vector(embedder, "the"))
    assert not same(vector(embedder, "e\u0301"), vector(embedder, "é"))
    assert not same(vector(embedder, "ＡＢ"), vector(embedder, "AB"))


# Characters -----------------------------------------------------------------------------------------------------------


def test_padding_takes_part(tmp_path):
    folder = toys.bilm_tf(tmp_path, rows={PADDING: 7.0, ord("a"): 2.0})
    assert x(folder, "a") == 7
    with pytest.warns(UserWarning, match="4 bytes"):
        assert x(folder, "aaaaa") == 2  # no room is left for padding
    folder = toys.bilm_tf(tmp_path, rows={PADDING: 7.0, ord("a"): 2.0}, kernel=(0.0, 0.0, 1.0))
    assert x(folder, "aaa") == 7
    assert x(folder, "aaaa") == 2


def test_filters_run_over_marks_and_letters_in_order(tmp_path):
    rows = {BEGIN_OF_WORD: 9.0, ord("a"): 2.0, ord("b"): 3.0, 259: 4.0}
    folder = toys.bilm_tf(tmp_path, rows=rows, kernel=(1000.0, 100.0, 10.0, 1.0))
    assert x(folder, "ab") == 9234  # the other windows have 2340, 3400
    assert x(folder, "b") == 9340


def test_the_carry_gate_multiplies_what_was_transformed(tmp_path):
    rows = {ord("a"): 2.0}
    assert x(toys.bilm_tf(tmp_path, rows=rows, highway=HighwayNumbers(5.0, 1.0, gate=ON)), "a") == pytest.approx(11)
    assert x(toys.bilm_tf(tmp_path, rows=rows, highway=HighwayNumbers(5.0, 1.0, gate=OFF)), "a") == pytest.approx(2)
    share = sigmoid(-1.0)
    folder = toys.bilm_tf(tmp_path, rows=rows, highway=HighwayNumbers(5.0, 1.0, gate=-1.0))
    assert x(folder, "a") == pytest.approx(share * 11 + (1 - share) * 2)


@pytest.mark.parametrize(("bias", "due"), [(-1.0, 0.0), (3.0, 3.0)])
def test_highways_have_relu_even_with_tanh(tmp_path, bias, due):
    highway = HighwayNumbers(0.0, bias, gate=ON)
    assert x(toys.bilm_tf(tmp_path, rows={ord("a"): 2.0}, activation="tanh", highway=highway), "a") == pytest.approx(
        due
    )


@pytest.mark.parametrize(("activation", "due"), [("relu", 2.0), ("tanh", math.tanh(2.0))])
def test_the_activation_is_the_models(tmp_path, activation, due):
    assert x(toys.bilm_tf(tmp_path, rows={ord("a"): 2.0}, activation=activation), "a") == pytest.approx(due)


def test_a_table_of_262_rows_has_one_for_words_that_are_not_there(tmp_path):
    def with_a_row(tensors):
        tensors["char_embed"] = np.concatenate([np.zeros((1, 8), np.float32), tensors["char_embed"]])

    folder = changed_bilm_tf(tmp_path, tensors=with_a_row, options=lambda o: o["char_cnn"].update(n_characters=261))
    assert same(layers(opened(folder), SENTENCE)[0], layers(opened(), SENTENCE)[0])


def test_a_table_of_code_points_is_refused(tmp_path):
    folder = changed_bilm_tf(tmp_path, tensors=lambda t: t.update(char_embed=np.zeros((3000, 8))))
    with pytest.raises(BadInput, match=r"char_embed has 3,000 rows; a table of bytes has 261 or 262.*code points"):
        opened(folder)


def test_behind_a_sentence_stands_what_zero_rows_give(tmp_path):
    folder = toys.bilm_tf(tmp_path, rows={ord("a"): 2.0, PADDING: 9.0}, highway=HighwayNumbers(0.0, 0.5, gate=ON))
    assert float(opened(folder).bilm.tokens.nothing()) == pytest.approx(0.5)


# LSTM -----------------------------------------------------------------------------------------------------------------


def memory(steps, forget, *, clip=math.inf):
    """c after some steps of a toy: i and o are 1, g is tanh(0.5)."""
    c = 0.0
    for _ in range(steps):
        c = min(forget * c + math.tanh(0.5), clip)
    return c


def test_the_forget_bias_of_a_file_is_1_short(tmp_path):
    due = [math.tanh(memory(step, sigmoid(1.0))) for step in (2, 3)]
    assert top(toys.bilm_tf(tmp_path)) == pytest.approx(due)
    due = [math.tanh(memory(step, sigmoid(0.3 + 1))) for step in (2, 3)]
    assert top(toys.bilm_tf(tmp_path, gates=Gates(forget=0.3))) == pytest.approx(due)


def test_gates_lie_as_input_new_forget_output(tmp_path):
    gates = Gates(input=0.1, forget=0.2, memory=0.3, output=0.4)
    new = sigmoid(0.1) * math.tanh(0.3)
    c = new * (1 + sigmoid(1.2) + sigmoid(1.2) ** 2)
    assert top(toys.bilm_tf(tmp_path, gates=gates))[1] == pytest.approx(sigmoid(0.4) * math.tanh(c))


def test_the_memory_is_clipped_and_goes_on_clipped(tmp_path):
    due = [math.tanh(memory(step, sigmoid(1.0), clip=0.7)) for step in (2, 3)]
    assert due[1] == math.tanh(0.7)
    assert top(toys.bilm_tf(tmp_path, cell_clip=0.7)) == pytest.approx(due)


def test_the_output_is_clipped_only_where_there_is_a_projection(tmp_path):
    free = [math.tanh(memory(step, sigmoid(1.0))) for step in (2, 3)]
    assert top(toys.bilm_tf(tmp_path, proj_clip=0.3)) == pytest.approx(free)
    assert top(toys.bilm_tf(tmp_path, projection=1.0)) == pytest.approx(free)
    assert top(toys.bilm_tf(tmp_path, projection=1.0, proj_clip=0.3)) == pytest.approx([0.3, 0.3])
    assert top(toys.bilm_tf(tmp_path, projection=-2.0, proj_clip=0.3)) == pytest.approx([-0.3, -0.3])


def test_a_clip_of_0_is_none_and_told_of(tmp_path):
    folder = changed_bilm_tf(tmp_path, options=lambda o: o["lstm"].update(cell_clip=0, proj_clip=0))
    with pytest.warns(UserWarning, match="clip of 0 is taken for no clipping"):
        found = zh_elmo.load(folder, dtype="float64").embed([SENTENCE], layers="all")[0]
    folder = changed_bilm_tf(tmp_path, options=lambda o: o["lstm"].update(cell_clip=None, proj_clip=None))
    assert same(found, layers(opened(folder), SENTENCE)[0])
    assert not same(found, layers(opened(), SENTENCE)[0])


def test_the_residual_is_added_behind_the_clip_and_stays_out_of_the_state(tmp_path):
    folder = toys.bilm_tf(
        tmp_path, rows={ord("a"): 5.0}, projection=1.0, layers=3, proj_clip=0.3, use_skip_connections=True
    )
    embedder = opened(folder, state="carry")
    found = layers(embedder, ["a"])[0]
    # nothing is added to layer 1, which reads the word's vector 5
    assert found[:, 0, 0].tolist() == pytest.approx([5, 0.3, 0.6, 0.9])
    assert [state.h[0, 0, 0].item() for state in embedder.states] == pytest.approx([0.3] * 3)
    without = toys.bilm_tf(tmp_path, projection=1.0, layers=3, proj_clip=0.3, use_skip_connections=False)
    assert layers(opened(without), ["a"])[0][1:, 0, 0].tolist() == pytest.approx([0.3] * 3)


def test_layer_0_is_the_word_twice():
    found = layers(opened(), SENTENCE)[0][0]
    assert same(found[:, :16], found[:, 16:])


def test_the_directions_never_see_each_other():
    one, other = layers(opened(), SENTENCE, [*SENTENCE[:-1], "！"])
    assert same(one[1:, :-1, :16], other[1:, :-1, :16])
    assert not same(one[1:, :-1, 16:], other[1:, :-1, 16:])
    one, other = layers(opened(), SENTENCE, ["！", *SENTENCE[1:]])
    assert same(one[1:, 1:, 16:], other[1:, 1:, 16:])
    assert not same(one[1:, 1:, :16], other[1:, 1:, :16])


# State ----------------------------------------------------------------------------------------------------------------


def test_the_state_is_that_at_the_last_place_of_each_direction():
    embedder = opened(state="carry")
    marked = layers(embedder, SENTENCE, marks=True)[0]
    h = embedder.states[0].h[:, 0].numpy()
    assert same(h[0], marked[1, -1, :16])
    assert same(h[1], marked[1, 0, 16:])


def test_fewer_and_more_rows():
    embedder = opened(state="carry")
    layers(embedder, *BATCHES[0][:3])
    before = embedder.states
    layers(embedder, BATCHES[0][3])
    after = embedder.states
    for old, new in zip(before, after, strict=True):
        assert torch.equal(old.h[:, 1:], new.h[:, 1:])
        assert torch.equal(old.c[:, 1:], new.c[:, 1:])
        assert not torch.equal(old.h[:, 0], new.h[:, 0])
    found = layers(embedder, *[SENTENCE] * 4)
    fresh = layers(opened(), SENTENCE)[0]
    assert [same(one, fresh) for one in found] == [False, False, False, True]  # the fourth row is new
    assert len({one.tobytes() for one in found}) == 4


def test_a_state_is_not_moved_by_longer_neighbours():
    alone, beside = opened(state="carry"), opened(state="carry")
    layers(alone, ["好"])
    layers(beside, ["好"], BATCHES[0][1])
    for one, two in zip(alone.states, beside.states, strict=True):
        assert same(one.h[:, 0].numpy(), two.h[:, 0].numpy())
        assert same(one.c[:, 0].numpy(), two.c[:, 0].numpy())


def test_an_empty_sentence_moves_the_state():
    embedder = opened(state="carry")
    assert layers(embedder, [])[0].shape == (3, 0, 32)
    due = opened(state="carry")
    marked = layers(due, [], marks=True)[0]
    assert marked.shape == (3, 2, 32)
    assert same(embedder.states[0].h[0, 0].numpy(), marked[1, 1, :16])
    assert not same(layers(embedder, SENTENCE)[0], layers(opened(), SENTENCE)[0])


def test_from_zero_neither_order_nor_neighbours_matter():
    embedder = opened()
    alone = [layers(embedder, sentence)[0] for sentence in BATCHES[1]]
    together = layers(embedder, *BATCHES[1], batch_words=5)
    backwards = layers(embedder, *BATCHES[1][::-1])[::-1]
    assert all(same(*three[:2]) and same(*three[1:]) for three in zip(alone, together, backwards, strict=True))


def test_reset_sets_the_state_to_zero():
    embedder = opened(state="carry")
    first, second = layers(embedder, SENTENCE)[0], layers(embedder, SENTENCE)[0]
    embedder.reset()
    assert not same(first, second)
    assert same(first, layers(embedder, SENTENCE)[0])


def test_warmup_reads_the_first_batch_twice():
    embedder, due = opened(state="carry"), opened(state="carry")
    texts = BATCHES[0][:3]
    found = layers(embedder, *texts, warmup=True, batch_size=2)
    layers(due, *texts[:2])
    assert all(same(*pair) for pair in zip(found, layers(due, *texts, batch_size=2), strict=True))


def test_warmup_from_zero_is_the_sentence_after_itself():
    due = opened(state="carry")
    layers(due, SENTENCE)
    again = layers(due, SENTENCE)[0]
    assert same(layers(opened(), ["好"], SENTENCE, warmup=True)[1], again)


# Mixes ----------------------------------------------------------------------------------------------------------------


def test_the_layer_norm_has_one_mean_and_variance_for_the_batch():
    """With the marks counted (AllenNLP) or not (bilm-tf): then it is their words alone that come out even."""
    marked = layers(opened(), *BATCHES[2], marks=True)
    flat = torch.from_numpy(np.concatenate(marked, axis=1))
    words = torch.cat([torch.tensor([False, *[True] * len(s), False]) for s in BATCHES[2]])
    mix = ScalarMix(3, initial=[0.0, 1.0, 0.0], layer_norm=True, trainable=False)
    allennlp, bilm_tf = mix(flat), mix(flat, words)
    for found, even in ((allennlp, slice(None)), (bilm_tf, words)):
        assert found[even].mean().item() == pytest.approx(0, abs=1e-12)
        assert found[even].var(correction=0).item() == pytest.approx(1)
    assert (allennlp - bilm_tf).abs().max() > 1e-3


# Files ----------------------------------------------------------------------------------------------------------------

RENAMED = {  # early: before TensorFlow 1.2
    "early": ("lm/RNN_{}/rnn/multi_rnn_cell/cell_{}/lstm_cell/", "weights", "biases", "projection/weights"),
    "checkpoint": ("lm/RNN_{}/rnn/multi_rnn_cell/cell_{}/lstm_cell/", "kernel", "bias", "projection/kernel"),
    "hub": ("module/bilm/RNN_{}/RNN/MultiRNNCell/Cell{}/rnn/lstm_cell/", "kernel", "bias", "projection/kernel"),
}  # fmt: skip


@pytest.mark.parametrize("names", RENAMED.values(), ids=RENAMED)
def test_names_of_every_release(tmp_path, names):
    cell, *parts = names
    scope = cell.partition("RNN_")[0]
    told = {}
    for name, tensor in tensors_of("bilm_skip/weights.hdf5").items():
        if name.startswith("RNN_"):
            place = cell.format(*re.findall(r"\d", name)[:2])
            told[place + parts[["W_0", "B", "W_P_0"].index(name.rpartition("/")[2])]] = tensor
        else:
            told[scope + name] = tensor
    told[f"{scope}Variable_1"] = np.ones((4, 16))
    folder = write_bilm_tf(tmp_path, options("bilm_skip"), told)
    assert same(layers(opened(folder), SENTENCE)[0], layers(opened(), SENTENCE)[0])


def test_one_layer_has_no_number_in_its_names(tmp_path):
    kept = {
        name.replace("MultiRNNCell/Cell0/", ""): tensor
        for name, tensor in tensors_of("bilm_skip/weights.hdf5").items()
        if "Cell1" not in name
    }
    told = options("bilm_skip")
    del told["lstm"]["n_layers"]  # bilm-tf: 1
    found = layers(opened(write_bilm_tf(tmp_path, told, kept)), SENTENCE)[0]
    assert same(found, layers(opened(), SENTENCE)[0][:2])


def test_one_direction_is_refused(tmp_path):
    told = {
        name.replace("RNN_0/RNN", "rnn"): tensor
        for name, tensor in tensors_of("bilm_skip/weights.hdf5").items()
        if "RNN_1" not in name
    }
    with pytest.raises(BadInput, match="forward direction only"):
        opened(write_bilm_tf(tmp_path, options("bilm_skip"), told))


def test_a_checkpoint_of_another_machine(tmp_path):
    folder = toys.copied("bilm_ckpt_char", tmp_path / "model")
    (folder / "dumped_weights.hdf5").unlink()
    (folder / "checkpoint").write_text('model_checkpoint_path: "/home/someone/runs/model.ckpt-100"\n')
    for name in ("index", "data-00000-of-00001"):
        shutil.copyfile(DATA / f"hub_like/variables/variables.{name}", folder / f"model.ckpt-200.{name}")
    due = opened(DATA / "bilm_ckpt_char/dumped_weights.hdf5")
    assert same(layers(opened(folder), SENTENCE)[0], layers(due, SENTENCE)[0])


def test_the_softmax_may_share_the_table_of_words(tmp_path):
    with np.load(DATA / "bilm_ckpt_word/variables.npz") as file:
        variables = {name: array for name, array in file.items() if name[-8:] not in ("/Adagrad", "oftmax/W")}
    folder = write_bilm_tf(tmp_path, options("bilm_ckpt_word"), variables)
    shutil.copyfile(DATA / "bilm_ckpt_word/vocab.txt", folder / "vocab.txt")
    bilm = load_bilm(folder, softmax=True).bilm
    assert torch.equal(bilm.softmax.rows.weight, bilm.tokens.table.weight)


# Word input -----------------------------------------------------------------------------------------------------------


def by_words(tmp_path, lines, table=None):
    """bilm_skip with a table of words: row k holds k."""
    (tmp_path / "vocab.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    number = len(lines) if table is None else table
    write_bilm_tf(tmp_path / "table", {}, {"embedding": np.repeat(np.arange(number)[:, None], 16, axis=1)})
    return opened(vocabulary=tmp_path / "vocab.txt", embedding=tmp_path / "table" / "weights.hdf5")


def row(embedder, word):
    return vector(embedder, word)[0]


def test_a_word_is_its_line_and_an_unknown_one_that_of_unk(tmp_path):
    embedder = by_words(tmp_path, ["<S>", "</S>", "<UNK>", "好", "的 "])
    assert [row(embedder, word) for word in ("好", "的", "龘", "<UNK>", "<S>", "</S>")] == [3, 4, 2, 2, 0, 1]
    assert layers(embedder, ["好"], marks=True)[0][0, :, 0].tolist() == [0, 3, 1]


def test_the_last_line_of_a_word_counts_and_maxtermid_is_none(tmp_path):
    embedder = by_words(tmp_path, ["好", "<S>", "!!!MAXTERMID", "</S>", "<UNK>", "好"], table=5)
    assert [row(embedder, word) for word in ("好", "</S>", "龘")] == [4, 2, 3]


def test_the_length_of_the_vocabulary_is_that_of_the_table(tmp_path):
    with pytest.raises(BadInput, match=r"has 4 words, but .*weights.hdf5 has 5 rows"):
        by_words(tmp_path, ["<S>", "</S>", "<UNK>", "好"], table=5)


@pytest.mark.parametrize("missing", ["<S>", "</S>", "<UNK>"])
def test_a_vocabulary_without_marks_is_refused_where_words_are_looked_up(tmp_path, missing):
    with pytest.raises(BadInput, match=f"vocab.txt: lacks {missing}"):
        by_words(tmp_path, [word for word in ("<S>", "</S>", "<UNK>", "好") if word != missing])


def test_a_vocabulary_without_marks_has_no_say_in_character_input(tmp_path):
    """bilm-tf then gives the last word of the file the rows of the marks."""
    changed_bilm_tf(tmp_path)
    (tmp_path / "vocab.txt").write_text("今天\n", "utf-8")
    assert same(layers(opened(tmp_path), SENTENCE)[0], layers(opened(), SENTENCE)[0])


# AllenNLP's state dicts -----------------------------------------------------------------------------------------------


def state_dict(tmp_path, change):
    state = torch.load(DATA / "elmo_th/elmo.th", weights_only=True)
    torch.save(change(dict(state)), tmp_path / "weights.th")
    shutil.copyfile(DATA / "elmo_th/options.json", tmp_path / "options.json")
    return opened(tmp_path / "weights.th")


ELMO = "_elmo_lstm._token_embedder._char_embedding_weights"


def test_an_elmo_inside_a_tasks_model(tmp_path):
    def inside(state):
        prefix = "text_field_embedder.token_embedder_elmo._elmo."
        return {prefix + name: tensor for name, tensor in state.items()} | {"encoder.weight": torch.ones(2, 2)}

    due = opened(DATA / "elmo_th", weights=DATA / "elmo_th/elmo.th")
    assert same(layers(state_dict(tmp_path, inside), SENTENCE)[0], layers(due, SENTENCE)[0])


def test_row_0_of_a_fine_tuned_table_touches_no_word(tmp_path):
    def moved(state):
        state[ELMO] = torch.cat([torch.full((1, 8), 50.0), state[ELMO][1:]])
        return state

    due = opened(DATA / "elmo_th", weights=DATA / "elmo_th/elmo.th")
    assert same(layers(state_dict(tmp_path, moved), SENTENCE)[0], layers(due, SENTENCE)[0])


def test_the_forget_bias_of_a_state_dict_is_whole(tmp_path):
    """A step from zero and one more with all weights 0: the memory keeps sigmoid(bias) of itself."""

    def constant(state):
        for name in state:
            if "_layer_" in name:
                state[name] = torch.zeros_like(state[name])
            if name.endswith("state_linearity.bias"):  # gates i, f, g, o of 32 cells
                state[name] = torch.tensor([ON, 0.3, 0.5, ON]).repeat_interleave(32)
            if name.endswith("state_projection.weight"):
                state[name] = torch.full_like(state[name], 0.5 / 32)
        return state

    found = layers(state_dict(tmp_path, constant), ["好"])[0]
    assert found[1, 0, 0] == pytest.approx(0.5 * math.tanh(memory(2, sigmoid(0.3), clip=1.0)), abs=1e-7)


def test_language_models_of_allennlp_itself_are_refused(tmp_path):
    def others(state):
        return {"_lm._contextualizer.w": torch.ones(2)}

    with pytest.raises(BadInput, match="another architecture than ELMo"):
        state_dict(tmp_path, others)
