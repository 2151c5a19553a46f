"""The vectors of a sentence are its own: alone, in any batch, in any order, again; what is no sentence is refused."""

from __future__ import annotations

import itertools
import pickle
import random

import numpy as np
import pytest
import torch

import zh_elmo
from zh_elmo.embed.embedder import Embedder
from zh_elmo.files import BadInput
from zh_elmo.formats.own import save
from zh_elmo.text.pipeline import Pipeline, TextSettings

SENTENCE = ["我", "买", "了", "六", "斤", "苹果", "。"]


def some_sentences(number, seed=0, longest=30):
    draw = random.Random(seed)
    words = ["我", "你们", "买", "了", "苹果", "。", "的", "abc", "不在", "生词", "這個", "大人"]
    return [[draw.choice(words) for _ in range(draw.randint(1, longest))] for _ in range(number)]


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-12)])
def test_batch_order_and_history_do_not_matter(new_bilm, dtype, tolerance):
    embedder = Embedder(new_bilm(), dtype=dtype)
    sentences = [SENTENCE, *some_sentences(40)]
    fresh = [Embedder(new_bilm(), dtype=dtype).embed([s], layers="all")[0] for s in sentences[:5]]
    together = embedder.embed(sentences, layers="all")
    again = embedder.embed(sentences, layers="all")
    small = embedder.embed(sentences, layers="all", batch_words=20)
    order = random.Random(1).sample(range(len(sentences)), len(sentences))
    shuffled = embedder.embed([sentences[i] for i in order], layers="all")
    for number, sentence in enumerate(sentences):
        alone = embedder.embed([sentence], layers="all")[0]
        assert alone.dtype == dtype
        assert alone.shape == (3, len(sentence), 16)
        for other in (together, again, small, [shuffled[order.index(i)] for i in range(len(sentences))], fresh):
            if number < len(other):
                assert np.abs(other[number] - alone).max() < tolerance
    assert np.abs(together[0]).max() > 0.1  # the tolerance is small against the numbers


def test_a_much_longer_companion_changes_nothing(exact):
    alone = exact.embed([SENTENCE])[0]
    beside = exact.embed([SENTENCE * 30, SENTENCE, ["我"]])[1]
    assert np.abs(alone - beside).max() < 1e-12


def test_the_small_memory_of_words_changes_nothing(new_bilm):
    sentences = some_sentences(20, longest=6)
    due = Embedder(new_bilm(), dtype="float64").embed(sentences)
    for capacity in (0, 1, 5, 12):
        embedder = Embedder(new_bilm(), dtype="float64", cached_words=capacity)
        for _ in range(2):
            for sentence, vectors in zip(sentences, due, strict=True):
                assert np.abs(embedder.embed([sentence])[0] - vectors).max() < 1e-12
        assert np.abs(embedder.embed(sentences)[9] - due[9]).max() < 1e-12
        assert len(embedder._encodings) <= capacity


def test_memory_of_words_is_bounded_and_each_is_encoded_once(embedder, monkeypatch):
    encoded = []
    encode = embedder.bilm.encode
    monkeypatch.setattr(embedder.bilm, "encode", lambda spelled: encoded.append(len(spelled.ids)) or encode(spelled))
    for _ in range(3):
        embedder.embed([SENTENCE, SENTENCE, ["我", "我"]])
    assert sum(encoded) == len(set(SENTENCE))


def test_layer_0_does_not_know_the_sentence_the_others_do(exact):
    one, other = exact.embed([["我", "吃", "苹果"], ["苹果", "是", "大", "的"]], layers="all")
    assert np.abs(one[0, 2] - other[0, 0]).max() < 1e-14
    assert np.array_equal(one[0, :, :8], one[0, :, 8:])
    for layer in (1, 2):
        assert np.abs(one[layer, 2] - other[layer, 0]).max() > 1e-3


def test_layers_differ_and_mixes_are_sums_of_them(exact):
    layers = exact.embed([SENTENCE], layers="all")[0]
    for one, other in itertools.combinations(layers, 2):
        assert np.abs(one - other).max() > 1e-2
    assert np.abs(exact.embed([SENTENCE])[0] - layers.mean(0)).max() < 1e-14
    for number in (0, 1, 2, -1):
        assert np.array_equal(exact.embed([SENTENCE], layers=number)[0], layers[number])
    mixed = exact.embed([SENTENCE], mix=[0.2, 0.3, 0.5])[0]
    assert np.abs(mixed - (0.2 * layers[0] + 0.3 * layers[1] + 0.5 * layers[2])).max() < 1e-14
    assert np.array_equal(exact.embed([SENTENCE], mix=[0, 0, 1])[0], layers[2])
    assert np.array_equal(exact([SENTENCE])[0], layers)


def test_sentences_of_no_word_and_no_sentence(embedder):
    assert embedder.embed([]) == []
    vectors = embedder.embed([[], SENTENCE, []])
    assert [v.shape for v in vectors] == [(0, 16), (7, 16), (0, 16)]
    assert [v.shape for v in embedder.embed([[]], layers="all")] == [(3, 0, 16)]
    assert vectors[0].dtype == np.float32


def test_one_word_and_ten_thousand(embedder):
    long = (SENTENCE * 1429)[:10_000]
    short, longest = embedder.embed([["我"], long], layers=1)
    assert short.shape == (1, 16)
    assert longest.shape == (10_000, 16)
    assert np.abs(longest[-50:] - embedder.embed([long[-50:]], layers=1)[0])[:, 8:].max() < 1e-5
    assert np.abs(longest[:50] - embedder.embed([long[:50]], layers=1)[0])[:, :8].max() < 1e-5
    assert np.isfinite(longest).all()


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("我买了苹果", "not the string"),
        (b"abc", "not the bytes"),
        (None, "not None"),
        (3, "not int"),
        ({"我": "买"}, "not dict"),
        (["我", "买"], r"sentences\[0\] is the string '我'.*split.*embed_text"),
        ([["我"], "买了"], r"sentences\[1\] is the string"),
        ([["我"], None], r"sentences\[1\]: a list of words is due, not None"),
        ([["我", ""]], r"sentences\[0\]\[1\]: an empty word"),
        ([["我", 3]], r"sentences\[0\]\[1\]: a word \(str\) is due, not int 3"),
        ([["我", None]], r"sentences\[0\]\[1\]: a word \(str\) is due, not None"),
        ([["我", b"x"]], "not bytes"),
        ([[["我"]]], "not list"),
        ([{"我"}], "not set"),
    ],
)
def test_what_is_no_list_of_lists_of_words(embedder, given, what):
    with pytest.raises(BadInput, match=what):
        embedder.embed(given)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"layers": 3}, "from 0 to 2"),
        ({"layers": True}, "from 0 to 2"),
        ({"layers": "top"}, "from 0 to 2"),
        ({"mix": "top"}, "3 weights"),
        ({"mix": [1, 2]}, "expected 3 finite weights"),
        ({"mix": [1, 2, float("inf")]}, "expected 3 finite weights"),
        ({"mix": 3}, "expected a weight"),
        ({"batch_words": 0}, "1 or more"),
    ],
)
def test_wrong_options_are_told_at_once(embedder, options, what):
    with pytest.raises(BadInput, match=what):
        embedder.embed_iter([], **options)


def test_awkward_words(embedder):
    words = ["\ud800", "a\x00b", "\u200b", "很" * 5000, "😀", " ", "\n"]
    (vectors,) = embedder.embed([words])
    assert np.isfinite(vectors).all()
    (raw,) = embedder.embed([words], normalize=False)
    assert np.isfinite(raw).all()
    assert np.array_equal(vectors[0], embedder.embed([["\ufffd", *words[1:]]])[0][0])  # a lone surrogate is U+FFFD


def test_a_padding_word_is_remarked_on(embedder):
    with pytest.warns(UserWarning, match=r"sentences\[0\] holds a padding word"):
        embedder.embed([["我", "<PAD>"]])


def test_tuples_generators_and_arrays_are_sentences_too(embedder):
    (due,) = embedder.embed([SENTENCE])
    for given in ([tuple(SENTENCE)], iter([iter(SENTENCE)]), np.array([SENTENCE])):
        assert np.array_equal(embedder.embed(given)[0], due)


def test_words_are_normalised_as_the_corpus_was(embedder):
    traditional, simplified = embedder.embed([["我", "買", "了", "蘋果", "."], ["我", "买", "了", "苹果", "."]])
    assert np.abs(traditional - simplified).max() < 1e-6
    as_they_stand = embedder.embed([["我", "買", "了", "蘋果", "."]], normalize=False)[0]
    assert np.abs(as_they_stand - simplified).max() > 1e-3


def test_endless_input(embedder):
    read = []

    def endless():
        for number in itertools.count():
            read.append(number)
            yield SENTENCE

    vectors = list(itertools.islice(embedder.embed_iter(endless(), batch_words=50), 100))
    assert len(vectors) == 100
    assert len(read) < 200  # some batches ahead and no more


def test_raw_text_gives_forms_places_and_vectors(embedder):
    raw = "我買了六斤蘋果。\r\n\n你吃了。大人說：不在"
    found = list(embedder.embed_text(raw))
    assert "".join(word.form for word in found) == "我买了六斤苹果。你吃了。大人说：不在"
    assert all(len(raw[slice(*word.span)]) == len(word.form) for word in found)
    assert "".join(raw[slice(*word.span)] for word in found) == "我買了六斤蘋果。你吃了。大人說：不在"
    due = np.concatenate(embedder.embed([list("我买了六斤苹果。"), list("你吃了。"), list("大人说：不在")]))
    assert np.abs(np.stack([word.vector for word in found]) - due).max() < 1e-6
    assert next(embedder.embed_text(raw, layers="all")).vector.shape == (3, 16)
    assert list(embedder.embed_text(" \n")) == []
    with pytest.raises(BadInput, match="raw text"):
        embedder.embed_text(["我"])


def test_another_segmenter_than_the_corpus_had_is_remarked_on(new_bilm):
    settings = TextSettings(segmenter="characters")
    made_with = Pipeline(settings).describe() | {"segmenter": "jieba 0.1"}
    with pytest.warns(UserWarning, match=r"segmenter jieba 0.1, this text with characters"):
        Embedder(new_bilm(), settings, made_with=made_with).embed_text("我")


def test_no_gradients_no_dropout_and_the_model_keeps_its_mode(new_bilm):
    bilm = new_bilm(dropout=0.5).train()
    embedder = Embedder(bilm)
    first, second = embedder.embed([SENTENCE, SENTENCE])
    assert np.array_equal(first, second)
    assert bilm.training
    assert all(p.grad is None for p in bilm.parameters())


def test_two_models_side_by_side(new_bilm):
    one, other = Embedder(new_bilm(1)), Embedder(new_bilm(2))
    first, second = one.embed([SENTENCE])[0], other.embed([SENTENCE])[0]
    assert np.abs(first - second).max() > 1e-2
    assert np.array_equal(one.embed([SENTENCE])[0], first)
    assert one.digest != other.digest
    assert one.digest == Embedder(new_bilm(1), dtype="float64").digest


def test_torch_generator_is_left_alone(new_bilm, tmp_path):
    save(tmp_path / "model", new_bilm(), text=Pipeline(TextSettings()).describe(), facts={})
    torch.manual_seed(5)
    due = torch.rand(1)
    torch.manual_seed(5)
    zh_elmo.load(tmp_path / "model").embed([SENTENCE])
    assert torch.equal(torch.rand(1), due)


def test_load_and_pickle_by_path(new_bilm, tmp_path):
    settings = TextSettings(script="keep", segmenter="characters")
    save(tmp_path / "model", new_bilm(), text=Pipeline(settings).describe(), facts={"licence": "CC0"})
    loaded = zh_elmo.load(tmp_path / "model")
    assert loaded.text == settings
    assert loaded.facts == {"licence": "CC0"}
    due = Embedder(new_bilm(), settings).embed([SENTENCE])[0]
    assert np.array_equal(loaded.embed([SENTENCE])[0], due)
    pickled = pickle.dumps(loaded)
    assert len(pickled) < 1000
    assert np.array_equal(pickle.loads(pickled).embed([SENTENCE])[0], due)
    assert zh_elmo.load(tmp_path / "model", dtype="float64").embed([SENTENCE])[0].dtype == np.float64

    save(tmp_path / "model", new_bilm(2), text=Pipeline(settings).describe(), facts={})
    with pytest.raises(BadInput, match="another model"):
        pickle.loads(pickled)
    with pytest.raises(BadInput, match="no such model") as error:
        zh_elmo.load(tmp_path / "nowhere")
    assert error.value.usage


def test_pickled_without_a_path(embedder):
    again = pickle.loads(pickle.dumps(embedder))
    assert np.array_equal(again.embed([SENTENCE])[0], embedder.embed([SENTENCE])[0])
