"""Tables say the right figures, and their title says what they are."""

from __future__ import annotations

import io
from typing import Any

import pytest

from zh_elmo.files import BadInput
from zh_elmo.suite.tables import effort_table, mix_table, show, tables


def test_the_main_table_has_a_row_for_each_arm_and_slice(results: dict[str, Any]) -> None:
    table = tables(results)[0]
    assert table.columns == ["arm", "words", "number", "UPOS", "LAS"]
    assert table.rows == [
        ["none", "all", "1,200", "80.00 (70.0–90.0)", "-"],
        ["none", "IV", "900", "90.00 (81.0–97.0)", "-"],
        ["none", "OOV", "300", "60.00 (40.0–80.0)", "-"],
        ["elmo", "all", "1,200", "88.00 (80.0–95.0)", "-"],
        ["elmo", "IV", "900", "91.00 (82.0–98.0)", "-"],
        ["elmo", "OOV", "300", "82.00 (70.0–92.0)", "-"],
    ]
    for said in ["zh_toy test", "gold segmentation", "predicted tags", "12 sentences"]:
        assert said in table.title
    assert "OOV rate 25.0 % (300 of 1,200 words)" in table.title
    assert "seeds" not in table.title


def test_differences_have_a_sign_and_a_p(results: dict[str, Any]) -> None:
    table = tables(results)[1]
    assert table.rows == [
        ["elmo - none", "all", "+8.00 p<0.001"],
        ["elmo - none", "IV", "-1.00 p=0.250"],
        ["elmo - none", "OOV", "+22.00 p=0.001"],
    ]


def test_the_third_table_is_by_share_since_nothing_is_known_of_the_pre_training(results: dict[str, Any]) -> None:
    titles = [table.title for table in tables(results)]
    assert len(titles) == 5
    assert "share of OOV words" in titles[2]
    results["treebanks"]["zh_toy"]["groups"]["pre-training"] = ["OOV seen", "OOV unseen"]
    results["treebanks"]["zh_toy"]["slices"] |= {"OOV seen": 200, "OOV unseen": 100}
    table = tables(results)[2]
    assert "pre-training" in table.title
    assert [row[:3] for row in table.rows[:2]] == [["none", "OOV seen", "200"], ["none", "OOV unseen", "100"]]


def test_layer_weights_are_one_row_a_part(results: dict[str, Any]) -> None:
    assert mix_table(results).rows == [
        ["zh_toy elmo, seed 1", "tagger", "0.200", "0.300", "0.500", "2.000"],
        ["zh_toy elmo, seed 1", "parser", "0.600", "0.300", "0.100", "3.200"],
    ]


def test_what_training_took_is_told(results: dict[str, Any]) -> None:
    results["cells"][1] |= {"training_seconds": {"tagger": 5.0}, "dev": {"tagger": {"score": 91.25}}}
    assert effort_table(results).rows == [
        ["zh_toy none, seed 1", "tagger", "61", "-"],
        ["zh_toy elmo, seed 1", "tagger", "5", "91.25"],
    ]


def test_several_seeds_are_said(results: dict[str, Any]) -> None:
    results["cells"].append(results["cells"][0] | {"seed": 2})
    assert "mean over 2 seeds" in tables(results)[0].title


def test_one_arm_has_nothing_to_compare_with(results: dict[str, Any]) -> None:
    results["scores"] = [row for row in results["scores"] if row["arm"] == "elmo"]
    assert not any("differences" in table.title for table in tables(results))


def test_on_a_terminal_of_80_columns_nothing_is_cut(results: dict[str, Any]) -> None:
    las = [row | {"metric": metric} for row in results["scores"] if row["f1"] for metric in ("UAS", "LAS")]
    results["scores"] = [row for row in results["scores"] if row["f1"]] + las
    stream = io.StringIO()
    show(results, width=80, stream=stream)
    text = stream.getvalue()
    assert text.count("60.00 (40.0–80.0)") == 3
    assert "…" not in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_what_is_no_results_is_refused() -> None:
    with pytest.raises(BadInput, match="no results"):
        tables({"treebanks": {"a": {}}, "scores": [{}]})
    with pytest.raises(BadInput, match="no results"):
        tables([])  # type: ignore[arg-type]
