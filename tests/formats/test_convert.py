"""A model in the files of another program has the same vectors, there and back; what cannot be held is refused."""

from __future__ import annotations

import errno
import json
import warnings
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

import zh_elmo
from zh_elmo.files import BadInput
from zh_elmo.formats.convert import convert, save_as
from zh_elmo.formats.equivalent import for_bilm_tf, for_many_langs
from zh_elmo.formats.find import load_bilm
from zh_elmo.formats.own import save
from zh_elmo.lm.model import BiLM
from zh_elmo.lm.settings import Characters, Model
from zh_elmo.text.pipeline import Pipeline, TextSettings

GOLDEN = Path(__file__).parents[1] / "golden" / "data"
SENTENCES = [
    ["我", "买", "了", "苹果", "。"], ["他们", "中华人民共和国成立了", "x"], [], ["吃"], ["甲", "乙丙丁戊己庚辛壬癸子"],
    ["international", "<unk>", "<s>"],
]  # fmt: skip
CHARACTERS = Characters(size=5, filters=((1, 4), (2, 4), (3, 6)), maximum=10)
BYTES = Characters(size=5, filters=((1, 4), (2, 4), (3, 8)), maximum=48, unit="byte")
ALONE = Characters(filters=())


def made(characters: Characters = CHARACTERS, words: str = "我 买 苹果 。 他们 吃", **changes: object) -> BiLM:
    settings = Model(**({"characters": characters, "projection": 7, "cell": 9, "layers": 2} | changes))
    with torch.random.fork_rng():
        torch.manual_seed(1)
        bilm = BiLM(settings, list("我买了苹果。他们中华人民吃甲乙"), words.split())
        for parameter in bilm.parameters():
            parameter.data.normal_(std=0.4)
    if bilm.tokens.table is not None and bilm.tokens.table.padding_idx is not None:
        bilm.tokens.table.weight.data[0] = 0
    return bilm.eval()


def own(folder: Path, bilm: BiLM) -> Path:
    save(folder, bilm, text={}, facts={})
    return folder


def gap(one: Path, other: Path) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pairs = zip(*(zh_elmo.load(path).embed(SENTENCES, layers="all") for path in (one, other)), strict=True)
        return max(float(np.abs(a - b).max()) for a, b in pairs if a.size)


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"word_table": False}, {"layers": 1, "skip": False},
        {"cell_clip": 0.6, "projection_clip": 0.3, "layers": 3},
        {"characters": ALONE}, {"characters": msgspec.structs.replace(CHARACTERS, highways=0, activation="tanh")},
        {"characters": msgspec.structs.replace(CHARACTERS, highways=2)}, {"softmax": False},
        {"word_size": 3}, {"word_size": 3, "characters": ALONE}, {"lstm": "two-way", "softmax": False},
        {"word_size": 3, "cut_words": True, "characters": msgspec.structs.replace(CHARACTERS, padded=True)},
    ],
)  # fmt: skip
def test_own_to_elmoformanylangs_and_back(tmp_path, changes):
    first = own(tmp_path / "own", made(**changes))
    convert(first, tmp_path / "theirs", "elmoformanylangs")
    convert(tmp_path / "theirs", tmp_path / "back", "own")
    assert gap(first, tmp_path / "theirs") < 1e-5
    assert gap(first, tmp_path / "back") < 1e-5


@pytest.mark.parametrize("to", ["bilm-tf", "checkpoint"])
@pytest.mark.parametrize(
    "changes",
    [
        {"word_table": False}, {"word_table": False, "skip": False, "layers": 3}, {"word_table": False, "layers": 1},
        {"word_table": False, "characters": msgspec.structs.replace(BYTES, padded=True, maximum=28, highways=0)},
        {"word_table": False, "lstm": "plain", "cell": 7, "softmax": False},
        {"characters": ALONE}, {"characters": ALONE, "word_size": 3},
    ],
)  # fmt: skip
def test_own_to_bilm_tf_and_back(tmp_path, to, changes):
    first = own(tmp_path / "own", made(**({"characters": BYTES} | changes)))
    convert(first, tmp_path / "theirs", to)
    convert(tmp_path / "theirs", tmp_path / "back", "own")
    assert gap(first, tmp_path / "theirs") < 1e-5
    assert gap(first, tmp_path / "back") < 1e-5


@pytest.mark.parametrize(
    ("name", "to"),
    [(name, "elmoformanylangs") for name in sorted(p.name for p in GOLDEN.glob("efml_*"))]
    + [(name, to) for name in sorted(p.name for p in GOLDEN.glob("bilm_*")) for to in ("bilm-tf", "checkpoint")],
)  # fmt: skip
def test_theirs_to_own_and_back_to_the_last_digit(tmp_path, name, to):
    convert(GOLDEN / name, tmp_path / "own", "own")
    convert(tmp_path / "own", tmp_path / "back", to)
    assert gap(GOLDEN / name, tmp_path / "own") == 0
    assert gap(GOLDEN / name, tmp_path / "back") == 0


@pytest.mark.parametrize("to", ["own", "bilm-tf", "checkpoint"])
def test_hub_module_and_state_dict(tmp_path, to):
    options = {"options": GOLDEN / "bilm_skip" / "options.json"}
    convert(GOLDEN / "hub_like", tmp_path / "hub", to, files=options)
    assert gap(GOLDEN / "bilm_skip", tmp_path / "hub") == 0
    convert(GOLDEN / "elmo_th" / "elmo.th", tmp_path / "th", to)
    assert (
        gap(GOLDEN / "elmo_th" / "elmo.th", tmp_path / "th") < 1e-6
    )  # 1 comes off the forget gate's bias, and on again


def test_the_softmax_goes_along_where_the_format_has_one(tmp_path):
    first = own(tmp_path / "own", made())
    convert(first, tmp_path / "theirs", "elmoformanylangs")
    byte = own(tmp_path / "bytes", made(BYTES, word_table=False))
    convert(byte, tmp_path / "checkpoint", "checkpoint")
    for one, other in ((first, tmp_path / "theirs"), (byte, tmp_path / "checkpoint")):
        ours, theirs = (load_bilm(path, softmax=True).bilm for path in (one, other))
        order = [0, 1, 2, *(theirs.word_ids[word] for word in ours.words)]
        assert torch.equal(ours.softmax.bias.weight, theirs.softmax.bias.weight[order])
        assert torch.equal(ours.softmax.rows.weight, theirs.softmax.rows.weight[order])
        hidden = torch.randn(3, 7)
        expected = theirs.softmax.log_probabilities(hidden)[:, order]  # <pad>, which is new, takes nothing away
        assert torch.allclose(ours.softmax.log_probabilities(hidden), expected, atol=1e-5)


def test_facts_and_text_of_our_own_stay_and_what_it_was_is_told(tmp_path):
    convert(GOLDEN / "efml_char", tmp_path / "own", "own")
    facts = load_bilm(tmp_path / "own").facts
    assert facts["converted"]["from"] == "ELMoForManyLangs"
    assert "encoder.pkl" in facts["converted"]["files"]
    convert(tmp_path / "own", tmp_path / "half", "own", dtype="float16")
    assert load_bilm(tmp_path / "half").facts == facts
    assert 0 < gap(tmp_path / "own", tmp_path / "half") < 1e-2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"characters": BYTES, "word_table": False}, "reads characters, this model reads bytes"),
        ({"skip": False}, "adds a layer's input to its output"),
        ({"lstm": "plain", "cell": 7}, "has a projection in its LSTM"),
        ({"words": "我 <bos>"}, "<bos> are words of this model, but marks"),
        ({"words": "我 abcdefghijk"}, "1 words of the vocabulary, such as 'abcdefghijk', have more than 10 characters"),
        ({"characters": msgspec.structs.replace(CHARACTERS, filters=((4, 3),))}, "a filter of width 4 looks beyond"),
    ],
)
def test_what_elmoformanylangs_cannot_hold(changes, reason):
    with pytest.raises(BadInput, match=reason):
        for_many_langs(made(**changes))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "bilm-tf reads bytes, this model reads characters"),
        ({"characters": BYTES}, "characters or a table of words, this model has both"),
        ({"characters": ALONE, "lstm": "two-way", "softmax": False}, "directions never see each other"),
        ({"characters": ALONE, "words": "我 <S>"}, "<S> are words of this model, but marks"),
    ],
)
def test_what_bilm_tf_cannot_hold(changes, reason):
    with pytest.raises(BadInput, match=reason):
        for_bilm_tf(made(**changes))


def test_words_and_characters_that_a_dictionary_cannot_hold(tmp_path):
    bilm = BiLM(made().settings, ["a", "\u2028"], ["我"])
    with pytest.raises(BadInput, match=r"a dictionary of ELMoForManyLangs cannot hold the character '\\u2028'"):
        save_as(bilm, tmp_path / "a", "elmoformanylangs")
    assert not (tmp_path / "a").exists()
    bilm = BiLM(made(ALONE).settings, [], ["a b", " a"])
    with pytest.raises(BadInput, match="cannot hold the word ' a'"):
        save_as(bilm, tmp_path / "a", "bilm-tf")


def test_lossy_drops_words_that_would_be_cut_and_says_so(tmp_path):
    first = own(tmp_path / "own", made(words="我 买 abcdefghijk 了"))
    notes = convert(first, tmp_path / "theirs", "elmoformanylangs", lossy=True)
    assert notes == ["1 words longer than 10 characters lost their own vectors"]
    assert gap(first, tmp_path / "theirs") < 1e-5  # the sentences have no such word
    for path, same in ((["我", "买"], True), (["abcdefghijk"], False)):
        one, other = (zh_elmo.load(p).embed([path], layers=0)[0] for p in (first, tmp_path / "theirs"))
        assert bool(np.abs(one - other).max() < 1e-5) is same


def test_who_can_read_it_is_told(tmp_path):
    notes = save_as(made(BYTES, word_table=False, skip=False), tmp_path / "a", "bilm-tf")
    assert notes == ["AllenNLP cannot read this model (no skip connections); bilm-tf and zh_elmo can"]
    wide = msgspec.structs.replace(BYTES, filters=((1, 2),))
    notes = save_as(made(wide, word_table=False), tmp_path / "b", "bilm-tf")
    assert notes == ["bilm-tf itself wants filters that give more numbers than the projection; AllenNLP does not"]


def test_files_of_bilm_tf_as_they_are_written(tmp_path):
    h5py = pytest.importorskip("h5py")
    save_as(made(BYTES, word_table=False, cell_clip=3.0), tmp_path / "a", "bilm-tf")
    options = json.loads((tmp_path / "a" / "options.json").read_text())
    assert options["char_cnn"]["n_characters"] == 262
    assert options["char_cnn"]["embedding"]["dim"] == 6  # one more than the model has, for the padding
    assert (options["lstm"]["cell_clip"], options["lstm"]["proj_clip"]) == (3.0, None)
    with h5py.File(tmp_path / "a" / "weights.hdf5") as file:
        assert file["char_embed"].shape == (261, 6)
        assert file["CNN_high_0/W_carry"].shape == (16, 16)
        assert file["RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell/W_0"].shape == (14, 36)
        assert file["RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell/W_P_0"].shape == (9, 7)


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a").touch()
    with pytest.raises(BadInput, match="there is something already") as error:
        convert(GOLDEN / "efml_char", tmp_path / "there", "own")
    assert error.value.usage
    assert [file.name for file in (tmp_path / "there").iterdir()] == ["a"]


def test_everything_that_is_written_loads_with_weights_only(tmp_path):
    """Public reports 56 (safetensors#469: transposed tensors) and 57 (pickled configuration)."""
    convert(own(tmp_path / "own", made()), tmp_path / "theirs", "elmoformanylangs")
    for name in ("encoder.pkl", "token_embedder.pkl", "classifier.pkl"):
        state = torch.load(tmp_path / "theirs" / name, weights_only=True)
        assert all(isinstance(tensor, torch.Tensor) and tensor.is_contiguous() for tensor in state.values())


@pytest.mark.parametrize("to", ["own", "bilm-tf", "checkpoint"])
def test_a_full_disk_is_an_error_of_the_system_and_leaves_nothing(tmp_path, monkeypatch, to):
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        convert(GOLDEN / "bilm_skip", tmp_path / "out", to)
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_place_in_the_other_format_is_told(tmp_path):
    settings = Pipeline(TextSettings(segmenter="characters")).describe()
    save(tmp_path / "own", made(BYTES, word_table=False), text=settings, facts={})
    notes = convert(tmp_path / "own", tmp_path / "a", "bilm-tf")
    assert notes[0].startswith("how words are normalised and cut (script simplified, punctuation full, quotes curly, ")
    assert notes[1] == "its files have no softmax"
    assert any("no learned mixes" in n for n in convert(GOLDEN / "elmo_th" / "elmo.th", tmp_path / "b", "bilm-tf"))
    with pytest.raises(BadInput, match="float32"):
        convert(tmp_path / "own", tmp_path / "c", "bilm-tf", dtype="float16")


def test_a_vocabulary_that_nothing_depends_on_goes_along(tmp_path):
    convert(GOLDEN / "bilm_skip", tmp_path / "a", "bilm-tf")
    words = (GOLDEN / "bilm_skip" / "vocab.txt").read_text("utf-8").split()
    assert sorted((tmp_path / "a" / "vocab.txt").read_text("utf-8").split()) == sorted(words)
