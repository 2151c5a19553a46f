"""OOV bands by hand, with the treebanks' known figures, and as slices of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from zh_elmo.ud import conllu, oov
from zh_elmo.ud.conllu import Sentence
from zh_elmo.ud.score import score

TRAINING = [Sentence.from_forms(["我", "爱", "我", "書"]), Sentence.from_forms(["B", "爱"])]


def simplified(words: Sequence[str]) -> list[str]:
    return [word.replace("書", "书").lower() for word in words]


def test_training_forms_are_counted_after_normalisation():
    assert oov.training_forms(TRAINING, simplified) == {"我": 2, "爱": 2, "书": 1, "b": 1}
    assert "書" in oov.training_forms(TRAINING, list)


def test_words_are_in_or_out_of_vocabulary_by_their_normalised_form():
    test = [Sentence.from_forms(["书", "B", "狗"]), Sentence.from_forms(["我"])]
    training = oov.training_forms(TRAINING, simplified)
    assert oov.vocabulary_bands(test, training, simplified) == [["IV", "IV", "OOV"], ["IV"]]
    assert oov.vocabulary_bands(test, oov.training_forms(TRAINING, list), list) == [["OOV", "IV", "OOV"], ["IV"]]
    assert oov.oov_rate(test, training, simplified) == 0.25
    assert oov.oov_rate([], training, simplified) == 0


def test_words_seen_once_can_be_a_band_of_their_own():
    test = [Sentence.from_forms(["书", "爱", "狗"])]
    training = oov.training_forms(TRAINING, simplified)
    assert oov.vocabulary_bands(test, training, simplified, once=True) == [["once", "IV", "OOV"]]
    assert set(training) == {"我", "爱", "书", "b"}  # looking up adds nothing


@pytest.mark.parametrize(
    ("out", "words", "band"),
    [
        (0, 7, 0),
        (1, 11, 1),
        (1, 10, 1),
        (3, 30, 1),
        (2, 19, 2),
        (1, 4, 2),
        (2, 8, 2),
        (2, 7, 3),
        (2, 5, 3),
        (3, 7, 4),
        (1, 1, 4),
    ],
)
def test_a_sentence_is_in_the_band_of_its_oov_share(out: int, words: int, band: int):
    sentence = Sentence.from_forms(["狗"] * out + ["我"] * (words - out))
    found = oov.share_bands([sentence], oov.training_forms(TRAINING, list), list)
    assert found == [[oov.OOV_SHARES[band]] * words]


def test_oov_words_are_seen_or_never_seen_in_pretraining():
    test = [Sentence.from_forms(["我", "貓", "狗"])]
    training = oov.training_forms(TRAINING, list)
    assert oov.pretraining_bands(test, training, list, {"貓", "我"}) == [[oov.IV, oov.SEEN, oov.UNSEEN]]

    def brought_over(words: Sequence[str]) -> list[str]:
        return [word.replace("貓", "猫") for word in words]

    assert oov.pretraining_bands(test, training, list, {"猫"}) == [[oov.IV, oov.UNSEEN, oov.UNSEEN]]
    assert oov.pretraining_bands(test, training, list, {"猫"}, brought_over) == [[oov.IV, oov.SEEN, oov.UNSEEN]]


def test_a_normaliser_that_loses_words_is_refused():
    with pytest.raises(ValueError, match="made 3 of 4 words"):
        oov.training_forms(TRAINING, lambda words: words[1:])


@pytest.mark.parametrize(
    ("name", "words", "out"), [("vi_vtb", 11_955, 2_045), ("af_afribooms", 10_065, 1_389), ("kk_ktb", 10_007, 7_159)]
)
def test_bands_of_real_treebanks_have_the_known_sizes_and_slice_an_evaluation(
    real_data: Path, name: str, words: int, out: int
):
    """Sizes as counted apart from this code, on the words as they stand."""
    train, test = (conllu.read(real_data / "ud" / f"{name}-ud-{split}.conllu.xz") for split in ("train", "test"))
    training = oov.training_forms(train, list)
    found = score(test, test)
    slices = found.slices(oov.vocabulary_bands(test, training, list))
    assert slices["OOV"]["UPOS"] == (out, out, out, out)
    assert slices["IV"]["LAS"] == (words - out,) * 4
    assert oov.oov_rate(test, training, list) == out / words
    shares = found.slices(oov.share_bands(test, training, list))
    assert set(shares) <= set(oov.OOV_SHARES)
    assert sum(scores["Sentences"].gold_total for scores in shares.values()) == len(test)
