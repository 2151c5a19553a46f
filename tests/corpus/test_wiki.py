"""MediaWiki dumps: what is an article, what is counted instead, and dumps that are cut, forged or no dumps at all."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
import zstandard

from zh_elmo.corpus import wiki
from zh_elmo.corpus.wiki import Document, documents, pages
from zh_elmo.files import BadInput
from zh_elmo.text.wikitext import LONGEST, Paragraph

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="zh">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="6" case="first-letter">Bilder</namespace>
      <namespace key="10" case="first-letter">Template</namespace>
      <namespace key="14" case="first-letter">Rubrik</namespace>
    </namespaces>
  </siteinfo>
"""
TAIL = "</mediawiki>\n"
WRITERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".bz2": bz2.compress,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
LAUGHS = """<!DOCTYPE mediawiki [<!ENTITY a "哈哈哈哈"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>"""


def revision(text: str, *, model: str = "wikitext", form: str = "text/x-wiki") -> str:
    return f"""    <revision>
      <id>2</id>
      <timestamp>2026-01-01T00:00:00Z</timestamp>
      <contributor><username>甲</username><id>3</id></contributor>
      <comment>[[乙]]</comment>
      <model>{model}</model>
      <format>{form}</format>
      <text bytes="{len(text)}" xml:space="preserve">{escape(text)}</text>
      <sha1>x</sha1>
    </revision>
"""


def page(title: str, *revisions: str, ns: int = 0, more: str = "") -> str:
    return f"  <page>\n    <title>{escape(title)}</title>\n    <ns>{ns}</ns>\n{more}{''.join(revisions)}  </page>\n"


ARTICLES = [
    page(
        "计算机",
        revision("'''计算机'''-{zh-hans:软件;zh-hant:軟體}-&nbsp;<ref>甲</ref>[[Bilder:a.jpg|乙]]\n\n== 节 ==\n* 丙"),
    ),
    page("Template:甲", revision("模板"), ns=10),
    page("電腦", revision("#REDIRECT [[计算机]]"), more='    <redirect title="计算机" />\n'),
    page("旧电脑", revision("#重定向 [[计算机]]")),
    page("脚本", revision("var a", model="javascript", form="text/javascript")),
    page("数据", revision("{}", form="application/json")),
    page("空", revision(" \n")),
    page("只有模板", revision("{{a}}[[Rubrik:丁]]")),
    page("坏", revision("甲\n{|\n乙")),
    page("群 & 组", revision("{{CGroup|IT}}戊")),
    page("历史", revision("旧"), revision("新")),
    page("删", revision("旧"), '    <revision><text deleted="deleted" /></revision>\n'),
]
DUMP = HEAD + "".join(ARTICLES) + TAIL
ENDS = [0, *(DUMP.index("</page>", DUMP.index(title)) for title in ("计算机", "群", "历史"))]
LENGTHS = [end - start for start, end in pairwise(ENDS)]
COUNTS = {
    "pages": 12,
    "kept": 3,
    "other namespace": 1,
    "redirect": 2,
    "not wikitext": 2,
    "no text": 3,
    "a table that never ends": 1,
    "conversion groups lost": 1,
}


@pytest.fixture
def dump(tmp_path: Path) -> Callable[..., Path]:
    def write(xml: str | bytes, suffix: str = "") -> Path:
        path = tmp_path / f"zhwiki-20260101-pages-articles.xml{suffix}"
        path.write_bytes(WRITERS[suffix](xml.encode() if isinstance(xml, str) else xml))
        return path

    return write


@pytest.mark.parametrize("suffix", WRITERS)
def test_articles_are_read_and_the_rest_is_counted(dump, suffix: str) -> None:
    counts: Counter[str] = Counter()
    found = list(pages(dump(DUMP, suffix), counts))
    assert [title for title, _ in found] == ["计算机", "只有模板", "坏", "群 & 组", "历史"]
    assert found[0][1].startswith("'''计算机'''-{zh-hans:软件;zh-hant:軟體}-&nbsp;<ref>甲</ref>")
    assert found[-1] == ("历史", "新")  # the last revision
    assert counts == {key: COUNTS[key] for key in ("pages", "other namespace", "redirect", "not wikitext")} | {
        "no text": 2
    }


@pytest.mark.parametrize("block", [1, 7, 1 << 18])
def test_documents_are_paragraphs_and_add_up(dump, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiki, "_BLOCK", block)
    counts: Counter[str] = Counter()
    found = list(documents(dump(DUMP), "zh-hant", counts))
    first, groups, history, rest = found
    assert first.title == "计算机"
    assert first.paragraphs == [Paragraph("计算机軟體", ((3, 5),)), Paragraph("丙")]
    assert groups == Document("群 & 组", [Paragraph("戊")], groups.read)
    assert history.paragraphs == [Paragraph("新")]
    assert (rest.title, rest.paragraphs) == ("", [])
    assert counts == COUNTS
    assert sum(document.read for document in found) == len(DUMP)
    assert [document.read for document in found[:3]] == [
        pytest.approx(length, abs=len("</page>")) for length in LENGTHS
    ]


def test_a_dump_of_an_old_version_has_neither_models_nor_namespaces(dump) -> None:
    old = "<mediawiki><page><title>甲</title><revision><text>乙</text></revision></page></mediawiki>"
    assert list(pages(dump(old))) == [("甲", "乙")]
    assert list(pages(dump("<mediawiki></mediawiki>"))) == []
    assert list(pages(dump(b'\xef\xbb\xbf<?xml version="1.0" encoding="utf-8"?>' + old.encode()))) == [("甲", "乙")]
    slots = old.replace("</text>", "</text><content><role>a</role><model>json</model><text>丙</text></content>")
    assert list(pages(dump(slots))) == [("甲", "乙")]


def test_entities_of_xml_are_resolved_once(dump) -> None:
    text = "a &amp;amp; &lt;b&gt; &quot;&apos;&#20057;"
    xml = f"<mediawiki><page><title>&amp;甲</title><revision><text>{text}</text></revision></page></mediawiki>"
    assert list(pages(dump(xml))) == [("&甲", "a &amp; <b> \"'乙")]


@pytest.mark.parametrize(
    "xml",
    [
        LAUGHS + HEAD + page("甲", revision("乙").replace("乙", "&c;")) + TAIL,
        '<!DOCTYPE mediawiki [<!ENTITY a SYSTEM "file:///etc/hostname">]>' + HEAD + TAIL,
        '<!DOCTYPE mediawiki SYSTEM "http://127.0.0.1:9/a.dtd">' + HEAD + TAIL,
        "<!DOCTYPE mediawiki>" + HEAD + TAIL,
    ],
)
def test_a_document_type_is_refused(dump, xml: str) -> None:
    with pytest.raises(BadInput, match=r"\.xml: refused: a MediaWiki dump has no document type"):
        list(pages(dump(xml)))


def test_an_entity_of_no_one_is_not_well_formed(dump) -> None:
    xml = HEAD + ARTICLES[0] + page("甲", revision("丙").replace("丙", "&nbsp;")) + TAIL
    reading = pages(dump(xml))
    assert next(reading)[0] == "计算机"  # what was whole comes first
    with pytest.raises(
        BadInput, match=r"not well-formed XML \(undefined entity, line \d+\), after the page '计算机'"
    ) as error:
        next(reading)
    assert error.value.byte == len(xml[: xml.index("&nbsp;</text>")].encode())


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ("<html><body/></html>", "not a MediaWiki dump: expected <mediawiki>, found <html>"),
        ("<<", "not well-formed XML"),
        ("正文", "the dump ends before"),
        ("", "the dump ends before </mediawiki>, before the end of the first page"),
        (HEAD + "<a>" * 20, "elements nested too deeply"),
        (HEAD + "</siteinfo>", "not well-formed XML"),
        (DUMP + DUMP, "not well-formed XML"),
        ('<?xml version="1.0" encoding="gb2312"?>' + HEAD + TAIL, "expected a dump in UTF-8; it says gb2312"),
        (HEAD.encode() + b"\xff", "not well-formed XML"),
    ],
)
def test_what_is_no_dump_is_said_in_one_line(dump, xml: str | bytes, message: str) -> None:
    path = dump(xml)
    with pytest.raises(BadInput) as error:
        list(pages(path))
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("place", ["<page>", "</title>", "<text ", "</text>", "</page>", "</mediawiki>", "\n  </page>"])
def test_a_dump_that_was_cut_is_not_taken_for_whole(dump, place: str) -> None:
    cut = DUMP[: DUMP.rindex(place)]
    counts: Counter[str] = Counter()
    found: list[str] = []
    with pytest.raises(BadInput, match=r"\(byte [\d,]+\): the dump ends before </mediawiki>, after the page '.+'"):
        found.extend(document.title for document in documents(dump(cut), counts=counts))
    assert found == (["计算机", "群 & 组", "历史"] if cut.count("</page>") >= 11 else ["计算机", "群 & 组"])
    assert counts["pages"] == cut.count("</page>")


@pytest.mark.parametrize("suffix", [".bz2", ".gz", ".xz", ".zst"])
def test_a_compressed_dump_that_was_cut_or_damaged_is_told_of(dump, suffix: str) -> None:
    path = dump(DUMP, suffix)
    whole = path.read_bytes()
    for damaged in (whole[:-30], whole[:4], whole[:60] + b"\0\0\0\0\0\0\0\0" + whole[68:]):
        path.write_bytes(damaged)
        with pytest.raises(BadInput) as error:
            list(pages(path))
        assert str(error.value).startswith(str(path))


def test_a_long_page_is_counted_and_not_held(dump) -> None:
    counts: Counter[str] = Counter()
    xml = HEAD + page("长", revision("甲" * (LONGEST + 1))) + ARTICLES[0] + TAIL
    assert [title for title, _ in pages(dump(xml), counts)] == ["计算机"]
    assert counts == {"pages": 2, "too long": 1}


@pytest.mark.parametrize("unit", ["<!--" + "a" * 100, f'<page a="{"b" * 100}', "<?a " + "b" * 100])
def test_a_tag_without_end_is_not_collected(dump, unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiki, "_LONGEST_TOKEN", 10_000)
    monkeypatch.setattr(wiki, "_BLOCK", 4096)
    with pytest.raises(BadInput, match="a tag or comment that does not end, after the page '计算机'"):
        list(pages(dump(HEAD + ARTICLES[0] + unit + "a" * 100_000)))


def test_memory_does_not_grow_with_the_dump(dump) -> None:
    peaks = []
    for copies in (2, 400):
        path = dump(HEAD + page("甲", revision("乙丙丁。\n" * 5_000)) * copies + TAIL, ".gz")
        tracemalloc.start()
        assert sum(1 for _ in pages(path)) == copies
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 2_000_000
