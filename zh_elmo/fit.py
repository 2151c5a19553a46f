"""The one training loop: schedule, clipping, checkpoints, exact resume, signals, log, progress.

A task says what the loss of update `step` is, as a function of its parameters, the seed and the step alone (and of the
tensors it carries from step to step). So a resumed run needs no position in a data stream and no generator state, and
ends with the bytes of one that was never stopped.
"""

from __future__ import annotations

import json
import math
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from zh_elmo.files import BadInput, write_bytes
from zh_elmo.progress import Progress
from zh_elmo.recipe import Amount, Count, Positive, Settings, Share, Size

_KEPT = 2  # checkpoints


class Plan(Settings):
    """How long and how fast to train; `[training]` of a recipe."""

    steps: Size  # updates
    optimiser: Literal["adam", "adagrad"] = "adam"
    learning_rate: Positive = 3e-3
    beta1: Share = 0.9
    beta2: Share = 0.99
    epsilon: Positive = 1e-8
    warmup: Share = 0.05  # share of the steps in which the rate rises linearly from 0
    final: Amount = 0.05  # share of the rate that is left at the last step (linear decay)
    clip: Amount = 1.0  # largest norm of the dense gradient; 0: no clipping
    evaluate_every: Count = 0  # steps; 0: only at the end
    save_every: Count = 500  # steps between checkpoints; 0: only at the end
    keep: Literal["last", "best"] = "last"  # which state the model is left in
    seed: Count = 1


class Group(NamedTuple):
    """Parameters that share an optimiser and a rate."""

    parameters: Mapping[str, Tensor]
    rate: float = 1.0  # times the learning rate
    sparse: bool = False  # gradients are sparse tensors (rows of a table): only those rows and their moments move


class Trainable(Protocol):
    """What `fit` trains."""

    model: nn.Module

    def groups(self) -> list[Group]: ...

    def loss(self, step: int) -> tuple[Tensor, int]:
        """The loss of update `step` (from 0), and how many units (words) it covers."""

    def evaluate(self) -> dict[str, float]:
        """Figures on held-out data; `score` is the one that `keep="best"` maximises."""

    def carried(self) -> dict[str, Tensor]:
        """Tensors carried from step to step beside the parameters (recurrent states)."""

    def carry(self, tensors: Mapping[str, Tensor]) -> None:
        """Take back what `carried` gave."""


class Fitted(NamedTuple):
    """How a training ended."""

    step: int
    figures: dict[str, float]  # of the state that was kept
    seconds: float  # of this process, training and evaluation
    units: int  # trained on by this process


class Diverged(BadInput):
    """The loss stopped being a finite number."""


def rate_at(plan: Plan, step: int) -> float:
    """Learning rate of update `step`: linear warm-up, then linear decay to `final` at the last step."""
    warm = plan.warmup * plan.steps
    rise = min(1.0, (step + 1) / warm) if warm >= 1 else 1.0
    span = max(plan.steps - warm, 1.0)
    fall = 1.0 - (1.0 - plan.final) * min(max((step - warm) / span, 0.0), 1.0)
    return plan.learning_rate * rise * fall


def seed_step(seed: int, step: int) -> None:
    """Seed torch for one update, so that its dropout depends on seed and step alone."""
    torch.manual_seed((seed * 0x9E3779B97F4A7C15 + step * 0xBF58476D1CE4E5B9) & (2**63 - 1))


def fit(
    task: Trainable,
    plan: Plan,
    *,
    folder: Path | None = None,
    resume: bool = False,
    fingerprint: str = "",
    title: str = "train",
    unit: str = "words",
    quiet: bool = False,
    on_figures: Callable[[int, dict[str, float]], None] | None = None,
) -> Fitted:
    """Train `task` for `plan.steps` updates and leave its model in the last or best state.

    With a `folder`, `checkpoints/` and `log.jsonl` are kept in it and `resume=True` goes on from the last checkpoint
    (the one before it, with a warning, where that is damaged) to the same bytes. `fingerprint` names data and settings:
    a checkpoint of another one is refused (BadInput).
    SIGINT and SIGTERM end after the current update with a checkpoint and raise KeyboardInterrupt.
    Raises Diverged where the loss is not finite; the last checkpoint stays.
    """
    loop = _Loop(task, plan, folder, fingerprint)
    loop.begin(resume)
    began = time.monotonic()
    units = 0
    task.model.train()
    with _stopping() as stop, Progress(title, plan.steps, unit="steps", begin=loop.step, quiet=quiet) as progress:
        while loop.step < plan.steps:
            loss, count = loop.update()
            units += count
            rate = units / max(time.monotonic() - began, 1e-9)
            progress.advance(1, loss=f"{loop.mean_loss(loss):.3f}", **{f"{unit}/s": f"{rate:,.0f}"})
            figures = loop.evaluate_if_due()
            if figures and on_figures:
                on_figures(loop.step, figures)
            loop.log(loss, rate)
            if stop.is_set():
                loop.save()
                raise KeyboardInterrupt
            loop.save_if_due(bool(figures))
    return Fitted(loop.step, loop.finish(), time.monotonic() - began, units)


class _Loop:
    """State of one training: optimisers, step, best state, files."""

    def __init__(self, task: Trainable, plan: Plan, folder: Path | None, fingerprint: str) -> None:
        self.task, self.plan, self.folder, self.fingerprint = task, plan, folder, fingerprint
        self.groups = task.groups()
        self.optimisers = [_optimiser(group, plan) for group in self.groups]
        self.dense = [p for group in self.groups if not group.sparse for p in group.parameters.values()]
        self.step = 0
        self.figures: dict[str, float] = {}
        self.best: dict[str, Tensor] | None = None
        self.best_figures: dict[str, float] = {}
        self._losses: list[float] = []

    def update(self) -> tuple[float, int]:
        seed_step(self.plan.seed, self.step)
        loss, count = self.task.loss(self.step)
        value = float(loss.detach())
        if not math.isfinite(value):
            kept = f"; the last checkpoint is in {self.folder / 'checkpoints'}" if self.folder else ""
            raise Diverged(f"training diverged: the loss is {value} at step {self.step + 1}; lower learning_rate{kept}")
        for optimiser in self.optimisers:
            optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self.plan.clip:
            nn.utils.clip_grad_norm_(self.dense, self.plan.clip)
        rate = rate_at(self.plan, self.step)
        for group, optimiser in zip(self.groups, self.optimisers, strict=True):
            for parameters in optimiser.param_groups:
                parameters["lr"] = rate * group.rate
            optimiser.step()
        self.step += 1
        return value, count

    def mean_loss(self, loss: float) -> float:
        """Mean over the last 50 updates, for people to look at."""
        self._losses = [*self._losses[-49:], loss]
        return sum(self._losses) / len(self._losses)

    def evaluate_if_due(self) -> dict[str, float]:
        every, last = self.plan.evaluate_every, self.step == self.plan.steps
        if not (last or (every and self.step % every == 0)):
            return {}
        self.task.model.eval()
        with torch.no_grad():
            self.figures = self.task.evaluate()
        self.task.model.train()
        better = self.figures.get("score", -math.inf) > self.best_figures.get("score", -math.inf)
        if self.plan.keep == "best" and better:
            self.best = {name: tensor.detach().clone() for name, tensor in self.task.model.state_dict().items()}
            self.best_figures = dict(self.figures)
        return self.figures

    def finish(self) -> dict[str, float]:
        if self.best is not None:
            self.task.model.load_state_dict(self.best)
            self.figures = self.best_figures
        self.task.model.eval()
        return self.figures

    # Files ----------------------------------------------------------------------------------------------------------

    def begin(self, resume: bool) -> None:
        if self.folder is None:
            return
        self.checkpoints = self.folder / "checkpoints"
        found = sorted(self.checkpoints.glob("step-*.safetensors"))
        if found and not resume:
            advice = "go on with --resume or name another folder"
            raise BadInput(f"holds a training already; {advice}", path=self.folder, usage=True)
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        if found:
            self._restore_last(found)
        self._truncate_log()

    def save_if_due(self, evaluated: bool) -> None:
        every, last = self.plan.save_every, self.step == self.plan.steps
        if last or (every and self.step % every == 0) or (evaluated and self.plan.keep == "best"):
            self.save()

    def save(self) -> None:
        """Write a checkpoint whole, then remove all but the one before it, which is for the case that this one is
        damaged later."""
        if self.folder is None:
            return
        tensors = {f"model/{name}": tensor for name, tensor in self.task.model.state_dict().items()}
        tensors |= {f"carried/{name}": tensor for name, tensor in self.task.carried().items()}
        tensors |= {f"best/{name}": tensor for name, tensor in (self.best or {}).items()}
        for group, optimiser in zip(self.groups, self.optimisers, strict=True):
            for name, parameter in group.parameters.items():
                for key, value in optimiser.state.get(parameter, {}).items():
                    tensors[f"optimiser/{name}/{key}"] = torch.as_tensor(value)
        facts = {
            "step": self.step,
            "fingerprint": self.fingerprint,
            "figures": self.figures,
            "best_figures": self.best_figures,
            "losses": self._losses,
        }
        whole = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
        target = self.checkpoints / f"step-{self.step:09d}.safetensors"
        write_bytes(target, save(whole, metadata={"zh_elmo": json.dumps(facts)}))
        for old in sorted(self.checkpoints.glob("step-*.safetensors"))[:-_KEPT]:
            old.unlink(missing_ok=True)

    def _restore_last(self, found: list[Path]) -> None:
        """Go on from the last checkpoint that can be read; the damaged ones behind it are removed then."""
        for number, path in enumerate(reversed(found)):
            try:
                facts, tensors = _read(path)
            except BadInput as error:
                if path == found[0]:
                    raise
                warnings.warn(f"{error}; going on from the one before it", stacklevel=4)
                continue
            self._restore(path, facts, tensors)
            for damaged in found[len(found) - number :]:
                damaged.unlink()
            return

    def _restore(self, path: Path, facts: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        if facts["fingerprint"] != self.fingerprint:
            message = "made from other data or settings; a run goes on as it began: give what it had, or another folder"
            raise BadInput(message, path=path)
        self.step, self.figures, self.best_figures = facts["step"], facts["figures"], facts["best_figures"]
        self._losses = facts["losses"]
        self.task.model.load_state_dict(_under(tensors, "model/"))
        self.task.carry(_under(tensors, "carried/"))
        self.best = _under(tensors, "best/") or None
        for group, optimiser in zip(self.groups, self.optimisers, strict=True):
            for name, parameter in group.parameters.items():
                state = _under(tensors, f"optimiser/{name}/")
                if "step" in state and group.sparse and self.plan.optimiser == "adam":
                    state["step"] = int(state["step"])  # type: ignore[assignment]  # SparseAdam counts in a number
                if state:
                    optimiser.state[parameter] = state

    def log(self, loss: float, rate: float) -> None:
        due = self.step % 50 == 0 or self.step == self.plan.steps
        evaluated = bool(self.figures) and self.plan.evaluate_every and self.step % self.plan.evaluate_every == 0
        if self.folder is None or not (due or evaluated):
            return
        entry: dict[str, Any] = {
            "step": self.step,
            "loss": round(self.mean_loss(loss), 5),
            "rate": rate_at(self.plan, self.step - 1),
            "units_per_second": round(rate, 1),
        }
        if evaluated or (self.step == self.plan.steps and self.figures):
            entry["figures"] = self.figures
        with open(self.folder / "log.jsonl", "a", encoding="utf-8") as stream:
            stream.write(json.dumps(entry) + "\n")

    def _truncate_log(self) -> None:
        """Drop what was logged after the checkpoint that we go on from, and a line cut by a kill."""
        assert self.folder is not None
        path = self.folder / "log.jsonl"
        kept = [line for line in _whole_entries(path) if json.loads(line).get("step", 0) <= self.step]
        write_bytes(path, "".join(line + "\n" for line in kept).encode())


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Facts and tensors of a checkpoint. Raises BadInput where it is none, or not whole."""
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads(file.metadata()["zh_elmo"])
            return facts, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise BadInput(f"not a checkpoint that can be read ({error})", path=path) from None


def _whole_entries(path: Path) -> list[str]:
    if not path.is_file():
        return []
    entries = []
    for line in path.read_text("utf-8").splitlines():
        try:
            json.loads(line)
        except ValueError:
            continue
        entries.append(line)
    return entries


def _optimiser(group: Group, plan: Plan) -> torch.optim.Optimizer:
    parameters = list(group.parameters.values())
    rate = plan.learning_rate * group.rate
    if plan.optimiser == "adagrad":
        return torch.optim.Adagrad(parameters, rate, eps=plan.epsilon, initial_accumulator_value=0.0)
    betas = (plan.beta1, plan.beta2)
    if group.sparse:
        return torch.optim.SparseAdam(parameters, rate, betas=betas, eps=plan.epsilon)
    return torch.optim.Adam(parameters, rate, betas=betas, eps=plan.epsilon, fused=True)


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set, so that an update is never cut in two; a second signal ends at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, _frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    for number in before:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
