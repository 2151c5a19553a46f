"""The softmax: hand computation, and the sampled estimate against the full one."""

from __future__ import annotations

import math

import numpy as np
import torch

from zh_elmo.lm.softmax import Sample, Sampler, Softmax


def test_full_loss_by_hand():
    softmax = Softmax(3, 2).double()
    with torch.no_grad():
        softmax.rows.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 2.0], [-1.0, 1.0]]))
        softmax.bias.weight.copy_(torch.tensor([[0.5], [0.0], [-0.5]]))
    hidden = torch.tensor([[0.3, -0.7], [1.0, 1.0]], dtype=torch.float64)
    first = [0.3 + 0.5, -1.4, -0.3 - 0.7 - 0.5]
    second = [1.0 + 0.5, 2.0, 0.0 - 0.5]
    expected = math.log(sum(map(math.exp, first))) - first[1] + math.log(sum(map(math.exp, second))) - second[2]
    assert math.isclose(softmax.full_loss(hidden, torch.tensor([1, 2])).item(), expected / 2, rel_tol=1e-12)
    logs = softmax.log_probabilities(hidden)
    assert torch.allclose(logs.exp().sum(1), torch.ones(2, dtype=torch.float64))
    assert math.isclose(-(logs[0, 1] + logs[1, 2]).item(), expected, rel_tol=1e-12)


def problem(n_words=400, n=64):
    generator = np.random.default_rng(5)
    torch.manual_seed(5)
    unigram = 1 / (np.arange(n_words) + 2.0)
    unigram /= unigram.sum()
    softmax = Softmax(n_words, 8).double()
    with torch.no_grad():
        softmax.rows.weight.mul_(20)
    softmax.start_at(unigram)
    hidden = torch.randn(2 * n, 8, dtype=torch.float64, requires_grad=True)
    targets = generator.choice(n_words, n, p=unigram)
    return softmax, hidden, np.concatenate([targets, targets]), unigram  # both directions predict the same words


def error_of_mean_gradient(negatives: int, draws: int) -> float:
    """Relative error of the mean of sampled gradients by the hidden states."""
    softmax, hidden, targets, unigram = problem()
    wanted = torch.from_numpy(targets)
    (full,) = torch.autograd.grad(softmax.full_loss(hidden, wanted), hidden)
    sampler, mean = Sampler(unigram, negatives), torch.zeros_like(full)
    for seed in range(draws):
        sample = Sample(sampler, targets, np.random.default_rng(seed))
        (gradient,) = torch.autograd.grad(softmax.sampled_loss(hidden, wanted, sample), hidden)
        mean += gradient / draws
    return float((mean - full).norm() / full.norm())


def test_sampled_gradient_tends_to_the_full_one():
    errors = [error_of_mean_gradient(negatives, 40) for negatives in (16, 128, 1024, 16384)]
    assert errors[0] > 1.5 * errors[1] > 3 * errors[2]
    assert errors[3] < 0.002


def test_estimate_of_the_normaliser_is_unbiased():
    """E[Z] over draws is the full sum when the targets are no candidates by themselves (one target, N counts 0.5)."""
    softmax, hidden, _, unigram = problem(n=1)
    hidden = hidden[:1]
    target = np.array([7])
    sampler = Sampler(unigram, 64)
    full = torch.exp(hidden @ softmax.rows.weight.T + softmax.bias.weight[:, 0]).detach()[0]
    # inclusion of the other words by draws alone
    sampler.unigram = np.zeros_like(unigram)
    estimates = []
    for seed in range(3000):
        sample = Sample(sampler, target, np.random.default_rng(seed))
        weights = torch.exp(-sample.correction)
        weights[sample.columns] = 1.0
        estimates.append(float((full[sample.candidates] * weights).sum()))
    spread = np.std(estimates) / len(estimates) ** 0.5
    assert abs(np.mean(estimates) - float(full.sum())) < 4 * spread


def test_all_words_drawn_is_the_full_softmax():
    softmax, hidden, targets, unigram = problem()
    sample = Sample(Sampler(unigram, 10**6), targets, np.random.default_rng(0))
    wanted = torch.from_numpy(targets)
    assert len(sample.candidates) == 400
    assert torch.allclose(softmax.sampled_loss(hidden, wanted, sample), softmax.full_loss(hidden, wanted), atol=1e-9)
