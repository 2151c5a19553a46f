"""Libraries imported and asked without a word of theirs: old ones warn when compiled, and some print."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import metadata
from io import StringIO


@contextmanager
def quietly() -> Iterator[None]:
    with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        warnings.simplefilter("ignore")
        yield


def version(package: str) -> str:
    """`package` with its version, as manifests name it."""
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:  # put on the path without being installed
        return f"{package} of unknown version"
