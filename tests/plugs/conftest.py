"""A model on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_model import save_small


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small(tmp_path_factory.mktemp("plugs") / "model")
