"""Programs around the models: the product in float32 against the program, in float64 against its plain twin."""

from __future__ import annotations

import pytest
from golden.comparison import against_golden, against_plain, check
from golden.programs import COMPARISONS


@pytest.mark.parametrize("comparison", COMPARISONS, ids=str)
def test_float32_is_what_the_program_computed(comparison):
    check(against_golden(comparison, comparison.product("float32")), comparison.tolerance)


@pytest.mark.parametrize("comparison", COMPARISONS, ids=str)
def test_float64_is_what_the_twin_computes(comparison):
    check(against_plain(comparison), comparison.against_plain)
