"""Running `zh-elmo` inside the test process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from zh_elmo.cli.main import main


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The one line of an error."""
        assert self.err.startswith("zh-elmo: "), self.err
        assert self.err.count("\n") == 1, self.err
        assert self.err.endswith("\n")
        assert "Traceback" not in self.err
        return self.err.removeprefix("zh-elmo: ").rstrip("\n")


Command = Callable[..., Ended]


@pytest.fixture
def zh_elmo(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command line in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path) -> Ended:
        code = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Ended(code, out, err)

    return run
