"""The board: plain lines in a log, and a time left that learns from what is done."""

from __future__ import annotations

import io

import pytest

from zh_elmo.suite.board import Board


def test_a_log_has_a_line_for_each_job_that_ended() -> None:
    stream = io.StringIO()
    with Board("suite", {"a": 10.0, "b": 10.0, "c": 10.0}, workers=2, stream=stream) as board:
        board.began("a")
        board.finished("a", 61.0)
        board.finished("b", None)
        board.failed("c", "no such model")
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("suite: 1 of 3 jobs, a took 1 min 01 s; about ")
    assert lines[1].startswith("suite: 2 of 3 jobs, b was done before; about ")
    assert lines[2] == "suite: 3 of 3 jobs, c FAILED: no such model"
    assert lines[3] == "suite: 3 of 3 jobs, 1 failed, took 0 s"


def test_the_time_left_is_corrected_by_what_jobs_took() -> None:
    board = Board("suite", {"a": 20.0, "b": 30.0, "c": 30.0}, workers=2, quiet=True)
    with board:
        assert board.time_left() == pytest.approx(40.0)
        board.began("a")
        board.finished("a", 60.0)  # three times what was expected, with 20 seconds of trust in the guess: twice
        assert board.time_left() == pytest.approx(60.0)


def test_a_running_job_says_itself_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    with Board("suite", {"a": 20.0}, workers=1, quiet=True) as board:
        board.began("a")
        now = 15.0
        assert board.time_left() == pytest.approx(5.0)
        now = 100.0
        assert board.time_left() == pytest.approx(10.0)  # overdue
        board.said("a", "train: 50 of 200 steps (25 %), 1 steps/s, 5 min 00 s left")
        assert board.time_left() == pytest.approx(300.0)
        board.said("a", "train: 100 of 200 steps (50 %), 1 steps/s")
        assert board.time_left() == pytest.approx(100.0)


def test_an_interrupted_run_says_so() -> None:
    stream = io.StringIO()
    with pytest.raises(KeyboardInterrupt), Board("suite", {"a": 1.0}, workers=1, stream=stream):
        raise KeyboardInterrupt
    assert stream.getvalue() == "suite: 0 of 1 jobs, interrupted, took 0 s\n"


def test_quiet_is_quiet() -> None:
    stream = io.StringIO()
    with Board("suite", {"a": 1.0}, workers=1, stream=stream, quiet=True) as board:
        board.finished("a", 1.0)
        board.tick()
    assert stream.getvalue() == ""
