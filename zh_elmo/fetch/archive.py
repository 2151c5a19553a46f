"""One treebank out of a release of all treebanks (ud-treebanks-vN.M.tgz), without unpacking the others."""

from __future__ import annotations

import gzip
import lzma
import re
import shutil
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO, Any

from zh_elmo.files import BadInput, writing
from zh_elmo.progress import Progress

_BLOCK = 1 << 20
_WANTED = re.compile(r"[\w.-]+\.conllu|README(\.\w+)?|LICENSE(\.\w+)?")
_NAME = re.compile(r"ud-treebanks-v(\d+\.\d+)\.(tgz|tar\.gz|tar\.xz|tar)")


def release_of(name: str) -> str:
    """ "2.14" of ud-treebanks-v2.14.tgz; empty where the name says nothing."""
    match = _NAME.fullmatch(PurePosixPath(name).name)
    return match[1] if match else ""


def releases_in(folder: Path) -> dict[str, Path]:
    """Release -> archive of those that lie in a folder."""
    return {release: path for path in sorted(folder.glob("ud-treebanks-v*")) if (release := release_of(path.name))}


def extract(archive: Path, treebank: str, target: Path, *, quiet: bool = False) -> list[str]:
    """Write the CoNLL-U files, README and licence of a treebank into `target`; their names.

    Only plain files whose folder in the archive is called `treebank` are taken, by name alone, so that nothing of the
    archive can be written elsewhere. It is read to its end, where the checksum is. Raises BadInput where it has no such
    treebank or is damaged.
    """
    size = archive.stat().st_size
    shown = Progress(f"looking for {treebank}", size / 1e6, unit="MB", quiet=quiet or size < 50_000_000)
    try:
        with open(archive, "rb") as raw, shown as progress, _unpacked(raw) as stream:
            found = _taken(stream, treebank, target, lambda: progress.advance(raw.tell() / 1e6 - progress.done))
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise BadInput(f"damaged or truncated archive ({error})", path=archive) from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise BadInput(f"damaged or truncated archive ({error})", path=archive) from None  # as gzip says it
    if not any(name.endswith(".conllu") for name in found):
        raise BadInput(f"holds no treebank {treebank}", path=archive)
    return found


def _unpacked(raw: IO[bytes]) -> Any:
    """Its tar, by how it begins."""
    start = raw.read(6)
    raw.seek(0)
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=raw)
    return lzma.open(raw) if start == b"\xfd7zXZ\0" else raw


def _taken(stream: IO[bytes], treebank: str, target: Path, tell: Callable[[], None]) -> list[str]:
    found: list[str] = []
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            tell()
            folder, name = PurePosixPath(member.name).parts[-2:-1], PurePosixPath(member.name).name
            if folder != (treebank,) or not member.isfile() or not _WANTED.fullmatch(name) or name in found:
                continue
            source = tar.extractfile(member)
            assert source is not None  # it is a plain file
            with source, writing(target / name) as copy:
                shutil.copyfileobj(source, copy, _BLOCK)
            found.append(name)
    while stream.read(_BLOCK):  # tarfile takes what it cannot read for the end
        tell()
    return found
