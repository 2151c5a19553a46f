"""Word F1: exact spans, white space ignored, everything that a pipeline does included."""

from __future__ import annotations

from pathlib import Path

import pytest

from zh_elmo.files import BadInput
from zh_elmo.text.pipeline import Pipeline, TextSettings
from zh_elmo.ud import conllu
from zh_elmo.ud.words import WordScore, gold_spans, word_score

CHARACTERS = Pipeline(TextSettings(segmenter="characters"))


def test_counts_of_words() -> None:
    one = conllu.Sentence.from_forms(["我", "買", "了", "苹果", "."], space_after=[False] * 5)
    two = conllu.Sentence.from_forms(["Hello", "北京"])
    score = word_score([one, two], CHARACTERS)
    assert score == WordScore(right=5, found=9, due=7, characters=14)
    assert score.f1 == pytest.approx(100 * 2 * 5 / 16)
    assert score.as_dict() == {"f1": 62.5, "precision": 55.56, "recall": 71.43, "words": 7}


def test_blanks_do_not_count_and_words_may_hold_them() -> None:
    sentence = conllu.parse("# text = a  b\u3000c d\n1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n2\tb c\t_\t_\t_\t_\t_\t_\t_\t_\n"
                            "3\td\t_\t_\t_\t_\t_\t_\t_\t_\n\n")[0]  # fmt: skip
    assert gold_spans(sentence, 4) == {(0, 1), (1, 3), (3, 4)}
    assert word_score([sentence], CHARACTERS)[:3] == (2, 4, 3)


def test_surface_tokens_are_due() -> None:
    rows = "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\t_\t_\t_\t_\t_\t_\t_\t_\n2\tle\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    assert word_score(conllu.parse(rows), CHARACTERS)[:3] == (1, 1, 1)


def test_text_that_is_not_that_of_the_words_is_named() -> None:
    (sentence,) = conllu.parse("# text = ab\n1\tabc\t_\t_\t_\t_\t_\t_\t_\t_\n\n", name="x.conllu")
    with pytest.raises(BadInput, match="not that of its words") as caught:
        word_score([sentence], CHARACTERS)
    assert (caught.value.path, caught.value.line) == ("x.conllu", 1)


def test_nothing_scores_nothing() -> None:
    assert word_score([], CHARACTERS).as_dict() == {"f1": 0.0, "precision": 0.0, "recall": 0.0, "words": 0}


@pytest.mark.parametrize(
    ("name", "settings", "f1"),
    [
        ("zh_gsdsimp", TextSettings(), 79.87),
        ("zh_gsd", TextSettings(), 79.83),
        ("zh_gsd", TextSettings(script="keep"), 79.83),
        ("zh_gsd", TextSettings(script="keep", through_simplified=False), 74.49),
        ("zh_hk", TextSettings(script="keep"), 83.73),
        ("zh_hk", TextSettings(script="keep", through_simplified=False), 75.80),
        ("zh_hk", TextSettings(segmenter="characters"), 52.87),
    ],
)
def test_jieba_on_real_treebanks(name: str, settings: TextSettings, f1: float, real_data: Path) -> None:
    """jieba's ceiling on GSD is a matter of standards; the detour through simplified is worth 5 to 8 points."""
    score = word_score(conllu.read(real_data / f"ud/{name}-ud-test.conllu.xz"), Pipeline(settings))
    assert score.f1 == pytest.approx(f1, abs=0.1)
