"""A dump of a Wikipedia by language and date: `wiki:zh`, `wiki:zh@20261101`; the sums beside it say what it must be."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from zh_elmo.fetch.bring import Brought, bring, content, in_cache, is_address
from zh_elmo.fetch.digest import Digest, beside, kept, sums
from zh_elmo.fetch.download import Absent, Unreachable
from zh_elmo.files import BadInput

LICENCE = "CC BY-SA 4.0"
ATTRIBUTION = "the contributors of Wikipedia"
_NAME = re.compile(r"wiki:([a-z][a-z0-9_-]*)(?:@(latest|\d{8}))?")
_HOST = "dumps.wikimedia.org"
_OWN_NAMES = {"yue": "zh_yue", "nan": "zh_min_nan", "lzh": "zh_classical"}  # what these wikis are called there
_PART = r"-(\d{8}|latest)-pages-articles(?:(\d+)\.xml(?:-p(\d+)p\d+)?|\.xml)\.bz2"


def is_dump(name: str) -> bool:
    return name.startswith("wiki:")


def get(
    asked: str, out: Path | None = None, *, places: Sequence[str] = (), quiet: bool = False
) -> tuple[str, list[Brought]]:
    """Bring the articles of a Wikipedia; (which wiki and date, the files in order: one, or several of a large dump).

    Without a date the newest dump is taken: that of a mirror folder if one has any, else of the server.
    """
    match = _NAME.fullmatch(asked)
    if not match:
        raise BadInput("a dump is called like wiki:zh or wiki:zh@20261101", path=asked, usage=True)
    wiki = _OWN_NAMES.get(match[1], match[1].replace("-", "_")) + "wiki"
    date = match[2] or "latest"
    folders = [Path(place) for place in places if not is_address(place)]
    if date == "latest":
        date = max((day for folder in folders for day, _ in _lying(folder, wiki) if day != "latest"), default=date)
    elif whole := _brought_before(wiki, date, out):
        return f"{wiki} {date}", [whole]
    listed = _listed(wiki, date, places)
    if date == "latest":
        date = max((found[1] for name in listed if (found := _match(wiki, name))), default=date)
    names = _chosen(wiki, date, listed) or _chosen(wiki, date, _here(folders, wiki, date))
    if not names and listed:
        raise BadInput(
            "the sums beside it name no articles: this dump is not ready yet, or was none; name another date",
            path=_url(wiki, date, ""),
        )
    files = [
        bring(_url(wiki, date, name), out and out / name, expected=listed.get(name), places=places, quiet=quiet)
        for name in names or [f"{wiki}-{date}-pages-articles.xml.bz2"]
    ]
    return f"{wiki} {date}", files


def _url(wiki: str, date: str, name: str) -> str:
    return f"https://{_HOST}/{wiki}/{date}/{name}"


def _match(wiki: str, name: str) -> re.Match[str] | None:
    """Is it a file of articles? Groups: date, number of the part, first page of the part."""
    return re.fullmatch(re.escape(wiki) + _PART, name)


def _chosen(wiki: str, date: str, names: dict[str, Any]) -> list[str]:
    """All articles in one file where there is one; else the parts, in order."""
    found = [match for name in names if (match := _match(wiki, name)) and match[1] == date]
    whole = [match[0] for match in found if match[2] is None]
    parts = sorted((match for match in found if match[2] is not None), key=lambda m: (int(m[3] or 0), int(m[2])))
    return whole or [match[0] for match in parts]


def _brought_before(wiki: str, date: str, out: Path | None) -> Brought | None:
    """The dump in one file where an earlier call left it, checked without asking anyone."""
    url = _url(wiki, date, f"{wiki}-{date}-pages-articles.xml.bz2")
    target = out / url.rpartition("/")[2] if out else in_cache(url)
    return bring(url, target) if target.is_file() and kept(beside(target)) else None


def _lying(folder: Path, wiki: str) -> Iterator[tuple[str, str]]:
    """(date, name) of the files of articles that lie in a mirror folder."""
    for path in (*folder.glob(f"{wiki}-*.bz2"), *folder.glob(f"{_HOST}/{wiki}/*/{wiki}-*.bz2")):
        if match := _match(wiki, path.name):
            yield match[1], path.name


def _here(folders: Sequence[Path], wiki: str, date: str) -> dict[str, None]:
    return {name: None for folder in folders for day, name in _lying(folder, wiki) if day == date}


def _listed(wiki: str, date: str, places: Sequence[str]) -> dict[str, Digest]:
    """Name -> digest of the files of a dump; empty where no list is there, or nobody answers."""
    for kind in ("sha1", "md5"):
        try:
            found = sums(content(_url(wiki, date, f"{wiki}-{date}-{kind}sums.txt"), places).decode("utf-8", "replace"))
        except Absent:
            continue
        except Unreachable:
            return {}
        if found:
            return found
    try:
        return _of_status(content(_url(wiki, date, "dumpstatus.json"), places))
    except (Absent, Unreachable):
        return {}


def _of_status(raw: bytes) -> dict[str, Digest]:
    """The same out of dumpstatus.json, of the jobs that are done."""
    found: dict[str, Digest] = {}
    try:
        jobs = json.loads(raw)["jobs"]
        for job in ("articlesdump", "articlesdumprecombine"):
            if jobs.get(job, {}).get("status") == "done":
                files = jobs[job].get("files", {})
                found |= {name: Digest("sha1", facts["sha1"]) for name, facts in files.items() if "sha1" in facts}
    except (ValueError, KeyError, TypeError, AttributeError):  # not the file that it should be
        return {}
    return found
