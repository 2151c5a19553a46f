"""ElmoModel: the vectors of simple_elmo, and its means and substitutes without their faults."""

from __future__ import annotations

import inspect
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from golden.archive import BATCHES, DATA, Archive
from small_model import LAYERS, WIDTH

import zh_elmo
from zh_elmo.compat.simple_elmo import ElmoModel
from zh_elmo.files import BadInput
from zh_elmo.formats.find import load_bilm
from zh_elmo.lm.model import BiLM
from zh_elmo.lm.perplexity import perplexity

pytestmark = pytest.mark.filterwarnings("ignore:the model reads")
TEXTS = BATCHES[0] + BATCHES[1]
SENTENCES = ["今天 天氣 真 好 啊 。", "The cat sat on the mat .", "好 龘 和"]


def _model(path: Path, **how: object) -> ElmoModel:
    loaded = ElmoModel()
    assert loaded.load(path, **how) == "The model is now loaded."
    return loaded


def test_the_calls_are_those_of_the_original() -> None:
    for method, due in {
        ElmoModel.load: {"max_batch_size": 32, "limit": 100, "full": False},
        ElmoModel.get_elmo_vectors: {"warmup": True, "layers": "average", "session": None},
        ElmoModel.get_elmo_vector_average: {"warmup": True, "layers": "average", "session": None},
        ElmoModel.get_elmo_substitutes: {"topn": 3, "nodelimiters": True},
    }.items():
        _, first, *rest = inspect.signature(method).parameters.values()
        assert first.name == {"load": "directory", "get_elmo_substitutes": "data"}.get(method.__name__, "texts")
        assert {p.name: p.default for p in rest if p.kind is p.POSITIONAL_OR_KEYWORD} == due
    loaded = _model(DATA / "bilm_plain", max_batch_size=8)
    assert (loaded.batch_size, loaded.max_chars, loaded.vector_size, loaded.n_layers) == (8, 30, 40, 4)


@pytest.mark.parametrize("warmup", [False, True])
@pytest.mark.parametrize("layers", ["average", "top", "all"])
def test_golden_vectors(layers: str, warmup: bool) -> None:
    """What stands behind the end of a text is compared, too; and each call begins with zero."""
    due = Archive("bilm_skip/simple_elmo.npz")[f"vectors_{layers}_warm{int(warmup)}"]
    loaded = _model(DATA / "bilm_skip", max_batch_size=8)
    for _ in range(2):
        found = loaded.get_elmo_vectors(TEXTS, warmup, layers)
        assert found.dtype == np.float64
        assert found.shape == due.shape
        np.testing.assert_allclose(found, due, rtol=0, atol=2e-5)


def test_session_lets_the_state_go_on() -> None:
    carrying = zh_elmo.load(DATA / "bilm_skip", state="carry")
    loaded = _model(DATA / "bilm_skip")
    for session in (None, "any", "any", None):
        if session is None:
            carrying.reset()
        found = loaded.get_elmo_vectors(TEXTS[:3], warmup=False, layers="top", session=session)
        for row, due in zip(found, carrying.embed(TEXTS[:3], layers=2), strict=True):
            np.testing.assert_allclose(row[: len(due)], due, rtol=0, atol=1e-6)


@pytest.mark.parametrize("layers", ["average", "top", "all"])
def test_averages_over_the_words_there_are(layers: str) -> None:
    loaded = _model(DATA / "bilm_skip", max_batch_size=8)
    vectors = loaded.get_elmo_vectors(TEXTS, layers=layers)
    means = np.array([v[..., : len(text), :].mean(-2) for v, text in zip(vectors, TEXTS, strict=True)])
    found = loaded.get_elmo_vector_average(TEXTS, layers=layers, unit=False)
    assert found.shape == ((11, 3, 32) if layers == "all" else (11, 32))
    np.testing.assert_allclose(found, means, rtol=0, atol=1e-12)
    unit = loaded.get_elmo_vector_average(TEXTS, layers=layers)
    np.testing.assert_allclose(np.linalg.norm(unit.reshape(11, -1), axis=1), 1)
    np.testing.assert_allclose(
        unit * np.linalg.norm(means.reshape(11, -1), axis=1).reshape(-1, *[1] * (unit.ndim - 1)), means
    )


def test_average_of_the_longest_text_is_that_of_the_original() -> None:
    """Where nothing stands behind the end there was no fault but the layers mixed up with words."""
    golden = Archive("bilm_skip/simple_elmo.npz")
    loaded = _model(DATA / "bilm_skip", max_batch_size=8)
    longest = [max(range(8), key=lambda i: len(TEXTS[i])), max(range(8, 11), key=lambda i: len(TEXTS[i]))]
    for layers in ("average", "top"):
        found, due = loaded.get_elmo_vector_average(TEXTS, layers=layers), golden[f"sentence_average_{layers}_warm1"]
        np.testing.assert_allclose(found[longest], due[longest], rtol=0, atol=2e-5)
    # at the top nothing stands behind a text but zeros
    np.testing.assert_allclose(found, due, rtol=0, atol=2e-5)


def test_texts(model: Path) -> None:
    """Strings or lists, for models of any kind; behind their end stand zeros where there is no bilm-tf with bytes."""
    for path, width in ((model, WIDTH), (DATA / "efml_word_char", 32), (DATA / "bilm_ckpt_word", 24)):
        loaded = _model(path)
        assert loaded.vector_size == width
        found = loaded.get_elmo_vectors(["我 买  了", "他", ""], layers="all")
        np.testing.assert_array_equal(found, loaded.get_elmo_vectors([["我", "买", "了"], ["他"], []], layers="all"))
        assert found.shape == (3, LAYERS, 3, width)
        assert not found[1, :, 1:].any()
        averages = loaded.get_elmo_vector_average(["我 买  了", "他", ""])
        assert not averages[2].any()
    assert loaded.get_elmo_vectors([]).shape == (0, 0, width)
    assert loaded.get_elmo_vector_average([]).shape == (0, width)


# Substitutes ----------------------------------------------------------------------------------------------------------


def _by_hand(bilm: BiLM, words: list[str]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Log probabilities of the vocabulary at each word, from the words before it and after it, one word at a time."""
    marks, spelled = bilm.encode(bilm.marks()), bilm.encode(bilm.spell(words))
    line = torch.cat([marks[:1], spelled, marks[1:]])
    both = torch.stack([line, line.flip(0)])
    found: list[list[np.ndarray]] = [[], []]
    states = bilm.start(1)
    for place in range(len(words) + 1):  # the last one expects the mark at the other end
        outputs, states = bilm.run(both[:, place : place + 1, None], states)
        for way in range(2):
            hidden = outputs[-1][way, 0].double()
            scores = hidden @ bilm.softmax.rows.weight.double().t() + bilm.softmax.bias.weight[:, 0].double()
            found[way].append((scores[0] - scores[0].logsumexp(0)).numpy())
    return found[0], found[1][-2::-1] + found[1][-1:]


@pytest.mark.parametrize("name", ["bilm_ckpt_char", "bilm_ckpt_word", "efml_word_char", "own"])
def test_substitutes_by_hand(name: str, model: Path) -> None:
    path = model if name == "own" else DATA / name
    loaded, bilm = _model(path, full=True), load_bilm(path, softmax=True).bilm
    assert loaded.vocab == ["<S>", "</S>", "<UNK>", *bilm.words]
    order = [1, 2, 0, *range(3, len(loaded.vocab))]
    with torch.no_grad():
        for text, found in zip(SENTENCES, loaded.get_elmo_substitutes(SENTENCES, 4, False), strict=True):
            words = text.split()
            assert [place["word"] for place in found] == words
            forms = loaded._loaded().normalised(words)
            for way, logs in zip(("forward", "backward"), _by_hand(bilm, forms), strict=True):
                for place, due in zip(found, logs, strict=False):
                    best = np.argsort(-due[order], kind="stable")[:4]
                    assert place[way]["candidates"] == best.tolist()
                    assert place[way]["candidate_words"] == [loaded.vocab[i] for i in best]
                    np.testing.assert_allclose(place[way]["logp"], due[order][best], rtol=0, atol=1e-5)


def test_substitutes_have_the_shape_of_the_original() -> None:
    loaded = _model(DATA / "bilm_ckpt_char", full=True)
    for kind in ("delim", "nodelim"):
        golden = json.loads((DATA / f"bilm_ckpt_char/simple_elmo_substitutes_{kind}.json").read_text("utf-8"))
        found = loaded.get_elmo_substitutes(golden["sentences"], golden["topn"], golden["nodelimiters"])
        assert len(found) == 3  # of which the original lost one
        for ours, theirs in zip(found, golden["result"], strict=False):
            assert [place["word"] for place in ours] == [place["word"] for place in theirs]
            for place, other in zip(ours, theirs, strict=True):
                for way in ("forward", "backward"):
                    assert {k: [type(v) for v in vs] for k, vs in place[way].items()} == {
                        k: [type(v) for v in vs] for k, vs in other[way].items()
                    }
        # the first word is seen from its one neighbour there, too: the same candidates, in order
        first = dict(
            zip(golden["result"][0][0]["forward"]["candidates"], golden["result"][0][0]["forward"]["logp"], strict=True)
        )
        assert found[0][0]["forward"]["candidates"] == sorted(first, key=lambda number: -first[number])


@pytest.mark.parametrize("delimiters", [False, True])
def test_all_of_the_vocabulary(delimiters: bool) -> None:
    loaded = _model(DATA / "bilm_ckpt_char", full=True)
    for place in loaded.get_elmo_substitutes(SENTENCES, 10_000, not delimiters)[1]:
        for way in ("forward", "backward"):
            assert place[way]["logp"] == sorted(place[way]["logp"], reverse=True)
            total = np.exp(place[way]["logp"]).sum()
            assert set(place[way]["candidate_words"]) == set(loaded.vocab[0 if delimiters else 3 :])
            assert total == pytest.approx(1, abs=1e-5) if delimiters else total < 0.999


def test_probabilities_are_those_of_perplexity() -> None:
    loaded = _model(DATA / "bilm_ckpt_word", full=True)
    bilm = loaded._loaded().bilm
    texts = [sentence.split() for sentence in SENTENCES]
    types = sorted({word for text in texts for word in text})
    losses = np.zeros(2)
    for text, found in zip(texts, loaded.get_elmo_substitutes(texts, 10_000, nodelimiters=False), strict=True):
        for word, place in zip(text, found, strict=True):
            due = word if word in loaded.vocab else "<UNK>"
            for way, name in enumerate(("forward", "backward")):
                losses[way] -= place[name]["logp"][place[name]["candidate_words"].index(due)]
        with torch.no_grad():  # the marks at the far ends, which perplexity counts
            forward, backward = _by_hand(bilm, text)
        losses -= forward[-1][2], backward[-1][1]
    ids = [np.array([types.index(word) for word in text], np.uint32) for text in texts]
    due = perplexity(bilm, _part(ids), types)
    found = np.exp(losses / (sum(map(len, texts)) + len(texts)))
    np.testing.assert_allclose(found, [due["forward"], due["backward"]], rtol=1e-5)
    assert math.sqrt(found.prod()) == pytest.approx(due["mean"], rel=1e-5)


def _part(sentences: list[np.ndarray]) -> np.ndarray:
    from zh_elmo.corpus.store import SENTENCE_END

    return np.concatenate([np.append(s, np.uint32(SENTENCE_END)) for s in sentences])


def test_bad_input(model: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"call load\(directory\) first"):
        ElmoModel().get_elmo_vectors([["我"]])
    with pytest.raises(BadInput, match="absent"):
        ElmoModel().load(tmp_path / "absent")
    with pytest.raises(BadInput, match="max_batch_size"):
        ElmoModel().load(model, max_batch_size=0)
    with pytest.raises(BadInput, match="softmax"):
        ElmoModel().load(DATA / "bilm_skip", full=True)
    loaded = _model(DATA / "bilm_skip")
    with pytest.raises(BadInput, match="full=True"):
        loaded.get_elmo_substitutes(SENTENCES)
    with pytest.raises(BadInput, match="layers must be"):
        loaded.get_elmo_vectors(SENTENCES, layers="mean")
    for wrong in ("今天 天氣", None):
        with pytest.raises(BadInput, match="list of texts"):
            loaded.get_elmo_vectors(wrong)
    with pytest.raises(BadInput, match="topn"):
        _model(model).get_elmo_substitutes(SENTENCES, topn=0)
