"""A zip or tar archive -> a temporary folder of its regular files, in bounded space, nothing outside it touched."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from zh_elmo.files import BadInput, one_line
from zh_elmo.formats.stored import begins, damage, plain_file

_BLOCK = 1 << 20
_RECORD = 512  # of tar
_RATIO, _SLACK = 200, 64 << 20  # unpacked at most: 200 times the archive, and 64 MB
_DISK_MARGIN = 64 << 20
_MEMBERS = 10_000
_DEPTH = 16  # folders within folders
_DIRECTORY = 4 << 20  # bytes of a zip's list of members, and of a tar's header of one member
_TAIL = 1 << 17  # a zip's last record and its comment, which have half as many bytes
_XZ_BLOCK = 1 << 16
_XZ_MEMORY = 256 << 20  # bytes of dictionary; xz -9 takes 64 MB
_DRIVE = re.compile(r"[A-Za-z]:")


@contextmanager
def unpacked(path: str | Path) -> Iterator[Path]:
    """A temporary folder with the files of the archive `path`; it is gone when the block ends, however it ends.

    zip (stored or deflated) and tar (plain, gz, bz2, xz), told apart by content. Raises BadInput for what is neither,
    for damage, for members that are no regular files or whose names lead out of the folder or stand there twice, for
    encrypted members, and for more than 10,000 members or bytes beyond 200 times the archive plus 64 MB.
    """
    archive = plain_file(path)
    with tempfile.TemporaryDirectory(prefix="zh_elmo.", ignore_cleanup_errors=True) as folder:
        with damage(archive, "a damaged or truncated archive, or one that cannot be unpacked here"):
            _unpack(archive, Path(folder))
        yield Path(folder)


def _unpack(archive: Path, folder: Path) -> None:
    room = _Room(archive, folder)
    with open(archive, "rb") as file:
        head = file.read(_RECORD)
        file.seek(0)
        if not is_zip(head):
            _untar(_Stream(_decompressed(file, head, archive), room), room)
            return
    with open_zip(archive) as members:
        _unzip(members, room)


def is_zip(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a zip archive, be it an empty one."""
    return head[:4] in (b"PK\x03\x04", b"PK\x05\x06")


class _Room:
    """Where members go, and how much may still come."""

    def __init__(self, archive: Path, folder: Path) -> None:
        self.archive, self.folder = archive, folder
        size = archive.stat().st_size
        self.limit = _RATIO * size + _SLACK
        self.members = self.declared = self.written = 0

    def refuse(self, reason: str, member: str | None = None) -> BadInput:
        where = "" if member is None else f"member {one_line(member, 200)!r} "
        return BadInput(f"{where}{reason}", path=self.archive)

    def place(self, name: str, *, size: int = 0) -> Path:
        """The path for the member `name` of declared `size`, inside the folder; raises BadInput where there is none."""
        self.members += 1
        if self.members > _MEMBERS:
            raise self.refuse(f"more than {_MEMBERS:,} members: not unpacked")
        self._declare(name, size)
        if "\0" in name:
            raise self.refuse("has a NUL in its name: not unpacked", name)
        parts = PurePosixPath(_slashes(name)).parts
        if ".." in parts or (parts and (parts[0].startswith("/") or _DRIVE.match(parts[0]))):
            raise self.refuse("would lie outside the folder: not unpacked", name)
        if len(parts) > _DEPTH:
            raise self.refuse(f"lies deeper than {_DEPTH} folders: not unpacked", name)
        return self.folder.joinpath(*parts)

    def _declare(self, name: str, size: int) -> None:
        if size < 0:
            raise self.refuse("has a negative size: a damaged archive", name)
        self.declared += size
        if self.declared > self.limit:
            raise self.refuse(f"unpacks to more than {_RATIO} times its size: not unpacked")
        if size > shutil.disk_usage(self.folder).free - _DISK_MARGIN:
            raise self.refuse(f"asks for {size:,} bytes, more than are free in {self.folder.parent}", name)

    def make(self, name: str) -> None:
        """A folder, which may be there already."""
        try:
            self.place(name).mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise self.refuse("is a folder in the place of a file", name) from None

    def fill(self, name: str, size: int, pieces: Iterator[bytes]) -> None:
        """Write one regular file; its bytes must be as many as were declared."""
        target = self.place(name, size=size)
        if target == self.folder:
            raise self.refuse("has no name: a damaged archive", name)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(target, "xb") as file:
                for piece in pieces:
                    self.written += len(piece)
                    if self.written > self.declared:
                        raise self.refuse("is longer than it says: a damaged archive, or a bomb", name)
                    file.write(piece)
                length = file.tell()
        except (FileExistsError, NotADirectoryError):
            raise self.refuse("stands there twice, or in the place of a folder", name) from None
        if length != size:
            raise self.refuse(f"is cut: {length:,} of {size:,} bytes", name)


def _slashes(name: str) -> str:
    """`name` as it would be had the archive been made on a system with slashes."""
    return name.replace("\\", "/")


# Zip ----------------------------------------------------------------------------------------------------------------


class _Bounded:
    """A file whose reads are short: zipfile would read a list of members of any declared size at once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell, self.seekable, self.close = file.seek, file.tell, file.seekable, file.close

    def read(self, size: int = -1) -> bytes:
        if size > _DIRECTORY:
            raise ValueError(f"{size:,} bytes for the list of members")
        return self._file.read(_TAIL if size < 0 else size)


@contextmanager
def open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """A zip archive with a list of members of bounded size; raises what zipfile raises, and BadInput for too many."""
    with open(path, "rb") as file, zipfile.ZipFile(_Bounded(file)) as archive:
        if len(archive.filelist) > _MEMBERS:
            raise BadInput(f"more than {_MEMBERS:,} members: not unpacked", path=path)
        yield archive


def _unzip(archive: zipfile.ZipFile, room: _Room) -> None:
    for member in archive.infolist():
        name = member.orig_filename  # `filename` ends at a NUL
        kind = stat.S_IFMT(member.external_attr >> 16)
        if member.flag_bits & 0x1:
            raise room.refuse("is encrypted: unpack the archive yourself", name)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise room.refuse(f"is {_KINDS.get(kind, 'no regular file')}: not unpacked", name)
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise room.refuse(f"has the compression {member.compress_type}; expected deflate (8) or none (0)", name)
        if _slashes(name).endswith("/"):
            room.make(name)
            continue
        with archive.open(member) as stream:
            room.fill(name, member.file_size, _pieces(stream.read))


_KINDS = {
    stat.S_IFLNK: "a link", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket", tarfile.LNKTYPE: "a link", tarfile.SYMTYPE: "a link", tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device", tarfile.FIFOTYPE: "a pipe",
}  # fmt: skip


def _pieces(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while piece := read(_BLOCK):
        yield piece


# Tar ----------------------------------------------------------------------------------------------------------------


def _is_tar(head: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        return False
    return True


def _decompressed(file: IO[bytes], head: bytes, path: Path) -> Iterator[bytes]:
    """The bytes of the file, decompressed if they are compressed, in pieces of at most a block."""
    if head.startswith(b"\x1f\x8b"):
        return _pieces(gzip.GzipFile(fileobj=file).read)
    if head.startswith(b"BZh"):
        return _pieces(bz2.BZ2File(file).read)
    if head.startswith(b"\xfd7zXZ\0"):
        return _unxz(file)
    if _is_tar(head):
        return _pieces(file.read)
    raise BadInput(f"not a zip or tar (plain, .gz, .bz2, .xz): {begins(head)}", path=path)


def _unxz(file: IO[bytes]) -> Iterator[bytes]:
    """As lzma.open, which however takes as much memory as the file asks for."""
    content = file.read(_XZ_BLOCK)
    while content:
        decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
        while not decompressor.eof:
            if decompressor.needs_input and not content:
                content = file.read(_XZ_BLOCK)
                if not content:
                    raise EOFError("the end is missing")
            piece = decompressor.decompress(content, max_length=_BLOCK)
            content = b""
            if piece:
                yield piece
        content = decompressor.unused_data.lstrip(b"\0") or file.read(_XZ_BLOCK).lstrip(b"\0")


class _Stream:
    """Bytes in order, asked for in any number; more than the room allows are refused, be they data or padding."""

    def __init__(self, pieces: Iterator[bytes], room: _Room) -> None:
        self._pieces, self._room = pieces, room
        self._held, self._at, self._total = b"", 0, 0

    def up_to(self, size: int) -> bytes:
        """At least one and at most `size` bytes, none at the end."""
        if self._at == len(self._held):
            self._held, self._at = next(self._pieces, b""), 0
            self._total += len(self._held)
            if self._total > self._room.limit + 4 * _MEMBERS * _RECORD:
                raise self._room.refuse(f"unpacks to more than {_RATIO} times its size: not unpacked")
        piece = self._held[self._at : self._at + size]
        self._at += len(piece)
        return piece

    def exactly(self, size: int) -> Iterator[bytes]:
        """`size` bytes in pieces; raises EOFError where the archive ends before."""
        while size:
            piece = self.up_to(min(size, _BLOCK))
            if not piece:
                raise EOFError("the end is missing")
            size -= len(piece)
            yield piece

    def header(self, size: int) -> bytes:
        """`size` bytes at once, and what fills them up to whole records is skipped."""
        if not 0 <= size <= _DIRECTORY:
            raise ValueError(f"a header of {size:,} bytes")
        return b"".join(self.exactly(size + -size % _RECORD))[:size]


def _untar(stream: _Stream, room: _Room) -> None:
    """Walk the records of a tar archive: its few kinds of header by hand, since tarfile reads headers of any size."""
    name: str | None = None  # told by a header in front of the member's own
    size: int | None = None
    for number in range(4 * _MEMBERS):
        member = _header(stream, room, first=number == 0)
        if member is None:
            break
        if member.type == tarfile.GNUTYPE_LONGNAME:
            name = _text(stream.header(member.size).split(b"\0")[0])
        elif member.type in (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE):
            fields = _pax(stream.header(member.size))
            if any(key.startswith("GNU.sparse") for key in fields):
                raise room.refuse("is a file with holes (GNU sparse): not unpacked", fields.get("path", ""))
            if member.type != tarfile.XGLTYPE:  # what holds for all members is neither a name nor a size
                name, size = fields.get("path", name), int(fields["size"]) if "size" in fields else size
        else:
            _member(stream, room, member, name or member.name, member.size if size is None else size)
            name = size = None
    else:
        raise room.refuse(f"more than {_MEMBERS:,} members: not unpacked")
    while stream.up_to(_BLOCK):
        pass  # to the end, so that checksums are compared and a cut is seen


def _header(stream: _Stream, room: _Room, *, first: bool) -> tarfile.TarInfo | None:
    """The next record, None for the one that ends the archive."""
    try:
        record = stream.header(_RECORD)
        return tarfile.TarInfo.frombuf(record, "utf-8", "surrogateescape") if any(record) else None
    except (tarfile.HeaderError, EOFError):
        if first:
            raise room.refuse("not an archive: compressed, but what is in it is no tar, or was cut") from None
        raise


def _member(stream: _Stream, room: _Room, member: tarfile.TarInfo, name: str, size: int) -> None:
    if member.type == tarfile.DIRTYPE or (member.isreg() and _slashes(name).endswith("/")):
        room.make(name)
        return
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE):
        raise room.refuse(f"is {_KINDS.get(member.type, 'no regular file')}: not unpacked", name)
    room.fill(name, size, stream.exactly(size))
    for _ in stream.exactly(-size % _RECORD):
        pass


def _pax(content: bytes) -> dict[str, str]:
    """The records `length key=value` of an extended header; raises ValueError where they do not fit together."""
    fields, at = {}, 0
    while at < len(content) and content[at] != 0:
        digits = content[at : at + 20].split(b" ")[0]
        end = at + int(digits)
        begin = at + len(digits) + 1
        if end <= begin or content[end - 1 : end] != b"\n":
            raise ValueError("an extended header that is cut")
        key, _, value = content[begin : end - 1].partition(b"=")
        fields[_text(key)] = _text(value)
        at = end
    return fields


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
