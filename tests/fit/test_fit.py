"""The training loop: schedule, best state, log, signals, resume."""

from __future__ import annotations

import json
import os
import signal

import pytest
import torch
from torch import nn

from zh_elmo.files import BadInput
from zh_elmo.fit import Group, Plan, fit, rate_at


class Line:
    """Fits y = 2 x; the score is best after five updates, whatever the loss does."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Linear(1, 1)
        self.steps: list[int] = []
        self.after: dict[int, object] = {}

    def groups(self):
        return [Group(dict(self.model.named_parameters()))]

    def loss(self, step):
        self.steps.append(step)
        if step in self.after:
            self.after[step]()
        x = torch.full((4, 1), 1.0 + step % 3)
        return (self.model(nn.functional.dropout(x, 0.1)) - 2 * x).pow(2).mean(), 4

    def evaluate(self):
        assert not self.model.training
        return {"score": -abs(len(self.steps) - 5), "bias": float(self.model.bias.detach())}

    def carried(self):
        return {}

    def carry(self, tensors):
        assert not tensors


def test_schedule_rises_then_falls():
    plan = Plan(steps=100, learning_rate=1.0, warmup=0.1, final=0.2)
    assert [rate_at(plan, s) for s in (0, 4, 9)] == pytest.approx([0.1, 0.5, 1.0])
    assert rate_at(plan, 55) == pytest.approx(0.6)
    assert rate_at(plan, 100) == pytest.approx(0.2)
    assert rate_at(Plan(steps=100, learning_rate=1.0, warmup=0.0, final=1.0), 0) == 1.0


@pytest.mark.parametrize("optimiser", ["adam", "adagrad"])
def test_it_fits(optimiser):
    task = Line()
    ended = fit(task, Plan(steps=400, learning_rate=0.1, optimiser=optimiser), quiet=True)
    assert ended.step == 400
    assert ended.units == 1600
    assert task.model(torch.tensor([2.0])).item() == pytest.approx(4, abs=0.5)


def test_the_best_state_is_kept_and_survives_a_resume(tmp_path):
    whole = Line()
    plan = Plan(steps=9, evaluate_every=1, keep="best", save_every=2)
    figures = fit(whole, plan, quiet=True).figures
    assert figures["score"] == 0
    assert figures["bias"] == float(whole.model.bias.detach())

    def stop():
        raise OSError("the machine goes down")

    broken = Line()
    broken.after[7] = stop
    with pytest.raises(OSError, match="goes down"):
        fit(broken, plan, folder=tmp_path, quiet=True)
    resumed = Line()
    resumed.steps = [0] * 7
    assert fit(resumed, plan, folder=tmp_path, resume=True, quiet=True).figures == figures
    assert torch.equal(resumed.model.weight, whole.model.weight)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_after_the_update_with_a_checkpoint(tmp_path, number):
    task = Line()
    task.after[3] = lambda: os.kill(os.getpid(), number)
    before = signal.getsignal(number)
    plan = Plan(steps=8)
    with pytest.raises(KeyboardInterrupt):
        fit(task, plan, folder=tmp_path, quiet=True)
    assert signal.getsignal(number) is before
    assert task.steps == [0, 1, 2, 3]
    again, whole = Line(), Line()
    fit(again, plan, folder=tmp_path, resume=True, quiet=True)
    fit(whole, plan, quiet=True)
    assert again.steps == [4, 5, 6, 7]
    assert torch.equal(again.model.weight, whole.model.weight)


def test_the_log_is_that_of_one_run(tmp_path):
    task = Line()

    def vanish():
        raise OSError("gone")

    task.after[130] = vanish
    plan = Plan(steps=150, save_every=60)
    with pytest.raises(OSError, match="gone"):
        fit(task, plan, folder=tmp_path, quiet=True)
    with open(tmp_path / "log.jsonl", "a") as stream:
        stream.write('{"step": 1')  # cut by a kill
    fit(Line(), plan, folder=tmp_path, resume=True, quiet=True)
    entries = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [entry["step"] for entry in entries] == [50, 100, 150]


def test_two_checkpoints_are_kept_and_none_is_overwritten_unasked(tmp_path):
    fit(Line(), Plan(steps=9, save_every=2), folder=tmp_path, quiet=True)
    kept = ["step-000000008.safetensors", "step-000000009.safetensors"]
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == kept
    with pytest.raises(BadInput, match="--resume") as caught:
        fit(Line(), Plan(steps=9, save_every=2), folder=tmp_path, quiet=True)
    assert caught.value.usage
