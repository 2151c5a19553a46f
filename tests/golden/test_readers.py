"""Golden tensors: the readers give every number as it lies in the file."""

from __future__ import annotations

import pytest
from golden.comparison import against_golden, check
from golden.readers import COMPARISONS


@pytest.mark.parametrize("comparison", COMPARISONS, ids=str)
def test_tensors_are_read_exactly(comparison):
    check(against_golden(comparison, comparison.product("float32")), comparison.tolerance)
