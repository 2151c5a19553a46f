"""No word helps to predict itself: derivatives that must be zero are exactly zero, on the training path, in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_corpus import SmallCorpus, settings

from zh_elmo.lm.pretrain import Pretraining
from zh_elmo.lm.settings import StreamSettings


def task(**changes) -> Pretraining:
    made = Pretraining(settings(**changes), SmallCorpus())
    made.model.double()
    made.states = made.bilm.start(made.settings.streams.batch)
    torch.manual_seed(2)
    with torch.no_grad():
        for parameter in made.model.parameters():
            parameter.normal_(std=0.5)
    return made


def derivatives(made: Pretraining) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Tokens [2, T, B, P] of a window, the top states, and the loss of every place [2, T, B]."""
    window = made.streams.window(0)
    distinct, places = np.unique(window.inputs, return_inverse=True)
    encoded = made.bilm.encode(made.spelled.take(torch.from_numpy(distinct))).detach()
    tokens = encoded[torch.from_numpy(places.reshape(window.inputs.shape))].requires_grad_()
    keep = (torch.from_numpy(window.inputs) != made.begins).to(tokens) if made.settings.streams.reset else None
    outputs, _ = made.bilm.run(tokens, made.states, keep)
    goals = made.spelled.ids[torch.from_numpy(window.targets)]
    losses = -made.bilm.softmax.log_probabilities(outputs[-1].flatten(0, 2))
    return tokens, outputs[-1], losses.gather(1, goals.reshape(-1, 1)).view(goals.shape)


@pytest.mark.parametrize("direction", [0, 1])
def test_a_state_sees_what_was_read_and_nothing_else(direction):
    made = task(streams=StreamSettings(batch=2, window=8, reset=False))
    tokens, top, _ = derivatives(made)
    for t in range(8):
        (gradient,) = torch.autograd.grad(top[direction, t, 0].sum(), tokens, retain_graph=True)
        assert (gradient[direction, t + 1 :, 0] == 0).all()  # what comes later in reading order
        assert (gradient[direction, : t + 1, 0] != 0).any(-1).all()  # what was read
        assert (gradient[:, :, 1] == 0).all()  # companions of the batch
        assert (gradient[1 - direction] == 0).all()  # the other direction


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("direction", [0, 1])
def test_the_loss_of_a_word_does_not_see_the_word(direction, reset):
    """The term at place t predicts the word that stands at place t + 1 of the same direction."""
    made = task(streams=StreamSettings(batch=2, window=8, reset=reset))
    tokens, _, losses = derivatives(made)
    window = made.streams.window(0)
    for t in range(7):
        (gradient,) = torch.autograd.grad(losses[direction, t, 0], tokens, retain_graph=True)
        assert (gradient[direction, t + 1 :, 0] == 0).all()
        assert (gradient[direction, t, 0] != 0).any()
        begins = np.flatnonzero(window.inputs[direction, : t + 1, 0] == int(made.begins[direction]))
        first = begins[-1] if reset and len(begins) else 0
        assert (gradient[direction, :first, 0] == 0).all()  # with resets, nothing before the sentence
        assert (gradient[direction, first : t + 1, 0] != 0).any(-1).all()


def test_both_directions_learn_from_one_loss():
    made = task()
    loss, words = made.loss(0)
    loss.backward()
    assert words == 8
    for name, parameter in made.model.named_parameters():
        gradient = parameter.grad.to_dense() if parameter.grad.is_sparse else parameter.grad
        assert torch.isfinite(gradient).all(), name
        assert (gradient != 0).any(), name
        if name.startswith("layers."):
            assert (gradient[0] != 0).any(), name
            assert (gradient[1] != 0).any(), name
