"""A linear-chain CRF: log-likelihood by the forward algorithm, the best path by Viterbi, both over padded batches.

    p(y | x) = exp(start[y_1] + sum_t scores[t, y_t] + sum_t transitions[y_t-1, y_t] + end[y_n]) / Z(x)

(Lafferty, McCallum and Pereira 2001.) Sentences of a batch have one word or more; mask [B, T] is True at their words,
which come first in a row. What stands in the padding has no influence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from zh_elmo.tasks.spans import OUTSIDE, Scheme, may_follow

_FORBIDDEN = -1e4  # exp of it is 0 beside any real score; minus infinity would make gradients NaN


class Allowed(NamedTuple):
    """True where a label may stand."""

    start: Tensor  # [L] at the first word
    between: Tensor  # [L, L] after another: [before, after]
    end: Tensor  # [L] at the last word


def allowed(labels: Sequence[str], scheme: Scheme) -> Allowed:
    """What `scheme` allows, for labels by number. Raises BadInput for a label that is none of the scheme."""
    start = [may_follow(OUTSIDE, label, scheme) for label in labels]
    between = [[may_follow(before, after, scheme) for after in labels] for before in labels]
    end = [may_follow(label, OUTSIDE, scheme) for label in labels]
    return Allowed(torch.tensor(start), torch.tensor(between), torch.tensor(end))


class CRF(nn.Module):
    """Learned scores of transitions between `labels` many labels; those that are not `allowed` get no probability."""

    forbidden_start: Tensor
    forbidden_between: Tensor
    forbidden_end: Tensor

    def __init__(self, labels: int, allowed: Allowed | None = None) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.zeros(labels))
        self.transitions = nn.Parameter(torch.zeros(labels, labels))
        self.end = nn.Parameter(torch.zeros(labels))
        every = torch.ones(labels, labels, dtype=torch.bool)
        start, between, end = allowed or Allowed(every[0], every, every[0])
        self.register_buffer("forbidden_start", ~start, persistent=False)
        self.register_buffer("forbidden_between", ~between, persistent=False)
        self.register_buffer("forbidden_end", ~end, persistent=False)

    def log_likelihood(self, scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
        """log p of `labels` [B, T] (any number in the padding), given scores [B, T, L] -> [B]."""
        return self.path_score(scores, labels, mask) - self.log_partition(scores, mask)

    def path_score(self, scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
        """Sum of the scores along a path of labels [B, T] -> [B]; below -10,000 where it is not allowed."""
        start, between, end = self._weights()
        labels = labels.masked_fill(~mask, 0)
        inside = mask.to(scores.dtype)
        at_words = (scores.gather(2, labels[..., None])[..., 0] * inside).sum(1)
        steps = (between[labels[:, :-1], labels[:, 1:]] * inside[:, 1:]).sum(1)
        last = labels.gather(1, mask.sum(1, keepdim=True) - 1)[:, 0]
        return start[labels[:, 0]] + at_words + steps + end[last]

    def log_partition(self, scores: Tensor, mask: Tensor) -> Tensor:
        """log Z: log of the sum over all paths of exp(path score), scores [B, T, L] -> [B]."""
        start, between, end = self._weights()
        alpha = start + scores[:, 0]  # [B, L], paths that end in a label at word t
        for t in range(1, scores.shape[1]):
            further = (alpha[:, :, None] + between).logsumexp(1) + scores[:, t]
            alpha = torch.where(mask[:, t, None], further, alpha)
        return (alpha + end).logsumexp(1)

    @torch.no_grad()
    def best(self, scores: Tensor, mask: Tensor) -> list[list[int]]:
        """The path of the highest score for each sentence (Viterbi), one label a word; scores [B, T, L]."""
        start, between, end = self._weights()
        alpha = start + scores[:, 0]
        came_from = []  # for each word but the first [B, L]: the best label before
        for t in range(1, scores.shape[1]):
            further, before = (alpha[:, :, None] + between).max(1)
            alpha = torch.where(mask[:, t, None], further + scores[:, t], alpha)
            came_from.append(before.tolist())
        last, paths = (alpha + end).argmax(1).tolist(), []
        for row, length in enumerate(mask.sum(1).tolist()):
            path = [last[row]]
            for t in range(length - 2, -1, -1):
                path.append(came_from[t][row][path[-1]])
            paths.append(path[::-1])
        return paths

    def _weights(self) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of start [L], transitions [L, L] and end [L]."""
        return (
            self.start.masked_fill(self.forbidden_start, _FORBIDDEN),
            self.transitions.masked_fill(self.forbidden_between, _FORBIDDEN),
            self.end.masked_fill(self.forbidden_end, _FORBIDDEN),
        )
