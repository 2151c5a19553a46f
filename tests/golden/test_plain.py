"""The plain twin computes what the original programs computed: what the product is held to is itself held to them."""

from __future__ import annotations

import pytest
from golden.comparison import against_golden, check
from golden.registry import COMPARISONS


@pytest.mark.parametrize("comparison", [c for c in COMPARISONS if c.plain is not None], ids=str)
def test_the_twin_computes_what_the_programs_did(comparison):
    check(against_golden(comparison, comparison.plain()), comparison.tolerance)
