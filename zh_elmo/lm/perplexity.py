"""Perplexity by the full softmax: each direction and their geometric mean; the state is reset at each sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zh_elmo.corpus.store import Corpus
from zh_elmo.files import BadInput
from zh_elmo.lm.model import UNK, BiLM
from zh_elmo.lm.streams import Sentences, sentences
from zh_elmo.progress import Progress

_BATCH_WORDS = 1024  # places of a padded batch
_SOFTMAX_ROWS = 256  # rows of the full softmax at a time: 30 MB at 30,000 words


def perplexity(
    bilm: BiLM, part: NDArray[np.uint32], types: Sequence[str], *, limit: int = 0, quiet: bool = True
) -> dict[str, float]:
    """Held-out perplexity of a biLM on a part of a corpus (type ids with marks, and the words they stand for).

    Every word and both sentence marks are predicted; a word outside the vocabulary counts as `<unk>` where it is to be
    predicted, and keeps its own characters where it is read. `limit`: only about so many words, spread over the whole.
    Returns forward, backward, mean (geometric), bits_per_character (mean of both directions, sentence ends included,
    over the characters of the words), words, predictions, unknown (share of words outside the vocabulary).
    """
    found = sentences(part)
    chosen = _spread(found, limit)
    if not len(chosen):
        raise BadInput("no sentence to measure perplexity on")
    words = [_word_ids(found, number) for number in chosen]
    distinct = np.unique(np.concatenate(words))
    spelled = bilm.spell([types[i] for i in distinct])
    losses = np.zeros(2)
    was_training = bilm.training
    bilm.eval()
    with torch.no_grad(), Progress("perplexity", sum(map(len, words)), unit="words", quiet=quiet) as progress:
        known = torch.cat([bilm.encode(bilm.marks()), bilm.encode(spelled)])
        ids = torch.cat([bilm.marks().ids, spelled.ids])
        for batch in _batches([torch.from_numpy(np.searchsorted(distinct, w)) + 2 for w in words]):
            losses += _batch_loss(bilm, known, ids, batch)
            progress.advance(sum(map(len, batch)))
    bilm.train(was_training)
    n_words = sum(map(len, words))
    predictions = n_words + len(words)
    characters = sum(len(types[i]) for w in words for i in w)
    unknown = int((ids[2:] == UNK)[torch.from_numpy(np.searchsorted(distinct, np.concatenate(words)))].sum())
    return {
        "forward": math.exp(losses[0] / predictions),
        "backward": math.exp(losses[1] / predictions),
        "mean": math.exp(losses.sum() / 2 / predictions),
        "bits_per_character": float(losses.sum() / 2 / math.log(2) / max(characters, 1)),
        "words": n_words,
        "predictions": predictions,
        "unknown": unknown / n_words,
    }


def corpus_perplexity(bilm: BiLM, corpus: Corpus, *, limit: int = 0, quiet: bool = False) -> dict[str, float]:
    """Perplexity on the held-out part of a corpus. Raises BadInput where nothing is held out."""
    if not len(corpus.ids("heldout")):
        raise BadInput("nothing is held out of this corpus; a larger one, or a larger corpus.held_out, has some")
    return perplexity(bilm, corpus.ids("heldout"), corpus.types, limit=limit, quiet=quiet)


def _spread(found: Sentences, limit: int) -> NDArray[np.int64]:
    """Numbers of the sentences to use: all, or evenly spread ones with about `limit` words together."""
    numbers = np.flatnonzero(found.lengths > 0)
    total = int(found.lengths.sum())
    if not limit or total <= limit:
        return numbers
    return numbers[np.linspace(0, len(numbers) - 1, max(1, round(len(numbers) * limit / total))).astype(np.int64)]


def _word_ids(found: Sentences, number: int) -> NDArray[np.int64]:
    start = found.starts[number]
    return found.words[start : start + found.lengths[number]].astype(np.int64)


def _batches(words: list[Tensor]) -> Iterator[list[Tensor]]:
    """Sentences of like length together, about _BATCH_WORDS places at a time."""
    batch: list[Tensor] = []
    for sentence in sorted(words, key=len):
        if batch and (len(batch) + 1) * (len(sentence) + 1) > _BATCH_WORDS:
            yield batch
            batch = []
        batch.append(sentence)
    yield batch


def _batch_loss(bilm: BiLM, known: Tensor, ids: Tensor, batch: list[Tensor]) -> NDArray[np.float64]:
    """Summed negative log likelihood of a batch in each direction. Rows 0 and 1 of `known` are `<s>` and `</s>`."""
    begin, end = torch.tensor([0]), torch.tensor([1])
    rows = [[torch.cat([begin, s, end]) for s in batch], [torch.cat([end, s.flip(0), begin]) for s in batch]]
    padded = torch.stack([torch.nn.utils.rnn.pad_sequence(way, padding_value=-1) for way in rows])  # [2, T + 1, B]
    inputs, targets = padded[:, :-1], padded[:, 1:]
    tokens = torch.nn.functional.embedding(inputs.clamp(min=0), known)
    outputs, _ = bilm.run(tokens, bilm.start(len(batch)))
    losses, softmax = np.zeros(2), bilm.predictor()
    for way in range(2):
        wanted = targets[way] >= 0
        hidden, goal = outputs[-1][way][wanted], ids[targets[way][wanted]]
        for at in range(0, len(goal), _SOFTMAX_ROWS):
            chosen = goal[at : at + _SOFTMAX_ROWS, None]
            logs = softmax.log_probabilities(hidden[at : at + _SOFTMAX_ROWS]).gather(1, chosen)
            losses[way] -= float(logs.double().sum())
    return losses
