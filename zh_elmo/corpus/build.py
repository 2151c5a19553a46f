"""Raw text to a corpus: read, cut into words (in processes), drop what must not be there, count, write shards."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from zh_elmo.corpus import cluster, filters, processes
from zh_elmo.corpus import sources as text_sources
from zh_elmo.corpus.cut import Cutter
from zh_elmo.corpus.exclude import excluded
from zh_elmo.corpus.near import VERSION as NEAR_VERSION
from zh_elmo.corpus.near import NearDuplicates
from zh_elmo.corpus.parts import NEAR, Flags
from zh_elmo.corpus.readers import survey
from zh_elmo.corpus.repeated import Repeated
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.corpus.sources import Asked
from zh_elmo.corpus.store import FORMAT
from zh_elmo.corpus.tasks import TASK, Group, groups
from zh_elmo.corpus.work import Work
from zh_elmo.corpus.write import Flagged, Writer
from zh_elmo.files import BadInput, building, sha256, write_json
from zh_elmo.progress import Progress
from zh_elmo.recipe import plain
from zh_elmo.text.pipeline import Pipeline

Engine = Literal["local", "ray"]
_ENGINES = {"local": processes.cut, "ray": cluster.cut}
Manifest = dict[str, Any]
_AT_ONCE = 1 << 20  # paragraphs


def build(
    settings: CorpusSettings,
    files: Sequence[str | Path],
    out: Path,
    *,
    workers: int = 1,
    engine: Engine = "local",
    command: str = "",
    quiet: bool = False,
) -> Manifest:
    """Build a corpus of the sources of `settings` and of `files` (names of data sets, files, folders) in `out`.

    The bytes of shards, held-out part and types do not depend on `workers`, nor on the engine: processes of this
    machine, or a Ray cluster. Memory does not grow with the text, but for some 40 bytes a word type. What was cut lies
    in a folder beside `out` until the corpus is whole: an interrupted build goes on from there when it is called again
    with the same sources and settings, by either engine.
    Raises BadInput for text that cannot be read, and where no sentence is left.
    """
    started = time.monotonic()
    _check_target(out)
    found = text_sources.find([*settings.sources, *files], _asked(settings))
    filters.prepare(settings.filters)
    cutter = Cutter(settings, excluded(settings.exclude))
    surveys = [survey(source.path, source.how) for source in found]
    described = [source.describe(known) for source, known in zip(found, surveys, strict=True)]
    text = Pipeline(settings.text).describe()
    # the target first: where it cannot be written nothing is cut in vain
    parts = groups(found, [facts["bytes"] for facts in described])
    about = [plain(settings), described, text, TASK, _version(), NEAR_VERSION]
    with building(out) as folder, Work(out, about) as work:
        writer = Writer(folder, settings, workers)
        with Progress("corpus", sum(known.characters for known in surveys), unit="characters", quiet=quiet) as progress:
            for key, read in _ENGINES[engine](cutter, work, parts, workers=workers):
                writer.number(work.chunk(key))  # while others are cut
                progress.advance(read)
        counts = _written(folder, writer, work)
        manifest = _manifest(folder, settings, described, text, command, workers)
        seconds = time.monotonic() - started
        manifest |= {
            "counts": counts,
            "drops": writer.drops,
            **_beside(parts, work),
            "seconds": round(seconds, 2),
            "characters_per_second": round(counts["characters"] / seconds),
        }
        write_json(folder / "manifest.json", manifest)
    return manifest


def _written(folder: Path, writer: Writer, work: Work) -> dict[str, Any]:
    """Shards, held-out part and types out of the chunks; counts for the manifest."""
    repeated = Repeated(folder / "repeated.part")
    for hashes, _ in work.hashes():
        repeated.add(hashes)
    flags = repeated.flags()
    if threshold := writer.settings.near_duplicates:
        _flag_near(folder, threshold, flags, work)
    writer.sort(_flagged(work, flags))
    counts = writer.write(_flagged(work, flags))
    repeated.clear()
    return counts


def _flag_near(folder: Path, threshold: float, flags: Flags, work: Work) -> None:
    """Flag the paragraphs that are near an earlier one which stays."""
    near, place = NearDuplicates(folder / "near.part", threshold), 0
    for hashes, found in work.hashes():
        near.add(found, flags[place : place + len(hashes)])
        place += len(hashes)
    are_near = near.flags()
    for start in range(0, len(flags), _AT_ONCE):
        flags[start : start + _AT_ONCE][are_near[start : start + _AT_ONCE] == 1] = NEAR
    near.clear()


def _flagged(work: Work, flags: Flags) -> Iterator[Flagged]:
    """Every chunk, as a `Writer` wants it."""
    place = 0
    for key, (hashes, _) in zip(work.keys(), work.hashes(), strict=True):
        yield hashes, flags[place : place + len(hashes)], partial(work.chunk, key, types=False, check=False)
        place += len(hashes)


def _check_target(out: Path) -> None:
    """Refuse to replace what is not a corpus."""
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / "manifest.json").is_file())):
        raise BadInput("exists and is not a corpus; name another folder", path=out, usage=True)


def _asked(settings: CorpusSettings) -> Asked:
    return Asked(settings.encoding, settings.field, settings.text.script, settings.undecodable)


def _beside(parts: Sequence[Group], work: Work) -> dict[str, Any]:
    """What files have besides their paragraphs, for the manifest."""
    passed_over: dict[str, Counter[str]] = {}
    damaged: list[dict[str, Any]] = []
    for group in parts:
        for source, aside in zip(group.sources, work.groups[group.number].asides, strict=True):
            if aside.passed_over:
                passed_over.setdefault(source.path.name, Counter()).update(aside.passed_over)
            if aside.undecodable.size:
                damaged.append({"file": source.path.name, **aside.undecodable.describe()})
    return {"passed_over": {file: dict(counts) for file, counts in passed_over.items()}, "undecodable": damaged}


def _manifest(
    folder: Path, settings: CorpusSettings, sources: list[Any], text: dict[str, Any], command: str, threads: int
) -> Manifest:
    named = [path for path in sorted(folder.iterdir()) if path.is_file()]
    with ThreadPoolExecutor(threads) as pool:
        digests = pool.map(sha256, named)
    files = {path.name: {"bytes": path.stat().st_size, "sha256": of} for path, of in zip(named, digests, strict=True)}
    digest = hashlib.sha256(json.dumps([files, text], sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    return {
        "format": FORMAT,
        "digest": digest,
        "made_by": {"command": command, "zh_elmo": _version()},
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
