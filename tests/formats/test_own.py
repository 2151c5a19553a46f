"""Model folders: what is saved comes back bit for bit, and what is damaged is told of in one line."""

from __future__ import annotations

import random
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from zh_elmo.files import BadInput, read_json, write_json
from zh_elmo.formats.digest import digest
from zh_elmo.formats.own import CARD, CHARS, CONFIG, NEEDED, TEXT, WEIGHTS, WORDS, open_model, save
from zh_elmo.lm.model import BiLM
from zh_elmo.lm.settings import Model
from zh_elmo.recipe import plain

FACTS = {"held_out_perplexity": {"mean": 305.3}, "licence": "CC0-1.0"}


def same(one, other):
    assert plain(one.settings) == plain(other.settings)
    assert (one.chars, one.words) == (other.chars, other.words)
    weights = other.state_dict()
    assert set(one.state_dict()) == set(weights)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in one.state_dict().items())


def test_round_trip_is_bit_equal(folder, bilm, text):
    model = open_model(folder)
    same(model.bilm, bilm)
    assert model.text == text
    assert model.facts["licence"] == "CC0-1.0"
    assert model.digest == digest(bilm)
    assert sorted(p.name for p in folder.iterdir()) == sorted([*NEEDED, CARD])
    assert not model.bilm.training
    assert not any(p.requires_grad for p in model.bilm.parameters())


def test_every_kind_of_model_comes_back(tmp_path, text):
    for number, changes in enumerate(({"word_table": False}, {"layers": 1}, {"layers": 3, "skip": False})):
        bilm = BiLM(Model(projection=4, cell=4, **changes), ["我"], ["我"])
        save(tmp_path / str(number), bilm, text=text, facts={})
        same(open_model(tmp_path / str(number)).bilm, bilm)


def test_saved_twice_the_bytes_are_the_same(folder, bilm, text, tmp_path):
    for _ in range(5):
        save(tmp_path / "again", open_model(folder).bilm, text=text, facts=open_model(folder).facts)
        for name in (*NEEDED, CARD):
            assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_one_entry_a_line(folder, bilm):
    lines = (folder / WORDS).read_text("utf-8").split("\n")
    assert lines[:6] == ["我", "<s>", "<unk>", r"a\u005cu000a", r"\u005c", "a b"]
    assert len(lines) == len(bilm.words) + 1
    assert (folder / CHARS).read_text("utf-8").count("\n") == len(bilm.chars)


def test_float16_halves_the_weights(folder, bilm, text, tmp_path):
    save(tmp_path / "half", bilm, text=text, facts=FACTS, dtype="float16")
    model = open_model(tmp_path / "half")
    assert model.dtype == "float16"
    for name, tensor in bilm.state_dict().items():
        assert torch.equal(model.bilm.state_dict()[name], tensor.half().float())
    assert model.digest != digest(bilm)
    size = [(f / WEIGHTS).stat().st_size for f in (tmp_path / "half", folder)]
    assert size[0] < 0.75 * size[1]
    save(tmp_path / "half", model.bilm, text=text, facts=FACTS, dtype="float16")
    assert open_model(tmp_path / "half").digest == model.digest


def test_a_model_is_replaced_and_other_files_stay(folder, text):
    (folder / "checkpoints").mkdir()
    (folder / "log.jsonl").write_text("{}")
    other = BiLM(Model(projection=4, cell=4), ["我"], ["我", "你"])
    save(folder, other, text=text, facts={})
    same(open_model(folder).bilm, other)
    assert sorted(p.name for p in folder.iterdir()) == sorted([*NEEDED, CARD, "checkpoints", "log.jsonl"])


def test_into_a_folder_that_holds_other_files(bilm, text, tmp_path):
    (tmp_path / "log.jsonl").write_text("{}")
    save(tmp_path, bilm, text=text, facts={})
    same(open_model(tmp_path).bilm, bilm)
    assert (tmp_path / "log.jsonl").read_text() == "{}"


@pytest.mark.parametrize("name", [CARD, CONFIG])
def test_nobody_elses_files_are_overwritten(bilm, text, tmp_path, name):
    (tmp_path / name).write_text("{}")
    with pytest.raises(BadInput, match=f"holds {name}, which is not of a zh_elmo model") as error:
        save(tmp_path, bilm, text=text, facts={})
    assert error.value.usage
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("value", "dtype", "what"), [(float("nan"), "float32", "not finite"), (1e6, "float16", "large")]
)
def test_weights_that_cannot_be_saved(bilm, text, tmp_path, value, dtype, what):
    bilm.layers[1].bias.data[0, 0, 0] = value
    with pytest.raises(BadInput, match=rf"layers.1.bias are .*{what}"):
        save(tmp_path / "m", bilm, text=text, facts={}, dtype=dtype)
    assert not list(tmp_path.iterdir())


def test_facts_of_any_kind(bilm, text, tmp_path):
    facts = {"torch": torch.__version__, "path": tmp_path, "tuple": (1, 2), "number": torch.tensor(1.5).numpy()}
    save(tmp_path / "m", bilm, text=text, facts=facts)
    due = {"torch": str(torch.__version__), "path": str(tmp_path), "tuple": [1, 2], "number": "1.5"}
    assert open_model(tmp_path / "m").facts == due


def test_text_that_pipelines_do_not_give(bilm, tmp_path):
    with pytest.raises(ValueError, match="describe"):
        save(tmp_path / "m", bilm, text={"script": "keep"}, facts={})
    save(tmp_path / "m", bilm, text={}, facts={})  # nobody knows: a model of another program
    assert open_model(tmp_path / "m").text == {}


def test_card(folder, bilm, text, tmp_path):
    card = (folder / CARD).read_text("utf-8")
    for due in (
        "- words: 1,234,567", "- mean: 305.3", "- CC0-1.0", "characters: 13; words: 10", "3 of 12 numbers",
        "- opencc: package opencc-python", '"layers": 2', '- command: ["zh-elmo", "pretrain"]', "stored as float32",
    ):  # fmt: skip
        assert due in card
    save(tmp_path / "bare", bilm, text=text, facts={})
    bare = (tmp_path / "bare" / CARD).read_text("utf-8")
    for due in ("## Data\n\nNot told.", "perplexity\n\nNot measured.", "## Licence\n\nNot told: ask"):
        assert due in bare


# Damage -------------------------------------------------------------------------------------------------------------


def refused(folder, what):
    with pytest.raises(BadInput, match=what) as error:
        open_model(folder)
    assert str(error.value).startswith(str(folder))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", NEEDED)
def test_a_file_is_missing(folder, name):
    (folder / name).unlink()
    refused(folder, f"not a whole model: {name} missing")


def test_weights_cut_anywhere(folder, tmp_path):
    content = (folder / WEIGHTS).read_bytes()
    draw = random.Random(1)
    for kept in [0, 1, 7, 8, 9, len(content) - 1, *(draw.randrange(len(content)) for _ in range(15))]:
        (folder / WEIGHTS).write_bytes(content[:kept])
        refused(folder, "model.safetensors: not a safetensors file that can be read, or a part of one")


def test_bits_turned_anywhere_in_the_weights(folder):
    content = (folder / WEIGHTS).read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    draw = random.Random(2)
    for _ in range(15):
        place = draw.randrange(header, len(content))
        (folder / WEIGHTS).write_bytes(content[:place] + bytes([content[place] ^ 64]) + content[place + 1 :])
        refused(folder, "other digest|not finite")


def change(folder, **tensors):
    weights = load_file(folder / WEIGHTS)
    for name, tensor in tensors.items():
        if tensor is None:
            del weights[name.replace("__", ".")]
        else:
            weights[name.replace("__", ".")] = tensor
    save_file(weights, folder / WEIGHTS)


@pytest.mark.parametrize(
    ("name", "tensor", "what"),
    [
        ("tokens__characters__bias", None, "lacks tokens.characters.bias"),
        ("more", torch.zeros(1), "holds unknown more"),
        ("tokens__characters__bias", torch.zeros(9), r"tokens.characters.bias has shape \[9\]; .* ask for \[8\]"),
        (
            "tokens__characters__bias",
            torch.zeros(8, dtype=torch.float64),
            "tokens.characters.bias has type F64; expected F32 or F16",
        ),
        ("tokens__characters__bias", torch.zeros(8, dtype=torch.int32), "tokens.characters.bias has type I32"),
        (
            "tokens__characters__bias",
            torch.full((8,), torch.nan),
            "tokens.characters.bias holds numbers that are not finite",
        ),
        ("softmax__bias__weight", torch.full((13, 1), torch.inf), "softmax.bias.weight holds numbers that are not"),
    ],
)
def test_tensors_that_do_not_fit(folder, name, tensor, what):
    change(folder, **{name: tensor})
    refused(folder, f"model.safetensors: {what}")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"format": "bert"}, "not the settings of a zh_elmo model"),
        ({"version": 2}, "version 2: written by another zh_elmo"),
        ({"extra": 1}, "unknown key extra"),
        ({"dtype": "float8"}, "dtype"),
        ({"model": {"celll": 3}}, "unknown key model.celll; did you mean cell"),
        ({"model": {"cell": "10"}}, "Expected `int`, got `str`"),
        ({"model": {"cell": 0}}, "Expected `int` >= 1"),
        ({"model": {"cell": 11}}, "layers.0.bias has shape"),
        ({"model": {"cell": 10**17}}, "sizes that no model has|has shape"),
        ({"model": {"layers": 10**9}}, "asks for more layers"),
        ({"digest": "0"}, "other digest"),
        ({"facts": None}, "facts"),
    ],
)
def test_settings_that_are_wrong(folder, change, what):
    config = read_json(folder / CONFIG)
    config["model"] |= change.pop("model", {})
    write_json(folder / CONFIG, config | change)
    refused(folder, what)


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        (CONFIG, b"{", "config.json:1: not JSON"),
        (CONFIG, b"[]", "config.json: not the settings"),
        (TEXT, b"[]", "text.json: expected an object"),
        (TEXT, b'"\xff"', r"text.json \(byte 1\): not UTF-8"),
        (WORDS, b"a\n\nb\n", "words.txt:2: an empty line"),
        (WORDS, b"a\nb\na\n", "words.txt:3: a stands here twice"),
        (WORDS, b"a\nb\n", "shape"),
        (CHARS, b"\xe6\x88", r"chars.txt:1 \(byte 0\): not UTF-8"),
    ],
)
def test_other_files_that_are_wrong(folder, name, content, what):
    (folder / name).write_bytes(content)
    refused(folder, what)


def test_words_in_another_order(folder):
    lines = (folder / WORDS).read_bytes().split(b"\n")
    (folder / WORDS).write_bytes(b"\n".join([*lines[1::-1], *lines[2:]]))
    refused(folder, "other digest")


def test_files_of_two_models(folder, text, tmp_path):
    """As a machine leaves them that stops while a model is replaced."""
    other = BiLM(open_model(folder).bilm.settings, open_model(folder).bilm.chars, open_model(folder).bilm.words)
    save(tmp_path / "other", other, text=text, facts={})
    shutil.copy(tmp_path / "other" / WEIGHTS, folder / WEIGHTS)
    refused(folder, "other digest")


def test_no_folder(tmp_path):
    with pytest.raises(BadInput, match="no such model folder") as error:
        open_model(tmp_path / "nowhere")
    assert error.value.usage
