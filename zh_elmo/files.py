"""Files read strictly and written whole: one error type for bad input, atomic writes, digests."""

from __future__ import annotations

import codecs
import errno
import glob
import hashlib
import json
import os
import platform
import re
import shutil
import tempfile
import unicodedata
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypedDict

from zh_elmo.compressed import DAMAGED, OPENERS

_BLOCK = 1 << 20
_SURROGATE = re.compile("[\ud800-\udfff]")
COMPRESSED = tuple(OPENERS)


class BadInput(Exception):
    """Something the user gave cannot be used, said in one line: where, what was expected, what to do.

    `usage=True` means that the command itself is wrong (exit code 2), otherwise the data are (exit code 1).
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | os.PathLike[str] | None = None,
        line: int | None = None,
        byte: int | None = None,
        usage: bool = False,
    ) -> None:
        self.path, self.line, self.byte, self.usage = path, line, byte, usage
        where = "" if path is None else os.fspath(path)
        where += "" if line is None else f":{line}"
        where += "" if byte is None else f" (byte {byte:,})"
        super().__init__(one_line(f"{where}: {message}" if where else message))


def one_line(text: str, limit: int = 600) -> str:
    """`text` as one printable line: controls and lone surrogates escaped, cut after `limit` characters."""
    if len(text) > limit:
        text = text[: limit // 2] + " ... " + text[-limit // 2 :]
    return "".join(c if unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp") else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return " " if character in "\n\r\t" else f"\\u{ord(character):04x}"


def explain(error: OSError) -> str:
    """An operating system error as one line that says what to do where we know it."""
    name = one_line(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes | os.PathLike) else ""
    advice = {
        errno.ENOSPC: "the disk is full; make room and run the same command again",
        errno.EDQUOT: "the disk quota is used up; make room and run the same command again",
        errno.EACCES: "permission denied",
        errno.EROFS: "the file system is read-only",
        errno.ENOENT: "no such file or folder",
    }.get(error.errno or 0, error.strerror or " ".join(map(str, error.args)) or type(error).__name__)
    return one_line(f"{name}: {advice}" if name else str(advice))


# Reading ------------------------------------------------------------------------------------------------------------


def existing(path: str | os.PathLike[str], what: str = "file or folder") -> Path:
    """`path` as a Path if it exists; raises BadInput (usage) otherwise."""
    if not os.path.lexists(path) or not os.path.exists(path):
        raise BadInput(f"no such {what}", path=path, usage=True)
    return Path(path)


class Elsewhere(os.PathLike[str]):
    """A file that lies on no disk of this machine. As a path it is its address, which is for messages."""

    name: str  # the last part of the address

    @abstractmethod
    def stream(self) -> IO[bytes]:
        """Open for reading, as it is stored. What goes wrong on the way is raised as BadInput."""


def stored(path: str | os.PathLike[str]) -> IO[bytes]:
    """The bytes of a file as they lie there (compressed if it is compressed)."""
    return path.stream() if isinstance(path, Elsewhere) else open(path, "rb")


@contextmanager
def open_bytes(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open for reading; .xz, .gz, .bz2 and .zst are decompressed on the way, and BadInput says where one is damaged."""
    with _reading(path), stored(path) as raw, decompressed(path, raw) as stream:
        yield stream


@contextmanager
def decompressed(path: str | os.PathLike[str], raw: Any) -> Iterator[IO[bytes]]:
    """What `raw`, the stored bytes of the file `path`, decompresses to by the suffix of its name; see `open_bytes`."""
    opener = OPENERS.get(Path(path.name if isinstance(path, Elsewhere) else path).suffix.lower())
    if opener is None:
        yield raw
        return
    with _reading(path):
        try:
            stream = opener(raw)
        except ImportError:
            message = "a .zst file needs the package zstandard: pip install 'zh-elmo[zst]'"
            raise BadInput(message, path=path, usage=True) from None
        with stream:
            yield stream


@contextmanager
def _reading(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what decompressors and the system say of a damaged file into BadInput."""
    try:
        yield
    except FileNotFoundError:
        raise BadInput("no such file", path=path, usage=True) from None
    except IsADirectoryError:
        raise BadInput("a folder stands where a file is due", path=path, usage=True) from None
    except DAMAGED as error:
        raise BadInput(f"damaged or truncated compressed file ({error})", path=path) from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise BadInput(f"damaged or truncated compressed file ({error})", path=path) from None  # as bz2 says it


def lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """(number from 1, line without its line feed) of a UTF-8 file, compressed or not, in bounded memory for any
    number of lines. A byte order mark at the start is dropped. Only LF and CRLF end a line.

    Raises BadInput naming the byte offset (in the decompressed text) where the file is not UTF-8.
    """
    offset = 0
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, 1):
            if number == 1 and raw.startswith(codecs.BOM_UTF8):
                offset = len(codecs.BOM_UTF8)
                raw = raw[offset:]
            try:
                line = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                raise not_utf8(path, raw, error, offset, number) from None
            offset += len(raw)
            yield number, line.removesuffix("\n").removesuffix("\r")


def not_utf8(
    path: str | os.PathLike[str], raw: bytes, error: UnicodeDecodeError, offset: int = 0, line: int | None = None
) -> BadInput:
    """The BadInput for bytes that are not UTF-8; `offset` is where `raw` starts in the file."""
    seen = raw[error.start : error.start + 4].hex(" ")
    return BadInput(
        f"not UTF-8: bytes {seen} ({error.reason}); convert the file to UTF-8 first",
        path=path,
        line=line,
        byte=offset + error.start,
    )


def read_text(path: str | os.PathLike[str]) -> str:
    """A whole UTF-8 file, compressed or not; raises BadInput with the byte offset where it is not UTF-8."""
    with open_bytes(path) as stream:
        raw = stream.read()
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise not_utf8(path, raw, error) from None


def read_json(path: str | os.PathLike[str]) -> Any:
    """A JSON file; raises BadInput with line and reason where it is not JSON."""
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise BadInput(f"not JSON: {error.msg}", path=path, line=error.lineno) from None
    except RecursionError:
        raise BadInput("not JSON that can be read: nested too deep", path=path) from None
    except ValueError as error:  # a number of too many digits
        raise BadInput(f"not JSON that can be read: {error}", path=path) from None


def sha256(path: str | os.PathLike[str]) -> str:
    """Hex digest of a file's bytes as they lie on the disk (compressed if it is compressed)."""
    digest = hashlib.sha256()
    with _reading(path), stored(path) as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


# Writing ------------------------------------------------------------------------------------------------------------


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary stream that becomes `path` only when the block ends well: written beside, fsynced, renamed."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, beside = tempfile.mkstemp(dir=target.parent, **_marks(target, "part"))
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, target)
        sync_folder(target.parent)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(beside)
        if isinstance(error, OSError) and error.errno and error.filename is None:
            error.filename = os.fspath(target)  # a failed write does not know which file it was for
        raise


@contextmanager
def building(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """A new folder beside `folder` that takes its place, replacing what stood there, when the block ends well."""
    target = Path(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    _clear_leftovers(target)
    beside = Path(tempfile.mkdtemp(dir=target.parent, **_marks(target, "part")))
    try:
        yield beside
        for file in sorted(beside.rglob("*")):
            if file.is_file():
                sync_file(file)
        os.chmod(beside, 0o777 & ~_umask())
        _replace_folder(beside, target)
    except BaseException as error:
        shutil.rmtree(beside, ignore_errors=True)
        if isinstance(error, OSError) and error.errno and error.filename is None:
            error.filename = os.fspath(target)
        raise


def _replace_folder(new: Path, target: Path) -> None:
    old = None
    if target.exists():
        old = Path(tempfile.mkdtemp(dir=target.parent, **_marks(target, "old")))
        os.replace(target, old / "was")
    try:
        os.replace(new, target)
    except BaseException:
        if old is not None:
            os.replace(old / "was", target)
        raise
    finally:
        if old is not None:
            shutil.rmtree(old, ignore_errors=True)
    sync_folder(target.parent)


def write_bytes(path: str | os.PathLike[str], content: bytes | memoryview) -> None:
    with writing(path) as stream:
        stream.write(content)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """UTF-8; a lone surrogate, which no UTF-8 file can hold, becomes U+FFFD."""
    write_bytes(path, _SURROGATE.sub("\ufffd", text).encode("utf-8"))


def write_json(path: str | os.PathLike[str], content: Any) -> None:
    write_text(path, json.dumps(content, ensure_ascii=False, indent=2, sort_keys=False) + "\n")


def sync_file(path: Path) -> None:
    with open(path, "rb") as stream:
        os.fsync(stream.fileno())


def sync_folder(path: Path) -> None:
    """Make a rename inside `path` durable; file systems that cannot are left alone."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class _Marks(TypedDict):
    prefix: str
    suffix: str


def _marks(target: Path, kind: str) -> _Marks:
    """Prefix and suffix of a temporary name beside `target`; it tells which process on which machine it belongs to."""
    return {"prefix": f".{target.name}.", "suffix": f".{platform.node()}-{os.getpid()}.{kind}"}


def _clear_leftovers(target: Path) -> None:
    """Remove what killed processes of this machine left beside `target`."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.{glob.escape(platform.node())}-*.part"):
        number = left.name.rsplit("-", 1)[1].removesuffix(".part")
        if number.isdecimal() and not _is_alive(int(number)):
            shutil.rmtree(left, ignore_errors=True)
            with suppress(OSError):
                left.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value


def cache_folder() -> Path:
    """Where downloads and dictionaries are cached: $ZH_ELMO_CACHE, else $XDG_CACHE_HOME/zh_elmo, else ~/.cache/zh_elmo;
    made on demand, readable by its owner only."""
    given = os.environ.get("ZH_ELMO_CACHE")
    folder = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zh_elmo"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder
