"""Divisions of the words, counted by hand; examples and the verdict that are drawn from them."""

from __future__ import annotations

from typing import Any

from zh_elmo.suite.examples import examples
from zh_elmo.suite.slices import OFTEN, ONCE, PreTraining, divide
from zh_elmo.suite.verdict import verdict
from zh_elmo.text.pipeline import Pipeline, TextSettings
from zh_elmo.ud.conllu import Sentence
from zh_elmo.ud.oov import IV, OOV, SEEN, UNSEEN

TEXT = Pipeline(TextSettings())
TRAIN = [Sentence.from_forms(["我", "買", "蘋果"]), Sentence.from_forms(["我", "很", "好"])]


def test_words_are_divided_by_their_normalised_form() -> None:
    gold = [Sentence.from_forms(["我", "买", "橙子", "龘"])]
    found = divide(gold, TRAIN, TEXT, PreTraining({"橙子"}, TEXT))
    assert found["vocabulary"] == ([[IV, IV, OOV, OOV]], [IV, OOV])
    assert found["frequency"].labels[0][:2] == [OFTEN, ONCE]
    assert found["frequency"].slices == [OFTEN, ONCE]
    assert found["pre-training"] == ([[IV, IV, SEEN, UNSEEN]], [SEEN, UNSEEN])
    assert len(set(found["share"].labels[0])) == 1
    assert found["share"].slices == found["share"].labels[0][:1]


def test_without_a_corpus_nothing_is_said_of_pre_training_and_iv_and_oov_are_always_there() -> None:
    found = divide([Sentence.from_forms(["我"])], TRAIN, TEXT, None)
    assert "pre-training" not in found
    assert found["vocabulary"].slices == [IV, OOV]
    assert found["frequency"].slices == [OFTEN]


def tagged(tags: str) -> Sentence:
    return Sentence.from_forms(["字"] * len(tags)).with_annotation(upos=list(tags))


def test_examples_show_gains_and_losses_alike() -> None:
    gold = [tagged("AAA") for _ in range(6)]
    none = [tagged(tags) for tags in ("AAA", "BBB", "BBA", "AAA", "AAA", "ABA")]
    elmo = [tagged(tags) for tags in ("BBB", "AAA", "AAA", "AAA", "ABA", "AAA")]
    labels = [[IV, OOV, IV]] * 6

    def shown(number: int) -> list[int]:
        found = examples("toy", gold, {"none": none, "elmo": elmo}, labels, number)
        rows = [[w["arms"]["none"]["upos"] + w["arms"]["elmo"]["upos"] for w in one["words"]] for one in found]
        pairs = [[a.words[i].upos + b.words[i].upos for i in range(3)] for a, b in zip(none, elmo, strict=True)]
        assert all([w["oov"] for w in one["words"]] == [False, True, False] for one in found)
        return [pairs.index(row) for row in rows]

    assert shown(2) == [1, 0]
    assert shown(4) == [1, 2, 0, 4]
    assert shown(10) == [1, 2, 5, 0, 4]
    assert shown(0) == []
    assert examples("toy", gold, {"none": none}, labels, 4) == []


def test_the_verdict_says_it_either_way(results: dict[str, Any]) -> None:
    def said(*rows: tuple[str, float, float]) -> str:
        results["comparisons"] = [
            {"treebank": "zh_toy", "first": first, "second": "elmo", "slice": OOV, "metric": metric,
             "difference": difference, "p": p}
            for first, difference, p in rows
            for metric in ("UPOS", "LAS")
        ]  # fmt: skip
        return " ".join(verdict(results))

    assert said() == ""
    clear = said(("none", 3.0, 0.01), ("static", 1.0, 0.2))
    assert "against none UPOS +3.00 (p=0.010), LAS +3.00 (p=0.010)" in clear
    assert clear.endswith(
        "On OOV words elmo is clearly ahead of none and ahead, but not clearly on every metric, of static."
    )
    assert said(("none", -1.0, 0.3)).endswith("On OOV words elmo is NOT ahead of none.")
    results["comparisons"][0]["difference"] = 2.0
    assert verdict(results)[0].endswith("elmo is ahead on one metric and NOT on the other of none.")
