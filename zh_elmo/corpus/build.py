"""Raw text to a corpus: read, cut into words (in processes), drop what must not be there, count, write shards."""

from __future__ import annotations

import hashlib
import json
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from zh_elmo.corpus import sources as text_sources
from zh_elmo.corpus.cut import EXAMPLE, Chunk, Cutter, Task
from zh_elmo.corpus.exclude import excluded
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.corpus.sources import Source
from zh_elmo.corpus.store import FORMAT
from zh_elmo.corpus.write import Writer
from zh_elmo.files import BadInput, building, sha256, write_json
from zh_elmo.progress import Progress
from zh_elmo.recipe import plain
from zh_elmo.text.pipeline import Pipeline

Manifest = dict[str, Any]
_TASK = 100_000  # characters that a worker is handed at once; whatever the number of workers
_AHEAD = 3  # tasks in flight for each worker


def build(
    settings: CorpusSettings, files: Sequence[str | Path], out: Path, *, workers: int = 1, quiet: bool = False
) -> Manifest:
    """Build a corpus of the sources of `settings` and of `files` (names of data sets, files, folders) in `out`.

    The bytes of shards, held-out part and types do not depend on `workers`. Memory grows with the number of word types
    and of paragraphs (a hash each), not with the text. Raises BadInput for text that cannot be read, and where no
    sentence is left.
    """
    started = time.monotonic()
    _check_target(out)
    found = text_sources.find([*settings.sources, *files])
    cutter = Cutter(settings, excluded(settings.exclude))
    described = [source.describe() for source in found]
    text = Pipeline(settings.text).describe()
    total = sum(text_sources.count_characters(source.path) for source in found)
    with building(out) as folder:
        writer = Writer(folder, settings)
        with Progress("corpus", total, unit="characters", quiet=quiet) as progress:
            for chunk in _cut(cutter, _tasks(found, settings.drop_duplicates), workers):
                writer.add(chunk)
                progress.advance(chunk.read, words=f"{writer.words:,}", types=f"{len(writer.index):,}")
        counts = writer.finish()
        manifest = _manifest(folder, settings, described, text)
        seconds = time.monotonic() - started
        rate = round(counts["characters"] / seconds)
        manifest |= {
            "counts": counts,
            "drops": writer.drops,
            "seconds": round(seconds, 2),
            "characters_per_second": rate,
        }
        write_json(folder / "manifest.json", manifest)
    return manifest


def _check_target(out: Path) -> None:
    """Refuse to replace what is not a corpus."""
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / "manifest.json").is_file())):
        raise BadInput("exists and is not a corpus; name another folder", path=out, usage=True)


def _tasks(found: Iterable[Source], drop_repeated: bool) -> Iterator[Task]:
    """Paragraphs of about _TASK characters together; each file ends a document. A line that was read before is left
    out here, which spares cutting it; what is the same only when normalised is found by the writer."""
    seen: set[bytes] = set()
    paragraphs: list[str] = []
    repeated: list[str] = []
    characters = read = 0
    for source in found:
        for paragraph, length in text_sources.paragraphs(source):
            digest = hashlib.blake2b(paragraph.encode(), digest_size=8).digest()
            if drop_repeated and paragraph and digest in seen:
                repeated.append(paragraph[:EXAMPLE])
            else:
                paragraphs.append(paragraph)
                seen.add(digest)
            characters += len(paragraph)
            read += length
            if read >= _TASK:
                yield Task(paragraphs, repeated, characters, read)
                paragraphs, repeated, characters, read = [], [], 0, 0
        paragraphs.append("")
    yield Task(paragraphs, repeated, characters, read)


def _cut(cutter: Cutter, tasks: Iterator[Task], workers: int) -> Iterator[Chunk]:
    """Tasks as words, in order: here, or in processes."""
    if workers <= 1:
        yield from map(cutter, tasks)
        return
    # Not forked: the parent may have threads of torch.
    with ProcessPoolExecutor(workers, get_context("spawn"), _begin_worker, (cutter,)) as pool:
        try:
            yield from _in_order(pool.submit, tasks, workers * _AHEAD)
        except BrokenProcessPool:
            reasons = 'for lack of memory, or because the script that calls build has no `if __name__ == "__main__"`'
            raise OSError(f"a worker process died, perhaps {reasons}; try one worker") from None
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _in_order(submit: Callable[..., Future[Chunk]], tasks: Iterator[Task], ahead: int) -> Iterator[Chunk]:
    """Results in the order of the tasks, with at most `ahead` of them in flight."""
    waiting: deque[Future[Chunk]] = deque()
    for task in tasks:
        waiting.append(submit(_work, task))
        if len(waiting) >= ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


_cutter: Cutter | None = None  # of a worker process


def _begin_worker(cutter: Cutter) -> None:
    global _cutter
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is told, and ends us
    _cutter = cutter


def _work(task: Task) -> Chunk:
    assert _cutter is not None
    return _cutter(task)


def _manifest(folder: Path, settings: CorpusSettings, sources: list[Any], text: dict[str, Any]) -> Manifest:
    files = {path.name: {"bytes": path.stat().st_size, "sha256": sha256(path)} for path in sorted(folder.iterdir())}
    digest = hashlib.sha256(json.dumps([files, text], sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    return {
        "format": FORMAT,
        "digest": digest,
        "made_by": {"command": " ".join(sys.argv), "zh_elmo": _version()},
        "settings": plain(settings),
        "sources": sources,
        "text": text,
        "files": files,
    }


def _version() -> str:
    try:
        return metadata.version("zh_elmo")
    except metadata.PackageNotFoundError:
        return "not installed"
