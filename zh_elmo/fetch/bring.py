"""An address to a file that lies here: there already, from a mirror, from the cache, or from the origin."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from zh_elmo.fetch.digest import Digest, beside, keep, kept, of_file
from zh_elmo.fetch.download import Absent, Unreachable, download
from zh_elmo.files import BadInput, cache_folder, writing
from zh_elmo.progress import Progress

MIRROR = "ZH_ELMO_MIRROR"
_BLOCK = 1 << 20
_LARGE = 50_000_000  # bytes; from here on copying shows progress


class Brought(NamedTuple):
    """A file, its SHA-256, and in words how it came and what it was checked against."""

    path: Path
    sha256: str
    how: str


def mirrors(given: str | None = None) -> list[str]:
    """Folders or addresses that are asked before the origin: the given one, else what ZH_ELMO_MIRROR names."""
    mirror = given or os.environ.get(MIRROR, "")
    if mirror and not is_address(mirror) and not Path(mirror).is_dir():
        raise BadInput("no such folder; a mirror is a folder or an address", path=mirror, usage=True)
    return [mirror] if mirror else []


def is_address(text: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


def relative(url: str) -> PurePosixPath:
    """Where a file lies below a mirror or in the cache: host and path; what follows `?` is part of a folder's name.

    Raises BadInput (usage) for an address that is not http, https or file, or names no file.
    """
    parts = urlsplit(url)
    if parts.scheme.lower() not in ("http", "https", "file") or not (parts.hostname or parts.scheme == "file"):
        raise BadInput("an address begins with https://, http:// or file://", path=url, usage=True)
    names = [unquote(name) for name in parts.path.split("/") if name]
    if not names or parts.path.endswith("/"):
        raise BadInput("the address names no file", path=url, usage=True)
    if any(name in (".", "..") or re.search(r"[/\\\0-\x1f]", name) for name in names):
        raise BadInput("the address holds a name that no file here can have", path=url, usage=True)
    if parts.query:
        names.insert(-1, hashlib.sha256(parts.query.encode()).hexdigest()[:8])
    return PurePosixPath(parts.netloc.rpartition("@")[2].replace(":", "_") or "local", *names)


def public(url: str) -> str:
    """The address without a user's name and password, for records."""
    return re.sub(r"(?<=://)[^/@]*@", "", url)


def in_cache(url: str) -> Path:
    return cache_folder() / "data" / relative(url)


def local(url: str, places: Sequence[str]) -> Path | None:
    """The file of an address below the first mirror folder that has it: at host/path, or by its name alone."""
    if urlsplit(url).scheme == "file":
        return Path(unquote(urlsplit(url).path))
    below = relative(url)
    tried = (Path(place) / name for place in places if not is_address(place) for name in (below, below.name))
    return next((path for path in tried if path.is_file()), None)


def bring(
    url: str,
    target: Path | None = None,
    *,
    expected: Digest | None = None,
    places: Sequence[str] = (),
    quiet: bool = False,
    record: bool = True,
) -> Brought:
    """The file of `url`: at `target`, or, where none is said, where it lies in a mirror folder, else in the cache.

    A file that is there is checked against `expected`, or against what was noted beside it when it was fetched. Looked
    for in `places` (mirrors: folders, addresses), in the cache, at the origin, in this order.
    Raises Absent, Unreachable, and BadInput for digests that do not fit.
    """
    wanted = target or in_cache(url)
    if wanted.exists():
        return _there(url, wanted, expected)
    found = local(url, places)
    if urlsplit(url).scheme == "file" and (found is None or not found.is_file()):
        raise BadInput("no such file", path=url, usage=True)
    if found is None and wanted != in_cache(url) and in_cache(url).is_file():
        found = in_cache(url)
        _there(url, found, expected)
    if found is not None:
        return _copied(url, found, target, expected, quiet=quiet, record=record)
    digests, origin = _downloaded(url, wanted, expected, places, quiet)
    if record:
        keep(beside(wanted), public(url), {wanted.name: digests["sha256"]})
    return Brought(wanted, digests["sha256"], f"fetched from {origin}{_checked(expected)}")


def content(url: str, places: Sequence[str] = ()) -> bytes:
    """A small file that is looked at and not kept, such as a list of sums. Raises Absent, Unreachable."""
    if (found := local(url, places)) is not None:
        return found.read_bytes()
    with tempfile.TemporaryDirectory(prefix="zh_elmo.") as folder:
        path = Path(folder) / "content"
        _downloaded(url, path, None, places, quiet=True)
        return path.read_bytes()


def _there(url: str, path: Path, expected: Digest | None) -> Brought:
    if not path.is_file():
        raise BadInput("a folder stands where a file is due", path=path, usage=True)
    record = kept(beside(path))
    noted = record.sha256.get(path.name) if record else None
    if expected is None and noted is None:
        raise BadInput(
            "is there, and nothing says what it should be: name another folder, move it away, or say --sha256",
            path=path, usage=True,
        )  # fmt: skip
    if expected is None and record and record.origin != public(url):
        raise BadInput(f"is there, but comes from {record.origin}: name another folder", path=path, usage=True)
    digest = expected or Digest("sha256", noted or "")
    found = of_file(path, (digest.kind,))
    digest.check(found, path, "the file has changed since, or is another one; move it away to fetch it again")
    return Brought(path, found["sha256"], f"was there{_checked(digest)}")


def _copied(
    url: str, found: Path, target: Path | None, expected: Digest | None, *, quiet: bool, record: bool
) -> Brought:
    """A file of a mirror or the cache: where it lies, or copied to `target`."""
    digests = of_file(found, (expected.kind,) if expected else ())
    if expected:
        expected.check(digests, found, "damaged or another version; put the right file in its place")
    if target is None:
        return Brought(found, digests["sha256"], f"lies there{_checked(expected)}")
    size = found.stat().st_size
    shown = Progress(f"copying {found.name}", size / 1e6, unit="MB", quiet=quiet or size < _LARGE)
    with shown as progress, open(found, "rb") as source, writing(target) as stream:
        while block := source.read(_BLOCK):
            stream.write(block)
            progress.advance(len(block) / 1e6)
    if record:
        keep(beside(target), public(url), {target.name: digests["sha256"]})
    return Brought(target, digests["sha256"], f"copied from {found}{_checked(expected)}")


def _downloaded(
    url: str, target: Path, expected: Digest | None, places: Sequence[str], quiet: bool
) -> tuple[dict[str, str], str]:
    """(digests, address that answered): mirrors that are addresses first. Where such a mirror answers, but not the
    origin, what the mirror has not is Absent."""
    below = relative(url)
    asked, answered = [], False
    for address in _addresses(places, below):
        try:
            return download(address, target, expected=expected, quiet=quiet), address
        except (Absent, Unreachable) as error:
            answered |= isinstance(error, Absent)
            asked.append(address)
    try:
        return download(url, target, expected=expected, quiet=quiet), url
    except (Absent, Unreachable) as error:
        folders = [place for place in places if not is_address(place)]
        if not (asked or folders):
            raise
        where = "; ".join([*asked, *folders])
        missing = isinstance(error, Absent) or (answered and not error.connected)
        raise (Absent if missing else Unreachable)(f"{error}; nor is it in the mirror ({where})") from None


def _addresses(places: Sequence[str], below: PurePosixPath) -> Iterator[str]:
    for place in places:
        if is_address(place):
            yield f"{place.rstrip('/')}/{below}"
            yield f"{place.rstrip('/')}/{below.name}"


def _checked(digest: Digest | None) -> str:
    return f", {digest.kind} as it should be" if digest else ""
