"""Training a model of spacy-pkuseg from words; to be run in a process of its own, where its state may stay."""

from __future__ import annotations

import random
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO, TextIOBase
from pathlib import Path

from zh_elmo.files import BadInput, write_text
from zh_elmo.text.segmenters.pkuseg import FEATURES, WEIGHTS

LEAST = 20  # sentences; the library divides by a tenth of them

_SCORE = re.compile(r"^iter(\d+) .*f-score=([\d.]+)%")  # what it prints of each iteration


def write_words(path: Path, sentences: Iterable[Sequence[str]]) -> int:
    """The file that it reads: a sentence a line, a space between words. Returns the number of sentences.

    White space inside a word parts it, as it does when the model cuts text.
    """
    rows = [" ".join(part for word in words for part in word.split()) for words in sentences]
    rows = [row for row in rows if row]
    write_text(path, "".join(f"{row}\n" for row in rows))
    return len(rows)


def train(training: str, held_out: str, folder: str, iterations: int, seed: int) -> list[float]:
    """Train on the file `training` and write the model into `folder`; gives the word F1 on the file `held_out` after
    each iteration, on the raw output of the model.

    One line on standard output says how each iteration went; what the library prints goes nowhere. Its scratch files,
    some hundred megabytes, are made in `folder` and removed. The state that it keeps in its module stays behind:
    run this in a process of its own. Raises BadInput for fewer than LEAST sentences.
    """
    with open(training, "rb") as stream:
        count = sum(1 for _ in stream)
    if count < LEAST:
        raise BadInput(f"{count} sentences to train a segmenter on; {LEAST} are the least")
    target = Path(folder)
    scratch = target / "scratch"
    scratch.mkdir(parents=True)
    told = _Told(iterations, sys.stdout.write)
    before, tempfile.tempdir = tempfile.tempdir, str(scratch)
    random.seed(seed)  # of the order of sentences
    try:
        with warnings.catch_warnings(), redirect_stdout(told), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            import spacy_pkuseg

            spacy_pkuseg.train(training, held_out, folder, train_iter=iterations)
    finally:
        tempfile.tempdir = before
        shutil.rmtree(scratch, ignore_errors=True)
    missing = [name for name in (FEATURES, WEIGHTS) if not (target / name).is_file()]
    if missing:
        raise BadInput(f"spacy-pkuseg trained and wrote no {missing[0]}; version 1.0.1 or newer is needed")
    return told.scores


class _Told(TextIOBase):
    """Takes what the library prints; hands on the score of each iteration."""

    def __init__(self, iterations: int, say: Callable[[str], object]) -> None:
        self.iterations, self.say, self.rest = iterations, say, ""
        self.scores: list[float] = []

    def write(self, text: str) -> int:
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            if match := _SCORE.match(line):
                self.scores.append(float(match[2]))
                done = len(self.scores)
                share = 100 * done // self.iterations
                self.say(f"iteration {done} of {self.iterations} ({share} %), word F1 {match[2]} on held-out text\n")
        return len(text)
