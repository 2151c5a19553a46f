"""The context-free vector of each word of a vocabulary, as bilm-tf's `dump_token_embeddings` writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from zh_elmo import __version__
from zh_elmo.embed.embedder import Embedder
from zh_elmo.embed.hdf5_write import beside, check_room, created
from zh_elmo.embed.layouts import HDF5
from zh_elmo.files import BadInput, existing, lines, sha256
from zh_elmo.progress import Progress

DATASET = "embedding"
MARKS = {"<S>": 0, "</S>": 1}  # words of a vocabulary that stand for the marks: rows of `bilm.marks()`
_SKIPPED = "!!!MAXTERMID"  # a line that is no entry there
_AT_ONCE = 8192  # words whose vectors are in memory
_BLOCK = 512  # words that are encoded together, of like length


class WrittenTokens(NamedTuple):
    """What was written."""

    path: Path
    words: int
    width: int


def write_token_embeddings(
    embedder: Embedder, vocabulary: str | Path, out: str | Path, *, command: str = "", quiet: bool = False
) -> WrittenTokens:
    """The HDF5 file `out` with one dataset `embedding`, float32 [n_words, P]: row k is the token encoding of line k.

    vocabulary: UTF-8, a word a line; white space around it is dropped, and as in bilm-tf the line `!!!MAXTERMID` is no
    entry. `<S>` and `</S>` are the marks of a sentence. Words are normalised as `embedder` does it. The file is there
    whole or not at all. Raises BadInput for a file without a line, and for a name that is not that of an HDF5 file.
    """
    vocabulary, out = existing(vocabulary, "file"), Path(out)
    if out.suffix.lower() not in HDF5:
        raise BadInput("vectors of a vocabulary are written as HDF5 (.h5)", path=out, usage=True)
    words = [word for _, line in lines(vocabulary) if (word := line.strip()) != _SKIPPED]
    if not any(words):
        raise BadInput("no word in this file", path=vocabulary)
    width = embedder.width // 2
    source = {"name": vocabulary.name, "sha256": sha256(vocabulary)}
    facts = {"command": command, "zh_elmo": __version__, "source": source, "model": str(embedder.path or "")}
    with beside(out) as path, created(path) as file:
        file.attrs.update({"format": "zh_elmo tokens", "model": embedder.digest, "facts": json.dumps(facts)})
        check_room(out, 4 * len(words) * width)
        dataset = file.create_dataset(DATASET, (len(words), width), "float32")
        with Progress("embed (vocabulary)", len(words), unit="words", quiet=quiet) as progress:
            for begin in range(0, len(words), _AT_ONCE):
                part = words[begin : begin + _AT_ONCE]
                dataset[begin : begin + len(part)] = encodings(embedder, part).numpy()
                progress.advance(len(part))
    return WrittenTokens(out, len(words), width)


def encodings(embedder: Embedder, words: Sequence[str]) -> Tensor:
    """[n_words, P] float32 for words of a vocabulary, `<S>` and `</S>` being the marks of a sentence."""
    bilm = embedder.bilm
    # one by one, since what stands beside a word in a vocabulary says nothing of it
    forms = [embedder.normalised([word])[0] if word else word for word in words]
    order = sorted((i for i, word in enumerate(words) if word not in MARKS), key=lambda i: len(forms[i]))
    marks = [i for i, word in enumerate(words) if word in MARKS]
    found = torch.empty(len(words), embedder.width // 2)
    was_training = bilm.training
    bilm.eval()
    try:
        with torch.no_grad():
            if marks:
                found[marks] = bilm.encode(bilm.marks())[[MARKS[words[i]] for i in marks]].float()
            for rows in _blocks(order):
                found[rows] = bilm.encode(bilm.spell([forms[i] for i in rows])).float()
    finally:
        bilm.train(was_training)
    return found


def _blocks(rows: list[int]) -> Iterator[list[int]]:
    return (rows[begin : begin + _BLOCK] for begin in range(0, len(rows), _BLOCK))
