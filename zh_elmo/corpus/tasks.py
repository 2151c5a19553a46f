"""Sources to tasks: what a worker is handed at once, numbered in a way that depends on the sources alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from zh_elmo.corpus import sources as text_sources
from zh_elmo.corpus.cut import Task
from zh_elmo.corpus.encoding import Undecodable
from zh_elmo.corpus.readers import Aside
from zh_elmo.corpus.sources import Source

TASK = 100_000  # characters of a task, or a little more: it ends with a document, if that ends soon enough
_PATIENCE = 4  # TASKs after which it ends all the same
GROUP = 8 << 20  # bytes, as stored, of small files that are read one after the other by one reader

Key = tuple[int, int]  # number of a group, number of a task in it


class Group(NamedTuple):
    """Sources that one reader reads: one big file, or small ones together."""

    number: int
    sources: list[Source]


class Read(NamedTuple):
    """What is known of a group when all of it is read."""

    tasks: int
    read: int  # characters
    asides: list[Aside]  # of each source

    def plain(self) -> Any:
        """As JSON; `restored` takes it back."""
        asides = [[dict(aside.passed_over), vars(aside.undecodable)] for aside in self.asides]
        return [self.tasks, self.read, asides]

    @classmethod
    def restored(cls, value: Any) -> Read:
        tasks, read, asides = value
        return cls(tasks, read, [Aside(Counter(counts), Undecodable(**damaged)) for counts, damaged in asides])


def groups(found: Sequence[Source], sizes: Sequence[int]) -> list[Group]:
    """Sources in order, parted by their sizes in bytes."""
    parted: list[Group] = []
    members: list[Source] = []
    total = 0
    for source, size in zip(found, sizes, strict=True):
        if members and total + size > GROUP:
            parted.append(Group(len(parted), members))
            members, total = [], 0
        members.append(source)
        total += size
    return [*parted, Group(len(parted), members)] if members else parted


def tasks(group: Group, asides: Sequence[Aside]) -> Iterator[Task]:
    """The paragraphs of a group, at least one task; each source ends a document. asides: filled with what each source
    has besides, such as the redirects of a dump."""
    paragraphs: list[str] = []
    characters = read = 0
    for source, aside in zip(group.sources, asides, strict=True):
        for paragraph, length in text_sources.paragraphs(source, *aside):
            paragraphs.append(paragraph)
            characters += len(paragraph)
            read += length
            if read >= TASK and (not paragraph or read >= _PATIENCE * TASK):
                yield Task(paragraphs, characters, read)
                paragraphs, characters, read = [], 0, 0
        paragraphs.append("")
    yield Task(paragraphs, characters, read)


def reading(group: Group) -> Iterator[Task | Read]:
    """The tasks of a group, and what is known of it in the end."""
    asides = [Aside(Counter(), Undecodable()) for _ in group.sources]
    number = read = 0
    for task in tasks(group, asides):
        number, read = number + 1, read + task.read
        yield task
    yield Read(number, read, asides)
