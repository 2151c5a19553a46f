"""What holds of the words of any text whatever: their places, what lies between them, and the same words by any way.

An ordinary run tries a few hundred texts a segmenter, with ZH_ELMO_FULL=1 over ten times as many; segmenters that are
not installed are passed over.
"""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import unicodedata
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from zh_elmo.text import characters, script
from zh_elmo.text.batch import Batch
from zh_elmo.text.normalise import Drop, dropped, kind_of, normalise
from zh_elmo.text.pipeline import LONGEST_WORD, Pipeline, TextSettings, Word
from zh_elmo.text.segmenters import jieba, pieces, pkuseg_train
from zh_elmo.text.segmenters.languages import LANGUAGES

FULL = os.environ.get("ZH_ELMO_FULL") == "1"
TRIED = settings(max_examples=2_000 if FULL else 120, deadline=None)
# Pieces that interact, in the normaliser or in a segmenter: marks of all kinds, jamo, emoji and what joins them,
# surrogates, selectors, tags, line ends, spaces, widths, both scripts, runs of ASCII, marks of sentences.
PIECES = [
    "好", "我們", "我们", "北京大学", "看著", "乾坤", "发", "說", "著", "𠮷", "㐀", "龦", "〇", "々", "ア", "が",
    "か\u3099", "ﾊ\uff9e", "Type-C", "2024-05-06", "3.5mm", "x.com", "AT&T", "C++", "don’t", "a", "A", "1", "Ａ１",
    "ｂ", "１２", "％", "\uff0e", "。", "！", "?", "…", "......", ".", "，", ",", "；", "：", "“", "”", "「", "」",
    "（", ")", "(", "《", '"', "--", "·", "\u2027", "\u0301", "\u0323", "\u0308", "\u0344", "\u20e3", "\u093c",
    "\u0bbe", "\u0e31", "\u0f73", "\u0fb9", "\u3099", "\u302a", "\ufe20", "\U0001d165", "e\u0301", "x\u030c",
    "\u0958", "\u09c7\u09be", "\U0001d15e", "\U0001d160", "\ufb1f", "\u2adc", "\u1100", "\u1161", "\u11a8", "\uac00",
    "\u1100\u1161\u1161", "\u2329", "\u232a", "\u212b", "\u037e", "\u1fef", "👍", "🏽", "\U0001f468\u200d\U0001f469",
    "\u200d", "❤\ufe0f", "\U0001f1e8\U0001f1f3", "\U0001f1e8", "1\ufe0f\u20e3", "\U0001f3f4", "\U000e0067",
    "\U000e007f", "\ud842", "\udfb7", "\ud842\udfb7", "\udb40\udd00", "\ufe0f", "\U000e0100", "\u180b", " ", "  ",
    "\u3000", "\t", "\xa0", "\ue5e5", "\n", "\r", "\r\n", "\x85", "\u2028", "\x1c", "\0", "\xad", "\u200b", "\u200c",
    "\ufeff", "\u2060", "\ufdd0", "\uffff", "\ufffd", "\u2f24", "\uf900", "\ue816", "\u3164", "ก็", "हि",
]  # fmt: skip
ONE = st.sampled_from(PIECES) | st.characters() | st.characters(categories=["Cs", "Cc", "Cf", "Mn", "Mc"])
LONG = st.builds(lambda one, times: one * times, st.sampled_from(PIECES), st.sampled_from([60, 120, 510]))
TEXTS = st.lists(ONE | ONE | ONE | LONG, max_size=12).map("".join)
OPTIONS = [
    {"script": target, "punctuation": punctuation, "quotes": quotes}
    for target, punctuation, quotes in itertools.product(
        get_args(script.Target), ("keep", "full"), ("keep", "curly", "corner")
    )
]
PLAIN = {"script": "keep", "punctuation": "keep", "quotes": "keep"}
SEGMENTERS = [
    name
    for name, library in [
        ("rjieba", "rjieba"), ("jieba", "jieba"), ("pkuseg", "spacy_pkuseg"), ("characters", "re"), ("unicode", "re"),
        ("icu", "icu"), *((language, LANGUAGES[language].packages[0].replace("-", "_")) for language in LANGUAGES),
    ]
    if find_spec(library)
]  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of pkuseg that has seen a few sentences."""
    pytest.importorskip("spacy_pkuseg")
    folder = tmp_path_factory.mktemp("pkuseg")
    words = [["我们", "在", "北京", "大学", "看", "书", "。"], ["他", "买", "了", "3.5", "斤", "苹果", "！"]] * 15
    pkuseg_train.write_words(folder / "words", words)
    code = "import sys; from zh_elmo.text.segmenters.pkuseg_train import train; train(*sys.argv[1:4], 1, 1)"
    arguments = [sys.executable, "-c", code, folder / "words", folder / "words", folder / "model"]
    done = subprocess.run(arguments, capture_output=True, cwd=Path(jieba.__file__).parents[3], text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "model"


@pytest.fixture(scope="module")
def pipelines(request: pytest.FixtureRequest) -> Any:
    """Options to pipeline, for one segmenter."""
    name = request.param
    folder = str(request.getfixturevalue("model")) if name == "pkuseg" else ""
    return lambda options: made(name, folder, tuple(options.items()))


@cache
def made(name: str, model: str, options: tuple[tuple[str, Any], ...]) -> Pipeline:
    """jieba's words by the library that is named."""
    more = {"unicode_rules": "icu"} if name == "icu" else {"segmenter_model": model} if model else {}
    segmenter = {"rjieba": "jieba", "icu": "unicode"}.get(name, name)
    pipeline = Pipeline(TextSettings(segmenter=segmenter, **more, **dict(options)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jieba, "_has_rjieba", lambda: name == "rjieba")
        assert pipeline.segmenter  # made when first asked for
    return pipeline


def hold(pipeline: Pipeline, raw: str) -> list[Word]:
    """The properties of one text; its words, for what else a test may ask."""
    sentences = pipeline.sentences(raw)
    words = [word for sentence in sentences for word in sentence]
    assert all(sentences)
    forms(words)
    # Words index the raw text, in order and apart.
    assert all(0 <= word.start < word.end <= len(raw) for word in words)
    assert all(one.end <= two.start for one, two in itertools.pairwise(words))
    # What is in no word is of a kind that is left out.
    covered = {place for word in words for place in range(word.start, word.end)}
    left = {place: kind_of(raw, place) for place in range(len(raw)) if place not in covered}
    assert set(left.values()) <= set(get_args(Drop))
    assert [[word.form for word in sentence] for sentence in sentences] == pipeline.forms(raw)
    return words


def forms(words: list[Word]) -> None:
    """What is true of every form."""
    for word in words:
        assert 0 < len(word.form) <= LONGEST_WORD
        word.form.encode()
        assert unicodedata.is_normalized("NFC", word.form)


@pytest.mark.parametrize("pipelines", SEGMENTERS, indirect=True)
@given(raw=TEXTS, options=st.sampled_from(OPTIONS))
@example(raw="\U0001d15e好", options=PLAIN)  # one character that NFC writes as two
@example(raw="\u0958", options=PLAIN)
@example(raw="x\u0301\u0323好", options=PLAIN)  # marks that NFC moves
@example(raw="。\u232a\u0301\u0302好", options=PLAIN)
@example(raw="好" + "\u0344" * 700, options=PLAIN)  # marks that NFC doubles
@example(raw="a" * 99 + "\u0301\u0323", options=PLAIN)
@example(raw="好" * 499 + "\u0e31\u0301\u0323" * 300, options=PLAIN)
@TRIED
def test_any_text(pipelines: Any, raw: str, options: dict[str, str]) -> None:
    pipeline = pipelines(options)
    words = hold(pipeline, raw)
    now = pipeline.normalised(raw)
    # What is in no word was removed by the normaliser or is white space in the normalised text.
    covered = {place for word in words for place in range(word.start, word.end)}
    removed = {place for place, _ in dropped(raw, now)}
    spaces = [now.span(place, place + 1) for place, character in enumerate(now.text) if character in " \n"]
    between = {place for start, end in spaces for place in range(start, end)}
    assert set(range(len(raw))) - covered <= removed | between
    # The words are the normalised text in its script.
    inside = pipeline.settings.segmenter == "vietnamese"  # words of several syllables
    assert inside or not any(character.isspace() for word in words for character in word.form)
    text = script.converter(pipeline.settings.script)(now.text)
    assert "".join(word.form for word in words).replace(" ", "") == text.replace(" ", "").replace("\n", "")
    # No word begins with a mark that could go on the word before.
    for sentence in pipeline.sentences(raw):
        for one, two in itertools.pairwise(sentence):
            apart = not characters.continues(two.form[0]) or one.end < two.start
            assert apart or len(one.form) + len(two.form) > LONGEST_WORD
    # No word begins inside of a character that became two.
    begins = {word.start for word in words}
    parts = {now.span(place, place + 1) for place in range(1, len(now.text)) if now.parts(place)}
    assert not any(start < begin < end for begin in begins for start, end in parts)
    # Text that is normalised already has the same words.
    assert pipeline.forms(now.text) == [[word.form for word in sentence] for sentence in pipeline.sentences(raw)]


@pytest.mark.parametrize("pipelines", SEGMENTERS, indirect=True)
@given(raw=st.lists(ONE, max_size=12).map("".join))
@example(raw="\U0001f3f4\U000e0067\U000e007f好")
@TRIED
def test_a_word_is_what_its_place_in_the_raw_text_becomes(pipelines: Any, raw: str) -> None:
    """Where nothing is decided by the text around it."""
    for word in pipelines(PLAIN).sentences(raw):
        for form, start, end in word:
            assert normalise(raw[start:end]).text == form


@pytest.mark.parametrize("pipelines", SEGMENTERS, indirect=True)
@given(raw=st.lists(TEXTS, max_size=4), options=st.sampled_from(OPTIONS))
@TRIED
def test_many_paragraphs_at_once_have_the_same_words(pipelines: Any, raw: list[str], options: dict[str, str]) -> None:
    """The way by arrays, which corpora take."""
    pipeline = pipelines(options)
    batch = Batch(pipeline.settings)
    batch.pipeline = pipeline
    fast, slow = batch(raw, [False] * len(raw)), batch.one_by_one(raw, [False] * len(raw))
    for one, other in itertools.pairwise([fast, slow]):
        assert [one.types[number] for number in one.ids] == [other.types[number] for number in other.ids]
        assert one.ends.tolist() == other.ends.tolist()
        assert one.paragraphs.tolist() == other.paragraphs.tolist()


@given(raw=TEXTS, options=st.sampled_from(OPTIONS))
@example(raw="a\ue5e5b\x1cc", options=PLAIN)  # white space of old code tables, and what Python takes for such
@example(raw="\U0001d160" * 60, options=PLAIN)
@example(raw="a" * 99 + "\ud842\udfb7", options=PLAIN)
@TRIED
def test_any_text_of_words(raw: str, options: dict[str, str]) -> None:
    """Text that is segmented already: each word by itself, white space of any kind between."""
    pipeline = made("words", "", tuple(options.items()))
    for word in hold(pipeline, raw):
        assert not any(character.isspace() for character in word.form)


def test_no_long_word_is_cut_inside_a_pair_of_surrogates_or_before_a_mark() -> None:
    words = made("words", "", tuple(PLAIN.items())).sentences("a" * 99 + "\ud842\udfb7" + "b" * 98 + "x\u030c。")[0]
    assert [word.form for word in words] == ["a" * 99, "𠮷" + "b" * 98, "x\u030c。"]
    (long,) = made("unicode", "", tuple(PLAIN.items())).forms("y" * 99 + "x\u030c" * 3)
    assert long == ["y" * 99, "x\u030c" * 3]


def test_each_character_that_follows_in_what_nfc_makes_of_one_goes_on_its_word() -> None:
    """And each that `composes` by NFC does; so no two words share a character."""
    apart = 0
    for point in range(0x110000):
        character = chr(point)
        if unicodedata.is_normalized("NFC", character) and characters.composes(character):
            assert characters.continues(character)
        if not 0xD800 <= point < 0xE000 and len(made_of := unicodedata.normalize("NFC", character)) > 1:
            apart += 1
            assert all(characters.continues(one) and characters.composes(one) for one in made_of[1:])
    assert apart > 70


def test_marks_that_words_do_not_begin_with() -> None:
    assert all(map(characters.continues, "\u0301\u093c\u0e31\u20e3\u302a\u1161\u11a8\U0001d165"))
    assert not any(map(characters.continues, "a好가\u1100，\u200d\U0001f3fd\ufe0f"))
    for point in range(0x300, 0x10000):
        if characters.continues(chr(point)):
            assert pieces._MAY_CONTINUE.match(chr(point))


UNITS = [
    "北京", "我們說", "\u0301", "\u0323\u0301", "a\u0323\u0301", "\u0344", "（", "(", "“", "()", "”》)", '"',
    "（《“「", "𠮷", "龘靐", ".", "a.", "a. ", "…", "-", "a-1", "，", "\u1112\u1161\u11ab", "\U0001f1e8",
    "\U0001f468\u200d", " ", "a ", "\n", "\r\n", "\ud842", "\ud842\udfb7", "\U000e0041", "\U0001f3f4\U000e0067",
    "\u200b", "Ａ１", "\u0958", "ก็", "x\u030c", '。"', "”他说，", "1",
]  # fmt: skip


@pytest.mark.parametrize("pipelines", [name for name in SEGMENTERS if name != "pkuseg"], indirect=True)
@pytest.mark.parametrize("unit", UNITS)
def test_a_huge_line_ends(pipelines: Any, unit: str) -> None:
    """Where something is quadratic this takes minutes; measured are some hundredths of a second."""
    raw = unit * (20_000 // len(unit))
    words = [word for sentence in pipelines(PLAIN).sentences(raw) for word in sentence]
    assert all(one.end <= two.start for one, two in itertools.pairwise(words))
    assert all(0 < len(word.form) <= LONGEST_WORD for word in words)


@pytest.mark.parametrize("pipelines", SEGMENTERS, indirect=True)
def test_long_random_texts(pipelines: Any) -> None:
    draw = random.Random(5)
    for options in OPTIONS if FULL else OPTIONS[::7]:
        for _ in range(20 if FULL else 3):
            hold(pipelines(options), "".join(draw.choice(PIECES) for _ in range(draw.randint(100, 400))))
