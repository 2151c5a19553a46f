"""Script detection and conversion: the right characters, nothing harmed, documents of both scripts, any length kept."""

from __future__ import annotations

import lzma
import pickle
import random
import re
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zh_elmo.corpus.exclude import treebank_sentences
from zh_elmo.files import BadInput
from zh_elmo.text import script

pytest.importorskip("opencc")
TARGETS = get_args(script.Target)


@pytest.mark.parametrize(
    ("traditional", "simplified"),
    [
        ("乾燥 曬乾 乾淨 烘乾封裝", "干燥 晒干 干净 烘干封装"),
        ("乾隆 乾坤 扭轉乾坤 乾安縣 蕭乾 王丙乾 李乾順", "乾隆 乾坤 扭转乾坤 乾安县 萧乾 王丙乾 李乾顺"),
        ("乾寧二年 乾封元年 乾祐 乾闥婆", "乾宁二年 乾封元年 乾祐 乾闼婆"),
        ("幹部 樹幹 抬頭 抬轎 擡頭", "干部 树干 抬头 抬轿 抬头"),
        ("看著 沿著 著急 睡著 執著 附著 衣著 著手", "看着 沿着 着急 睡着 执着 附着 衣着 着手"),
        ("看著書 看著作業 發揮著作用 混合著 討論著 翻譯著", "看着书 看着作业 发挥着作用 混合着 讨论着 翻译着"),
        ("所著重 彰顯著 有著有趣的", "所着重 彰显着 有着有趣的"),
        ("著名 著作 名著 顯著 著作權 原著 土著 編著", "著名 著作 名著 显著 著作权 原著 土著 编著"),
        ("著書 合著 論著 譯著 所著的 見微知著 ，著有", "著书 合著 论著 译著 所著的 见微知著 ，著有"),
        ("麼 什麼 那麼 甚麼", "么 什么 那么 什么"),
        ("裏面 裡面 皇后 以後 發展 頭髮 麵粉 表面", "里面 里面 皇后 以后 发展 头发 面粉 表面"),
        ("臺灣 颱風 雲南 只有 一隻 祇有 衹有 神祇 祇園", "台湾 台风 云南 只有 一只 只有 只有 神祇 祇园"),
        ("瞭解 明瞭 瞭望 藉口 憑藉 慰藉 狼藉 藉著", "了解 明了 瞭望 借口 凭借 慰藉 狼藉 借着"),
        ("徵求 特徵 徵調 宮商角徵羽", "征求 特征 征调 宫商角徵羽"),
        ("覆蓋 顛覆 翻來覆去 一批覆蓋物 顛覆信念", "覆盖 颠覆 翻来覆去 一批覆盖物 颠覆信念"),
        ("答覆 反覆 覆核 覆議 批覆 申覆", "答复 反复 复核 复议 批复 申复"),
        ("沈默 沈先生 沈重 沈澱 深沈 昏沈沈 瀋陽", "沉默 沈先生 沉重 沉淀 深沉 昏沉沉 沈阳"),
        ("帳戶 記帳 蚊帳 帳篷 走進帳中", "账户 记账 蚊帐 帐篷 走进帐中"),
        ("計畫 圖畫 規畫 畫面", "计划 图画 规划 画面"),
        ("鍾情 鍾馗 鐘錶 錢鍾書", "钟情 钟馗 钟表 钱锺书"),
        ("於是 屬於單一 設於倫敦 於崇文", "于是 属于单一 设于伦敦 於崇文"),
        ("砲 舖 牠 妳 嘅 喺 佢 冇", "炮 铺 它 妳 嘅 喺 佢 冇"),
        ("碰見 踫見 暱稱 背包 揹包 英哩", "碰见 碰见 昵称 背包 背包 英里"),
    ],
)
def test_characters_with_traps(traditional: str, simplified: str) -> None:
    assert script.convert(traditional, "all") == simplified


@pytest.mark.parametrize(
    "text",
    [
        "萧乾",
        "什么",
        "怎么",
        "抬头",
        "哪吒",
        "乾坤",
        "薹草",
        "帐户",
        "",
        "abc",
        "你好，世界。",
        "这座三塚之外还有这个地方，我们来过，会说国语的门卫",
    ],
)
def test_simplified_text_stays(text: str) -> None:
    assert script.to_simplified(text) == text
    assert script.converter("simplified")(text) == text


@pytest.mark.parametrize("target", ["traditional", "traditional-hk", "traditional-opencc"])
@pytest.mark.parametrize("text", ["裏面裡面", "台灣臺灣", "皇后", "為爲", "不准", "余光中說話"])
def test_traditional_text_stays_whatever_its_region(target: script.Target, text: str) -> None:
    assert script.converter(target)(text) == text


def test_targets_of_traditional_text() -> None:
    text = "这里有台湾的头发，为什么？"
    made = {target: script.converter(target)(text) for target in TARGETS}
    assert made == {
        "keep": text,
        "simplified": text,
        "traditional": "這裡有臺灣的頭髮，為什麼？",
        "traditional-hk": "這裏有台灣的頭髮，為什麼？",
        "traditional-opencc": "這裏有臺灣的頭髮，爲什麼？",
    }


# Documents -----------------------------------------------------------------------------------------------------------


def test_the_verdict_on_a_document() -> None:
    assert script.verdict(0, 0) == script.verdict(0, 5) == script.verdict(10, 90) == "none"
    assert script.verdict(5, 0) == script.verdict(90, 10) == "all"
    assert script.verdict(11, 89) == script.verdict(50, 50) == script.verdict(89, 11) == "some"
    assert script.verdict(5, 95, "traditional") == "all"
    assert script.verdict(95, 5, "traditional") == "none"
    assert script.verdict(5, 95, "keep") == "none"


def test_a_document_decides_for_its_lines_without_a_telling_character() -> None:
    to_simplified = script.converter("simplified")
    assert to_simplified("看著我") == "看著我"  # could be either
    assert to_simplified("他說話\n看著我\n那麼，這樣") == "他说话\n看着我\n那么，这样"
    assert to_simplified("他说话\n看著我\n那么，这样") == "他说话\n看著我\n那么，这样"


def test_lines_that_are_clear_are_exceptions_to_their_document() -> None:
    to_simplified = script.converter("simplified")
    simplified, traditional = "萧乾说：这是为什么？", "蕭乾說：這是為什麼？"
    document = "\n".join([traditional] * 20)
    assert to_simplified(f"{document}\n{simplified}") == "\n".join([simplified] * 21)  # the last has its 乾 still
    document = "\n".join([simplified] * 20)
    assert to_simplified(f"{document}\n{traditional}\n三塚") == "\n".join([simplified] * 21) + "\n三塚"


def test_a_mixed_document_decides_by_lines_and_a_mixed_line_by_characters() -> None:
    to_simplified = script.converter("simplified")
    assert to_simplified("這裡說國語，萧乾\n这里说国语，萧乾") == "这里说国语，萧干\n这里说国语，萧乾"
    assert script.share("他们说这里没问题，乾著說") == "some"
    assert script.to_simplified("他们说这里没问题，乾著說") == "他们说这里没问题，乾著说"
    assert script.share("他們說這裡没問題，头发", "traditional") == "some"
    assert script.converter("traditional")("他們說這裡沒問題，皇后的头发里") == "他們說這裡沒問題，皇后的頭髮里"


def test_a_document_in_parts_is_decided_by_the_sum_of_its_counts() -> None:
    parts = ["他說話", "看著我", "那麼，這樣"]
    counts = [script.count(part) for part in parts]
    document = script.verdict(*map(sum, zip(*counts, strict=True)))
    to_simplified = script.converter("simplified")
    assert "\n".join(to_simplified.line(part, document) for part in parts) == to_simplified("\n".join(parts))


def test_protected_spans_stay() -> None:
    text = "他說：說話算話"
    assert script.converter("simplified")(text, [(3, 5)]) == "他说：說話算话"
    assert script.converter("simplified")(f"{text}\n{text}", [(0, 2), (11, 13)]) == "他說：说话算话\n他说：說話算话"
    assert script.converter("simplified").line(text, "all", [(3, 5)]) == "他说：說話算话"


def test_no_simplified_or_traditional_text_is_harmed(real_data: Path) -> None:
    """Of 50 lines each; what is left are words that simplified text does not have (於今年)."""
    for folder, target, most in (("raw_zh_hans", "simplified", 2e-5), ("raw_zh_hant", "traditional", 0.0)):
        to_target = script.converter(target)
        changed = total = 0
        for path in sorted((real_data / folder).glob("*.xz")):
            with lzma.open(path, "rt", encoding="utf-8") as stream:
                lines = stream.read(150_000).split("\n")
            for first in range(0, len(lines), 50):
                document = "\n".join(lines[first : first + 50])
                total += len(document)
                changed += sum(a != b for a, b in zip(document, to_target(document), strict=True))
        assert total > 900_000
        assert changed <= most * total


# Lengths and offsets -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
@given(
    text=st.lists(st.sampled_from("說说头髮發乾著於網络\n\0\ud800\U0002f800\U00020bb7，a ") | st.characters()).map(
        "".join
    )
)
@settings(max_examples=80, deadline=None)
def test_any_text_keeps_its_length(target: script.Target, text: str) -> None:
    to_target = script.converter(target)
    assert len(to_target(text)) == len(text)
    wanted = script.verdict(*script.count(text), target)
    assert len(script.convert(text, "all", target)) == len(text)
    assert to_target(text) == "\n".join(to_target.line(line, wanted) for line in text.split("\n"))


def test_conversion_is_done_after_one_pass(real_data: Path) -> None:
    changed = 0
    for name in ("zh_gsd-ud-test", "zh_hk-ud-test", "yue_hk-ud-test"):
        for sentence in treebank_sentences(real_data / "ud" / f"{name}.conllu.xz"):
            once = script.to_simplified(sentence)
            assert len(once) == len(sentence)
            assert script.to_simplified(once) == once
            changed += once != sentence
    assert changed > 1500


@pytest.mark.parametrize(
    ("config", "instead"),
    [
        ("s2twp", "'traditional'"),
        ("s2hkp", "'traditional-hk'"),
        ("tw2sp", "'simplified'"),
        ("hk2sp", "'simplified'"),
        ("t2s", "due is one of keep, simplified, traditional, traditional-hk, traditional-opencc"),
        ("", "due is one of"),
    ],
)
def test_what_would_change_lengths_is_refused_with_the_reason(config: str, instead: str) -> None:
    with pytest.raises(BadInput, match=re.escape(instead)) as caught:
        script.converter(config)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert ("lengths" in str(caught.value)) is config.endswith("p")


def test_it_pickles_by_its_target() -> None:
    again = pickle.loads(pickle.dumps(script.converter("traditional")))
    assert again.target == "traditional"
    assert again("头发") == "頭髮"


# Figures -------------------------------------------------------------------------------------------------------------

# What is still not as in GSDSimp: a country that its editors call by its other name, and a unit that they left.
STILL_WRONG = {"义大利": 2, "英里": 2}


def test_the_gold_edition_is_reached(real_data: Path) -> None:
    right, wrong = 0, Counter[str]()
    for part in ("dev", "test"):
        traditional = treebank_sentences(real_data / f"ud/zh_gsd-ud-{part}.conllu.xz")
        simplified = treebank_sentences(real_data / f"ud/zh_gsdsimp-ud-{part}.conllu.xz")
        for one, two in zip(traditional, simplified, strict=True):
            made = script.to_simplified(one)
            for place, (got, gold) in enumerate(zip(made, two, strict=True)):
                if "\u4e00" <= gold <= "\u9fff":
                    right += got == gold
                    if got != gold:
                        around = [word for word in STILL_WRONG if word in made[max(0, place - 1) : place + 3]]
                        wrong[(around or [f"{made[max(0, place - 4) : place + 4]}, gold {gold}"])[0]] += 1
    print(f"{right} of {right + wrong.total()} right; still wrong: {dict(wrong)}")
    assert right + wrong.total() == 32_582
    assert right / 32_582 >= 0.9997
    assert wrong == STILL_WRONG


def test_zhu_and_zhe_are_told_apart_in_native_text(real_data: Path) -> None:
    """Text that never was traditional knows which is which: all 着 as 著, then back by our rules."""
    right, total = Counter[str](), Counter[str]()
    for name in ("government", "law", "docs_algorithms", "docs_programming", "docs_deep_learning", "recipes", "news"):
        with lzma.open(real_data / f"raw_zh_hans/{name}.txt.xz", "rt", encoding="utf-8") as stream:
            text = stream.read(4_000_000)
        made = script.convert(text.replace("着", "著"), "all")
        for match in re.finditer("[着著]", text):
            total[match.group()] += 1
            right[match.group()] += made[match.start()] == match.group()
    print(right, total)
    assert min(total.values()) > 1000
    assert right["着"] / total["着"] >= 0.998
    assert right["著"] / total["著"] >= 0.995


@pytest.mark.parametrize(("folder", "wanted"), [("raw_zh_hant", "hant"), ("raw_zh_hans", "hans")])
def test_detection_on_real_lines(folder: str, wanted: str, real_data: Path) -> None:
    found = []
    for path in sorted((real_data / folder).glob("*.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as stream:
            found += [script.detect(line) for line in stream.read(30_000).split("\n") if len(line) > 10]
    assert set(found) <= {wanted, None}
    assert found.count(wanted) >= 0.985 * len(found)


def test_detection_of_little() -> None:
    assert script.detect("說") == "hant"
    assert script.detect("说") == "hans"
    assert script.detect("") is script.detect("山水") is script.detect("说說") is None


def test_counting_is_the_same_for_short_and_long_text() -> None:
    draw = random.Random(1)
    lines = ["".join(draw.choice("說说這这的，a\n頭头\U00020bb7\ud800") for _ in range(50)) for _ in range(40)]
    assert script.count("".join(lines)) == tuple(map(sum, zip(*map(script.count, lines), strict=True)))


def test_folding_joins_editions() -> None:
    one, two = "甚麼，乾淨地看著乾隆", "什么，干净地看着乾隆"
    assert script.fold(script.to_simplified(one)) == script.fold(script.to_simplified(two))
