"""What one comparison of a golden file is, and how the three ways of holding it are run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from golden.archive import Archive
from numpy.typing import ArrayLike, NDArray

FLOAT32, MANY_STEPS, PLAIN, EXACT = 2e-5, 5e-5, 1e-9, 0.0


class Found(NamedTuple):
    """One array of the file beside what was computed for it."""

    kind: str
    golden: NDArray[Any]
    computed: ArrayLike


Compare = Callable[[Archive, Any], Iterator[Found]]


@dataclass(frozen=True)
class Comparison:
    """A golden file, and how each of its arrays is computed with an engine: the product's or the plain one."""

    name: str
    file: str
    compare: Compare
    product: Callable[[str], Any]  # of a dtype
    plain: Callable[[], Any] | None = None
    tolerance: float = FLOAT32
    against_plain: float = PLAIN

    def __str__(self) -> str:
        return self.name


class Difference(NamedTuple):
    kind: str
    largest: float


def against_golden(comparison: Comparison, engine: Any) -> Iterator[Difference]:
    """Every array of the file against what the engine computes; raises AssertionError where one was not asked for."""
    archive = Archive(comparison.file)
    for kind, golden, computed in comparison.compare(archive, engine):
        yield Difference(kind, difference(kind, computed, golden))
    assert not archive.unread, f"{comparison.file}: not compared: {sorted(archive.unread)}"


def against_plain(comparison: Comparison) -> Iterator[Difference]:
    """What the product computes in float64 against its plain twin."""
    assert comparison.plain is not None
    engines = comparison.product("float64"), comparison.plain()
    runs = [comparison.compare(Archive(comparison.file), engine) for engine in engines]
    for ours, plain in zip(*runs, strict=True):
        assert ours.kind == plain.kind, (ours.kind, plain.kind)
        yield Difference(ours.kind, difference(ours.kind, ours.computed, plain.computed))


def difference(kind: str, computed: ArrayLike, due: ArrayLike) -> float:
    """Largest absolute difference of two arrays of one shape."""
    one, other = np.asarray(computed), np.asarray(due)
    assert one.shape == other.shape, f"{kind}: shape {one.shape}, not {other.shape}"
    assert np.isfinite(one).all(), f"{kind}: numbers that are not finite"
    return float(np.abs(one.astype(np.float64) - other.astype(np.float64)).max(initial=0.0))


def check(differences: Iterable[Difference], tolerance: float) -> None:
    """Raises AssertionError with the largest difference of each kind that is too large, or where nothing was seen."""
    worst = largest(differences)
    assert worst, "nothing was compared"
    wrong = {kind: much for kind, much in worst.items() if not much <= tolerance}
    assert not wrong, f"larger than {tolerance:g}: {wrong}"


def largest(differences: Iterable[Difference]) -> dict[str, float]:
    """The largest difference of each kind."""
    worst: dict[str, float] = {}
    for kind, much in differences:
        worst[kind] = float(np.maximum(worst.get(kind, 0.0), much))  # one that is no number stays
    return worst


def padded(sentences: Sequence[NDArray[Any]], longest: int, nothing: NDArray[Any] | None = None) -> NDArray[Any]:
    """[L, T, W] each -> [N, L, longest, W]; behind a sentence stand zeros or, in layer 0, `nothing` [P] twice."""
    n_layers, _, width = sentences[0].shape
    out = np.zeros((len(sentences), n_layers, longest, width), sentences[0].dtype)
    for row, layers in zip(out, sentences, strict=True):
        row[:, : layers.shape[1]] = layers
        if nothing is not None:
            row[0, layers.shape[1] :] = np.concatenate([nothing, nothing])
    return out
