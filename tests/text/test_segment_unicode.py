"""Words of other languages by the rules of Unicode, and by the libraries of single languages where installed."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from zh_elmo.files import BadInput
from zh_elmo.text import segment
from zh_elmo.text.normalise import normalise
from zh_elmo.text.pipeline import Pipeline, TextSettings
from zh_elmo.text.segmenters import languages
from zh_elmo.ud import conllu
from zh_elmo.ud.words import word_score

RULES = ["regex", "icu"]


def cut_by(rules: Any, text: str) -> list[str]:
    if rules == "icu":
        pytest.importorskip("icu")
    return segment.segmenter(TextSettings(segmenter="unicode", unicode_rules=rules)).cut(text)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("L’eau n'est pas là, dit-on.".replace("-", " "), "L’eau n'est pas là , dit on ."),
        ("It costs 1,234.50 or 3.14%.", "It costs 1,234.50 or 3.14 % ."),
        ("paral·lel e.g U.S. x2 A4", "paral·lel e.g U.S . x2 A4"),
        ("नमस्ते दुनिया।", "नमस्ते दुनिया ।"),
        ("שלום, עולם!", "שלום , עולם !"),
        ("ئۇيغۇر تىلى، ياخشى", "ئۇيغۇر تىلى ، ياخشى"),
        ("한국어 단어.", "한국어 단어 ."),
        ("Ça e\u0301te\u0301 x\u030c", "Ça e\u0301te\u0301 x\u030c"),
        ("Ok👍🏽 \U0001f468\u200d\U0001f469", "Ok 👍🏽 \U0001f468\u200d\U0001f469"),
        ("\U0001f1e8\U0001f1f3! 1\u20e3", "\U0001f1e8\U0001f1f3 ! 1\u20e3"),
        ("«Tak» (a) [b] “c”", "« Tak » ( a ) [ b ] “ c ”"),
        ("snake_case a+b=c", "snake_case a + b = c"),
        ("𝒜𝒷 c", "𝒜𝒷 c"),
    ],
)  # fmt: skip
def test_words_of_alphabets(rules: str, text: str, words: str) -> None:
    assert cut_by(rules, text) == words.split(" ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("well-known 2024-05-06 A-1", "well-known 2024-05-06 A-1"),  # ours: a hyphen within a word
        ("- a- -b a--b", "- a - - b a - - b"),
        ("'quoted' rock'n'roll O'", "' quoted ' rock'n'roll O '"),
        ("1.a a.1 1..2 3,", "1 . a a . 1 1 . . 2 3 ,"),
        ("我用Python3。", "我 用 Python3 。"),
        ("東京タワー", "東 京 タ ワ ー"),
        ("ภาษาไทย", "ภ า ษ า ไ ท ย"),
        ("กำี", "กำี"[:1] + " ำี"),
        ("", ""),
    ],
)
def test_our_rules(text: str, words: str) -> None:
    assert cut_by("regex", text) == words.split()


def test_icu_has_dictionaries_where_we_have_characters() -> None:
    assert cut_by("icu", "ภาษาไทย") == ["ภาษา", "ไทย"]


def test_the_expression_is_icu_but_for_hyphens(real_data: Path) -> None:
    pytest.importorskip("icu")
    same = total = 0
    for name in ("ga_idt", "hsb_ufal", "kk_ktb", "af_afribooms", "en_atis"):
        for sentence in conllu.read(real_data / f"ud/{name}-ud-test.conllu.xz")[:300]:
            if not set("-\u2010") & set(sentence.text):
                total += 1
                same += cut_by("regex", sentence.text) == cut_by("icu", sentence.text)
    assert total > 900
    assert same / total > 0.99


@pytest.mark.parametrize(("name", "least"), [("en_atis", 98.3), ("ga_idt", 97.8), ("kk_ktb", 95.6), ("ug_udt", 99.8)])
def test_word_f1_on_other_languages(name: str, least: float, real_data: Path) -> None:
    pipeline = Pipeline(TextSettings(segmenter="unicode", script="keep", punctuation="keep", quotes="keep"))
    score = word_score(conllu.read(real_data / f"ud/{name}-ud-test.conllu.xz")[:400], pipeline)
    assert score.f1 > least


# What is not installed -----------------------------------------------------------------------------------------------


def test_icu_is_never_replaced_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "icu", None)
    settings = TextSettings(segmenter="unicode", unicode_rules="icu")
    for ask in (segment.segmenter, segment.describe):
        with pytest.raises(BadInput, match=r"pip install 'zh-elmo\[icu\]'") as caught:
            ask(settings)
        assert caught.value.usage


@pytest.mark.parametrize("name", list(languages.LANGUAGES))
def test_a_missing_library_is_named_with_what_brings_it(name: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("fugashi", "pythainlp", "pythainlp.tokenize", "underthesea", "pycantonese"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(BadInput, match=rf"pip install 'zh-elmo\[{name}\]'") as caught:
        segment.segmenter(TextSettings(segmenter=name))
    assert caught.value.usage


# Single languages ----------------------------------------------------------------------------------------------------

LIBRARIES = {"japanese": "fugashi", "thai": "pythainlp", "vietnamese": "underthesea", "cantonese": "pycantonese"}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("japanese", "東京タワーに 行きました。", ["東京", "タワー", "に", "行き", "まし", "た", "。"]),
        ("thai", "ฉันรักภาษาไทย 3.5 บาท", ["ฉัน", "รัก", "ภาษาไทย", "3.5", "บาท"]),
        ("vietnamese", "Tôi học ở đại  học.", ["Tôi", "học", "ở", "đại  học", "."]),
        ("cantonese", "我哋去飲茶 食飯。", ["我哋", "去", "飲茶", "食飯", "。"]),
    ],
)
def test_words_of_single_languages(name: Any, text: str, words: list[str]) -> None:
    pytest.importorskip(LIBRARIES[name])
    found = segment.segmenter(TextSettings(segmenter=name))
    assert found.cut(text) == words
    assert all(text[start:end] == word for word, start, end in found.tokens(text))
    assert found.cut("") == found.cut(" ") == []
    assert LIBRARIES[name] in segment.describe(TextSettings(segmenter=name))


ODD = "私đ廣ก\ue000a1 .,-_:/@。ー\u0301éß𠮷🇨👍🏽(%$\u200d“'…"


@pytest.mark.parametrize("name", list(LIBRARIES))
def test_libraries_lose_nothing(name: Any) -> None:
    pytest.importorskip(LIBRARIES[name])
    found = segment.segmenter(TextSettings(segmenter=name))
    for parts in itertools.permutations(ODD, 2):
        text = normalise("我đại学".join(parts)).text
        assert "".join("".join(found.cut(text)).split()) == "".join(text.split())


OFFLINE = """
import sys
from zh_elmo.text.pipeline import Pipeline, TextSettings
import socket
def refused(*arguments, **named):
    raise OSError("the network was asked for")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refused
assert Pipeline(TextSettings(segmenter={name!r}, script="keep")).forms({text!r})
"""


@pytest.mark.parametrize("name", list(LIBRARIES))
def test_libraries_work_without_a_network_and_leave_nothing(name: Any, tmp_path: Path) -> None:
    pytest.importorskip(LIBRARIES[name])
    (tmp_path / "home").mkdir()
    root = Path(segment.__file__).parents[2]
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path), "PYTHONPATH": str(root)}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "ZH_ELMO_CACHE": str(tmp_path / "cache")}
    code = OFFLINE.format(name=name, text="東京ภาษา đại học 廣東話。")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, env=environment, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list((tmp_path / "home").iterdir()) == []
