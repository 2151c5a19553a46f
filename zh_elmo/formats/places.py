"""Which tensor of another program goes where in a biLM, and back: tables of names, apart from the layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from zh_elmo.files import BadInput
from zh_elmo.formats.stored import Stored
from zh_elmo.lm.characters import SPECIAL
from zh_elmo.lm.model import BiLM
from zh_elmo.lm.settings import Model

Array = NDArray[Any]
Index = tuple[Any, ...]  # into a parameter of the biLM
WHOLE: Index = (...,)


class Place(NamedTuple):
    """One tensor of a file and the blocks of parameters that it makes up."""

    source: str
    shape: tuple[int, ...]  # in the file
    targets: tuple[tuple[str, Index], ...]
    load: Callable[[Array], Sequence[Array]]  # the tensor -> a block for each target
    save: Callable[[Sequence[Array]], Array]  # and back


def same(source: str, shape: Sequence[int], target: str, index: Index = WHOLE) -> Place:
    """A tensor that is a block as it stands."""
    return Place(source, tuple(shape), ((target, index),), lambda a: [a], lambda blocks: blocks[0])


def transposed(source: str, shape: Sequence[int], target: str, index: Index = WHOLE) -> Place:
    return Place(source, tuple(shape), ((target, index),), lambda a: [a.T], lambda blocks: blocks[0].T)


def rows(source: str, shape: Sequence[int], target: str, order: NDArray[np.int64]) -> Place:
    """A table with rows in another order: row k of ours is row order[k] of theirs. Rows of theirs that `order` leaves
    out are zero when they are written."""

    def save(blocks: Sequence[Array]) -> Array:
        table = np.zeros(shape, np.float32)
        table[order] = blocks[0]
        return table

    return Place(source, tuple(shape), ((target, WHOLE),), lambda a: [a[order]], save)


def torch_convolution(source: str, filters: Sequence[tuple[int, int]], size: int) -> Iterator[Place]:
    """`{source}{i}.weight` (number, size, width) and `.bias` (number,) of each width of filter."""
    start = 0
    for i, (width, number) in enumerate(filters):
        yield Place(
            f"{source}{i}.weight", (number, size, width), ((f"tokens.characters.kernels.{i}", WHOLE),),
            lambda a: [a.transpose(1, 2, 0).reshape(a.shape[1], -1)],
            lambda blocks, width=width: blocks[0].reshape(len(blocks[0]), width, -1).transpose(2, 0, 1),  # type: ignore[misc]
        )  # fmt: skip
        yield same(f"{source}{i}.bias", (number,), "tokens.characters.bias", (slice(start, start + number),))
        start += number


def torch_highways(source: str, number: int, size: int) -> Iterator[Place]:
    """`{source}{k}.weight` (2 F, F) and `.bias` (2 F,): their gate keeps the input where ours lets the new value in, so
    that its half has the other sign."""
    for k in range(number):
        for part, shape in (("weight", (2 * size, size)), ("bias", (2 * size,))):
            target = f"tokens.characters.highways.{k}.linear.{part}"
            yield Place(
                f"{source}{k}.{part}", shape, ((target, (slice(size),)), (target, (slice(size, None),))),
                lambda a: [a[: len(a) // 2], -a[len(a) // 2 :]],
                lambda blocks: np.concatenate([blocks[0], -blocks[1]]),
            )  # fmt: skip


def torch_lstm(source: str, settings: Model) -> Iterator[Place]:
    """AllenNLP's `LstmCellWithProjection`, which ELMoForManyLangs took over: gates in our order, the bias on the state
    alone."""
    size, cell = settings.projection, settings.cell
    for d, direction in enumerate(("forward", "backward")):
        for number in range(settings.layers):
            name, ours = f"{source}{direction}_layer_{number}", f"layers.{number}"
            yield transposed(f"{name}.input_linearity.weight", (4 * cell, size), f"{ours}.input", (d,))
            yield transposed(f"{name}.state_linearity.weight", (4 * cell, size), f"{ours}.recurrent", (d,))
            yield same(f"{name}.state_linearity.bias", (4 * cell,), f"{ours}.bias", (d, 0))
            yield transposed(f"{name}.state_projection.weight", (size, cell), f"{ours}.projection", (d,))


# Filling and emptying ------------------------------------------------------------------------------------------------


def filled(
    settings: Model,
    chars: Sequence[str],
    words: Sequence[str],
    stored: Mapping[str, Stored],
    places: Iterable[Place],
    *,
    asked_by: str,
) -> BiLM:
    """The biLM with the tensors of a file, in evaluation mode and without gradients; shapes are compared before any
    memory is taken, and one tensor is read at a time.

    `asked_by` names what says how large things are. Raises BadInput for tensors that lack, have other shapes, or hold
    numbers that are not finite.
    """
    compared = []
    for place in places:  # one by one: there may be a billion of them, of which the first lacks
        _compare(place, stored, asked_by)
        compared.append(place)
    bilm = skeleton(settings, chars, words)
    tensors = {name: torch.zeros(parameter.shape) for name, parameter in bilm.state_dict().items()}
    for place in compared:
        _fill(tensors, place, stored[place.source])
    bilm.load_state_dict(tensors, assign=True)
    bilm.eval().requires_grad_(False)
    return bilm


def _fill(tensors: Mapping[str, Tensor], place: Place, found: Stored) -> None:
    """Put one tensor where it belongs; what was read is let go before the next one is read."""
    array = found.read()
    # lowest and highest tell of any number that is not finite, and no copy is made for it
    if array.size and not (np.isfinite(array.min()) and np.isfinite(array.max())):
        raise BadInput(f"{found.name} holds numbers that are not finite", path=found.path)
    if array.dtype.itemsize > 4 and array.size and abs(array).max() > np.finfo(np.float32).max:
        raise BadInput(f"{found.name} holds numbers that are too large for float32", path=found.path)
    for (target, index), block in zip(place.targets, place.load(array), strict=True):
        tensors[target].numpy()[index] = block


def emptied(bilm: BiLM, places: Iterable[Place]) -> Iterator[tuple[str, Array]]:
    """(name, float32 tensor) of each place, as the other program has it."""
    tensors = {name: tensor.detach().to("cpu", torch.float32).numpy() for name, tensor in bilm.state_dict().items()}
    for place in places:
        array = place.save([tensors[target][index] for target, index in place.targets])
        assert array.shape == place.shape, (place.source, array.shape, place.shape)
        yield place.source, np.ascontiguousarray(array, np.float32)


def _compare(place: Place, stored: Mapping[str, Stored], asked_by: str) -> None:
    found = stored.get(place.source)
    if found is None:
        path = next(iter(stored.values())).path
        raise BadInput(f"lacks {place.source}, which {asked_by} asks for; it has {shown(stored)}", path=path)
    if found.shape != place.shape:
        message = f"{found.name} has shape {list(found.shape)}, but {asked_by} asks for {list(place.shape)}"
        raise BadInput(f"{message}: the two do not belong together", path=found.path)
    if found.dtype.kind != "f":
        raise BadInput(f"{found.name} has numbers of type {found.dtype}, not floats", path=found.path)


def shown(names: Iterable[str], most: int = 6) -> str:
    """Some names, for a message."""
    listed = sorted(names)
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "") or "nothing"


def size_of(stored: Mapping[str, Stored], name: str, axis: int) -> int:
    """Size of a tensor along an axis. Raises BadInput where the tensor or the axis lacks."""
    found = stored.get(name)
    if found is None:
        path: Path | None = next((one.path for one in stored.values()), None)
        raise BadInput(f"lacks {name}; it has {shown(stored)}", path=path)
    if len(found.shape) <= axis or not found.shape[axis]:
        raise BadInput(f"{found.name} has shape {list(found.shape)}, which no model has", path=found.path)
    return found.shape[axis]


def character_rows(pad: int, unknown: int, begin: int, end: int, bos: int, eos: int, *others: int) -> NDArray[np.int64]:
    """Rows of another program's character table in our order: see `lm.characters.SPECIAL`."""
    order = np.array([pad, unknown, begin, end, bos, eos, *others], np.int64)
    assert len(order) >= len(SPECIAL)
    return order


# A biLM without memory behind it --------------------------------------------------------------------------------------


def skeleton(settings: Model, chars: Sequence[str], words: Sequence[str]) -> BiLM:
    """A biLM without memory behind its weights; torch's generator is left alone."""
    with torch.device("meta"), _NoValues():
        return BiLM(settings, chars, words)


class _NoValues(TorchFunctionMode):
    """Leaves out the drawing of random weights: on the device meta torch imports its compiler for it, which takes
    seconds."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in (nn.init.normal_, nn.init.uniform_, Tensor.normal_, Tensor.uniform_):
            return args[0] if args else kwargs["tensor"]
        return function(*args, **(kwargs or {}))
