"""Script detection and conversion: equal to the library where it should be, better where it is known to be wrong."""

from __future__ import annotations

import lzma
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from zh_elmo.corpus.exclude import treebank_sentences
from zh_elmo.files import BadInput
from zh_elmo.text import script

opencc = pytest.importorskip("opencc")


@pytest.fixture
def library() -> object:
    return opencc.OpenCC("t2s")


@pytest.fixture
def fresh_tables() -> Iterator[None]:
    """Tables are read again, before and after."""
    script._tables.cache_clear()
    yield
    script._tables.cache_clear()


def test_the_fast_path_is_equal_to_the_library_on_strings_of_its_keys(library) -> None:
    keys = [key for _, _, entries in library._dict_chain_data[0] for key in entries]
    phrases = [key for key in keys if len(key) > 1]
    draw = random.Random(8)
    makers = [
        lambda: draw.choice(phrases),
        lambda: draw.choice(phrases)[: draw.randint(1, 3)],
        lambda: draw.choice(keys),
        lambda: draw.choice("，。a 1-著乾於"),
    ]
    for _ in range(1500):
        text = "".join(draw.choice(makers)() for _ in range(draw.randint(1, 12)))
        assert script.by_library(text) == library.convert(text)


@pytest.mark.parametrize("folder", ["raw_zh_hant", "raw_zh_hans"])
def test_the_fast_path_is_equal_to_the_library_on_real_text(folder: str, library, real_data: Path) -> None:
    for path in sorted((real_data / folder).glob("*.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as stream:
            for line in stream.read(8_000).split("\n"):
                assert script.by_library(line) == library.convert(line)


@pytest.mark.parametrize(
    ("traditional", "simplified"),
    [
        ("乾燥 曬乾 乾淨", "干燥 晒干 干净"),
        ("乾隆 乾坤 扭轉乾坤 乾安縣 蕭乾 王丙乾", "乾隆 乾坤 扭转乾坤 乾安县 萧乾 王丙乾"),
        ("幹部 樹幹 抬頭 抬轎", "干部 树干 抬头 抬轿"),
        ("看著 沿著 著急 睡著 執著 附著 衣著 著手", "看着 沿着 着急 睡着 执着 附着 衣着 着手"),
        ("著名 著作 名著 顯著 著作權 原著 土著 編著", "著名 著作 名著 显著 著作权 原著 土著 编著"),
        ("麼 什麼 那麼 甚麼", "么 什么 那么 什么"),
        ("裏面 裡面 皇后 以後 發展 頭髮 麵粉 表面", "里面 里面 皇后 以后 发展 头发 面粉 表面"),
        ("臺灣 颱風 雲南 只有 一隻 祇有 衹有 神祇", "台湾 台风 云南 只有 一只 只有 只有 神祇"),
        ("瞭解 明瞭 瞭望 藉口 憑藉 慰藉 狼藉", "了解 明了 瞭望 借口 凭借 慰藉 狼藉"),
        ("徵求 特徵 覆蓋 答覆 反覆 覆核", "征求 特征 覆盖 答复 反复 复核"),
        ("沈默 沈先生 沈重 計畫 圖畫", "沉默 沈先生 沉重 计划 图画"),
        ("於是 屬於單一 設於倫敦 於崇文", "于是 属于单一 设于伦敦 於崇文"),
        ("砲 舖 牠 妳 嘅 喺 佢 冇", "炮 铺 它 妳 嘅 喺 佢 冇"),
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
        "",
        "abc",
        "你好，世界。",
        "这座三塚之外还有这个地方，我们来过，会说国语的门卫",
    ],
)
def test_simplified_text_stays(text: str) -> None:
    assert script.to_simplified(text) == text


def test_a_mixed_text_loses_only_what_simplified_text_does_not_have() -> None:
    assert script.share("他们说这里没问题，乾著說") == "some"
    assert script.to_simplified("他们说这里没问题，乾著說") == "他们说这里没问题，乾著说"


def test_conversion_keeps_the_length_and_is_done_after_one_pass(real_data: Path) -> None:
    changed = 0
    for name in ("zh_gsd-ud-test", "zh_hk-ud-test", "yue_hk-ud-test"):
        for sentence in treebank_sentences(real_data / "ud" / f"{name}.conllu.xz"):
            once = script.to_simplified(sentence)
            assert len(once) == len(sentence)
            assert script.to_simplified(once) == once
            changed += once != sentence
    assert changed > 1500


def test_the_gold_edition_is_reached(real_data: Path) -> None:
    right = total = 0
    for part in ("dev", "test"):
        traditional = treebank_sentences(real_data / f"ud/zh_gsd-ud-{part}.conllu.xz")
        simplified = treebank_sentences(real_data / f"ud/zh_gsdsimp-ud-{part}.conllu.xz")
        for one, two in zip(traditional, simplified, strict=True):
            if len(one) == len(two):  # two words of the editions differ in length
                pairs = [pair for pair in zip(script.to_simplified(one), two, strict=True) if pair[0] >= "\u4e00"]
                pairs = [pair for pair in pairs if pair[0] <= "\u9fff"]
                right += sum(a == b for a, b in pairs)
                total += len(pairs)
    assert total > 32_000
    assert right / total >= 0.9997


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


def test_another_inside_of_the_package_is_no_harm(monkeypatch: pytest.MonkeyPatch, fresh_tables: None) -> None:
    """Without the attributes that the fast path reads, the library alone converts."""
    right = script.to_simplified("蕭乾看著頭髮")

    class Closed:
        def __init__(self, config: str) -> None:
            self.convert = opencc.OpenCC(config).convert

    module = ModuleType("opencc")
    module.OpenCC = Closed
    monkeypatch.setitem(sys.modules, "opencc", module)
    script._tables.cache_clear()
    assert script._tables().phrases is None
    assert script.to_simplified("蕭乾看著頭髮") == right
    assert script.to_simplified("萧乾") == "萧乾"
    assert script.detect("說") == "hant"
    assert script.package()["package"] == "opencc"


def test_a_damaged_package_is_explained(monkeypatch: pytest.MonkeyPatch, fresh_tables: None) -> None:
    monkeypatch.setitem(sys.modules, "opencc", ModuleType("opencc"))
    with pytest.raises(BadInput, match="pip install opencc-python-reimplemented"):
        script.to_simplified("說")


def test_the_package_is_named() -> None:
    assert script.package() == {"package": "opencc-python-reimplemented", "version": "0.1.7"}


def test_folding_joins_editions() -> None:
    one, two = "甚麼，乾淨地看著乾隆", "什么，干净地看着乾隆"
    assert script.fold(script.to_simplified(one)) == script.fold(script.to_simplified(two))
