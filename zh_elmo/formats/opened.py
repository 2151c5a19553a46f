"""A model that was opened, and what is known of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from zh_elmo.lm.model import BiLM


class Opened(NamedTuple):
    """What every loader gives. The biLM has float32 weights, no gradients, and is in evaluation mode."""

    bilm: BiLM
    kind: str  # in words: which program wrote it
    path: Path  # what was asked for
    files: tuple[Path, ...]  # what was read
    text: dict[str, Any]  # how its corpus was normalised and segmented (`text.Pipeline.describe()`); empty: not known
    facts: dict[str, Any]  # how it was made, as far as it says so
    dtype: str  # of the weights on the disk
    digest: str | None = None  # see `formats.digest`; None: not computed yet
    notes: tuple[str, ...] = ()  # what a user should hear: what is missing, what was assumed
