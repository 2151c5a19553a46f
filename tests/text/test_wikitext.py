"""Wikitext: the cases of language variants, pages as people write them, broken pages, and pages made to hurt."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zh_elmo.text.variants import Unreadable, outside
from zh_elmo.text.wikitext import LONGEST, Page, Paragraph, plain

VARIANTS = ("zh-hans", "zh-hant", "zh-cn", "zh-tw", "zh-hk")
TO_HANT = str.maketrans("谦机汉", "謙機漢")
TO_HANS = str.maketrans("謙機漢", "谦机汉")


def texts(wikitext: str, variant: str = "zh-hans") -> list[str]:
    return [paragraph.text for paragraph in plain(wikitext, variant).paragraphs]


def one(wikitext: str, variant: str = "zh-hans") -> str:
    """The text of a page of at most one paragraph."""
    (text,) = texts(wikitext, variant) or [""]
    return text


def spans(wikitext: str, variant: str = "zh-hans") -> tuple[tuple[int, int], ...]:
    (paragraph,) = plain(wikitext, variant).paragraphs
    return paragraph.protected


# Language variants: chinese-text.md, section 6 ------------------------------------------------------------------------

# number: (wikitext, shown for zh-hans, for zh-hant, and where it differs from its script for other variants)
CASES: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "1": ("-{zh-hans:计算机; zh-hant:電腦;}-很快", "计算机很快", "電腦很快", {}),
    "2": ("-{zh-cn:软件; zh-tw:軟體; zh-hk:軟件}-", "软件", "軟體", {"zh-hk": "軟件"}),
    "3": ("-{zh-cn:宏; zh-tw:巨集}-", "宏", "巨集", {}),
    "4": ("甲-{R|乾}-乙", "甲乾乙", "甲乾乙", {}),
    "4b": ("甲-{乾}-乙", "甲乾乙", "甲乾乙", {}),
    "5": ("-{于}-谦", "于谦", "于谦", {}),
    "6": ("-{A|zh-cn:软件;zh-tw:軟體}-和软件", "软件和软件", "軟體和軟體", {}),
    "7": ("-{H|zh-cn:博客;zh-tw:部落格}-我的博客", "我的博客", "我的部落格", {}),
    "8": ("-{T|zh-hans:甲;zh-hant:乙}-正文", "正文", "正文", {}),
    "9": ("-{-|zh-cn:博客;zh-tw:部落格}-博客", "博客", "博客", {}),
    "10": ("-{D|zh-cn:甲;zh-tw:乙}-", "", "", {}),
    "10b": ("-{N|zh-hk}-", "", "", {}),
    "11": ("-{H|巨集=>zh-cn:宏;}-巨集", "巨集", "巨集", {"zh-cn": "宏"}),
    "12": ("-{zh-hans:甲-{zh-cn:乙;zh-tw:丙}-;zh-hant:丁}-", "甲乙", "丁", {}),
    "13": ("大-{}-丑", "大丑", "大丑", {}),
    "14": ("-{zh;zh-hans;zh-hant|漢字}-", "漢字", "漢字", {}),
    "15": ("[[-{zh-hans:计算机;zh-hant:電腦}-|机器]]", "机器", "机器", {}),
    "16": ("{{noteTA|T=zh-hans:甲;zh-hant:乙|1=zh-cn:丙;zh-tw:丁}}丙", "丙", "丁", {}),
    "17": ("甲<math>e^{-{x}}</math>乙", "甲乙", "甲乙", {}),
    "17b": ("<nowiki>-{甲}-</nowiki>", "-{甲}-", "-{甲}-", {}),
    "18": ("-{zh-hans:甲&nbsp;乙;zh-hant:丙&nbsp;丁}-", "甲 乙", "丙 丁", {}),
    "19": ("-{zh-hans:8:00开始;zh-hant:8:00開始}-", "8:00开始", "8:00開始", {}),
    "20": ("-{zh-hans:甲", "-{zh-hans:甲", "-{zh-hans:甲", {}),
    "21": ("-{{{1|乾}}}-", "-乾-", "-乾-", {}),
}  # fmt: skip


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("number", CASES)
def test_case_of_section_6(number: str, variant: str) -> None:
    wikitext, hans, hant, others = CASES[number]
    assert one(wikitext, variant) == others.get(variant, hans if variant in ("zh-hans", "zh-cn") else hant)


@pytest.mark.parametrize(
    ("number", "hans", "hant"),
    [("5", "于谦", "于謙"), ("14", "汉字", "漢字"), ("15", "机器", "機器"), ("4", "甲乾乙", "甲乾乙")],
)
def test_only_what_was_not_chosen_is_converted(number: str, hans: str, hant: str) -> None:
    for variant, table, right in (("zh-hans", TO_HANS, hans), ("zh-hant", TO_HANT, hant)):
        ((text, protected),) = plain(CASES[number][0], variant).paragraphs
        assert outside(text, protected, lambda piece, table=table: piece.translate(table)) == right


@pytest.mark.parametrize(
    ("wikitext", "right"),
    [
        ("-{zh-hans:计算机; zh-hant:電腦;}-很快", ((0, 3),)),
        ("甲-{R|乾}-乙", ((1, 2),)),
        ("大-{}-丑", ((1, 1),)),
        ("-{A|zh-cn:软件;zh-tw:軟體}-和软件", ((0, 2), (3, 5))),
        ("* -{ 乾 }- ", ((0, 1),)),
        ("''-{乾}-''[[甲|乙-{丙}-丁]]", ((0, 1), (2, 3))),
        ("{{lang|en|A-{乾}-}}", ((1, 2),)),
        ("-{zh;zh-tw|漢字}-", ()),
        ("-{zh-tw|漢字}-", ((0, 2),)),
        ("甲", ()),
    ],
)
def test_what_is_final_is_told(wikitext: str, right: tuple[tuple[int, int], ...]) -> None:
    if "zh;zh-tw" in wikitext:
        assert spans(wikitext, "zh-tw") == right
    else:
        assert spans(wikitext) == right


def test_a_final_value_of_two_lines_is_final_in_both() -> None:
    assert plain("甲-{乙<br>丙}-丁").paragraphs == [Paragraph("甲乙", ((1, 2),)), Paragraph("丙丁", ((0, 1),))]


@pytest.mark.parametrize(
    ("variant", "right"),
    [("zh-hk", "d"), ("zh-mo", "d"), ("zh-tw", "c"), ("zh-hant", "c"), ("zh-sg", "e"), ("zh-my", "e"), ("zh-cn", "b")],
)
def test_every_variant_falls_back_on_its_neighbours(variant: str, right: str) -> None:
    assert one("-{zh:a;zh-cn:b;zh-tw:c;zh-hk:d;zh-sg:e}-", variant) == right


def test_the_last_resort_is_zh_and_then_any() -> None:
    assert one("-{zh-hk:a;zh:b}-") == "b"
    assert one("-{zh-hk:a;zh-tw:b}-") == "a"
    assert one("-{甲=>zh-tw:乙}-") == "甲"
    assert one("-{甲=>zh-tw:乙}-", "zh-tw") == "乙"
    assert one("-{zh-tw:a;zh-hans:b}-", "zh") == "b"
    with pytest.raises(ValueError, match="zh-hans, zh-hant"):
        plain("甲", "zh-xx")


@pytest.mark.parametrize(
    ("wikitext", "right"),
    [
        ("博客-{H|zh-cn:博客;zh-tw:部落格}-博客", "博客部落格"),  # from there on, not before
        ("-{H|zh-cn:博客;zh-tw:部落格}-博客-{-|zh-cn:博客;zh-tw:部落格}-博客", "部落格博客"),
        ("-{H|zh-cn:网络;zh-tw:網路}--{H|zh-cn:网络游戏;zh-tw:線上遊戲}-网络游戏网络", "線上遊戲網路"),
        ("-{H|zh-cn:甲;zh-tw:乙}--{H|zh-cn:甲;zh-tw:丙}-甲", "丙"),  # the later one holds
        ("-{H|zh-cn:甲;zh-tw:乙}--{甲}-甲", "甲乙"),  # not in what is final
        ("-{H|zh-cn:甲;zh-tw:乙}-[[丙|甲]]和[[甲]]", "乙和乙"),
        ("{|\n|-{H|zh-cn:甲;zh-tw:乙}-\n|}\n甲", "乙"),  # the table goes, its rule stays
        ("{{Infobox|a=-{A|zh-cn:甲;zh-tw:乙}-}}甲", "乙"),
        ("[[File:a.jpg|-{A|zh-cn:甲;zh-tw:乙}-]]甲", "乙"),
        ("== -{A|zh-cn:甲;zh-tw:乙}- ==\n甲", "乙"),
        ("-{zh-cn:x-{H|zh-cn:甲;zh-tw:乙}-;zh-tw:y}-甲", "y乙"),
        ("-{+|zh-cn:甲;zh-tw:乙}-甲", "乙"),
        ("-{H|zh-cn:'''甲''';zh-tw:[[乙|丙]]}-甲", "丙"),
        ("-{H|zh-cn:;zh-tw:乙}-甲", "甲"),
        ("-{A|甲=>zh-tw:乙;丙=>zh-cn:丁}-甲丙", "乙乙丙"),
        ("-{H|zh-cn:甲;zh-tw:乙<br>丙}-甲", "乙 丙"),  # a word has one line
    ],
)
def test_rules_hold_for_the_rest_of_the_page(wikitext: str, right: str) -> None:
    assert one(wikitext, "zh-tw") == right


def test_a_rule_says_what_is_right_already_too() -> None:
    assert spans("-{H|zh-cn:博客;zh-tw:部落格}-我的博客") == ((2, 4),)
    assert spans("-{H|zh-tw:部落格}-我的部落格") == ()  # there is no word for zh-hans


def test_unknown_flags_are_none_and_links_have_bars_of_their_own() -> None:
    assert one("-{X|zh-cn:甲;zh-tw:乙}-") == "甲"
    assert one("-{[[甲|乙]]}-") == "乙"
    assert one("-{zh-cn:[[甲|乙]];zh-tw:{{lang|en|丙}}}-", "zh-tw") == "丙"


def test_notes_at_the_top_bring_rules_and_groups() -> None:
    note = "{{NoteTA|G1 = IT\n|T=zh-cn:题;zh-tw:題|1=zh-cn:硬件;zh-tw:硬體|zh-cn:软件;zh-tw:軟體;|2=网吧=>zh-tw:網咖}}"
    page = plain(f"{note}\n硬件、软件、网吧、题", "zh-tw")
    assert page == Page([Paragraph("硬體、軟體、網咖、题", ((0, 2), (3, 5), (6, 8)))], groups=1)
    assert plain("{{CGroup|IT}}{{CGroup|Movie}}甲").groups == 2
    assert plain("{{noteTA|G1=|1=zh-cn:甲;zh-tw:乙}}甲").groups == 0


def test_variants_nest_ten_deep_and_no_deeper() -> None:
    assert one("-{" * 10 + "甲" + "}-" * 10) == "甲"
    with pytest.raises(Unreadable, match="nested too deeply"):
        plain("-{" * 11 + "甲" + "}-" * 11)


def test_a_page_that_says_so_is_not_converted() -> None:
    page = plain("__NOCONTENTCONVERT__甲乙\n\n丙")
    assert page.paragraphs == [Paragraph("甲乙", ((0, 2),)), Paragraph("丙", ((0, 1),))]


# Markup ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wikitext", "right"),
    [
        ("甲<!-- 乙 [[丙 -->丁", "甲丁"),
        ("甲{{a|b={{c|{{d}}|[[e|f]]}}|g}}乙", "甲乙"),
        ("甲{{a\n|b=c\n}}乙", "甲乙"),
        ("甲{{{1}}}{{{2|}}}{{{3|乙}}}", "甲乙"),
        ("{{{{{1|a}}}|b}}甲", "甲"),
        ("甲<ref>乙</ref><ref name=a>[[丙]]</ref><ref name='b' />丁", "甲丁"),
        ("甲<REF>乙</Ref >丁", "甲丁"),
        ("甲<math>\\frac{a}{b}</math>、<chem>H2O</chem>乙", "甲、乙"),
        ("<gallery>\nFile:a.jpg|甲\n</gallery>乙", "乙"),
        ("<syntaxhighlight lang=c>int a[] = {{1}};</syntaxhighlight>甲", "甲"),
        ("[[甲]]、[[甲|乙]]、[[甲#丙|丁]]、[[#节]]、[[甲|'''乙''']]、[[甲|乙|丙]]", "甲、乙、丁、#节、乙、乙|丙"),
        ("[[甲 (电影)|]]、[[A&amp;B]]、[[Rock 'n' Roll]]", "甲 (电影)、A&B、Rock 'n' Roll"),
        ("[[File:a.jpg|thumb|200px|甲[[乙|丙]]的[[丁]]]]戊", "戊"),
        ("[[文件:a.jpg|缩略图|甲<ref>[[乙]]</ref>]][[檔案:b.png]][[Image:c.svg]]戊", "戊"),
        ("甲[[Category:乙]][[分类:丙|丁]][[en:Title]][[zh-min-nan:Kah]][[ja:題]]", "甲"),
        ("[[:Category:乙]]和[[:File:a.jpg|图]]和[[:en:Title|丙]]和[[:ja:題]]", "Category:乙和图和丙和ja:題"),
        ("[[Wikipedia:甲|乙]]和[[s:丙|丁]]和[[Re:Zero|戊]]和[[zh:己|庚]]", "乙和丁和戊和庚"),
        ("[http://a.cn 甲 乙]丙[http://b.cn][//c.cn ''丁'']http://d.cn", "甲 乙丙丁http://d.cn"),
        ("[http://a.cn [[甲|乙]]]、[http://a.cn {{lang|en|X}}]、[[http://a.cn 丙]]", "乙、X、丙"),
        ("[1]、[甲]、a[i]、a[[1]]", "[1]、[甲]、a[i]、a1"),
        ("'''甲'''''乙''、'''''丙'''''、it's、''''丁''''", "甲乙、丙、it's、'丁'"),
        ("__NOTOC__甲__无目录__乙__甲__", "甲乙__甲__"),
        ("甲<b>乙</b><span style='a:b'>丙</span><sup>2</sup>", "甲乙丙2"),
        ("a<b时且c>d、<foo>、1 < 2 > 0、<>", "a<b时且c>d、<foo>、1 < 2 > 0、<>"),
        ("<ruby>汉<rp>(</rp><rt>hàn</rt><rp>)</rp></ruby>字", "汉字"),
        ("<onlyinclude>甲</onlyinclude><includeonly>乙</includeonly><noinclude>丙</noinclude>", "甲丙"),
        ("&lt;ref&gt;甲&#8212;&#x4e59;&amp;&nbsp;&hellip;&bogus;&amp", "<ref>甲—乙& …&bogus;&amp"),
        ("甲&#xD800;&#1114112;&#10;&#0;乙", "甲 乙"),
        ("<nowiki>[[甲]]{{乙}}''&lt;</nowiki>丙<nowiki />丁", "[[甲]]{{乙}}''<丙丁"),
        ("<nowiki>* 甲</nowiki>", "* 甲"),
        ("<nowiki>==甲==</nowiki>", "==甲=="),
        ("{{lang|en|Turing}}、{{lang-en|Alan}}、{{link-en|甲|A}}、{{le|乙|B|丙}}、{{tsl|en|C|丁}}、{{nowrap|{{le|戊|E}}}}",
         "Turing、Alan、甲、丙、丁、戊"),
        ("{{lang|en}}、{{lang|1=en|2=X=Y}}、{{Lang|en|}}甲", "、X=Y、甲"),
        ("图灵（{{bd|1912年|1954年}}）", "图灵"),
        ("图灵（{{a}}，{{b}}、）（1912年，{{a}}，{{b}}）(, {{a}})", "图灵（1912年）"),
        ("图灵（{{IPA|x}}，{{bd|a}}；1912年，{{b}}）是{{c}}人", "图灵（1912年）是人"),
        ("f(){{b}}（）", "f()（）"),
        ("甲|乙 || 丙", "甲|乙 || 丙"),
        ("甲{|乙|}丙", "甲{|乙|}丙"),
        ("{{{甲}}", "{"),
        ("https://a.cn/x_y-z?a=b&c=d#e", "https://a.cn/x_y-z?a=b&c=d#e"),
    ],
)  # fmt: skip
def test_markup_within_a_line(wikitext: str, right: str) -> None:
    assert one(wikitext) == right


@pytest.mark.parametrize(
    ("wikitext", "right"),
    [
        ("甲\n乙\n\n丙", ["甲", "乙", "丙"]),
        ("甲\r\n乙\r丙", ["甲", "乙", "丙"]),
        ("== 历史 ==\n甲\n===[[乙]]===\n丙\n=丁=\n== 戊 == <!-- a -->\n= 己\n=", ["甲", "丙", "= 己", "="]),
        ("* 甲\n** 乙\n# 丙\n#: 丁\n;戊:己\n: 庚\n 辛", ["甲", "乙", "丙", "丁", "戊:己", "庚", "辛"]),
        ("甲\n----\n乙\n-----丙\n--丁", ["甲", "乙", "丙", "--丁"]),
        ("甲<br>乙<br />丙<p>丁</p>戊<hr>", ["甲", "乙", "丙", "丁", "戊"]),
        ("<div class=a>\n甲\n</div>\n<blockquote>乙</blockquote>丙", ["甲", "乙", "丙"]),
        ("<poem>\n床前明月光\n疑是地上霜\n</poem>", ["床前明月光", "疑是地上霜"]),
        ("<pre>\n* [[甲]]\n  {{乙}}\n</pre>丙", ["* [[甲]]", "{{乙}}", "丙"]),
        ("甲\n{| class=a\n! 乙\n|-\n| 丙 || [[丁|戊]]\n|}\n己", ["甲", "己"]),
        ("甲\n:{|\n|\n{|\n|乙\n|}\n|丙\n|}丁", ["甲", "丁"]),
        ("{|\n| {{a\n|}} || {{b|c\n|d=e}}\n|}\n己", ["己"]),
        ("{{a|\n{|\n|乙\n|}\n}}己", ["己"]),
        ("甲<table><tr><td>乙<table></table></td></tr></table>丙", ["甲", "丙"]),
        ("甲\n|-\n| 乙 || 丙\n|}\n丁", ["甲", "丁"]),  # a template opened that table
        ("{{a}}\n<!-- b -->\n[[Category:c]]\n'''\n'''''\n", []),
        ("", []),
    ],
)
def test_lines(wikitext: str, right: list[str]) -> None:
    assert texts(wikitext) == right


def test_namespaces_of_another_wiki_can_be_named() -> None:
    assert one("[[Datei:a.jpg|mini|甲]]乙") == "mini|甲乙"
    page = plain("[[Datei:a.jpg|mini|甲]]乙[[en:A]]", hidden=frozenset({"datei"}))
    assert [paragraph.text for paragraph in page.paragraphs] == ["乙en:A"]


PAGE = """{{noteTA
|G1=IT
|1=zh-cn:计算机; zh-tw:電腦;
}}
{{Infobox scientist
| name = 艾伦·图灵<br />{{lang|en|Alan Turing}}
| image = [[File:Turing.jpg|200px]]
| birth_date = {{birth date|1912|6|23|df=y}}
| known_for = {{Plainlist|
* [[图灵机]]<ref>{{cite book |title=甲 |url=http://a.org/?a={b}}}</ref>
}}
}}
[[File:Alan Turing.jpg|thumb|right|图灵[[雕像]]，位于[[布莱切利园|布萊切利園]]<ref name="a"/>]]
'''艾伦·麦席森·图灵'''，[[OBE]]，[[FRS]]（{{lang-en|Alan Mathison Turing}}，1912年6月23日—1954年6月7日），[[英国]]\
[[计算机科学|计算机科学家]]、[[数学家]]{{refn|group=注|他也是[[跑者]]。}}。<ref>{{cite web|url=http://b.org|title=乙}}</ref>

== 生平 ==
=== 早年 ===
图灵出生于-{zh-hans:伦敦; zh-hant:倫敦;}-&mdash;&mdash;[[帕丁顿 (伦敦)|帕丁顿]]。\
''On Computable Numbers''提出了<math>\\lambda</math>。
{| class="wikitable sortable"
|+ 荣誉
! 年 !! 奖
|-
| 1946 || {{flagicon|UK}} [[OBE|大英帝国勋章]]
|}
* 1936年：'''图灵机'''
** {{link-en|丘奇-图灵论题|Church–Turing thesis}}
<gallery mode="packed">
File:a.jpg|[[甲]]
</gallery>

== 外部链接 ==
* [http://www.turing.org.uk 图灵主页] {{en}}
{{reflist|2}}
{{Authority control}}
{{DEFAULTSORT:Turing}}
[[Category:英国数学家|T]]
[[分類:1912年出生]]
[[en:Alan Turing]]
[[ja:アラン・チューリング]]
"""


def test_a_page_as_people_write_them() -> None:
    page = plain(PAGE)
    assert [paragraph.text for paragraph in page.paragraphs] == [
        "艾伦·麦席森·图灵，OBE，FRS（Alan Mathison Turing，1912年6月23日—1954年6月7日），英国计算机科学家、数学家。",
        "图灵出生于伦敦——帕丁顿。On Computable Numbers提出了。",
        "1936年：图灵机",
        "丘奇-图灵论题",
        "图灵主页",
    ]
    assert page.groups == 1
    text, ((start, end),) = page.paragraphs[0]
    assert text[start:end] == "计算机"  # the rule of noteTA
    assert texts(PAGE, "zh-tw")[0].endswith("英国電腦科学家、数学家。")
    assert "倫敦" in texts(PAGE, "zh-hk")[1]


# Broken pages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wikitext", "right"),
    [
        ("甲[[乙", ["甲[[乙"]),
        ("甲[[乙[[丙]]", ["甲[[乙丙"]),
        ("甲[[乙\n丙]]丁", ["甲[[乙", "丙]]丁"]),
        ("甲]]乙", ["甲]]乙"]),
        ("甲{{乙|[[丙]]", ["甲{{乙|丙"]),
        ("甲}}乙", ["甲}}乙"]),
        ("{{Infobox\n|name={{lang|en|X}\n|a=b\n}}\n甲", ["{{Infobox", "甲"]),
        ("{{a|[[b}}甲", ["甲"]),
        ("{{a|-{b}}甲", ["甲"]),
        ("[[a|-{b]]甲", ["-{b甲"]),
        ("-{a[[b}-甲", ["a[[b甲"]),
        ("甲}-乙", ["甲}-乙"]),
        ("甲<ref>乙", ["甲乙"]),
        ("甲</ref>乙", ["甲乙"]),
        ("甲<ref>乙<ref>丙</ref>丁", ["甲丁"]),
        ("甲<nowiki>乙", ["甲乙"]),
        ("甲<math>乙[[丙|丁]]", ["甲乙丁"]),
        ("甲[http://a.cn 乙\n丙]丁", ["甲[http://a.cn 乙", "丙]丁"]),
        ("[[File:a.jpg|[http://a.cn 甲\n乙]]丙", ["丙"]),
        ("甲'''乙", ["甲乙"]),
        ("甲<b>乙", ["甲乙"]),
        ("甲</table>乙", ["甲", "乙"]),
        ("甲<br", ["甲<br"]),
        ("甲&amp", ["甲&amp"]),
    ],
)
def test_what_never_closes_is_text(wikitext: str, right: list[str]) -> None:
    assert texts(wikitext) == right


@pytest.mark.parametrize(
    ("wikitext", "reason"),
    [
        ("甲<!-- 乙", "a comment that never ends"),
        ("甲\n{|\n|乙", "a table that never ends"),
        ("甲<table><tr><td>乙", "a table that never ends"),
        ("{{" * 101, "nested too deeply"),
        ("[[" * 100_000, "nested too deeply"),
        ("{" * 100_000, "nested too deeply"),
        ("{{a|" * 60 + "[[b|" * 60, "nested too deeply"),
        ("甲" * (LONGEST + 1), "too long"),
        ("".join(f"-{{H|zh-cn:甲{n};zh-tw:乙{n}}}-甲{n}" for n in range(3000)), "too many conversion rules"),
        ("-{H|zh-cn:甲;zh-tw:乙}-" * 8_000, "too many conversion rules"),
    ],
)
def test_a_page_that_cannot_be_read_whole_is_refused(wikitext: str, reason: str) -> None:
    with pytest.raises(Unreadable) as error:
        plain(wikitext, "zh-tw")
    assert str(error.value) == reason


def test_text_cannot_forge_the_marks_inside() -> None:
    forged = "\x02甲\x03\x040\x05乙\x06\x0e\x1f&#2;丙&#4;0&#5;"
    assert plain(forged).paragraphs == [Paragraph("甲0乙丙0")]


ALPHABET = """
[[ ]] [ ] {{ }} {{{ }}} { } -{ }- - | || ' '' ''' '''''' < > <!-- --> <ref> </ref> <ref/> <nowiki> </nowiki> <pre>
</pre> <br> <table> </table> <b> & &amp; &#1; &lt; ; : = => zh-cn: zh-tw: ;zh-hk: A| H| -| R| T| zh;zh-tw| noteTA|
lang|en| 1= CGroup File: :en: en: http://a [//b == * # ---- __NOTOC__ __NOCC__ _ 甲 乙 丙 （ ） ， 0
"""
MARKS = ["\x02", "\x03", "\x04", "\x05", "\x06", "\x0e", "\x1f"]
LINES = [" ", "\n", "\n{|", "\n|}", "\n|-"]
MESS = st.lists(st.sampled_from([*ALPHABET.split(), *MARKS, *LINES]), max_size=60).map("".join)


@settings(max_examples=500, deadline=None)
@given(MESS | st.text(max_size=40), st.sampled_from(VARIANTS))
def test_no_text_breaks_it(wikitext: str, variant: str) -> None:
    try:
        page = plain(wikitext, variant)
    except Unreadable:
        return
    for text, protected in page.paragraphs:
        assert text == text.strip() != ""
        assert not set(text) & {"\n", "\r", *MARKS}
        places = [place for span in protected for place in span]
        assert places == sorted(places)
        assert not places or (places[0] >= 0 and places[-1] <= len(text))
        assert outside(text, protected, lambda piece: piece) == text
    assert plain(wikitext, variant) == page


WORD = st.text("甲乙丙丁，。aB9", min_size=1, max_size=5)
Pair = tuple[str, str]  # wikitext, and what it shows
SHOWN = ("<b>", "</b>"), ("{{lang|en|", "}}"), ("-{R|", "}-"), ("-{zh-tw:x;zh-hans:", "}-"), ("[http://a.b ", "]")
GONE = (
    ("{{x|y=", "}}"),
    ("{{x|{{y}}|", "}}"),
    ("[[File:x.jpg|thumb|", "]]"),
    ("-{zh-hans:;zh-tw:", "}-"),
    ("{{{x|}}}", ""),
)
GONE_WITH_WORDS = ("<!--", "-->"), ("<ref name=x>", "</ref>"), ("<math>", "</math>"), ("\n{|\n|-\n| ", "\n|}\n")


def joined(pairs: list[Pair]) -> Pair:
    return "".join(wikitext for wikitext, _ in pairs), "".join(shown for _, shown in pairs)


def around(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    shown = [inner.map(lambda pair, form=form: (pair[0].join(form), pair[1])) for form in SHOWN]
    gone = [inner.map(lambda pair, form=form: (pair[0].join(form), "")) for form in GONE[:-1]]
    link = inner.map(lambda pair: (f"[[x|{pair[0]}]]", pair[1] or "x"))
    return st.one_of(*shown, *gone, link, st.lists(inner, min_size=2, max_size=3).map(joined))


LEAVES = st.one_of(
    WORD.map(lambda word: (word, word)),
    *(WORD.map(lambda word, form=form: (word.join(form), "")) for form in GONE_WITH_WORDS[:-1]),
    st.just((GONE[-1][0], "")),
)
TABLES = WORD.map(lambda word: (word.join(GONE_WITH_WORDS[-1]), ""))
PAGES = st.lists(st.recursive(LEAVES, around, max_leaves=6) | TABLES, max_size=4).map(joined)


@settings(max_examples=200, deadline=None)
@given(PAGES)
def test_well_formed_markup_goes_and_its_text_stays(page: Pair) -> None:
    wikitext, shown = page
    assert "".join(texts(wikitext)) == shown


HURTING = """
{{ [[ -{ }} ]] }- { } {{{ }}} [[a| {{a| {{lang|en| -{zh-cn: -{A|zh-cn:a; <ref> <ref <nowiki> </ref> <table></table>
[http://a ] | ' '' & &amp &amp; _ = => ; <a [[a]] {{a}} -{a}- [[a|b <br> （{{a}} （{{a}}， ，{{a}} &#1; __NOTOC__
<!----> [[分类:a {{noteTA|1=zh-cn: -{H|a=>zh-cn:b}-
"""
SPACED = ["\n{|", "\n|}", "\n*", "\n ", " ", "<ref\t", " {{a}}", "[[a\n]]", "\n{|\n|}", "[http://a b\n]"]


@pytest.mark.parametrize("unit", [*HURTING.split(), *SPACED])
def test_time_is_linear(unit: str) -> None:
    """A tenth of a second where a character is looked at some times, minutes where each is looked at for each: this
    guards against hanging, and measures nothing."""
    for group in (unit, "甲" + unit * 90):
        assert seconds(group * (16_000 // (len(group) // len(unit)))) < 20


def seconds(wikitext: str) -> float:
    started = time.process_time()
    with suppress(Unreadable):
        plain(wikitext, "zh-cn")
    return time.process_time() - started
