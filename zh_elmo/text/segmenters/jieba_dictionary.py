"""Dictionaries of jieba: its table of prefixes kept in our cache, and the user's words, each honoured or refused."""

from __future__ import annotations

import marshal
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from zh_elmo.files import BadInput, lines, writing
from zh_elmo.text.segmenters.pieces import LONGEST_WORD

Table = tuple[dict[str, int], int]  # frequency of words, 0 for what only begins one; their sum

_LARGEST = 10**9  # a frequency beyond it is a slip, and sums must stay in 64 bits
_LINE = re.compile(r"(?P<word>.+?)(?:\s+(?P<frequency>[0-9]{1,15}))?(?:\s+(?P<tag>[A-Za-z]{1,5}))?")
_OUTSIDE = re.compile(r"[^\u4e00-\u9fd5a-zA-Z0-9+#&._%-]")  # of jieba.re_han_default: always a word of its own


@dataclass(frozen=True)
class Dictionary:
    """A file of lines `word frequency tag`; the same bytes are the same dictionary, wherever they lie."""

    path: Path = field(compare=False)
    digest: str


class Entry(NamedTuple):
    """A line of a user's dictionary, its word as normalised."""

    word: str
    frequency: int | None  # None: as much as makes it a word
    tag: str
    line: int


def words_of(path: Path) -> Iterator[tuple[str, int, str]]:
    """(word, frequency, tag) of each line of a dictionary; raises BadInput naming the line that is none."""
    for number, line in lines(path):
        word, _, rest = line.strip().partition(" ")
        frequency, _, tag = rest.partition(" ")
        if not word:
            continue
        if not (frequency.isascii() and frequency.isdecimal() and len(frequency) <= 10 and int(frequency) <= _LARGEST):
            raise BadInput("a line of jieba's dictionary is due: word frequency tag", path=path, line=number)
        yield word, int(frequency), tag


# jieba's table -------------------------------------------------------------------------------------------------------


def table(dictionary: Dictionary, folder: Path, version: str) -> Table:
    """What `jieba.Tokenizer.gen_pfdict` makes of a dictionary, from the cache in `folder` if it can.

    jieba's own cache lies in the shared temporary folder under a fixed name: a second user cannot read it, and what
    lies there is loaded whoever wrote it (fxsjy/jieba #26, #903).
    """
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
    kept = folder / f"{version}-{dictionary.digest[:16]}.marshal"
    found: Table | None = load_private(kept)
    if found is None:
        found = _with_prefixes(dictionary.path)
        with suppress(OSError):  # a cache that cannot be written costs a second, no more
            with writing(kept) as stream:
                marshal.dump(found, stream)
            kept.chmod(0o600)
    return found


def _with_prefixes(path: Path) -> Table:
    frequencies: dict[str, int] = {}
    total = 0
    for word, frequency, _ in words_of(path):
        total += frequency  # of every line, as jieba counts, though a word stands there twice
        frequencies[word] = frequency
        for end in range(1, len(word)):
            frequencies.setdefault(word[:end], 0)
    if not total:
        raise BadInput("no word in this dictionary; lines of word frequency tag are due", path=path)
    return frequencies, total


def load_private(path: Path) -> Any:
    """What `path` holds if nobody else can have written it; marshal must not be fed by others."""
    try:
        with open(path, "rb") as stream:
            facts = os.fstat(stream.fileno())
            if facts.st_uid != os.getuid() or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return None
            return marshal.load(stream)
    except (OSError, EOFError, ValueError, TypeError):
        return None


# The user's words ----------------------------------------------------------------------------------------------------


def user_words(path: Path, prepare: Callable[[str], str]) -> tuple[Entry, ...]:
    """The entries of a user's dictionary, one a line: word [frequency] [tag]; `prepare` does to a word what is done to
    text before it is cut.

    They come in the order in which they are to be added: those with a frequency as they stand in the file, then the
    others from short to long, so that the frequency of a longer one takes its parts into account. Raises BadInput
    naming the line that cannot take effect.
    """
    found: dict[str, Entry] = {}
    for number, line in lines(path):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line.strip())
        assert match  # a word is at least one character
        entry = Entry(prepare(match["word"]), int(match["frequency"] or 0) or None, match["tag"] or "", number)
        if fault := _fault(entry.word, match) or _repeated(entry, found.get(entry.word)):
            raise BadInput(f"the entry {line.strip()!r} {fault}", path=path, line=number)
        found.setdefault(entry.word, entry)
    return tuple(sorted(found.values(), key=lambda one: (one.frequency is None, len(one.word) * (not one.frequency))))


def count_words(path: Path) -> int:
    """How many words a user's dictionary has."""
    matches = (_LINE.fullmatch(line.strip()) for _, line in lines(path))
    return len({match["word"] for match in matches if match})


def _fault(word: str, match: re.Match[str]) -> str:
    """Why an entry cannot take effect; empty where it can, as far as its characters go."""
    given = match["frequency"]
    if given is not None and not 1 <= int(given) <= _LARGEST:
        return f"has the frequency {given}; 1 to {_LARGEST:,} is due, or none"
    if match["tag"] and given is None and match["word"].isascii():
        return f"may mean a word with a blank or the tag {match['tag']}; write a frequency between them"
    if not word:
        return "is nothing but invisible characters"
    if len(word) > LONGEST_WORD:
        return f"is longer than {LONGEST_WORD} characters, the longest that a word can be"
    if re.search(r"\s", word):
        return (
            "has white space inside the word, where every word ends; after it a frequency (a whole number) and a tag "
            "(one to five letters) may stand"
        )
    if outside := _OUTSIDE.search(word):
        return (
            f"holds {outside.group()!r}, which jieba makes a word of its own: "
            "it knows U+4E00 to U+9FD5, ASCII letters, digits and + # & . _ % -"
        )
    return ""


def _repeated(entry: Entry, earlier: Entry | None) -> str:
    if earlier is None or earlier.frequency == entry.frequency:
        return ""
    return f"stands in line {earlier.line} already, with another frequency"
