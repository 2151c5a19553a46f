"""Articles of a MediaWiki XML dump, one by one in bounded memory, and what was passed over, counted by reason.

A dump is data from elsewhere: no document type is accepted, so no entities but the five of XML, and nothing is fetched.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from os import PathLike
from typing import IO, NamedTuple
from xml.parsers import expat

import numpy as np

from zh_elmo.compressed import DAMAGED
from zh_elmo.files import BadInput, open_bytes
from zh_elmo.text.variants import Unreadable
from zh_elmo.text.wikinames import HIDDEN
from zh_elmo.text.wikitext import LONGEST, Paragraph, plain

_BLOCK = 1 << 18
_LONGEST_TOKEN = 1 << 23  # bytes of one tag or comment; MediaWiki writes none of over some hundred
_DEEPEST = 16  # mediawiki > page > revision > contributor > username is 5
_FIELDS = {
    ("mediawiki", "siteinfo", "namespaces", "namespace"): "namespace",
    ("mediawiki", "page", "title"): "title",
    ("mediawiki", "page", "ns"): "ns",
    ("mediawiki", "page", "revision", "model"): "model",
    ("mediawiki", "page", "revision", "format"): "format",
    ("mediawiki", "page", "revision", "text"): "text",
}
_FILE, _CATEGORY = "6", "14"
_REDIRECT = re.compile(r"\s*#(?:redirect|重定向|重新導向)", re.I)


class Document(NamedTuple):
    """One article."""

    title: str
    paragraphs: list[Paragraph]
    read: int  # characters of the dump since the document before


def pages(path: str | PathLike[str], counts: Counter[str] | None = None) -> Iterator[tuple[str, str]]:
    """(title, wikitext) of each article of a dump (.xml, or compressed .bz2, .gz, .xz, .zst), as it stands last.

    `counts` is filled with what was passed over and why: pages of another namespace than articles, redirects, content
    that is not wikitext. Raises BadInput, naming the byte of the XML and the page before, where the dump ends early, is
    not well-formed, is no dump or brings a document type.
    """
    reader = _Reader(path, Counter() if counts is None else counts)
    return ((title, wikitext) for title, wikitext, _ in reader.articles())


def documents(
    path: str | PathLike[str], variant: str = "zh-hans", counts: Counter[str] | None = None
) -> Iterator[Document]:
    """The articles of a dump as paragraphs, language variants resolved to `variant`; see `wikitext.plain`.

    `counts` is filled as by `pages`, with the reason of each page that cannot be read whole, with pages whose rules lie
    elsewhere in part (they are kept), and with `kept`. The lengths of what was read add up to the dump: the last
    document has no title and no paragraph where pages were passed over at its end.
    """
    counts = Counter() if counts is None else counts
    reader = _Reader(path, counts)
    read = 0
    for title, wikitext, length in reader.articles():
        read += length
        try:
            page = plain(wikitext, variant, hidden=reader.hidden)
        except Unreadable as reason:
            counts[str(reason)] += 1
            continue
        if page.groups:
            counts["conversion groups lost"] += 1
        counts["kept" if page.paragraphs else "no text"] += 1
        if page.paragraphs:
            yield Document(title, page.paragraphs, read)
            read = 0
    if left := read + reader.left:
        yield Document("", [], left)


class _Reader:
    """A dump, block by block through expat."""

    def __init__(self, path: str | PathLike[str], counts: Counter[str]) -> None:
        self.hidden = HIDDEN  # and the names that this wiki gives to pictures and categories
        self.left = 0  # characters after the last article
        self._file, self._counts = path, counts
        self._elements: list[str] = []
        self._field = self._key = ""  # what is being read
        self._pieces: list[str] = []
        self._size = 0
        self._page: dict[str, str] = {}
        self._last = ""  # title of the last page that was read whole
        self._ready: list[tuple[str, str, int]] = []  # (title, wikitext, byte where it ends)
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text, parser.buffer_size = True, 1 << 16
        parser.XmlDeclHandler = self._declared
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data

    def articles(self) -> Iterator[tuple[str, str, int]]:
        """(title, wikitext, characters of the dump since the article before)."""
        fault: BadInput | None = None
        offset = read = 0
        with open_bytes(self._file) as stream:
            while fault is None:
                block = self._block(stream)
                fault = self._parsed(block)
                place = 0
                for title, wikitext, end in self._ready:
                    end = max(place, end - offset)  # its last tag may have begun in the block before
                    read += _characters(block[place:end])
                    place = end
                    yield title, wikitext, read
                    read = 0
                self._ready.clear()
                read += _characters(block[place:])
                offset += len(block)
                if not block:
                    break
                if offset - self._parser.CurrentByteIndex > _LONGEST_TOKEN:
                    fault = self._bad("not a MediaWiki dump: a tag or comment that does not end")
        if fault is not None:
            raise fault
        self.left = read

    def _block(self, stream: IO[bytes]) -> bytes:
        try:
            return stream.read(_BLOCK)
        except (*DAMAGED, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # not the file, but the system
                raise
            raise self._bad(f"damaged or truncated compressed file ({error})") from None

    def _parsed(self, block: bytes) -> BadInput | None:
        """Let expat read; the fault is for later, when the pages before it are given out."""
        try:
            self._parser.Parse(block, not block)
        except BadInput as fault:
            return fault
        except expat.ExpatError as error:
            if not block:
                return self._bad("the dump ends before </mediawiki>")
            return self._bad(f"not well-formed XML ({expat.ErrorString(error.code)}, line {error.lineno})")
        return None

    def _bad(self, message: str) -> BadInput:
        where = f"after the page {self._last!r}" if self._last else "before the end of the first page"
        byte = max(0, self._parser.CurrentByteIndex)
        return BadInput(f"{message}, {where}; fetch the dump again", path=self._file, byte=byte)

    # What expat calls ------------------------------------------------------------------------------------------------

    def _declared(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ("utf-8", "utf8"):
            raise BadInput(f"expected a dump in UTF-8; it says {encoding}", path=self._file)

    def _doctype(self, *_: object) -> None:
        raise BadInput("refused: a MediaWiki dump has no document type, nor entities of its own", path=self._file)

    def _start(self, element: str, attributes: dict[str, str]) -> None:
        if not self._elements and element != "mediawiki":
            raise BadInput(f"not a MediaWiki dump: expected <mediawiki>, found <{element}>", path=self._file)
        self._elements.append(element)
        if len(self._elements) > _DEEPEST:
            raise self._bad("not a MediaWiki dump: elements nested too deeply")
        if element == "page":
            self._page = {}
        elif element == "redirect":
            self._page["redirect"] = "yes"
        self._field = _FIELDS.get(tuple(self._elements), "")
        self._key = attributes.get("key", "")
        self._pieces, self._size = [], 0

    def _data(self, text: str) -> None:
        if self._field:
            self._size += len(text)
            if self._size <= LONGEST:
                self._pieces.append(text)

    def _end(self, element: str) -> None:
        self._elements.pop()
        if self._field == "namespace":
            if self._key in (_FILE, _CATEGORY):
                self.hidden |= {"".join(self._pieces).lower()}
        elif self._field:
            self._page[self._field] = "".join(self._pieces)
            if self._field == "text":
                self._page["long"] = "yes" if self._size > LONGEST else ""
        elif element == "page" and len(self._elements) == 1:
            self._finish()
        self._field = ""

    def _finish(self) -> None:
        """A page was read: an article, or counted as what it is instead."""
        page = self._page
        self._counts["pages"] += 1
        self._last = page.get("title", "")
        text = page.get("text", "")
        if page.get("ns", "0") != "0":
            self._counts["other namespace"] += 1
        elif page.get("redirect") or _REDIRECT.match(text):
            self._counts["redirect"] += 1
        elif page.get("model", "wikitext") != "wikitext" or page.get("format", "text/x-wiki") != "text/x-wiki":
            self._counts["not wikitext"] += 1
        elif page.get("long"):
            self._counts["too long"] += 1
        elif not self._last or not text.strip():
            self._counts["no text"] += 1
        else:
            self._ready.append((self._last, text, self._parser.CurrentByteIndex))


def _characters(block: bytes) -> int:
    """Code points that begin in `block`."""
    return int(np.count_nonzero((np.frombuffer(block, np.uint8) & 0xC0) != 0x80))
