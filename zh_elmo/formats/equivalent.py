"""A biLM as another program could hold it: the same vectors in the shape that its files have, or why that cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import torch
from torch import Tensor

from zh_elmo.files import BadInput
from zh_elmo.formats import bilm_tf, many_langs
from zh_elmo.lm.characters import PAD
from zh_elmo.lm.model import BiLM
from zh_elmo.lm.settings import Model

_WIDEST = 3  # filter that every word of one character or more, with its marks, is long enough for
_State = dict[str, Tensor]


def for_many_langs(bilm: BiLM, *, lossy: bool = False) -> BiLM:
    """In the shape of ELMoForManyLangs' encoder `elmo` and token embedder `cnn`.

    A table that is added goes into the projection beside an identity matrix; padding that the filters must not see gets
    a dimension of its own that no window with it can win. lossy: words of the table that the program would cut before
    it looks them up lose their own vectors. Raises BadInput with the reason for what it cannot hold.
    """
    settings = bilm.settings
    reads = settings.characters
    if reads.filters and reads.unit == "byte":
        raise BadInput("ELMoForManyLangs reads characters, this model reads bytes; convert it to bilm-tf")
    if settings.lstm == "plain":
        raise BadInput("ELMoForManyLangs has a projection in its LSTM, this model has none")
    if settings.layers > 1 and not settings.skip:
        raise BadInput("ELMoForManyLangs adds a layer's input to its output, this model does not")
    taken = [word for word in bilm.words if word in (many_langs.OOV, many_langs.BOS, many_langs.EOS)]
    if taken:
        raise BadInput(f"{', '.join(taken)} are words of this model, but marks to ELMoForManyLangs")
    words, state = list(bilm.words), _padding_outside(bilm)
    if settings.word_table and not settings.cut_words:
        words, reads = _uncut(bilm, state, lossy)
    state, word_size = _table_joined(bilm, state)
    model = _changed(
        settings, state, reads, word_size=word_size, cut_words=True, project=True, skip=True,
        marks=(many_langs.BOS, many_langs.EOS), vocabulary=max(4, len(words) + 3),
    )  # fmt: skip
    return _built(model, bilm.chars, words, state)


def for_bilm_tf(bilm: BiLM, *, softmax: bool = False) -> BiLM:
    """In the shape of bilm-tf, with or without the softmax: its HDF5 files have none. A table whose vectors are
    projected is projected once and for all.

    Raises BadInput with the reason for what it cannot hold.
    """
    settings = bilm.settings
    reads = settings.characters
    if reads.filters and reads.unit == "character":
        raise BadInput("bilm-tf reads bytes, this model reads characters; convert it to ELMoForManyLangs")
    if settings.lstm == "two-way":
        raise BadInput("bilm-tf's directions never see each other, this model's do")
    if reads.filters and settings.word_table:
        raise BadInput("bilm-tf has characters or a table of words, this model has both")
    softmax = softmax and bilm.softmax is not None
    needs_words = settings.word_table or softmax
    awkward = [word for word in bilm.words if not word or word != word.strip() or "\n" in word]
    if needs_words and awkward:
        raise BadInput(f"a vocabulary file of bilm-tf cannot hold the word {awkward[0]!r}")
    taken = [word for word in bilm.words if word in (bilm_tf.UNKNOWN, *bilm_tf.MARKS)]
    if needs_words and taken:
        raise BadInput(f"{', '.join(taken)} are words of this model, but marks to bilm-tf")
    state = _padding_outside(bilm)
    if not softmax:
        state = {name: tensor for name, tensor in state.items() if not name.startswith("softmax.")}
    if settings.word_size:
        weight, bias = state.pop("tokens.projection.weight"), state.pop("tokens.projection.bias")
        state["tokens.table.weight"] = torch.addmm(bias, state["tokens.table.weight"], weight.t())
    changes = {"marks": bilm_tf.MARKS, "softmax": softmax, "word_size": 0, "cut_words": False}
    model = _changed(settings, state, reads, **changes)
    told = needs_words or not (awkward or taken)  # words that nothing depends on are told all the same
    return _built(model, bilm.chars, bilm.words if told else [], state)


def _padding_outside(bilm: BiLM) -> _State:
    """Weights with which filters that see the padding give what they give without: one more dimension, in which padding
    has 1 and all else 0, and each filter a weight so low that no window with padding in it is the highest."""
    state = dict(bilm.state_dict())
    reads = bilm.settings.characters
    if not reads.filters or reads.padded:
        return state
    widest = max(width for width, _ in reads.filters)
    if widest > _WIDEST:
        message = f"a filter of width {widest} looks beyond the end of short words, where this model has zeros"
        raise BadInput(f"{message}; other programs have their padding there")
    table = state["tokens.characters.embedding.weight"]
    column = table.new_zeros(len(table), 1)
    column[PAD] = 1.0
    state["tokens.characters.embedding.weight"] = torch.cat([table, column], dim=1)
    for i, (width, number) in enumerate(reads.filters):
        name = f"tokens.characters.kernels.{i}"
        reach = (table @ state[name]).abs().amax(0).view(width, number).sum(0).max()  # of any window
        low = state[name].new_full((1, width * number), -2.0 * float(reach) - 1.0)
        state[name] = torch.cat([state[name], low])
    return state


def _uncut(bilm: BiLM, state: _State, lossy: bool) -> tuple[list[str], Any]:
    """Words and settings for a program that cuts words before it looks them up."""
    reads = bilm.settings.characters
    longest = max(map(len, bilm.words), default=0)
    if not reads.filters:  # nothing else depends on where words are cut
        return list(bilm.words), msgspec.structs.replace(reads, maximum=longest + 1)
    long = [word for word in bilm.words if len(word) > reads.maximum]
    if long and not lossy:
        message = f"{len(long)} words of the vocabulary, such as {long[0]!r}, have more than {reads.maximum} characters"
        raise BadInput(
            f"{message}: ELMoForManyLangs cuts them before it looks them up, so that they would lose the vectors of "
            "their own; lossy=True (--lossy) puts up with that"
        )
    kept = [row for row, word in enumerate(bilm.words, 3) if len(word) <= reads.maximum]
    rows = torch.tensor([0, 1, 2, *kept])
    for name in ("tokens.table.weight", "softmax.rows.weight", "softmax.bias.weight"):
        if name in state:
            state[name] = state[name][rows]
    return [word for word in bilm.words if len(word) <= reads.maximum], reads


def _table_joined(bilm: BiLM, state: _State) -> tuple[_State, int]:
    """Weights with the table before the projection, and the size of its vectors."""
    settings, size = bilm.settings, bilm.settings.projection
    if not settings.word_table or settings.word_size:
        if "tokens.projection.weight" not in state:
            state["tokens.projection.weight"], state["tokens.projection.bias"] = torch.eye(size), torch.zeros(size)
        return state, settings.word_size
    identity = torch.eye(size)
    of_characters = state.get("tokens.projection.weight", torch.eye(size) if settings.characters.filters else None)
    beside = [identity] if of_characters is None else [identity, of_characters]
    state["tokens.projection.weight"] = torch.cat(beside, dim=1)
    state.setdefault("tokens.projection.bias", torch.zeros(size))
    return state, size


def _changed(settings: Model, state: Mapping[str, Tensor], reads: Any, **changes: Any) -> Model:
    if reads.filters:
        size = state["tokens.characters.embedding.weight"].shape[1]
        reads = msgspec.structs.replace(reads, padded=True, size=size)
    return msgspec.structs.replace(settings, characters=reads, **changes)


def _built(settings: Model, chars: list[str], words: list[str], state: _State) -> BiLM:
    bilm = BiLM(settings, chars, words)
    bilm.load_state_dict(state)
    return bilm.eval().requires_grad_(False)
