"""The CRF against a sum and a maximum over all paths."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
import torch
from torch import Tensor

from zh_elmo.files import BadInput
from zh_elmo.tasks.crf import CRF, allowed
from zh_elmo.tasks.spans import first_fault

BIO = ["B-A", "B-B", "I-A", "I-B", "O"]
BIOES = ["B-A", "E-A", "I-A", "O", "S-A"]
LENGTHS = [4, 3, 1]
MASK = torch.arange(4) < torch.tensor(LENGTHS)[:, None]


def crf_of(labels: list[str], scheme: str) -> CRF:
    torch.manual_seed(1)
    crf = CRF(len(labels), allowed(labels, scheme)).double()
    for parameter in crf.parameters():
        parameter.data.normal_()
    return crf


def path_scores(crf: CRF, scores: Tensor, labels: list[str], scheme: str) -> dict[tuple[int, ...], Tensor]:
    """By the definition: the score of every path through one sentence [n, L] that the scheme allows."""
    found = {}
    for path in product(range(len(labels)), repeat=len(scores)):
        if first_fault([labels[y] for y in path], scheme) is None:
            total = crf.start[path[0]] + crf.end[path[-1]] + sum(scores[t, y] for t, y in enumerate(path))
            found[path] = total + sum(crf.transitions[a, b] for a, b in pairwise(path))
    return found


@pytest.mark.parametrize(("labels", "scheme"), [(list("abc"), "plain"), (BIO, "BIO"), (BIOES, "BIOES")])
def test_against_all_paths(labels: list[str], scheme: str) -> None:
    crf = crf_of(labels, scheme)
    scores = torch.randn(3, 4, len(labels), dtype=torch.float64) * 2
    partition, best = crf.log_partition(scores, MASK), crf.best(scores, MASK)
    for row, length in enumerate(LENGTHS):
        paths = path_scores(crf, scores[row, :length], labels, scheme)
        z = torch.stack(list(paths.values())).logsumexp(0)
        torch.testing.assert_close(partition[row], z)
        assert tuple(best[row]) == max(paths, key=lambda path: paths[path].item())
        for path, total in list(paths.items())[:: max(1, len(paths) // 5)]:
            gold = torch.full((3, 4), -1)
            gold[row, :length] = torch.tensor(path)
            likelihood = crf.log_likelihood(scores, torch.where(MASK, gold.clamp(min=0), gold), MASK)
            torch.testing.assert_close(likelihood[row], total - z)


def test_gradients_are_those_of_the_definition() -> None:
    crf = crf_of(BIO, "BIO")
    scores = torch.randn(1, 3, 5, dtype=torch.float64, requires_grad=True)
    parameters = [scores, *crf.parameters()]
    gold = (4, 0, 2)
    ours = torch.autograd.grad(crf.log_likelihood(scores, torch.tensor([gold]), MASK[1:2, :3]).sum(), parameters)
    paths = path_scores(crf, scores[0], BIO, "BIO")
    due = torch.autograd.grad(paths[gold] - torch.stack(list(paths.values())).logsumexp(0), parameters)
    for one, other in zip(ours, due, strict=True):
        torch.testing.assert_close(one, other)


def test_padding_has_no_influence() -> None:
    crf = crf_of(BIO, "BIO").float()
    scores, gold = torch.randn(3, 4, 5), torch.full((3, 4), 4)
    other = torch.where(MASK[..., None], scores, 1e6)
    wild = torch.where(MASK, gold, -1)
    assert torch.equal(crf.log_likelihood(scores, gold, MASK), crf.log_likelihood(other, wild, MASK))
    assert crf.best(scores, MASK) == crf.best(other, MASK)
    alone = crf.log_likelihood(scores[2:, :1], gold[2:, :1], MASK[2:, :1])
    torch.testing.assert_close(alone, crf.log_likelihood(scores, gold, MASK)[2:])


def test_what_is_forbidden_gets_no_probability() -> None:
    crf = crf_of(BIO, "BIO")
    with torch.no_grad():
        crf.start[2] = crf.transitions[4, 2] = 50.0  # learned all the same
    scores = torch.zeros(1, 2, 5, dtype=torch.float64)
    scores[:, :, 2] = 50.0  # I-A everywhere
    mask = torch.ones(1, 2, dtype=torch.bool)
    assert crf.best(scores, mask) == [[0, 2]]  # B-A I-A
    assert crf.log_likelihood(scores, torch.tensor([[4, 2]]), mask).exp().item() == 0
    with pytest.raises(BadInput, match="no label of BIO"):
        allowed(["O", "E-A"], "BIO")
