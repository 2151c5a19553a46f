"""Sentences side by side."""

from __future__ import annotations

import numpy as np
import pytest

from zh_elmo.embed.padding import pad
from zh_elmo.files import BadInput

ONE, TWO = np.arange(6.0).reshape(3, 2), -np.ones((1, 2))


def test_zeros_behind_and_a_mask():
    padded, mask = pad([ONE, TWO], to=4)
    assert padded.tolist() == [[[0, 1], [2, 3], [4, 5], [0, 0]], [[-1, -1], [0, 0], [0, 0], [0, 0]]]
    assert mask.tolist() == [[True, True, True, False], [True, False, False, False]]


def test_all_layers_to_the_longest():
    padded, mask = pad([np.stack([ONE, ONE + 1]), np.zeros((2, 0, 2))])
    assert padded.shape == (2, 2, 3, 2)
    assert np.array_equal(padded[0, 1], ONE + 1)
    assert mask.sum(1).tolist() == [3, 0]


def test_too_long_or_nothing():
    with pytest.raises(BadInput, match="sentence 0 has 3 words, more than 2"):
        pad([ONE, TWO], to=2)
    with pytest.raises(BadInput, match="no sentence"):
        pad([])
