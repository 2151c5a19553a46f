"""No golden file is left out: each is compared or is an input, and a comparison looks at every array of its file."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from golden.archive import DATA, Archive
from golden.comparison import Comparison, Difference, Found, against_golden, against_plain, check, difference
from golden.registry import COMPARISONS, INPUTS

FILES = {str(path.relative_to(DATA)) for path in DATA.rglob("*") if path.is_file()}
COMPARED = {comparison.file for comparison in COMPARISONS}


def test_every_golden_file_is_compared_or_an_input():
    assert COMPARED <= FILES
    others = FILES - COMPARED
    assert {name for name in others if name.rsplit("/", 1)[-1] not in INPUTS} == set()
    assert set(INPUTS) == {name.rsplit("/", 1)[-1] for name in others}


def test_every_output_of_a_program_is_compared_with_a_product_and_a_twin():
    """Tensors have readers alone, and names.json says what is in them."""
    outputs = {name for name in FILES if name.endswith((".npz", ".txt")) or "allennlp_cli" in name or "ly" in name}
    outputs -= {"text.txt", "text_tab.txt"}
    outputs = {name for name in outputs if not name.endswith(("variables.npz", "vocab.txt"))}
    assert outputs <= {comparison.file for comparison in COMPARISONS if comparison.plain is not None}


def test_names_of_comparisons_are_all_different():
    assert [name for name, times in Counter(map(str, COMPARISONS)).items() if times > 1] == []


# What the checks themselves would see ---------------------------------------------------------------------------------

FILE = "bilm_ckpt_char/lm_eval.npz"
NAMES = Archive(FILE).names


def comparison(compare):
    return Comparison("toy", FILE, compare, product=lambda dtype: 1.0, plain=lambda: 2.0)


def whole(archive, moved):
    for name in archive.names:
        yield Found("array", archive[name], archive[name] + moved)


def test_an_array_that_was_not_looked_at_is_named():
    def all_but_one(archive, engine):
        yield from (Found("array", archive[name], archive[name]) for name in NAMES[:-1])

    with pytest.raises(AssertionError, match=f"lm_eval.npz: not compared: \\['{NAMES[-1]}'\\]"):
        list(against_golden(comparison(all_but_one), None))


def test_a_number_that_is_off_is_seen():
    found = list(against_golden(comparison(whole), 1e-3))
    assert len(found) == len(NAMES)
    check(found, 1.1e-3)
    with pytest.raises(AssertionError, match=r"'array': 0\.001"):
        check(found, 0.9e-3)
    assert {round(much, 6) for _, much in against_plain(comparison(whole))} == {1.0}


@pytest.mark.parametrize("wrong", [np.zeros((2, 3)), np.zeros(())])
def test_another_shape_is_seen(wrong):
    with pytest.raises(AssertionError, match="shape"):
        difference("array", wrong, np.zeros((1, 3)))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_seen(wrong):
    with pytest.raises(AssertionError, match="array"):
        difference("array", [wrong], [wrong])


def test_a_comparison_of_nothing_is_seen():
    with pytest.raises(AssertionError):
        check([], 1.0)
    with pytest.raises(AssertionError):
        check([Difference("array", float("nan"))], 1.0)
