"""Object stores and other places with an address (`s3://bucket/folder`), through fsspec: text streamed from there, a
finished corpus brought there."""

from __future__ import annotations

import glob
import hashlib
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

from zh_elmo.fetch.bring import is_address, public
from zh_elmo.files import BadInput, Elsewhere, read_json
from zh_elmo.progress import Progress

_BLOCK = 1 << 20
_PACKAGES = {
    "s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "http": "aiohttp", "https": "aiohttp",
    "abfs": "adlfs", "az": "adlfs", "oss": "ossfs", "sftp": "paramiko", "hdfs": "pyarrow",
}  # fmt: skip
_WITH_FOLDERS = (
    "file",
    "local",
    "memory",
    "sftp",
    "ssh",
    "smb",
    "hdfs",
    "ftp",
)  # that must be made before they are filled
_MANIFEST = "manifest.json"
_BEGUN = "manifest.json.part"  # stands at an address while a corpus is brought there, and names its files
_TRIAL = ".zh_elmo.trial"
Kind = Literal["file", "folder", "pattern"]


class Remote(Elsewhere):
    """A file at an address. Pickled as the address, with the settings that fsspec has for its protocol here."""

    def __init__(self, url: str, options: dict[str, Any] | None = None) -> None:
        self.url = url
        self.options = _settings_of(url) if options is None else options
        path = url.partition("?")[0] if _is_web(url) else url
        self.name = path.rstrip("/").rpartition("/")[2]

    def __fspath__(self) -> str:
        return public(self.url)

    def __repr__(self) -> str:
        return f"Remote({public(self.url)!r})"  # its options may hold a password

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remote) and self.url == other.url

    def __hash__(self) -> int:
        return hash(self.url)

    def stream(self) -> IO[bytes]:
        with asking(self.url):
            store, path = _store(self.url, self.options)
            return io.BufferedReader(_Stream(self.url, store.open(path, "rb")), _BLOCK)


class _Stream(io.RawIOBase):
    """A file in a store, read in ranges or as it comes; what the store says on the way is BadInput."""

    def __init__(self, url: str, file: Any) -> None:
        self._url, self._file = url, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def readinto(self, buffer: Any) -> int:
        with asking(self._url):
            block = self._file.read(len(buffer))
            if not block and len(buffer):
                self._check_end()
        buffer[: len(block)] = block
        return len(block)

    def _check_end(self) -> None:
        """A store that gives less than it said must not pass for the end of the file."""
        size = getattr(self._file, "size", None)
        if isinstance(size, int) and self._file.seekable() and (place := self._file.tell()) < size:
            raise BadInput(f"the store gave {place:,} of {size:,} bytes; run the same command again", path=self._shown)

    @property
    def _shown(self) -> str:
        return public(self._url)

    def seek(self, place: int, whence: int = 0) -> int:
        with asking(self._url):
            return int(self._file.seek(place, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def found(url: str) -> tuple[Kind, list[Remote]]:
    """What an address stands for: a file, all files in a folder and the folders in it, the files that a pattern fits;
    in the order in which a local folder would have them.

    Raises BadInput (usage) where there is nothing, and for a protocol that is unknown or needs a package.
    """
    with asking(url):
        options = _settings_of(url)
        store, path = _store(url, options)
        store.invalidate_cache()  # it may have changed since an earlier build of this process
        try:
            kind: Kind = "folder" if url.endswith("/") or store.info(path)["type"] == "directory" else "file"
        except FileNotFoundError:
            if not glob.has_magic(url.replace("?", "") if _is_web(url) else url):
                raise
            kind = "pattern"
        if kind == "file":
            return kind, [Remote(url, options)]
        names = store.find(path) if kind == "folder" else [n for n in store.glob(path) if store.isfile(n)]
        files = sorted((name for name in names if not name.endswith("/")), key=lambda name: name.split("/"))
        return kind, [Remote(_address(url, name), options) for name in files]


@contextmanager
def asking(url: str) -> Iterator[None]:
    """Turn whatever a store says into one line that names the address."""
    shown = public(url)
    try:
        yield
    except BadInput:
        raise
    except FileNotFoundError:
        raise BadInput("no such file or folder there", path=shown, usage=True) from None
    except PermissionError as error:
        said = f" ({public(str(error))})" if str(error) else ""
        message = f"access denied{said}; see how fsspec takes the credentials of this store"
        raise BadInput(message, path=shown) from None
    except NotImplementedError:
        raise BadInput("this kind of store cannot do that, such as being written to", path=shown, usage=True) from None
    except Exception as error:  # every store has errors of its own
        said = f"{type(error).__name__}: {public(str(error))}".removesuffix(": ")
        raise BadInput(f"the store failed ({said}); run the same command again to go on", path=shown) from None


def _store(url: str, options: dict[str, Any]) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    protocol = _protocol(url)
    kind = _kind(protocol, public(url))
    return kind(**{**kind._get_kwargs_from_urls(url), **options}), kind._strip_protocol(url)


def _kind(protocol: str, shown: str) -> Any:
    from fsspec.registry import available_protocols, get_filesystem_class

    if protocol not in available_protocols():
        message = f"{protocol}:// is no protocol that fsspec knows (such as s3, gs, abfs, https, sftp, file)"
        raise BadInput(message, path=shown, usage=True)
    try:
        return get_filesystem_class(protocol)
    except ImportError as error:
        package = _PACKAGES.get(protocol)
        advice = f"pip install {package}" if package else str(error)
        raise BadInput(
            f"{protocol}:// needs a package that is not installed: {advice}", path=shown, usage=True
        ) from None


def _settings_of(url: str) -> dict[str, Any]:
    """What the configuration of fsspec (its files, FSSPEC_...) says of the protocol; a worker elsewhere has none."""
    try:
        from fsspec.config import conf
    except ImportError:
        message = "an address needs the package fsspec: pip install 'zh-elmo[remote]'"
        raise BadInput(message, path=public(url), usage=True) from None
    return dict(conf.get(_protocol(url), {}))


def _protocol(url: str) -> str:
    return url.partition("://")[0].lower()


def _is_web(url: str) -> bool:
    return _protocol(url) in ("http", "https")


def _address(url: str, path: str) -> str:
    """That of a path in the store of `url`."""
    return path if is_address(path) else f"{url.partition('://')[0]}://{path}"


# A corpus at an address ----------------------------------------------------------------------------------------------


@contextmanager
def target(out: str, *, quiet: bool = False) -> Iterator[Path]:
    """The local folder to build a corpus in: `out`, or where `out` is an address a working folder, which is published
    there when the block ends well and removed then.

    Raises BadInput before the block where the address cannot be written to or holds something else.
    """
    if not is_address(out):
        yield Path(out)
        return
    check(out)
    folder = working_folder(out)
    yield folder
    try:
        publish(folder, out, quiet=quiet)
    except BadInput as error:
        call = f"from zh_elmo.corpus.remote import publish; publish({str(folder)!r}, {public(out)!r})"
        raise BadInput(f'{error}; the corpus is whole in {folder}, and python -c "{call}" brings it there') from None
    shutil.rmtree(folder.parent, ignore_errors=True)


def working_folder(url: str) -> Path:
    """Where a corpus for an address is built: below the folder for temporary files (TMPDIR), the same for the same
    address, so that an interrupted build can go on. Raises BadInput (usage) where it is another user's."""
    folder = Path(tempfile.gettempdir()) / f"zh_elmo-{hashlib.sha256(url.rstrip('/').encode()).hexdigest()[:16]}"
    folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    facts = folder.lstat()
    if folder.is_symlink() or facts.st_uid != os.getuid() or facts.st_mode & 0o022:
        raise BadInput("not a folder of yours alone; name another place by TMPDIR", path=folder, usage=True)
    name = re.sub(r"[^A-Za-z0-9._-]", "_", url.rstrip("/").rpartition("/")[2]).lstrip(".")
    return folder / (name or "corpus")


def check(url: str) -> None:
    """Raises BadInput unless an address is free, or holds a corpus or what is there of one, and can be written to."""
    with asking(url):
        store, path = _store(url, _settings_of(url))
        _held(store, path, url)
        _make(store, path, url)
        store.pipe_file(f"{path}/{_TRIAL}", b"")
        store.rm_file(f"{path}/{_TRIAL}")


def publish(folder: str | Path, url: str, *, quiet: bool = False) -> None:
    """Bring a corpus to an address. What stands there reads as a corpus only when all of it is there: the manifest of
    an earlier one goes first, the new one comes last. Files of the earlier one that the new one lacks are removed.

    Raises BadInput as `check` does, and where a file does not arrive whole.
    """
    folder = Path(folder)
    sizes = {name: facts["bytes"] for name, facts in read_json(folder / _MANIFEST)["files"].items()}
    total = sum(sizes.values())
    with asking(url), Progress("upload", total, unit="bytes", quiet=quiet) as progress:
        store, path = _store(url, _settings_of(url))
        there, held = _held(store, path, url)
        _make(store, path, url)
        store.pipe_file(f"{path}/{_BEGUN}", json.dumps({"files": sorted(held | set(sizes))}).encode())
        for name in {_MANIFEST} & there:
            store.rm_file(f"{path}/{name}")
        for name, size in sizes.items():
            store.put_file(str(folder / name), f"{path}/{name}")
            store.invalidate_cache()
            if store.info(f"{path}/{name}")["size"] != size:
                raise BadInput(f"not of {size:,} bytes as it should be", path=f"{public(url).rstrip('/')}/{name}")
            progress.advance(size)
        for name in sorted((held - set(sizes)) & there):
            store.rm_file(f"{path}/{name}")
        store.pipe_file(f"{path}/{_MANIFEST}", (folder / _MANIFEST).read_bytes())
        store.rm_file(f"{path}/{_BEGUN}")


def _held(store: Any, path: str, url: str) -> tuple[set[str], set[str]]:
    """The names that stand at an address, and the files of a corpus, or of what is there of one, by its manifests."""
    store.invalidate_cache()
    try:
        entries = store.ls(path, detail=True)
    except FileNotFoundError:
        entries = []
    # an object of no bytes may stand for the folder itself
    marks = (path, path.strip("/"))
    entries = [e for e in entries if e["name"].strip("/") not in marks or e.get("size") or e["type"] == "file"]
    there = {entry["name"].rstrip("/").rpartition("/")[2] for entry in entries} - {_TRIAL}
    known = [_files(store, f"{path}/{name}") for name in (_MANIFEST, _BEGUN) if name in there]
    files = [names for names in known if names is not None]
    if there and not files:
        raise BadInput("exists and is not a corpus; name another address", path=public(url), usage=True)
    return there, set().union(*files)


def _files(store: Any, path: str) -> set[str] | None:
    """The files that the manifest of a corpus names; None where it is none."""
    try:
        manifest = json.loads(store.cat_file(path))
    except ValueError:
        return None
    files = manifest.get("files") if isinstance(manifest, dict) else None
    return set(map(str, files)) if isinstance(files, dict | list) else None


def _make(store: Any, path: str, url: str) -> None:
    """Make a folder where a store has such. In an object store that would make a bucket of any misspelt name."""
    if _protocol(url) in _WITH_FOLDERS:
        store.makedirs(path, exist_ok=True)
