"""Where the text of a corpus comes from: data sets of the catalogue, files, folders, patterns, standard input."""

from __future__ import annotations

import atexit
import glob
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from zh_elmo import data
from zh_elmo.corpus import readers, remote
from zh_elmo.corpus.encoding import SAMPLE, Decided, OnUndecodable, Undecodable, check, decide, named
from zh_elmo.corpus.readers import How, Paragraph, Survey
from zh_elmo.corpus.remote import Remote
from zh_elmo.fetch.bring import is_address, public
from zh_elmo.files import COMPRESSED, BadInput, existing, open_bytes
from zh_elmo.text.script import Target

_READERS = {
    ".txt": "lines", ".jsonl": "jsonl", ".ndjson": "jsonl", ".conllu": "conllu", ".parquet": "parquet",
    ".xml": "mediawiki",
}  # fmt: skip
# What is taken from a folder: a treebank among texts is for evaluation, and taken only where it is named itself.
_IN_FOLDERS = (".txt", ".jsonl", ".ndjson", ".parquet")
_ABOUT = ("LICENSE", "LICENCE", "README", "SHA256SUMS")  # beside the text of a data set, about it
_NO_TEXT = f"no text file in the folder (looked for {', '.join((*_IN_FOLDERS, *(f'.txt{c}' for c in COMPRESSED)))})"
STDIN = "-"


class Source(NamedTuple):
    """One file of raw text."""

    name: str  # of the data set, or the path or address as given
    path: Path | Remote
    how: How
    decided: str = ""  # how the encoding was found, where it was not said
    licence: str = ""
    attribution: str = ""

    def describe(self, found: Survey | None = None) -> dict[str, Any]:
        """What the manifest says of it; the digest is of the file as it lies there. found: what is known of it."""
        known = readers.survey(self.path, self.how) if found is None else found
        facts = {
            "name": self.name, "file": self.path.name, "sha256": known.sha256, "bytes": known.bytes,
            "reader": self.how.reader, "encoding": self.how.encoding,
        }  # fmt: skip
        more = {"encoding_decided": self.decided, "licence": self.licence, "attribution": self.attribution}
        if self.how.reader in ("jsonl", "parquet"):
            more["field"] = self.how.field
        return facts | {key: value for key, value in more.items() if value}


class Asked(NamedTuple):
    """What is said of all files: encoding ("": found by looking), field of JSON lines and Parquet, script, what is done
    about bytes that do not decode."""

    encoding: str = ""
    field: str = "text"
    script: Target = "simplified"  # that is wanted in the end
    undecodable: OnUndecodable = "refuse"


def find(sources: Sequence[str | Path], asked: Asked = Asked()) -> list[Source]:  # noqa: B008  (immutable)
    """The files that names, paths, patterns (`news/*.txt.gz`), addresses (`s3://bucket/news`), data sets (`news.toml`)
    and `-` (standard input) stand for, in order; a path that exists wins over a name.

    Raises BadInput (usage) for what is none of them and for a folder without text; BadInput for a file in an encoding
    that is not found.
    """
    if asked.encoding:
        asked = asked._replace(encoding=named(asked.encoding))
        check(asked.encoding, asked.undecodable)
    found: list[Source] = []
    for source in sources:
        path = Path(source)
        if isinstance(source, str) and is_address(source):
            found += _at_address(source, asked)
        elif path.is_dir():
            found += _folder(path, asked)
        elif path.suffix == ".toml" and path.is_file():
            found += _of_dataset(data.read(path), path.parent, asked)
        elif str(source) == STDIN:
            found.append(_stdin(asked))
        elif isinstance(source, Path) or path.exists() or source not in data.catalogue():
            found += _pattern(str(source), asked) if _is_pattern(source) else [_file(source, asked)]
        else:
            found += _of_dataset(data.dataset(source), None, asked)
    if not found:
        raise BadInput("no text to build a corpus from: name files or data sets", usage=True)
    return found


def paragraphs(source: Source, passed_over: Counter[str], undecodable: Undecodable) -> Iterator[Paragraph]:
    """See `readers.paragraphs`."""
    return readers.paragraphs(source.path, source.how, passed_over, undecodable)


def _file(source: str | Path, asked: Asked, name: str = "") -> Source:
    if isinstance(source, str) and not Path(source).exists() and "/" not in source and "." not in source:
        data.dataset(source)  # looks like a name: says which names there are
    return _described(existing(source, "file, folder or data set"), asked, name or str(source))


def _at_address(url: str, asked: Asked) -> list[Source]:
    kind, files = remote.found(url)
    if kind == "folder":
        files = [file for file in files if _is_text(PurePath(file.name))]
    if not files:
        what = _NO_TEXT if kind == "folder" else "no file is called like this"
        raise BadInput(what, path=public(url), usage=True)
    return [_described(file, asked, public(url)) for file in files]


def _described(path: Path | Remote, asked: Asked, name: str) -> Source:
    reader = _reader_of(PurePath(path.name))
    said = asked.encoding or reader in ("parquet", "mediawiki")
    decided = Decided(asked.encoding, "") if said else _decide(path, asked.undecodable)
    how = How(reader, decided.name or "utf-8", asked.field, asked.script, asked.undecodable)
    return Source(name, path, how, decided.how)


def _reader_of(path: PurePath) -> str:
    """By the last part of the name that is no compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in COMPRESSED]
    return _READERS.get(suffixes[-1], "lines") if suffixes else "lines"


def _decide(path: Path | Remote, undecodable: OnUndecodable) -> Decided:
    with open_bytes(path) as stream:
        sample = stream.read(SAMPLE + 1)
    found = decide(sample[:SAMPLE], whole=len(sample) <= SAMPLE, undecodable=undecodable)
    if found is None:
        raise _in_no_encoding(path, sample)
    return found if found.name != "utf-8" else Decided("utf-8", "")


def _in_no_encoding(path: Path | Remote, sample: bytes) -> BadInput:
    message = "not UTF-8, and no text in GB18030, Big5-HKSCS, CP950 or UTF-16 either; name the encoding (--encoding)"
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        line = sample.count(b"\n", 0, error.start) + 1
        return BadInput(message, path=path, line=line, byte=error.start)
    return BadInput(message, path=path)


def _folder(folder: Path, asked: Asked) -> list[Source]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and _is_text(path))
    if not files:
        raise BadInput(_NO_TEXT, path=folder, usage=True)
    return [_file(path, asked, str(folder)) for path in files]


def _is_text(path: PurePath) -> bool:
    if path.name.startswith(_ABOUT):
        return False
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSED else ""
    return bool(suffixes) and suffixes[-1] in _IN_FOLDERS and not (last and suffixes[-1] == ".parquet")


def _is_pattern(source: str | Path) -> bool:
    return isinstance(source, str) and glob.has_magic(source) and not Path(source).exists()


def _pattern(pattern: str, asked: Asked) -> list[Source]:
    files = sorted(path for path in map(Path, glob.glob(pattern, recursive=True)) if path.is_file())
    if not files:
        raise BadInput("no file is called like this", path=pattern, usage=True)
    return [_file(path, asked, pattern) for path in files]


def _stdin(asked: Asked) -> Source:
    """Standard input, put into a file first: it is read more than once."""
    folder = Path(tempfile.mkdtemp(prefix="zh_elmo."))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "stdin.txt"
    with open(path, "wb") as stream:
        while block := sys.stdin.buffer.read(1 << 20):
            stream.write(block)
    return _file(path, asked, "standard input")


def _of_dataset(about: data.Dataset, folder: Path | None, asked: Asked) -> list[Source]:
    """The files of a data set; folder: that of its TOML, where they are looked for first."""
    if about.kind != "text":
        raise BadInput(
            f"{about.name} is a treebank, not raw text; give its files by path if you want its sentences", usage=True
        )
    return [
        Source(
            about.name,
            data.bring(about, file, beside=folder),
            How(about.reader, undecodable=asked.undecodable),
            "",
            *about.licence_of(file),
        )
        for file in about.files
    ]
