"""Claim: on clean pages our wikitext scanner is at least 3 times as fast as mwparserfromhell's parse + strip_code.

Run: ZH_ELMO_DATA=folder python benchmarks/wikitext.py  (needs mwparserfromhell: pip install mwparserfromhell)
Pages are made from the raw text of ZH_ELMO_DATA/raw_zh_hans with light markup: a bold title, headings, lists, links
with and without labels, external links, entities; none of language variants, templates, tables. Both give the same
Han characters (headings apart), which is checked. CPU time of one core, median of RUNS, the two in turn in one run.
"""

from __future__ import annotations

import lzma
import os
import random
import re
import statistics
import sys
import time
from collections.abc import Callable
from importlib import metadata
from itertools import islice
from pathlib import Path

from zh_elmo.text.wikitext import plain

RUNS = 5
CHARACTERS = 1_000_000
LINES = 12  # of a page
NEEDED = 3.0  # the claim
HAN = re.compile("[\u3400-\u9fff]+")
MARKUP = re.compile(r"[\[\]{}<>|&'=*#:;_~-]")


def texts(folder: Path) -> list[str]:
    """Lines of running text without a character that is markup, from all files in equal parts."""
    files = sorted(folder.glob("*.txt.xz"))
    found: list[str] = []
    for file in files:
        with lzma.open(file, "rt", encoding="utf-8") as stream:
            lines = (MARKUP.sub("", line.strip()) for line in stream)
            size = 0
            for line in islice(lines, 100_000):
                if len(line) >= 20:
                    found.append(line)
                    size += len(line)
                if size * len(files) > CHARACTERS:
                    break
    return found


def marked(line: str, draw: random.Random) -> str:
    """About one link in 50 characters, as in articles."""
    pieces, position = [], 0
    while position + 50 < len(line):
        start = position + draw.randint(5, 40)
        word = line[start : start + draw.randint(2, 4)]
        link = draw.choice([f"[[{word}]]", f"[[条目|{word}]]", f"[[{word}]]", f"'''{word}'''", f"''{word}''"])
        if draw.random() < 0.05:
            link = f"[http://example.org/{start} {word}]&nbsp;"
        pieces += [line[position:start], link]
        position = start + len(word)
    return "".join([*pieces, line[position:]])


def articles(lines: list[str]) -> list[str]:
    draw = random.Random(10)
    pages = []
    for first in range(0, len(lines), LINES):
        body = [marked(line, draw) for line in lines[first : first + LINES]]
        body[0] = f"'''{body[0][:3]}'''{body[0][3:]}" if "[" not in body[0][:3] else body[0]
        body[-3:] = [f"* {line}" for line in body[-3:]]
        pages.append("\n\n".join([*body[:5], "== History ==", *body[5:]]))
    return pages


def ours(page: str) -> str:
    return "\n".join(paragraph.text for paragraph in plain(page).paragraphs)


def seconds(function: Callable[[str], str], pages: list[str]) -> float:
    started = time.process_time()
    for page in pages:
        function(page)
    return time.process_time() - started


def main() -> None:
    try:
        import mwparserfromhell
    except ImportError:
        sys.exit("needs mwparserfromhell: pip install mwparserfromhell")

    def theirs(page: str) -> str:
        return str(mwparserfromhell.parse(page).strip_code())

    folder = Path(os.environ.get("ZH_ELMO_DATA", "")) / "raw_zh_hans"
    if not folder.is_dir():
        sys.exit("needs raw text: ZH_ELMO_DATA names no folder that holds raw_zh_hans/")
    pages = articles(texts(folder))
    size = sum(map(len, pages))
    same = sum(HAN.findall(ours(page)) == HAN.findall(theirs(page)) for page in pages)
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(RUNS):
        times["ours"].append(seconds(ours, pages))
        times["theirs"].append(seconds(theirs, pages))
    mine, other = (statistics.median(times[name]) for name in ("ours", "theirs"))
    print(f"{len(pages):,} pages, {size:,} characters; the same Han characters on {same:,} pages; {RUNS} runs")
    print(f"mwparserfromhell {metadata.version('mwparserfromhell'):<10} {size / other:>12,.0f} characters/s")
    print(f"{'zh_elmo.text.wikitext':<27} {size / mine:>12,.0f} characters/s")
    print(f"{'ratio':<27} {other / mine:>12.1f}  (claim: at least {NEEDED:.0f})")
    if same != len(pages) or other / mine < NEEDED:
        sys.exit(1)


if __name__ == "__main__":
    main()
