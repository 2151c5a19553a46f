"""Vectors as ELMoForManyLangs' text: a line for each word, `word TAB v1 TAB v2 ...`, and a blank line after each
sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from zh_elmo.files import BadInput, writing

TEXT = ".txt"
_SURROGATE = re.compile("[\ud800-\udfff]")


@contextmanager
def writing_text(out: str | Path) -> Iterator[TextWriter]:
    """A writer whose file becomes `out` when the block ends well: `file.add(words, vectors)`."""
    with writing(out) as stream:
        yield TextWriter(stream, Path(out))


class TextWriter:
    """A text file of vectors that is being written. `writing_text` makes one."""

    def __init__(self, stream: IO[bytes], out: Path) -> None:
        self._stream, self.out = stream, out

    def add(self, words: Sequence[str], vectors: NDArray[Any]) -> None:
        """The next sentence: its words, and their vectors [n_words, width], written with 8 decimals. A sentence without
        words is its blank line alone; half a surrogate pair, which no UTF-8 file can hold, becomes U+FFFD.

        Raises BadInput for another shape, and for a word with a TAB or the end of a line in it.
        """
        if vectors.ndim != 2 or len(vectors) != len(words):
            raise BadInput(f"vectors of shape ({len(words)}, width) are due, not {vectors.shape}", path=self.out)
        for word, vector in zip(words, vectors.tolist(), strict=True):
            if any(c in word for c in "\t\n\r"):
                message = f"the word {word[:40]!r} holds a TAB or the end of a line; write HDF5 (.h5) or a store"
                raise BadInput(message, path=self.out)
            line = "\t".join([word, *(f"{number:.8f}" for number in vector)]) + "\n"
            self._stream.write(_SURROGATE.sub("\ufffd", line).encode())
        self._stream.write(b"\n")
