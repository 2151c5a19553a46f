"""The one interface of all segmenters: settings to words with offsets, whatever the sentence, without side effects."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zh_elmo.files import BadInput
from zh_elmo.text import segment
from zh_elmo.text.pipeline import Pipeline, TextSettings
from zh_elmo.text.segmenters import jieba, pieces

ENGINES = ["rjieba", "jieba"]
NAMES = ["rjieba", "jieba", "detour", "characters", "unicode"]


def settings_of(name: str) -> TextSettings:
    return {
        "detour": TextSettings(script="keep"),
        "characters": TextSettings(segmenter="characters"),
        "unicode": TextSettings(segmenter="unicode"),
    }.get(name, TextSettings())


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A segmenter by name; the two that cut for jieba have names of their own."""

    def segmenter(name: str) -> segment.Segmenter:
        if name == "rjieba":
            pytest.importorskip("rjieba")
        if name in ENGINES:
            monkeypatch.setattr(jieba, "_has_rjieba", lambda: name == "rjieba")
        return segment.segmenter(settings_of(name))

    return segmenter


# Behaviour (chinese-text.md 1.5) -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("a b  c", ["a", " ", "b", " ", " ", "c"]),
        ("一\r\n二\u3000三", ["一", "\r\n", "二", "\u3000", "三"]),
        ("\ufeff我\u200d你\ufe0f", ["\ufeff", "我", "\u200d", "你", "\ufe0f"]),
        ("１２", ["１", "２"]),
        ("一九九八年十二月三十一日", ["一九九八年", "十二月", "三十一日"]),
        ("カタ한국", ["カ", "タ", "한", "국"]),
        ("γ射线", ["γ", "射线"]),
        ("😀😀好", ["😀", "😀", "好"]),
        ("𠮷𠮷野家", ["𠮷", "𠮷", "野家"]),
        ("㐀㐀a龦1", ["㐀", "㐀", "a", "龦", "1"]),
    ],
)
def test_jieba_and_rjieba_on_what_is_no_chinese_word(name: str, text: str, words: list[str], make: Any) -> None:
    assert make(name).cut(text) == words


@pytest.mark.parametrize("name", [*ENGINES, "characters", "unicode"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我👍🏽你", "我 👍🏽 你"),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467来", "\U0001f468\u200d\U0001f469\u200d\U0001f467 来"),
        ("\U0001f1e8\U0001f1f3队", "\U0001f1e8\U0001f1f3 队"),
        ("1\u20e3号", "1\u20e3 号"),
        ("x\u030cy好", "x\u030cy 好"),
        ("好\u0301x\u030cyz，", "好\u0301 x\u030cyz ，"),
        ("❤好", "❤ 好"),
    ],
)
def test_clusters_stay_whole(name: str, text: str, words: str, make: Any) -> None:
    assert make(name).cut(text) == words.split(" ")


def test_characters() -> None:
    cut = segment.segmenter(TextSettings(segmenter="characters")).cut
    assert cut("我用Python 3。") == ["我", "用", "Python", " ", "3", "。"]
    assert cut("") == []


def test_words_that_are_there_already() -> None:
    assert segment.segmenter(TextSettings(segmenter="words")).tokens(" 我 們  我") == [
        ("我", 1, 2),
        ("們", 3, 4),
        ("我", 6, 7),
    ]


# Offsets -------------------------------------------------------------------------------------------------------------

ANY = st.text(
    st.sampled_from("我們買了蘋果乾著說Type-C3.5 \r\n\u3000é\u0301👍🏽🇨🇳𠮷。，’")
    | st.characters(exclude_categories=["Cs"]),
    max_size=20,
)


@pytest.mark.parametrize("name", NAMES)
@given(text=ANY)
@settings(max_examples=60, deadline=None)
def test_the_words_are_the_sentence(name: str, text: str) -> None:
    found = segment.segmenter(settings_of(name))
    tokens = found.tokens(text)
    assert [word for word, _, _ in tokens] == found.cut(text)
    assert all(text[start:end] == word for word, start, end in tokens)
    assert all(one[2] <= two[1] for one, two in itertools.pairwise(tokens))
    left = set(range(len(text))) - {place for _, start, end in tokens for place in range(start, end)}
    assert all(text[place].isspace() for place in left)


def test_words_are_found_again_behind_white_space() -> None:
    assert pieces.located(" a  bc a", ["a", "bc", "a"]) == [("a", 1, 2), ("bc", 4, 6), ("a", 7, 8)]
    assert pieces.located("", []) == []


def test_words_of_a_library_are_put_back_into_the_sentence() -> None:
    assert pieces.aligned("đại  học\u00a0là", ["đại học", "là"]) == ["đại  học", "là"]
    assert pieces.aligned(" a ", ["a", " "]) == ["a"]
    for words in (["a", "c"], ["a"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match=r"is not at|is in no word"):
            pieces.aligned("a b", words)


# Traditional text ----------------------------------------------------------------------------------------------------

TEXT = "我們說這裡的頭髮、皇后和蘋果電腦。"


def test_traditional_text_is_cut_as_its_simplified_form() -> None:
    plain = Pipeline(TextSettings()).forms(TEXT)[0]
    kept = Pipeline(TextSettings(script="keep")).forms(TEXT)[0]
    assert "".join(kept) == TEXT
    assert [len(word) for word in kept] == [len(word) for word in plain]
    assert {"頭髮", "我們", "蘋果電腦"} <= set(kept)
    direct = Pipeline(TextSettings(script="keep", through_simplified=False)).forms(TEXT)[0]
    assert "".join(direct) == TEXT
    assert direct != kept


def test_the_detour_is_for_what_knows_simplified_words_alone(tmp_path: Path) -> None:
    for given_settings, wanted in [
        (TextSettings(script="keep"), True),
        (TextSettings(script="keep", hmm=False), True),
        (TextSettings(script="keep", through_simplified=False), False),
        (TextSettings(), False),
        (TextSettings(script="keep", segmenter="characters"), False),
        (TextSettings(script="keep", segmenter="pkuseg", segmenter_model=str(tmp_path)), False),
    ]:
        assert segment.is_detour(given_settings) is wanted
    (tmp_path / "segmenter.json").write_text('{"text": {"script": "simplified"}}')
    assert segment.is_detour(TextSettings(script="keep", segmenter="pkuseg", segmenter_model=str(tmp_path)))


# Settings ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given_settings",
    [
        {"segmenter": "characters", "user_dict": "words.txt"},
        {"segmenter": "pkuseg", "dictionary": "dict.txt"},
        {"segmenter_model": "model"},
        {"segmenter": "characters", "hmm": False},
        {"unicode_rules": "icu"},
    ],
)
def test_a_setting_that_would_do_nothing_is_refused(given_settings: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=r"is for segmenter = (jieba|pkuseg|unicode)") as caught:
        TextSettings(**given_settings)
    assert caught.value.usage


def test_what_cuts_is_named(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    make("jieba")
    assert segment.describe(TextSettings()) == "jieba 0.42.1"
    assert segment.describe(TextSettings(segmenter="characters")) == "characters"
    assert segment.describe(TextSettings(segmenter="words")) == "words"
    unicode = segment.describe(TextSettings(segmenter="unicode"))
    assert unicode == f"regex, Unicode {unicodedata.unidata_version}"
    pytest.importorskip("rjieba")
    make("rjieba")
    assert segment.describe(TextSettings()).startswith("rjieba ")


# Processes, threads, time --------------------------------------------------------------------------------------------


def forms_of(pipeline: Pipeline, text: str) -> list[list[str]]:
    return pipeline.forms(text)


@pytest.mark.parametrize("name", ["jieba", "detour", "unicode"])
def test_a_spawned_worker_cuts_the_same(name: str) -> None:
    pipeline = Pipeline(settings_of(name))
    wanted = pipeline.forms(TEXT)  # loaded, and pickled as its settings all the same
    assert len(pickle.dumps(pipeline)) < 1000
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(forms_of, (pipeline, TEXT)) == wanted


@pytest.mark.parametrize("name", ENGINES)
def test_four_threads_cut_the_same(name: str, make: Any) -> None:
    cut = make(name).cut
    sentences = [f"{TEXT}{number}年{'们' * (number % 7)}" for number in range(200)]
    wanted = [cut(sentence) for sentence in sentences]
    found: dict[int, list[list[str]]] = {}

    def work(number: int) -> None:
        found[number] = [cut(sentence) for sentence in sentences]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(4), wanted)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("piece", ["龘靐齉爩", "𠮷", "a", "é", "a-", "1.", "e\u0301", "👨\u200d", "a好", "龘\u0301"])
def test_long_runs_take_linear_time(name: str, piece: str, make: Any) -> None:
    """Through the pipeline, which hands on 500 characters at most: jieba's own HMM is quadratic. Ten times the text
    takes 100 times as long where something is quadratic."""
    make(name)
    pipeline = Pipeline(settings_of(name))
    texts = [piece * (length // len(piece)) for length in (2_000, 20_000)]
    pipeline.forms(texts[0])
    short, long = (min(cpu(pipeline, text) for _ in range(2)) for text in texts)
    assert long < 30 * short + 0.05


def cpu(pipeline: Pipeline, text: str) -> float:
    start = time.process_time()
    pipeline.forms(text)
    return time.process_time() - start


@pytest.mark.parametrize("name", ["rjieba", "characters", "unicode"])
@pytest.mark.parametrize("text", ["龘靐齉爩" * 50_000, "𠮷" * 200_000, "a" * 200_000, "好e\u0301" + "a" * 200_000])
def test_what_cuts_is_linear_by_itself(name: str, text: str, make: Any) -> None:
    cut = make(name).cut
    start = time.process_time()
    assert "".join(cut(text)) == text
    assert time.process_time() - start < 20  # some tenths; minutes where a run is read again and again


QUIET = """
import sys
from zh_elmo.text.segmenters import jieba
jieba._has_rjieba = lambda: {rjieba}
from zh_elmo.text.pipeline import Pipeline, TextSettings
assert not {{"jieba", "rjieba", "opencc", "spacy_pkuseg", "torch"}} & set(sys.modules)
pipeline = Pipeline(TextSettings())
assert pipeline.forms("我買了六斤蘋果。") == [["我", "买", "了", "六斤", "苹果", "。"]]
assert {rjieba} or sys.modules["jieba"].dt.initialized is False
"""


@pytest.mark.parametrize("rjieba", [True, False])
def test_nothing_is_printed_or_left_even_where_warnings_are_errors(rjieba: bool, tmp_path: Path) -> None:
    if rjieba:
        pytest.importorskip("rjieba")
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(tmp_path)}
    code = QUIET.format(rjieba=rjieba)
    root = str(Path(segment.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, env=environment, cwd=root, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(tmp_path.iterdir()) == []  # jieba's cache would lie here
