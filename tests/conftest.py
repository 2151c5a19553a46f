"""What all tests share: real data where it is, and a cache of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real treebanks and raw text. Absent: skipped, or failed where data are required (.ci/run)."""
    named = os.environ.get("ZH_ELMO_DATA", "")
    if named and (Path(named) / "ud").is_dir():
        return Path(named)
    reason = "needs real data: ZH_ELMO_DATA names no folder that holds ud/"
    if os.environ.get("ZH_ELMO_REQUIRE_DATA") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests neither see nor fill the cache of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZH_ELMO_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
