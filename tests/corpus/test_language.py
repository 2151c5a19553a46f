"""The language of a paragraph, where it is sure; what is short or in doubt stays."""

from __future__ import annotations

import lzma
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from zh_elmo.corpus.filters import Filters, fault, prepare
from zh_elmo.corpus.language import checked, foreign
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.files import BadInput
from zh_elmo.recipe import convert


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("今天我们去公园看花，这里的风景很好。", "zh"),
        ("佢哋喺度食嘢，唔該俾個橙我，我哋一齊去啦。佢話呢度嘅嘢好好食。", "zh"),  # Cantonese
        ("子曰：學而時習之，不亦說乎？有朋自遠方來，不亦樂乎？", "zh"),  # classical
        ("他说の字很常见，而且很多人都会写这个字。", "zh"),
        ("《となりのトトロ》（龙猫）是宫崎骏执导的动画电影", "zh"),
        ("鬼滅之刃（日語：鬼滅の刃／きめつのやいば）是日本漫畫家吾峠呼世晴創作的漫畫", "zh"),
        ("今日はとても天気がいいですね。", "ja"),
        ("東京都知事選挙、立候補者説明会開催のお知らせ", "ja"),  # few kana
        ("国際連合安全保障理事会の常任理事国である中国", "ja"),
        ("한국어 문장은 이렇게 씁니다.", "ko"),
        ("경기도(京畿道)는 대한민국의 도이다.", "ko"),
        ("ไปไหนมา ไม่รู้เหมือนกัน", "th"),
        ("Ελλάδα είναι μια χώρα της Ευρώπης", "el"),
    ],
)
def test_told_by_script(text, told):
    assert foreign(text, (told,)) is None
    for other in {"zh", "ja", "ko", "th", "ar"} - {told}:
        assert foreign(text, (other,)) == f"in {told}, not {other}"
    assert foreign(text, ("ar", told)) is None
    assert foreign(text, ("ar", "bo")) == f"in {told}, not ar or bo"


@pytest.mark.parametrize(
    "text", ["好的", "はい", "Hello World", "2023-01-01 12:00", "", "…………！", "東京都株式会社", "👍" * 30]
)
def test_what_is_short_stays(text):
    for language in ("zh", "ja", "ko", "ar"):
        assert foreign(text, (language,)) is None


@pytest.mark.parametrize(
    "text",
    [
        "使用 Microsoft Visual Studio Code 编辑器打开文件",  # product names
        "iPhone 15 Pro Max 256GB 开箱评测",
        "详情请见 https://www.example.com/a/very/long/address?with=parameters&and=more#place",
        "联系我们的邮箱是 someone.with.a.long.name@department.example.com",
    ],
)
def test_chinese_with_latin_letters_in_it_stays(text):
    assert foreign(text, ("zh",)) is None


def test_what_is_in_letters_that_no_language_asked_for_has():
    assert foreign("The city of Beijing (北京) is the capital of China.", ("zh",)) == "in Latin letters, not zh"
    assert foreign("Музей открыт ежедневно, кроме понедельника.", ("zh", "ja")) == "in Cyrillic letters, not zh or ja"


@pytest.mark.parametrize("size", [100_000])
@pytest.mark.parametrize("text", ["好", "a", "a@", "（", "http://", "www."])
def test_long_runs_stay_linear(text, size):
    # the square of it would take minutes
    assert foreign(text * size, ("zh",)) == foreign(text * 1000, ("zh",))


@pytest.mark.parametrize(("folder", "wanted"), [("raw_zh_hans", "zh"), ("raw_zh_hant", "zh")])
def test_no_chinese_paragraph_is_taken_for_another_language(real_data: Path, folder, wanted):
    seen = 0
    for path in sorted((real_data / folder).glob("*.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as stream:
            lines = [line.strip() for line, _ in zip(stream, range(1500), strict=False)]
        reasons = [reason for line in lines if (reason := foreign(line, ("zh",)))]
        assert not [reason for reason in reasons if reason != "in Latin letters, not zh"]
        assert len(reasons) <= 0.01 * len(lines), path
        seen += len(lines)
    assert seen > 10_000


# Languages that share a script ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The museum is open every day except on Mondays and on public holidays.", "en"),
        ("Le musée est ouvert tous les jours, sauf le lundi et les jours fériés.", "fr"),
        ("Bảo tàng mở cửa hàng ngày, trừ thứ hai và các ngày lễ trong năm.", "vi"),
        ("Das Museum ist täglich geöffnet, außer montags und an Feiertagen.", "de"),
    ],
)
def test_told_by_trigrams(text, told):
    pytest.importorskip("lingua")
    assert foreign(text, (told,)) is None
    assert foreign(text, ("zh", told)) is None
    for other in {"en", "fr", "vi", "de"} - {told}:
        assert foreign(text, (other,)) == f"in {told}, not {other}"
    assert foreign(text, ("ru",)) == "in Latin letters, not ru"
    assert foreign(text[:15], ("tr",)) is None  # too short to tell


def test_languages_that_are_mistaken_for_each_other_stay():
    pytest.importorskip("lingua")
    norwegian = "Museet er åpent hver dag unntatt mandager og offentlige helligdager."
    assert foreign(norwegian, ("nb",)) is None
    assert foreign(norwegian, ("da",)) is None
    assert foreign(norwegian, ("fr",)) is not None


@pytest.mark.parametrize(("file", "told", "other"), [("en", "en", "vi"), ("vi", "vi", "en"), ("kk", "kk", "ru")])
def test_real_text_in_other_languages(real_data: Path, file, told, other):
    pytest.importorskip("lingua")
    with lzma.open(real_data / f"raw_other/{file}.txt.xz", "rt", encoding="utf-8") as stream:
        lines = [line.strip() for line, _ in zip(stream, range(2000), strict=False)]
    long = [line for line in lines if sum(map(str.isalpha, line)) >= 40]
    assert len(long) > 300
    assert sum(foreign(line, (told,)) is None for line in long) / len(long) > 0.99
    assert sum(foreign(line, (other,)) is not None for line in long) / len(long) > (0.7 if told == "kk" else 0.9)


def test_its_package_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "lingua", None)
    prepare(Filters(languages=["zh", "ja", "ko"]))
    with pytest.raises(BadInput, match=r"telling zh and vi from .* pip install 'zh-elmo\[language\]'") as error:
        prepare(Filters(languages=["zh", "vi"]))
    assert error.value.usage


def test_names_of_languages():
    assert checked(["ZH", "zh_TW", "yue", "lzh", "ja", "no"]) == ("zh", "ja", "nb")
    for name, near in (("jp", "ja"), ("zh-tv", "zh-tw"), ("chinese", "zh"), ("", "such as")):
        with pytest.raises(BadInput, match=f"no language known here.*{near}") as error:
            checked([name])
        assert error.value.usage
    with pytest.raises(BadInput, match="'xx' is no language"):
        convert({"filters": {"languages": ["xx"]}}, CorpusSettings, "x.toml")


def test_filters_pickle_and_nothing_is_printed():
    """In a new process, as workers have it."""
    pytest.importorskip("lingua")
    filters = pickle.dumps(Filters(languages=["en"]))
    code = (
        "import pickle, sys; from zh_elmo.corpus.filters import fault; assert 'lingua' not in sys.modules; "
        f"assert fault('x', pickle.loads({filters!r}), 'Bảo tàng mở cửa hàng ngày, trừ thứ hai.') == 'in vi, not en'"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_languages_nothing_is_asked():
    assert fault("今日はとても天気がいいですね", Filters(shortest=1)) is None


@pytest.mark.parametrize("raw", [{"near_duplicates": 0.3}, {"near_duplicates": 1.1}, {"undecodable": "ignore"},
                                 {"near_duplicates": 0.8, "drop_duplicates": False}])  # fmt: skip
def test_wrong_settings(raw):
    with pytest.raises(BadInput, match=r"near_duplicates|undecodable = 'ignore'"):
        convert(raw, CorpusSettings, "x.toml")
