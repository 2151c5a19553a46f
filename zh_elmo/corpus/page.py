"""The page that `zh-elmo corpus show` prints, out of the facts of a corpus: plain text, aligned, 100 columns wide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zh_elmo.corpus.draw import PAGE, Axis, bars, beside, can_draw, curve, fit, fit_end, pad, percent, table, width
from zh_elmo.progress import duration

Facts = Mapping[str, Any]
_SOURCES = 12  # listed one by one
_PLACES = 5  # of undecodable bytes
_WORDS = 40  # of a sentence
_IN_A_ROW = 5  # frequent words
_HALF = PAGE // 2
_SCRIPTS = {
    "simplified": "simplified", "hans": "simplified", "traditional": "traditional", "hant": "traditional",
    "mixed": "mixed", "either": "the same in both", "none": "no Chinese",
}  # fmt: skip
_CHANGES = {
    "sentences_cut": "sentences too long, cut", "sentences_too_short": "sentences too short, dropped",
    "words_cut": "words as long as a word can be, mostly cut",
}  # fmt: skip
_SENTENCES = ((1, 5), (6, 10), (11, 20), (21, 40), (41, 80), (81, None))
_CHARACTERS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 7), (8, None))


def text(facts: Facts, *, blocks: bool | None = None) -> str:
    """The whole page. blocks: Braille and block characters, or ASCII; None: as the terminal can."""
    drawn = can_draw() if blocks is None else blocks
    head = [fit_end(f"corpus {facts['folder']}", PAGE), f"digest {facts['digest']}"]
    parts = [
        [*head, *_made_by(facts), _text(facts["text"])],
        _sources(facts["sources"]),
        _counts(facts),
        _script(facts["counts"].get("script")),
        _dropped(facts),
        _top(facts["words"]),
        _coverage(facts["words"]),
        _curves(facts["words"], drawn),
        _lengths(facts, drawn),
        ["first sentences", *(f"  {_shortened(sentence)}" for sentence in facts["first_sentences"])],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _made_by(facts: Facts) -> list[str]:
    made = facts.get("made_by") or {}
    return [fit(f"made by zh-elmo {made.get('zh_elmo', '')}: {made['command']}", PAGE)] if made.get("command") else []


def _text(about: Mapping[str, Any]) -> str:
    settings, segmenter = about["settings"], about["segmenter"]
    name = segmenter if isinstance(segmenter, str) else segmenter["package"]
    script = "script kept" if settings["script"] == "keep" else f"brought to {settings['script']} script"
    punctuation = "full-width punctuation" if settings["punctuation"] == "full" else "punctuation kept"
    return fit(f"words by {name}; {script}; {punctuation}", PAGE)


def _shortened(sentence: Sequence[str]) -> str:
    return fit(" ".join(sentence[:_WORDS]) + (" ..." if len(sentence) > _WORDS else ""), PAGE - 2)


# What there is ----------------------------------------------------------------------------------------------------


def _sources(sources: Sequence[Mapping[str, Any]]) -> list[str]:
    total = sum(source.get("bytes", 0) for source in sources)
    rows, shown = [("licence", "bytes", "encoding", "sha256")], ["file"]
    for source in sources[:_SOURCES]:
        name, file = source["name"], source["file"]
        shown.append(name if name.endswith(file) else f"{name}: {file}")
        licence = fit(source.get("licence", "not stated"), 30)
        size = f"{source['bytes']:,}" if "bytes" in source else ""
        digest = source.get("sha256", "")[:12]
        rows.append((licence, size, fit(source.get("encoding", ""), 10), digest))
    left = PAGE - 2 - max(map(width, table(rows, (False, True, False, False))))
    cells = [(fit_end(file, left), *row) for file, row in zip(shown, rows, strict=True)]
    head = f"sources: {_many(len(sources), 'file')}, {total:,} bytes"
    lines = [head, *table(cells, (False, False, True, False, False))]
    if len(sources) > _SOURCES:
        rest = Counter(source.get("licence", "not stated") for source in sources[_SOURCES:])
        said = "; ".join(f"{licence} ({number:,})" for licence, number in rest.most_common())
        lines.append(fit(f"  and {len(sources) - _SOURCES:,} more (all are in manifest.json); licences: {said}", PAGE))
    return lines


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _counts(facts: Facts) -> list[str]:
    counts = facts["counts"]
    read = f"{counts['characters']:,} characters, {counts['paragraphs']:,} paragraphs read"
    if "seconds" in facts:
        read += f" in {duration(facts['seconds'])} ({facts.get('characters_per_second', 0):,} characters/s)"
    lines = [read]
    for part, name in (("train", "training"), ("heldout", "held out")):
        found = counts[part]
        said = ", ".join(f"{found[unit]:,} {unit}" for unit in ("words", "sentences", "paragraphs", "documents"))
        lines.append(f"  {name}: {said}")
    lines += _sentences(counts.get("sentences_by") or {})
    lines += [f"  warning: {warning}" for warning in facts["warnings"]]
    return lines


def _sentences(by: Mapping[str, int]) -> list[str]:
    """Sentences that were found, and stops that ended none: in open quotes, after a quote that goes on."""
    names = {name.replace("_", " "): number for name, number in by.items()}
    joined = [f"{name} {number:,}" for name, number in names.items() if name.startswith(("in ", "after "))]
    split = [f"{name} {number:,}" for name, number in names.items() if not name.startswith(("in ", "after "))]
    return [*_wrapped("  split: ", split), *_wrapped("  stops that ended no sentence: ", joined)]


def _wrapped(head: str, items: Sequence[str]) -> list[str]:
    """Items after a head, on as many lines as it takes, the later ones indented."""
    lines, line = [], head
    for place, item in enumerate(items):
        part = item + (", " if place + 1 < len(items) else "")
        if width(line) + width(part.rstrip()) > PAGE and line.strip():
            lines.append(line.rstrip())
            line = "    "
        line += part
    return [*lines, line.rstrip()] if items else []


def _script(script: Mapping[str, Any] | None) -> list[str]:
    """How much of each kind of unit is in which script, and what was converted."""
    units: dict[str, dict[str, int]] = {}
    single = []
    for name, found in (script or {}).items():
        unit, _, kind = name.rpartition("_")
        if isinstance(found, Mapping):
            units.setdefault(name, {}).update(found)
        elif kind in _SCRIPTS:
            units.setdefault(unit, {})[kind] = found
        else:
            single.append(f"  {name.replace('_', ' ')}: {found:,}")
    rows = []
    for unit, kinds in units.items():
        total = max(1, sum(kinds.values()))
        cells = [f"{_SCRIPTS.get(kind, kind)} {n:,} ({percent(n / total)})" for kind, n in kinds.items()]
        rows += _wrapped(f"  {unit.replace('_', ' ')}: ", cells)
    return ["script of what was read", *rows, *single] if rows or single else []


# What is not there ------------------------------------------------------------------------------------------------


def _dropped(facts: Facts) -> list[str]:
    counts = facts["counts"]
    lines = list(_drops(facts["drops"]))
    lines += [f"  {counts[key]:,} {said}" for key, said in _CHANGES.items() if counts.get(key)]
    characters = {kind: number for kind, number in (counts.get("characters_dropped") or {}).items() if number}
    said = [f"{kind.replace('_', ' ')} {number:,}" for kind, number in characters.items()]
    lines += _wrapped("  characters dropped: ", said)
    for name, found in (facts.get("passed_over") or {}).items():
        said = [f"{number:,} {kind.replace('_', ' ')}" for kind, number in found.items()]
        lines += _wrapped(f"  passed over in {fit_end(name, 40)}: ", said)
    lines += _undecodable(facts.get("undecodable") or [])
    return ["dropped and changed", *lines] if lines else []


def _drops(drops: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for reason, found in sorted(drops.items(), key=lambda item: -item[1]["paragraphs"]):
        examples = [example for example in found.get("examples", []) if example.strip()]
        line = f"  dropped, {reason}: {found['paragraphs']:,} paragraphs"
        yield fit(line + (f", such as {examples[0][:40]!r}" if examples else ""), PAGE)


def _undecodable(found: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> list[str]:
    """How many bytes did not decode, and where the first of them are. found: by file, or a list that names files."""
    files = [{"file": name, **facts} for name, facts in found.items()] if isinstance(found, Mapping) else found
    places = [{"file": file.get("file", ""), **place} for file in files for place in file.get("places", [file])]
    total = sum(file.get("bytes", file.get("count", 1)) for file in files)
    if not total:
        return []
    lines = [f"  bytes that do not decode: {total:,}"]
    for place in places[:_PLACES]:
        where = f"line {place['line']:,}, " if "line" in place else ""
        seen = f": {place['hex']}" if "hex" in place else ""
        where = f"    {fit_end(str(place['file']), 60)}: {where}byte {place.get('byte', 0):,}{seen}"
        lines.append(fit(where, PAGE))
    return lines + (["    ..."] if len(places) > _PLACES else [])


# Words --------------------------------------------------------------------------------------------------------------


def _top(words: Facts) -> list[str]:
    cells = [(fit(row["word"], 12), f"{row['count']:,}") for row in words["top"]]
    if not cells:
        return []
    wide, high = max(width(word) for word, _ in cells), max(len(count) for _, count in cells)
    shown = [f"{pad(word, wide)} {count:>{high}}" for word, count in cells]
    across = max(1, min(_IN_A_ROW, (PAGE - 2 + 3) // (wide + high + 1 + 3)))
    rows = [shown[start : start + across] for start in range(0, len(shown), across)]
    share = sum(row["share"] for row in words["top"])
    head = f"most frequent words: {len(cells):,}, {percent(share)} of the running words"
    return [head, *("  " + "   ".join(row) for row in rows)]


def _coverage(words: Facts) -> list[str]:
    coverage, once = words["coverage"], words["hapax"]
    rows = coverage["table"]
    cells = [["most frequent types", *(f"{row['types']:,}" for row in rows)]]
    for part, name in (("train", "of training"), ("heldout", "of the held-out part")):
        if rows and part in rows[0]:
            cells.append([name, *(percent(row[part]) for row in rows)])
    said = [f"{float(share) * 100:g} % {number:,}" for share, number in coverage["types_for"].items()]
    return [
        f"word types: {rows[-1]['types'] if rows else 0:,}; {once['types']:,} of them occur once "
        f"({percent(once['share_of_types'])} of types, {percent(once['share_of_words'])} of running words)",
        *_wide_table(cells),
        *_wrapped("  types that cover a share of the running words: ", said),
    ]


def _wide_table(cells: list[list[str]]) -> list[str]:
    """The columns that fit; the earlier ones give way, since the last one stands for all types."""
    while True:
        lines = table(cells, (False, *[True] * (len(cells[0]) - 1)))
        if max(map(width, lines)) <= PAGE or len(cells[0]) < 3:
            return lines
        cells = [[row[0], *row[2:]] for row in cells]


def _curves(words: Facts, blocks: bool) -> list[str]:
    covered, growth = words["coverage"]["curve"], words["type_token"]
    if len(covered) < 2 or len(growth) < 2:
        return []
    n_types, n_words, last = covered[-1]["types"], growth[-1]["words"], growth[-1]["types"]
    left = curve(
        "coverage: running words by most frequent types",
        [(row["types"], 100 * row["train"]) for row in covered],
        Axis(1, n_types, log=True), Axis(0, 100, unit=" %"), columns=_HALF - 3, blocks=blocks,
    )  # fmt: skip
    right = curve(
        "growth: word types by running words read",
        [(row["words"], row["types"]) for row in growth],
        Axis(1, n_words, log=True), Axis(1, max(2, last), log=True), columns=_HALF - 3, blocks=blocks,
    )  # fmt: skip
    return beside(left, right, _HALF + 2)


def _lengths(facts: Facts, blocks: bool) -> list[str]:
    sentences, words = facts["sentence_length"], facts["words"]["length"]
    left = [_said("words a sentence", sentences), *bars(_binned(sentences["sentences"], _SENTENCES), blocks=blocks)]
    right = [_said("characters a word", words), *bars(_binned(words["words"], _CHARACTERS), blocks=blocks)]
    return beside(left, right, _HALF + 2)


def _said(what: str, found: Mapping[str, Any]) -> str:
    return f"{what}: mean {found['mean']:.1f}, median {found['median']}, max {found['max']:,}"


def _binned(histogram: Mapping[str, int], bins: Sequence[tuple[int, int | None]]) -> list[tuple[str, float]]:
    total = sum(histogram.values()) or 1
    rows = []
    for low, high in bins:
        number = sum(n for length, n in histogram.items() if low <= int(length) <= (high or int(length)))
        name = f"{low}+" if high is None else f"{low}" if low == high else f"{low}-{high}"
        rows.append((name, number / total))
    return rows
