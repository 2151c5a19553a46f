"""Digests: as they are said, of a file, in lists of sums, and kept beside what was fetched."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from zh_elmo.files import BadInput, read_text, write_text

_BLOCK = 1 << 20
_LENGTHS = {64: "sha256", 40: "sha1", 32: "md5"}
_SUM = re.compile(r"([0-9a-fA-F]{32,128}) [ *](.+)")


class Digest(NamedTuple):
    """`kind` is sha256, sha1 or md5; `value` in lower-case hex digits."""

    kind: str
    value: str

    def check(self, found: Mapping[str, str], path: str | Path, advice: str) -> None:
        """Raise BadInput naming both digests where the file has another one."""
        if found[self.kind] != self.value:
            kind = self.kind.upper().replace("SHA", "SHA-")
            raise BadInput(f"{kind} is {found[self.kind]}, but {self.value} was expected: {advice}", path=path)


def parse(text: str) -> Digest:
    """Of hex digits, whose number tells the kind; `sha256:` may stand before them."""
    value = text.strip().rpartition(":")[2].lower()
    kind = _LENGTHS.get(len(value), "")
    if not kind or not re.fullmatch("[0-9a-f]+", value):
        raise BadInput(f"{text!r} is no digest; 64 hex digits are due for SHA-256", usage=True)
    return Digest(kind, value)


def of_file(path: Path, kinds: Iterable[str] = ()) -> dict[str, str]:
    """SHA-256 of a file, and digests of other kinds, in one reading."""
    hashes = {kind: hashlib.new(kind, usedforsecurity=False) for kind in {"sha256", *kinds}}
    with open(path, "rb") as stream:
        while block := stream.read(_BLOCK):
            for one in hashes.values():
                one.update(block)
    return {kind: one.hexdigest() for kind, one in hashes.items()}


def sums(text: str) -> dict[str, Digest]:
    """File name -> digest, of what `sha1sum` and its like print; lines of another form are passed over."""
    found = {}
    for line in text.splitlines():
        if match := _SUM.fullmatch(line.strip()):
            value, name = match.groups()
            if len(value) in _LENGTHS:
                found[name.strip()] = Digest(_LENGTHS[len(value)], value.lower())
    return found


# Kept beside what was fetched, in the form that `sha256sum -c` reads --------------------------------------------------


class Record(NamedTuple):
    """Where files came from (the first comment), and their SHA-256."""

    origin: str
    sha256: dict[str, str]


def beside(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def keep(path: Path, origin: str, digests: Mapping[str, str], *remarks: str) -> None:
    """Write a record. digests: file name -> SHA-256."""
    comments = [f"# {line}" for line in (origin, *remarks)]
    write_text(path, "\n".join([*comments, *(f"{value}  {name}" for name, value in digests.items())]) + "\n")


def kept(path: Path) -> Record | None:
    """The record at `path`; None where there is none, or nothing that can be read as one."""
    if not path.is_file():
        return None
    text = read_text(path)
    found = {name: digest.value for name, digest in sums(text).items() if digest.kind == "sha256"}
    first = text.partition("\n")[0]
    return Record(first.removeprefix("# ") if first.startswith("# ") else "", found) if found else None
