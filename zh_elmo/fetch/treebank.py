"""A UD treebank by its name, from its official release: the repository at the release's tag, or the archive of all."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from zh_elmo.fetch import archive as archives
from zh_elmo.fetch.bring import bring, content, is_address
from zh_elmo.fetch.digest import Digest, beside, keep, kept, of_file
from zh_elmo.fetch.download import Absent, Unreachable
from zh_elmo.fetch.languages import CODES
from zh_elmo.files import BadInput, cache_folder, sync_folder, writing

_NAME = re.compile(r"UD_([A-Z][A-Za-z_]*)-([A-Za-z0-9]+)(?:@[rv]?(\d+\.\d+))?")
_RAW = "raw.githubusercontent.com/UniversalDependencies"
_TAGS = "https://api.github.com/repos/UniversalDependencies/{}/tags?per_page=100"
_SPLITS = ("train", "dev", "test")
_ABOUT = (("LICENSE.txt",), ("README.md", "README.txt"))  # the first one of each that is there
_LIST = "SHA256SUMS"


class Treebank(NamedTuple):
    """The files of a treebank in the order train, dev, test, and what its README says."""

    name: str
    release: str
    files: list[Path]  # CoNLL-U
    digests: dict[str, str]  # file name -> SHA-256
    licence: str
    contributors: str
    how: str


def is_treebank(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def get(
    asked: str,
    out: Path | None = None,
    *,
    release: str = "",
    archive: str = "",
    places: Sequence[str] = (),
    quiet: bool = False,
) -> Treebank:
    """Bring `UD_Chinese-GSD` or `UD_Chinese-GSD@2.14` into out/UD_Chinese-GSD, or into the cache.

    Taken from `archive` (a release of all treebanks: path or address), else from a mirror folder (such an archive, or
    the treebank's files), else from the repository at the tag of the release; not said: the newest one. All files or
    none appear, with a list of their digests, by which a later call checks them without asking anyone.
    """
    name, release = _parsed(asked, release, archive)
    known = _there(out / name, name, release) if out else None
    if known:
        return known
    folders = [Path(place) for place in places if not is_address(place)]
    release = release or _newest(name, folders, places)
    target = (out or cache_folder() / "data" / "ud" / f"r{release}") / name
    if known := _there(target, name, release):
        return known
    staged = target.with_name(f".{name}-r{release}.part")  # stays when interrupted, so that the next call goes on
    _clear(staged)
    staged.mkdir(parents=True, exist_ok=True)
    try:
        how = _gather(name, release, staged, archive, folders, places, quiet)
    except BaseException:
        _clear(staged)
        raise
    return _finished(name, release, staged, target, how)


def _parsed(asked: str, release: str, archive: str) -> tuple[str, str]:
    match = _NAME.fullmatch(asked)
    if not match:
        raise BadInput("a treebank is called like UD_Chinese-GSD or UD_Chinese-GSD@2.14", path=asked, usage=True)
    wanted = {said.lstrip("rv") for said in (match[3] or "", release, archives.release_of(archive)) if said}
    if len(wanted) > 1:
        raise BadInput(f"one release at a time: {' or '.join(sorted(wanted))}", path=asked, usage=True)
    found = wanted.pop() if wanted else ""
    if found and not re.fullmatch(r"\d+\.\d+", found):
        raise BadInput("a release is called like 2.14", path=found, usage=True)
    if archive and not found:
        raise BadInput("say which release this archive is: --release 2.14", path=archive, usage=True)
    return asked.partition("@")[0], found


def _clear(staged: Path) -> None:
    """Leave of a folder that is not whole what a download can go on with, and nothing if there is nothing."""
    for path in staged.glob("*"):
        if path.suffix != ".sha256" and ".part" not in path.suffixes and not beside(path).is_file():
            path.unlink()
    with suppress(OSError):
        staged.rmdir()


def _url(name: str, release: str, file: str) -> str:
    return f"https://{_RAW}/{name}/r{release}/{file}"


def _newest(name: str, folders: Sequence[Path], places: Sequence[str]) -> str:
    """The newest release of a treebank: in a mirror folder if one has any, else by the tags of the repository."""
    here = {release for folder in folders for release in _releases(folder, name)}
    if not here:
        with suppress(Absent, Unreachable, ValueError, TypeError, KeyError):
            tags = json.loads(content(_TAGS.format(name), places))
            here = {tag["name"][1:] for tag in tags if re.fullmatch(r"r\d+\.\d+", tag["name"])}
    if not here:
        raise BadInput(f"its newest release cannot be found out; name one: {name}@2.14", path=name, usage=True)
    return max(here, key=lambda release: tuple(map(int, release.split("."))))


def _releases(folder: Path, name: str) -> Iterator[str]:
    yield from archives.releases_in(folder)
    for path in (folder / _RAW / name).glob("r*"):
        if re.fullmatch(r"r\d+\.\d+", path.name) and path.is_dir():
            yield path.name[1:]


# Its files ----------------------------------------------------------------------------------------------------------


def _gather(
    name: str, release: str, staged: Path, archive: str, folders: list[Path], places: Sequence[str], quiet: bool
) -> str:
    """Put the files of a treebank into `staged`; where they came from."""
    if archive:
        path = bring(archive, places=places, quiet=quiet).path if is_address(archive) else Path(archive)
        if not path.is_file():
            raise BadInput("no such archive", path=path, usage=True)
        archives.extract(path, name, staged, quiet=quiet)
        return f"taken out of {archive}"
    for folder in folders:
        if files := list(_lying(folder, name, release)):
            for file in files:
                _copy(file, staged / file.name)
            return f"copied from {files[0].parent}"
        if whole := archives.releases_in(folder).get(release):
            archives.extract(whole, name, staged, quiet=quiet)
            return f"taken out of {whole}"
    _from_repository(name, release, staged, places, quiet)
    return f"fetched from {_url(name, release, '')}"


def _lying(folder: Path, name: str, release: str) -> Iterator[Path]:
    """The files of a treebank that lie in a mirror folder: as at the origin, in a folder of its name, or loose."""
    for place in (folder / _RAW / name / f"r{release}", folder / name, folder):
        loose = place == folder
        prefix = f"{_code(name)}-ud-" if loose else ""
        texts = sorted(place.glob(f"{prefix}*.conllu")) if place.is_dir() else []
        if texts:
            yield from texts
            for names in () if loose else _ABOUT:  # those of a whole mirror are not about this treebank
                yield from [path for path in (place / file for file in names) if path.is_file()][:1]
            return


def _copy(source: Path, target: Path) -> None:
    with open(source, "rb") as stream, writing(target) as copied:
        shutil.copyfileobj(stream, copied)


def _code(name: str) -> str:
    """zh_gsd of UD_Chinese-GSD."""
    match = _NAME.fullmatch(name)
    assert match is not None
    if match[1] not in CODES:
        raise BadInput(
            f"how the files of the language {match[1]} are called is not known here; take the treebank out of a "
            "release of all (--archive ud-treebanks-v2.14.tgz)",
            path=name, usage=True,
        )  # fmt: skip
    return f"{CODES[match[1]]}_{match[2].lower()}"


def _from_repository(name: str, release: str, staged: Path, places: Sequence[str], quiet: bool) -> None:
    """By the addresses of the files; its stats.xml says which splits it has."""
    code, sizes = _code(name), _sizes(name, release, places)
    found = False
    for split in _SPLITS:
        if sizes.get(split, 0 if sizes else None) == 0:
            continue
        file = f"{code}-ud-{split}.conllu"
        try:
            bring(_url(name, release, file), staged / file, places=places, quiet=quiet)
            found = True
        except Absent as error:
            if split in sizes:
                raise BadInput(
                    f"has {sizes[split]:,} sentences in {split}, but no file {file}: it is kept in several files "
                    f"there; take the treebank out of a release of all (--archive ud-treebanks-v{release}.tgz)",
                    path=f"{name}@{release}",
                ) from error
    if not found:
        raise Absent(f"there is no such treebank in release {release}, or it has no text", path=_url(name, release, ""))
    for names in _ABOUT:
        for file in names:
            with suppress(Absent):
                bring(_url(name, release, file), staged / file, places=places, quiet=True)
                break


def _sizes(name: str, release: str, places: Sequence[str]) -> dict[str, int]:
    """Sentences of each split; empty where nothing says so."""
    try:
        text = content(_url(name, release, "stats.xml"), places).decode("utf-8", "replace")
    except Absent:
        return {}
    pairs = re.findall(r"<(train|dev|test)>\s*<sentences>(\d+)<", text)
    return {split: int(number) for split, number in pairs}


# Whole --------------------------------------------------------------------------------------------------------------


def _finished(name: str, release: str, staged: Path, target: Path, how: str) -> Treebank:
    """Rename what is staged, with a list of digests in it."""
    for left in (*staged.glob("*.sha256"), *staged.glob("*.part"), *staged.glob("*.part.json")):
        left.unlink()
    licence, contributors = _said(staged)
    digests = {path.name: of_file(path)["sha256"] for path in sorted(staged.iterdir()) if path.name != _LIST}
    remarks = (f"licence: {licence}", f"contributors: {contributors}", how)
    keep(staged / _LIST, f"{name} r{release}", digests, *remarks)
    if target.is_dir() and not any(target.iterdir()):
        target.rmdir()
    if target.exists():
        raise _in_the_way(target)
    os.replace(staged, target)
    sync_folder(target.parent)
    return Treebank(name, release, _ordered(target, digests), digests, licence, contributors, how)


def _in_the_way(target: Path) -> BadInput:
    return BadInput("is there already, and not as this command leaves it; move it away", path=target, usage=True)


def _there(target: Path, name: str, release: str) -> Treebank | None:
    """The treebank that an earlier call brought, each file checked; any release where none is said."""
    record = kept(target / _LIST)
    if record is None:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise _in_the_way(target)
        return None
    said = record.origin.removeprefix(f"{name} r")
    if release and record.origin != f"{name} r{release}":
        raise BadInput(f"holds {record.origin}; name another folder", path=target, usage=True)
    for file, value in record.sha256.items():
        path = target / file
        if not path.is_file():
            raise BadInput("is missing; move the folder away to fetch the treebank again", path=path)
        Digest("sha256", value).check(of_file(path), path, "it was changed; move the folder away to fetch it again")
    licence, contributors = _said(target)
    files = _ordered(target, record.sha256)
    return Treebank(name, said, files, dict(record.sha256), licence, contributors, "was there, sha256 as it should be")


def _ordered(folder: Path, names: dict[str, str]) -> list[Path]:
    """The CoNLL-U files: train, dev, test."""

    def key(name: str) -> tuple[int, str]:
        return next((n for n, split in enumerate(_SPLITS) if f"-ud-{split}" in name), len(_SPLITS)), name

    return [folder / name for name in sorted(names, key=key) if name.endswith(".conllu")]


def _said(folder: Path) -> tuple[str, str]:
    """(licence, contributors) that the README names."""
    for path in sorted(folder.glob("README*")):
        text = path.read_bytes().decode("utf-8", "replace")
        found = dict(re.findall(r"^(License|Contributors):[ \t]*(.*\S)", text, re.MULTILINE))
        if "License" in found:
            return found["License"], found.get("Contributors", "see its README")
    return ("see LICENSE.txt" if (folder / "LICENSE.txt").is_file() else "not stated"), "see its repository"
