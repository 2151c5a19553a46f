"""results.json -> report.html: one page by itself, without any address outside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from zh_elmo.files import BadInput, existing, read_json, write_text
from zh_elmo.suite import plots
from zh_elmo.suite.tables import Table, tables

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, FONTS; color: #1d1d1d; background: #fff; margin: 0 auto; padding: 1rem;
  max-width: 66rem; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; line-height: 1.25; }
h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #ccc; }
.wide { overflow-x: auto; margin: 0.8rem 0; }
table { border-collapse: collapse; font-size: 0.9rem; }
caption { text-align: left; font-weight: 600; padding: 0.3rem 0; }
th, td { padding: 0.2rem 0.7rem 0.2rem 0; text-align: left; white-space: nowrap; border-bottom: 1px solid #e6e6e6; }
td.figure, th.figure { text-align: right; font-variant-numeric: tabular-nums; }
tr.begins td { border-top: 2px solid #bbb; }
.plots { display: flex; flex-wrap: wrap; gap: 1rem; } figure { margin: 0; flex: 1 1 20rem; max-width: 30rem; }
figure svg { width: 100%; height: auto; } figcaption { font-size: 0.85rem; color: #444; }
.oov { background: #fff1c9; } .wrong { color: #b00020; } .right { color: #1a6b2c; }
pre { overflow-x: auto; background: #f6f6f6; padding: 0.7rem; font-size: 0.8rem; }
.note { border-left: 4px solid #c44e16; padding-left: 0.8rem; }
"""


def write_report(run: str | Path) -> Path:
    """Make `report.html` from the `results.json` of a run (a folder, or the file itself) beside it.

    Raises BadInput where there are no results or they are damaged.
    """
    given = existing(run, "run")
    source = given / "results.json" if given.is_dir() else given
    if not source.is_file():
        raise BadInput("no results.json here; `zh-elmo eval` and `zh-elmo quickstart` write one", path=given)
    target = source.with_name("report.html")
    try:
        html = page(read_json(source))
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise BadInput(f"not the results of a suite: {type(error).__name__} {error}", path=source) from None
    write_text(target, html)
    return target


def page(results: Mapping[str, Any]) -> str:
    """The whole page as HTML; the same results give the same page."""
    whole = tables(results)
    title = escape(str(results["title"]))
    body = [
        f"<h1>{title}</h1>",
        f"<p>{escape(_summary(results))}</p>",
        *(f'<p class="note">{escape(note)}</p>' for note in results.get("notes", [])),
        "<h2>Scores · 得分</h2>",
        *(_table(table) for table in whole),
        *_failures(results),
        "<h2>Pictures · 图</h2>",
        *_pictures(results),
        *_pretraining(results),
        "<h2>Examples · 例句</h2>",
        *_examples(results),
        "<h2>How this was made · 制作方法</h2>",
        *_making(results),
    ]
    style = _STYLE.replace("FONTS", ", ".join(f'"{font}"' for font in plots.FONTS[:-1]) + ", sans-serif")
    return (
        f'<!DOCTYPE html>\n<html lang="zh-Hans">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n" + "\n".join(body) + "\n</body>\n</html>\n"
    )


def _summary(results: Mapping[str, Any]) -> str:
    return (
        f"Made {results['created']} by `{results['command']}`. An OOV word is one whose form, in the normalised "
        "script, is not in the training split of the treebank; a score counts for the word that is tagged or attached, "
        "not for its head. Relations are compared without subtypes and punctuation counts, as in the CoNLL 2018 shared "
        "task."
    )


def _table(table: Table) -> str:
    def row(cells: list[str], tag: str, begins: bool = False) -> str:
        marks = ["" if index < table.labels else ' class="figure"' for index in range(len(cells))]
        inner = "".join(f"<{tag}{mark}>{escape(cell)}</{tag}>" for mark, cell in zip(marks, cells, strict=True))
        return f'<tr class="begins">{inner}</tr>' if begins else f"<tr>{inner}</tr>"

    before = [[""], *table.rows]
    rows = [row(cells, "td", cells[0] != last[0]) for last, cells in zip(before, table.rows, strict=False)]
    return (
        f'<div class="wide"><table><caption>{escape(table.title)}</caption><thead>{row(table.columns, "th")}</thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _failures(results: Mapping[str, Any]) -> Iterator[str]:
    for name, reason in (results.get("failures") or {}).items():
        yield f'<p class="wrong">Not there: {escape(name)} ({escape(reason)})</p>'


def _pictures(results: Mapping[str, Any]) -> Iterator[str]:
    if not plots.available():
        yield "<p>No pictures, since matplotlib is not installed: <code>pip install 'zh_elmo[plots]'</code>, "
        yield "then <code>zh-elmo report RUN</code> makes this page again.</p>"
        return
    yield '<div class="plots">'
    for plot in plots.plots(results):
        yield f"<figure>{plot.svg}<figcaption>{escape(plot.caption)}</figcaption></figure>"
    yield "</div>"


def _pretraining(results: Mapping[str, Any]) -> Iterator[str]:
    facts = results.get("pretraining") or {}
    rows = [[key, _shown(value)] for key, value in _flat(facts) if key != "curve" and not key.startswith("settings.")]
    if rows:
        yield "<h2>Pre-training · 预训练</h2>"
        yield _table(Table("The biLM: what it read, how fast, and its held-out perplexity", ["", ""], rows, 1))


def _flat(facts: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _shown(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _examples(results: Mapping[str, Any]) -> Iterator[str]:
    examples = results.get("examples") or []
    if not examples:
        yield "<p>No sentence on which the arms differ.</p>"
        return
    yield (
        "<p>Short sentences: first those that gain most from the first arm to the last, then those that lose most. "
        '<span class="oov">OOV words</span> are marked; after each word stand tag, head and relation of the gold tree '
        'and of each arm; <span class="wrong">what differs from gold is red</span>.</p>'
    )
    for example in examples:
        yield _example(example)


def _example(example: Mapping[str, Any]) -> str:
    arms = list(example["words"][0]["arms"])
    head = "".join(f"<th>{escape(column)}</th>" for column in ["", "word", "gold", *arms])
    rows = []
    for number, word in enumerate(example["words"], 1):
        cells = [f"<td>{number}</td>", f'<td class="{"oov" if word["oov"] else "iv"}">{escape(word["form"])}</td>']
        cells.append(f"<td>{escape(_annotation(word['gold']))}</td>")
        for arm in arms:
            right = "right" if word["arms"][arm] == word["gold"] else "wrong"
            cells.append(f'<td class="{right}">{escape(_annotation(word["arms"][arm]))}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    caption = f"{example['treebank']} {example['sent_id']}: {example['text']}"
    return (
        f'<div class="wide"><table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _annotation(annotation: Mapping[str, Any]) -> str:
    return " ".join(str(annotation[key]) for key in ("upos", "head", "deprel") if annotation.get(key) is not None)


def _making(results: Mapping[str, Any]) -> Iterator[str]:
    rows = []
    for name, facts in results["treebanks"].items():
        for role, file in facts["files"].items():
            counts = [f"{file['sentences']:,}", f"{file['words']:,}"]
            rows.append([name, role, file["name"], *counts, file["sha256"]])
        yield f"<p>{escape(name)}: {escape(facts.get('about', ''))}</p>"
    columns = ["treebank", "split", "file", "sentences", "words", "SHA-256"]
    yield _table(Table("Data", columns, rows, 3))
    versions = [[name, str(value)] for name, value in results["versions"].items()]
    yield _table(Table("Versions", ["", ""], versions, 2))
    yield "<details><summary>Settings of the suite</summary><pre>"
    yield escape(json.dumps(results["suite"], ensure_ascii=False, indent=2))
    yield "</pre></details>"
