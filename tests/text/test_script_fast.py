"""The fast way to simplified text is equal to its slow twin: the library on every line, then our own words over it.

An ordinary run reads a seeded sample of the real text and 6,000 random strings; with ZH_ELMO_FULL=1 all of the text and
60,000 strings.
"""

from __future__ import annotations

import lzma
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from zh_elmo.text import script, script_library, script_tables, script_words

opencc = pytest.importorskip("opencc")
FULL = os.environ.get("ZH_ELMO_FULL") == "1"
SAMPLED = 40  # lines of each file
N_STRINGS = 60_000 if FULL else 6_000


@pytest.fixture(scope="module")
def library() -> script_library.Convert:
    convert: script_library.Convert = opencc.OpenCC("t2s").convert
    return convert


def twin(text: str, library: script_library.Convert) -> str:
    """What `simplified` promises, done in the plainest way."""
    return script_words.mend(text, library(text).translate(script_words.CHARACTERS))


def random_strings(n: int) -> Iterator[str]:
    """Phrases, pieces of phrases that may join to others, characters of the table, marks; neighbours at random."""
    known = script_library.inside(script_library.converter("t2s"))
    phrases = sorted(known.phrases if known else script_words.PHRASES)
    characters = sorted(script_tables.tables().characters)
    own = sorted(script_words.FOUND | script_words.RULED)
    draw = random.Random(8)
    makers = (
        lambda: draw.choice(phrases),
        lambda: draw.choice(phrases)[: draw.randint(1, 3)],
        lambda: draw.choice(phrases)[draw.randint(0, 2) :],
        lambda: draw.choice(characters),
        lambda: draw.choice(own),
        lambda: draw.choice("，。a 1-\n 看作書有的帳號二年者"),
        lambda: draw.choice("豈\ufa0e\U0002f800\U00020bb7\u4e00"),
    )
    for _ in range(n):
        yield "".join(draw.choice(makers)() for _ in range(draw.randint(1, 10)))


def test_random_strings_of_keys_and_pieces_of_keys(library) -> None:
    strings = list(random_strings(N_STRINGS))
    for text in strings:
        assert script_tables.by_library(text) == library(text)
        assert script_tables.simplified(text) == twin(text, library)
    whole = "\n".join(strings)  # the way by arrays
    assert script_tables.by_library(whole) == library(whole)
    assert script_tables.simplified(whole) == twin(whole, library)


def real_lines(path: Path) -> list[str]:
    with lzma.open(path, "rt", encoding="utf-8") as stream:
        lines = stream.read(-1 if FULL else 2_000_000).split("\n")
    return lines if FULL else random.Random(path.name).sample(lines, min(SAMPLED, len(lines)))


@pytest.mark.parametrize("folder", ["raw_zh_hant", "raw_zh_hans", "raw_other", "ud"])
def test_real_text(folder: str, library, real_data: Path) -> None:
    compared = 0
    for path in sorted((real_data / folder).glob("*.xz")):
        lines = real_lines(path)
        right = [library(line) for line in lines]
        assert [script_tables.by_library(line) for line in lines] == right
        assert script_tables.by_library("\n".join(lines)) == "\n".join(right)
        mended = "\n".join(
            script_words.mend(line, made.translate(script_words.CHARACTERS))
            for line, made in zip(lines, right, strict=True)
        )
        assert script_tables.simplified("\n".join(lines)) == mended
        assert "\n".join(map(script_tables.simplified, lines)) == mended
        compared += len(lines)
    assert compared > (9_000 if FULL else 100)


def test_lines_of_a_document_are_converted_as_by_themselves(real_data: Path) -> None:
    """The converter by runs of lines against `line`, which goes one by one."""
    draw = random.Random(3)
    lines = [
        line for folder in ("raw_zh_hant", "raw_zh_hans") for path in sorted((real_data / folder).glob("*.xz"))
        for line in real_lines(path)[:40]
    ]  # fmt: skip
    documents = changed = 0
    for target in ("simplified", "traditional"):
        to_target = script.converter(target)
        for _ in range(30 if target == "simplified" else 4):
            document = "\n".join(draw.sample(lines, 12))
            wanted = script.verdict(*script.count(document), target)
            by_lines = "\n".join(to_target.line(line, wanted) for line in document.split("\n"))
            assert to_target(document) == by_lines
            documents += 1
            changed += by_lines != document
    assert changed > documents * 0.9


@pytest.mark.parametrize("piece", ["乾隆", "於", "看著", "說", "甚麼", "\n", "的"])
def test_long_texts_without_a_mark_take_linear_time(piece: str) -> None:
    text = piece * (300_000 // len(piece))
    assert len(script.to_simplified(text)) == len(text)
