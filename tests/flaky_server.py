"""An HTTP server on this machine that misbehaves as it is told: for tests of fetching."""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Page:
    """What lies at a path, and how it is served."""

    content: bytes
    etag: str = '"1"'
    modified: str = ""
    ranges: bool = True  # does it know of Range?
    heeds_if_range: bool = True
    length: bool = True  # does it say how long the content is?
    cuts: list[int] = field(default_factory=list)  # bytes after which the connection ends, one for each request
    answers: list[int] = field(default_factory=list)  # status instead of the content, one for each request
    headers: dict[str, str] = field(default_factory=dict)


class Server:
    """Pages by path; `asked` holds (path, Range) of each request."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.address = ""

    def add(self, path: str, content: bytes, **options) -> str:
        """The address of a new page."""
        self.pages[f"/{path}"] = Page(content, **options)
        return f"{self.address}/{path}"


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self.close_connection = True
            wanted = self.headers.get("Range")
            server.asked.append((self.path, wanted))
            page = server.pages.get(self.path)
            if page is None:
                self._status(404)
            elif page.answers and (status := page.answers.pop(0)) != 200:
                self._status(status)
            else:
                self._page(page, wanted)

        def _status(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _page(self, page: Page, wanted: str | None) -> None:
            start = 0
            match = re.fullmatch(r"bytes=(\d+)-", wanted or "")
            same = self.headers.get("If-Range") in (None, page.etag or page.modified) or not page.heeds_if_range
            if match and page.ranges and same:
                start = int(match[1])
                if start >= len(page.content):
                    self.send_response(416)
                    self.send_header("Content-Range", f"bytes */{len(page.content)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(page.content) - 1}/{len(page.content)}")
            else:
                self.send_response(200)
            if page.etag:
                self.send_header("ETag", page.etag)
            if page.modified:
                self.send_header("Last-Modified", page.modified)
            for name, value in page.headers.items():
                self.send_header(name, value)
            if page.length:
                self.send_header("Content-Length", str(len(page.content) - start))
            self.end_headers()
            rest = page.content[start:]
            self.wfile.write(rest[: page.cuts.pop(0)] if page.cuts else rest)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        server.address = f"http://127.0.0.1:{running.server_address[1]}"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            running.shutdown()
            thread.join()
