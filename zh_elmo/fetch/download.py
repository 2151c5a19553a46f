"""One file by HTTP: goes on where it stopped, tries again, is checked, and appears whole under its name or not at all.

What has come lies in NAME.part; NAME.part.json remembers of which version of the file it is (ETag or Last-Modified),
and the server is asked for the rest of that version alone (Range with If-Range).
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any

from zh_elmo.fetch.digest import Digest, of_file
from zh_elmo.files import BadInput, one_line, sync_folder, write_text
from zh_elmo.progress import Progress

PAUSES = (0.5, 2.0, 5.0, 10.0)  # seconds before another try; as many tries in which nothing new comes
TIMEOUT = (15.0, 60.0)  # seconds to connect, seconds without a byte
_LONGEST_PAUSE = 60.0  # that a server may ask for
_UNREACHABLE_TRIES = 2  # where there is no connection at all
_BLOCK = 1 << 18
_ROOM = 1 << 20  # bytes that a disk must have left besides
_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)")
_COMPRESSED = (".gz", ".tgz", ".bz2", ".xz", ".zst", ".zip")


class Absent(BadInput):
    """The server has no such file."""


class Unreachable(BadInput):
    """No answer, or none that is of use, after several tries. connected: was there a server at all?"""

    connected = True


class _Broken(Exception):
    """This try failed; another may do better."""

    def __init__(self, reason: str, *, connected: bool = True, after: float = 0) -> None:
        super().__init__(reason)
        self.connected, self.after = connected, after


def download(url: str, target: Path, *, expected: Digest | None = None, quiet: bool = False) -> dict[str, str]:
    """Fetch `url` into `target`; returns the digests of what came, by kind, SHA-256 among them.

    Raises Absent (404), Unreachable, BadInput for a digest that is not `expected` (what came is thrown away) and for
    other refusals. After anything else, the next call goes on with what there is.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with _Part(target, url, checked=expected is not None) as part:
        resumed = _fetch(part, quiet)
        kinds = (expected.kind,) if expected else ()
        found = of_file(part.path, kinds)
        if expected and found[expected.kind] != expected.value and resumed:  # the pieces are not of one file
            part.clear()
            _fetch(part, quiet)
            found = of_file(part.path, kinds)
        if expected and found[expected.kind] != expected.value:
            part.clear()
            expected.check(found, url, "what came is damaged or another version; it was thrown away")
        part.finish()
    return found


class _Part:
    """What has come of a file so far. One process at a time has it."""

    def __init__(self, target: Path, url: str, *, checked: bool) -> None:
        self.target, self.url, self.checked = target, url, checked
        self.path = target.with_name(target.name + ".part")
        self.side = target.with_name(target.name + ".part.json")
        self.known: dict[str, Any] = {}

    def __enter__(self) -> _Part:
        while True:
            self.stream = open(self.path, "ab")  # locked until __exit__
            try:
                fcntl.flock(self.stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self.stream.close()
                raise BadInput("another process is fetching it", path=self.target) from None
            if self.path.exists() and os.path.samestat(os.fstat(self.stream.fileno()), os.stat(self.path)):
                break
            self.stream.close()  # another process finished it just now
        with suppress(OSError, ValueError):
            known = json.loads(self.side.read_text("utf-8"))
            self.known = known if isinstance(known, dict) and known.get("url") == self.url else {}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.path.exists() and not self.size:
            self.path.unlink(missing_ok=True)
            self.side.unlink(missing_ok=True)
        with suppress(OSError):  # a full disk has been said already
            self.stream.close()
        if isinstance(error, OSError) and error.errno and error.filename is None:
            error.filename = os.fspath(self.target)  # a failed write does not know which file it was for

    @property
    def size(self) -> int:
        return os.fstat(self.stream.fileno()).st_size

    def begin(self) -> tuple[int, str]:
        """(bytes that there are, version that the rest must be of); what cannot be gone on with is thrown away.

        Without a version the rest is asked for only where a digest will tell."""
        version = str(self.known.get("version") or "")
        if self.size and not (self.known and (version or self.checked)):
            self.clear()
        return self.size, version

    def remember(self, response: Any, total: int | None) -> None:
        self.known = {"url": self.url, "version": _version(response), "total": total}
        write_text(self.side, json.dumps(self.known))

    def clear(self) -> None:
        self.stream.truncate(0)
        self.known = {}

    def finish(self) -> None:
        self.stream.flush()
        os.fsync(self.stream.fileno())
        os.replace(self.path, self.target)
        self.side.unlink(missing_ok=True)
        sync_folder(self.target.parent)


def _fetch(part: _Part, quiet: bool) -> bool:
    """Try until all is there. True: some of it was there before, or came in another try."""
    failures, most, resumed = 0, 0, False
    while True:
        try:
            return _attempt(part, quiet) or resumed
        except _Broken as broken:
            resumed = True
            if part.size > most:
                most, failures = part.size, 0
            failures += 1
            tries = len(PAUSES) if broken.connected else min(len(PAUSES), _UNREACHABLE_TRIES - 1)
            if failures > tries:
                left = f"; {part.size:,} bytes are kept, the same command goes on with them" if part.size else ""
                left += "" if broken.connected else "; without a network, name a folder that has it (--mirror)"
                gone = Unreachable(f"it cannot be fetched ({broken}){left}", path=part.url)
                gone.connected = broken.connected
                raise gone from None
            pause = max(PAUSES[failures - 1], min(broken.after, _LONGEST_PAUSE))
            if not quiet:
                at = f" at byte {part.size:,}" if part.size else ""
                print(one_line(f"{part.target.name}: {broken}{at}; trying again"), file=sys.stderr, flush=True)
            time.sleep(pause)


def _attempt(part: _Part, quiet: bool) -> bool:
    """One request. True: it went on with what was there. Raises _Broken where another may do better."""
    import requests
    from urllib3.exceptions import HTTPError, ProtocolError

    offset, version = part.begin()
    headers = {"Accept-Encoding": "identity", "User-Agent": f"zh-elmo/{_own_version()} (corpus get)"}
    if offset:
        headers |= {"Range": f"bytes={offset}-"} | ({"If-Range": version} if version else {})
    try:
        with requests.get(part.url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            if response.status_code == 416 and _total(response) == offset == part.known.get("total"):
                return True  # all was there
            _judge(response, part, offset)
            _receive(response, part, quiet)
    except (requests.exceptions.ChunkedEncodingError, requests.exceptions.ReadTimeout) as error:
        raise _Broken(_reason(error)) from None
    except requests.exceptions.ConnectionError as error:
        connected = any(isinstance(cause, ProtocolError) for cause in error.args)  # and then dropped
        raise _Broken(_reason(error), connected=connected) from None
    except requests.exceptions.RequestException as error:
        raise BadInput(f"it cannot be fetched ({_reason(error)})", path=part.url) from None
    except HTTPError as error:
        raise _Broken(_reason(error)) from None
    return bool(offset)


def _judge(response: Any, part: _Part, offset: int) -> None:
    """Make ready for what comes, from byte `offset` or from the start; raise where it is of no use."""
    status, said = response.status_code, f"the server answers {response.status_code} {response.reason or ''}".rstrip()
    if status == 206:
        match = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        total, known = _total(response), part.known
        other = total is not None and known.get("total") not in (None, total)
        other = other or bool(known.get("version") and _version(response) not in ("", known["version"]))
        if not match or match[1] != str(offset) or other:
            part.clear()
            raise _Broken("the file has changed since" if other else "the server sends another part than asked for")
    elif status == 200:
        part.clear()
        part.remember(response, None if _is_packed(response, part.url) else _length(response))
    elif status == 416:
        part.clear()
        raise _Broken("the file has changed since")
    elif status in (404, 410):
        raise Absent(said, path=part.url)
    elif status in (408, 425, 429) or status >= 500:
        wait = response.headers.get("Retry-After", "")
        raise _Broken(said, after=float(wait) if wait.isdecimal() else 0)
    else:
        raise BadInput(said, path=part.url)


def _receive(response: Any, part: _Part, quiet: bool) -> None:
    """Append what comes; raise _Broken where it ends too early."""
    total, begin = part.known.get("total"), part.size
    if total is not None:
        _check_room(part, total - begin)
    scale, unit = (1e6, "MB") if total is None or total >= 10_000_000 else (1e3, "kB")
    shown = Progress(part.target.name, total and total / scale, unit=unit, begin=begin / scale, quiet=quiet)
    with shown as progress, _flushed(part):
        for block in response.raw.stream(_BLOCK, decode_content=_is_packed(response, part.url)):
            part.stream.write(block)
            progress.advance(len(block) / scale)
    if total is not None and part.size != total:
        raise _Broken("the connection was cut")


@contextmanager
def _flushed(part: _Part) -> Iterator[None]:
    try:
        yield
    finally:
        part.stream.flush()


def _check_room(part: _Part, needed: int) -> None:
    free = shutil.disk_usage(part.target.parent).free
    if needed + _ROOM > free:
        raise BadInput(
            f"the disk is full: {needed:,} bytes are to come and {free:,} are free; make room and run the same command "
            "again",
            path=part.target,
        )


def _is_packed(response: Any, url: str) -> bool:
    """Was it compressed for the way, unasked? Servers say so of .gz files too, which stay as they are."""
    name = url.partition("?")[0].lower()
    return response.headers.get("Content-Encoding", "identity") != "identity" and not name.endswith(_COMPRESSED)


def _version(response: Any) -> str:
    """What tells this version of the file from others, if the server says: a strong ETag, else the time of change."""
    tag = str(response.headers.get("ETag", ""))
    return tag if tag.startswith('"') else str(response.headers.get("Last-Modified", ""))


def _length(response: Any) -> int | None:
    value = response.headers.get("Content-Length", "")
    return int(value) if value.isdecimal() else None


def _total(response: Any) -> int | None:
    match = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
    return int(match[2]) if match and match[2] != "*" else None


def _reason(error: Exception) -> str:
    """The innermost cause, which says most; requests and urllib3 wrap it several times."""
    inner: Any = error
    for _ in range(5):
        nested = getattr(inner, "reason", None) or next((a for a in inner.args if isinstance(a, Exception)), None)
        if not isinstance(nested, Exception):
            break
        inner = nested
    text = re.sub(r"<[^>]*>:? ?", "", str(inner)).strip()
    return one_line(f"{type(inner).__name__}: {text}" if text else type(inner).__name__, 200)


def _own_version() -> str:
    try:
        return metadata.version("zh_elmo")
    except metadata.PackageNotFoundError:
        return "0"
