"""The page: whole, by itself, Chinese in it, and the same each time."""

from __future__ import annotations

import builtins
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from zh_elmo.files import BadInput, write_json
from zh_elmo.suite import plots
from zh_elmo.suite.report import page, write_report

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Strict(HTMLParser):
    """Every element that opens closes in order; ids are single; nothing is loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self._attributes(attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._attributes(attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def _attributes(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            assert name not in ("src", "srcset", "action", "data")
            if name == "id":
                self.ids.append(str(value))
            if name == "href":
                self.references.append(str(value))


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take most of the time."""
    monkeypatch.setattr(plots, "available", lambda: False)


def read(html: str) -> Strict:
    parser = Strict()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


def test_the_page_is_well_formed_and_needs_nothing_outside(results: dict[str, Any]) -> None:
    html = page(results)
    parser = read(html)
    assert not re.search(r"https?://|src=|@import|url\((?!#)|//\w+\.\w", html)
    assert len(parser.ids) == len(set(parser.ids)) > 0
    assert all(reference.startswith("#") and reference[1:] in parser.ids for reference in parser.references)
    assert set(re.findall(r"url\(#([^)]+)\)", html)) <= set(parser.ids)
    assert 'name="viewport"' in html


@pytest.mark.usefixtures("no_pictures")
def test_everything_is_said_and_escaped(results: dict[str, Any]) -> None:
    html = page(results)
    text = read(html).text
    assert "Toy <suite> & 玩具" in text
    scores = ["60.00 (40.0–80.0)", "+22.00 p=0.001", "no <gensim>", "So elmo is ahead & <b>"]
    example = ["苹果", "NOUN 0 root", "VERB 0 root", "s<1>"]
    making = ["zh-elmo eval toy", "2026-01-02 03:04", "ab12", "2.13.0", "zh_toy-ud-test.conllu", "A toy, CC0"]
    assert [said for said in scores + example + making if said not in text] == []
    assert "The biLM" not in text
    assert "<b>" not in html
    assert "<suite>" not in html
    assert "<gensim>" not in html


def test_chinese_in_pictures_is_text_in_fonts_that_have_it(results: dict[str, Any]) -> None:
    results["treebanks"] = {"树库": results["treebanks"]["zh_toy"]}
    results["treebanks"]["树库"]["slices"] |= {"未登录词": 300}
    results["treebanks"]["树库"]["groups"]["vocabulary"] = ["IV", "未登录词"]
    for row in [*results["scores"], *results["comparisons"], *results["cells"]]:
        row["treebank"] = "树库"
    svg = plots.plots(results)[0].svg
    assert "未登录词" in re.sub(r"<[^>]*>", "", svg)
    assert "Noto Sans CJK SC" in svg
    assert "xmlns" not in svg


def test_the_same_results_give_the_same_page(results: dict[str, Any]) -> None:
    assert page(results) == page(results)


def test_pre_training_is_told_when_it_is_known(results: dict[str, Any]) -> None:
    curve = [[1, 9.0], [2, 8.0]]
    results["pretraining"] = {"held_out_perplexity": {"mean": 512.25}, "words_per_second": 1500.0, "curve": curve}
    text = read(page(results)).text
    for said in ["held_out_perplexity.mean", "512.25", "1,500.00", "Pre-training of the biLM"]:
        assert said in text


def test_without_matplotlib_there_is_a_page_and_a_word_on_how_to_get_pictures(
    results: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    html = page(results)
    assert "<svg" not in html
    assert "pip install 'zh_elmo[plots]'" in read(html).text


@pytest.mark.usefixtures("no_pictures")
def test_the_report_lies_beside_its_results(tmp_path: Path, results: dict[str, Any]) -> None:
    write_json(tmp_path / "results.json", results)
    assert write_report(tmp_path) == tmp_path / "report.html"
    assert write_report(tmp_path / "results.json").read_text("utf-8") == page(results)


@pytest.mark.usefixtures("no_pictures")
def test_a_folder_without_results_and_a_damaged_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no results\.json"):
        write_report(tmp_path)
    (tmp_path / "results.json").write_text('{"title": 1}', "utf-8")
    with pytest.raises(BadInput):
        write_report(tmp_path)
    with pytest.raises(BadInput, match="no such run"):
        write_report(tmp_path / "nothing")
