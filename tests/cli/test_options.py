"""How many cores a command uses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from zh_elmo.cli import options


@pytest.fixture
def quota(monkeypatch: pytest.MonkeyPatch):
    """Pretend to have eight cores and this quota of a control group."""

    def pretend(text: str | None) -> None:
        def read(path: Path, *_: str) -> str:
            assert path.name == "cpu.max"
            if text is None:
                raise FileNotFoundError
            return text

        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
        monkeypatch.setattr(Path, "read_text", read)

    return pretend


@pytest.mark.parametrize(
    ("text", "cores"),
    [(None, 8), ("max 100000\n", 8), ("200000 100000\n", 2), ("50000 100000\n", 1), ("1600000 100000\n", 8)],
)
def test_cores_are_those_of_the_control_group(quota, text: str | None, cores: int):
    quota(text)
    assert options.usable_cores() == cores


@pytest.mark.parametrize(
    ("given", "environment", "count"), [(3, "5", 3), (None, "5", 5), (None, "", 8), (None, "many", 8), (None, "0", 8)]
)
def test_the_command_line_wins_then_the_environment(
    quota, monkeypatch: pytest.MonkeyPatch, given: int | None, environment: str, count: int
):
    quota(None)
    monkeypatch.setenv("OMP_NUM_THREADS", environment)
    assert options.worker_count(given) == count


def test_threads_are_set_outright(monkeypatch: pytest.MonkeyPatch):
    before = torch.get_num_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    try:
        assert options.use_threads(2) == 2
        assert torch.get_num_threads() == 2
        assert os.environ["OMP_NUM_THREADS"] == "2"
    finally:
        torch.set_num_threads(before)
