"""jieba: rjieba made equal to it, its dictionaries kept safely, the user's words honoured or refused by name."""

from __future__ import annotations

import lzma
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zh_elmo.corpus.exclude import treebank_sentences
from zh_elmo.files import BadInput
from zh_elmo.recipe import shelf_folder
from zh_elmo.text import segment
from zh_elmo.text.pipeline import Pipeline, TextSettings
from zh_elmo.text.segmenters import jieba, jieba_dictionary
from zh_elmo.text.segmenters.jieba_dictionary import Dictionary
from zh_elmo.text.segmenters.pieces import Cut

SAMPLE = shelf_folder("corpora") / "sample"
ENGINES = ["rjieba", "jieba"]


@pytest.fixture
def by(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Cut]:
    """jieba's words by the library that is named."""

    def cut(name: str, **options: Any) -> Cut:
        if name == "rjieba":
            pytest.importorskip("rjieba")
        monkeypatch.setattr(jieba, "_has_rjieba", lambda: name == "rjieba")
        return jieba.segmenter(**options).cut

    return cut


@pytest.fixture
def both(by: Callable[..., Cut]) -> Callable[..., tuple[Cut, Cut]]:
    return lambda **options: (by("rjieba", **options), by("jieba", **options))


# Equal ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Type-C", "Type - C"),
        ("USB-3.0", "USB - 3.0"),
        ("2024-05-06", "2024 - 05 - 06"),
        ("e-mail", "e - mail"),
        ("3.5mm", "3.5 mm"),
        ("x.com", "x . com"),
        ("a_b", "a _ b"),
        ("AK-47步枪", "AK - 47 步枪"),
        ("SK-II和didn't", "SK - II 和 didn ' t"),
        ("C++和AT&T", "C++ 和 AT&T"),
        ("3.14%", "3.14%"),
        ("穿T恤", "穿 T恤"),
        ("㐀.-了", "㐀 .- 了"),
    ],
)
def test_runs_are_cut_the_same_by_both(name: str, text: str, words: str, by: Callable[..., Cut]) -> None:
    assert by(name)(text) == words.split(" ")


@pytest.mark.parametrize("hmm", [True, False])
def test_rjieba_is_jieba_on_the_sample(hmm: bool, both: Callable[..., tuple[Cut, Cut]]) -> None:
    fast, slow = both(hmm=hmm)
    for sentence in treebank_sentences(SAMPLE / "zh_sample-ud-test.conllu"):
        assert fast(sentence) == slow(sentence)


def test_rjieba_is_jieba_on_a_real_treebank(real_data: Path, both: Callable[..., tuple[Cut, Cut]]) -> None:
    fast, slow = both()
    sentences = [
        sentence
        for part in ("dev", "test")
        for sentence in treebank_sentences(real_data / f"ud/zh_gsd-ud-{part}.conllu.xz")
    ]
    assert len(sentences) == 1000
    assert [sentence for sentence in sentences if fast(sentence) != slow(sentence)] == []


@pytest.mark.parametrize("folder", ["raw_zh_hans", "raw_zh_hant"])
def test_rjieba_is_jieba_on_raw_text(folder: str, real_data: Path, both: Callable[..., tuple[Cut, Cut]]) -> None:
    fast, slow = both()
    draw = random.Random(10)
    for path in sorted((real_data / folder).glob("*.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as stream:
            lines = stream.read(200_000).split("\n")
        for line in draw.sample(lines, min(60, len(lines))):
            assert fast(line) == slow(line)


def random_texts(parts: list[str], seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    letters = "-_.+#&% aB3２é\u0301𠮷〇龦㐀\uf900々ー爱的是不了在"
    return [
        "".join(draw.choice(parts) if draw.random() < 0.5 else draw.choice(letters) for _ in range(draw.randint(1, 9)))
        for _ in range(count)
    ]


@pytest.mark.parametrize("hmm", [True, False])
def test_rjieba_is_jieba_on_random_strings(hmm: bool, both: Callable[..., tuple[Cut, Cut]]) -> None:
    fast, slow = both(hmm=hmm)
    for text in random_texts(["北京大学", "生前", "来到", "C++", "AT&T", "T恤", "100", "二〇〇八"], 3, 3000):
        assert fast(text) == slow(text)


# Dictionaries --------------------------------------------------------------------------------------------------------


def test_the_table_is_the_one_that_jieba_makes() -> None:
    import jieba as library

    own = jieba._own()
    assert jieba._table(own) == library.Tokenizer.gen_pfdict(open(own.path, "rb"))  # noqa: SIM115  (it closes the file)


def test_the_table_is_kept_for_its_owner_only(tmp_path: Path) -> None:
    path, folder = tmp_path / "dict.txt", tmp_path / "cache"
    path.write_text("北京大学 3 nt\n北京 5 ns\n", "utf-8")
    wanted = ({"北京大学": 3, "北": 0, "北京": 5, "北京大": 0}, 8)

    def table(digest: str) -> Any:
        return jieba_dictionary.table(Dictionary(path, digest), folder, "0.42.1")

    assert table("one") == wanted
    (kept,) = folder.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_bytes(b"garbage")
    assert table("one") == wanted
    assert jieba_dictionary.load_private(kept) == wanted
    kept.chmod(0o666)  # others could have written it, and marshal is not safe
    assert jieba_dictionary.load_private(kept) is None
    path.write_text("北京 6 ns\n", "utf-8")
    assert table("two") == ({"北": 0, "北京": 6}, 6)
    assert len(list(folder.iterdir())) == 2


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    path, folder = tmp_path / "dict.txt", tmp_path / "cache"
    path.write_text("北京 5 ns\n", "utf-8")
    folder.write_text("a file stands where the folder is due")
    assert jieba_dictionary.table(Dictionary(path, "one"), folder, "0.42.1") == ({"北": 0, "北京": 5}, 5)


DICTIONARY = "他 100 r\n来到 50 v\n了 900 ul\n网易 3 nt\n网易杭研 40 n\n杭研 2 n\n大厦 10 n\nR&D 5 n\n"


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("hmm", [True, False])
def test_a_dictionary_in_place_of_its_own(name: str, hmm: bool, by: Callable[..., Cut], tmp_path: Path) -> None:
    path = tmp_path / "dict.txt"
    path.write_text(DICTIONARY, "utf-8")
    cut = by(name, hmm=hmm, dictionary=str(path))
    assert cut("他来到了网易杭研大厦") == ["他", "来到", "了", "网易杭研", "大厦"]
    assert "R&D" in cut("做R&D的")
    facts = jieba.facts(dictionary=str(path))
    assert isinstance(facts, dict)
    assert facts["package"].split()[0] == name
    assert len(facts["dictionary"]) == 64
    path.write_text(DICTIONARY.replace("网易杭研 40 n\n", ""), "utf-8")  # the same path, other words
    assert by(name, hmm=hmm, dictionary=str(path))("网易杭研")[0] == "网易"


def test_a_dictionary_given_again_is_not_read_again(by: Callable[..., Cut], tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(DICTIONARY, "utf-8")
    (tmp_path / "two.txt").write_text(DICTIONARY, "utf-8")
    for name, cache in (("jieba", jieba._python_engine), ("rjieba", jieba._rust_engine)):
        by(name, dictionary=str(tmp_path / "one.txt"))
        read = cache.cache_info().misses
        for file in ("one.txt", "two.txt", "one.txt"):
            by(name, dictionary=str(tmp_path / file))
        assert cache.cache_info().misses == read


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    ("content", "line"),
    [("北京 5 ns\n上海\n", 2), ("北京 many ns\n", 1), ("北京 -5\n", 1), ("北京 5\n京 99999999999\n", 2)],
)
def test_a_line_that_is_no_entry_is_named(
    name: str, content: str, line: int, by: Callable[..., Cut], tmp_path: Path
) -> None:
    path = tmp_path / "dict.txt"
    path.write_text(content, "utf-8")
    with pytest.raises(BadInput, match="word frequency tag") as caught:
        by(name, dictionary=str(path))
    assert (caught.value.path, caught.value.line) == (path, line)


def test_a_missing_dictionary_is_one_line(tmp_path: Path) -> None:
    for options in ({"dictionary": str(tmp_path / "no")}, {"user_dict": str(tmp_path / "no")}):
        with pytest.raises(BadInput, match="no such file"):
            jieba.segmenter(**options)


# Words of the user ---------------------------------------------------------------------------------------------------

USER = """\ufeff云计算 nz
杭研大厦 5
石墨烯
台积电 900 nt
李小福 2 nr
创新办 3 i
SK-II
凱特琳 nz
八一双鹿 3 nz
的是了不
"""


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("hmm", [True, False])
def test_words_of_the_user_are_honoured(name: str, hmm: bool, by: Callable[..., Cut], tmp_path: Path) -> None:
    path = tmp_path / "user.txt"
    path.write_text(USER, "utf-8")
    text = "李小福是创新办主任也是云计算方面的专家用SK-II和石墨烯"
    cut = by(name, hmm=hmm, user_dict=str(path))
    assert {"李小福", "创新办", "云计算", "SK-II", "石墨烯"} <= set(cut(text))
    for entry in ("凱特琳", "八一双鹿", "的是了不", "杭研大厦", "台积电"):
        assert cut(f"在{entry}。")[-2:] == [entry, "。"]
    assert not {"云计算", "SK-II", "凱特琳"} & set(by(name, hmm=hmm)(text))  # no other settings see them
    facts = jieba.facts(user_dict=str(path))
    assert isinstance(facts, dict)
    assert list(facts) == ["package", "user_dict", "user_words"]


@pytest.mark.parametrize("hmm", [True, False])
def test_words_of_the_user_are_the_same_for_both(
    hmm: bool, both: Callable[..., tuple[Cut, Cut]], tmp_path: Path
) -> None:
    draw = random.Random(7)
    words = [word for word, _, _ in list(jieba_dictionary.words_of(jieba._own().path))[::1500]]
    entries = {"".join(draw.sample(words, 2)) for _ in range(200)}
    entries |= {
        "".join(draw.choice("的是不了在人有我他这中大来個為們") for _ in range(draw.randint(2, 4))) for _ in range(200)
    }
    entries |= {"".join(draw.choice("abcAB12-.+_") for _ in range(draw.randint(2, 6))) for _ in range(100)}
    entries |= {f"T{word}" for word in words[:50]} | set(draw.sample(words, 50))
    path = tmp_path / "user.txt"
    path.write_text("\n".join(sorted(entries)), "utf-8")
    fast, slow = both(hmm=hmm, user_dict=str(path))
    for entry in entries:
        assert fast(entry) == slow(entry) == [entry]
    for text in random_texts(sorted(entries), 5, 1500):
        assert fast(text) == slow(text)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("Deep Learning", "white space"),
        ("机器 学习 3", "white space"),
        ("iPhone pro", "tag pro"),
        ("β受体 n", "'β'"),
        ("𠮷野家", "'𠮷'"),
        ("安徒生·童话", "'·'"),
        ("好！", "'！'"),
        ("云计算 0 n", "frequency 0"),
        ("云计算 2000000000", "2000000000"),
        ("的是 1", "too low, jieba cuts it as 的 | 是"),
        ("云" * 101, "longer than 100"),
        ("\u200b", "invisible"),
        ("北京 7", "line 1 already"),
    ],
)
def test_words_that_cannot_take_effect_are_refused(
    name: str, line: str, why: str, by: Callable[..., Cut], tmp_path: Path
) -> None:
    path = tmp_path / "user.txt"
    path.write_text(f"北京 9999 ns\n\n{line}\n", "utf-8")
    with pytest.raises(BadInput) as caught:
        by(name, user_dict=str(path), prepare=lambda word: word.replace("\u200b", ""))
    assert why in str(caught.value)
    assert (str(caught.value.path), caught.value.line) == (str(path), 3)
    assert "\n" not in str(caught.value)


def test_words_of_the_user_become_what_the_text_becomes(tmp_path: Path) -> None:
    """An entry in traditional script, or of full-width letters, is found in text that is normalised."""
    path = tmp_path / "user.txt"
    path.write_text("蘋果電腦公司\nＴ恤衫廠\n", "utf-8")
    text = "去蘋果電腦公司的T恤衫廠"
    simplified = Pipeline(TextSettings(user_dict=str(path)))
    assert simplified.forms(text) == [["去", "苹果电脑公司", "的", "T恤衫厂"]]
    for settings in (
        TextSettings(script="keep", user_dict=str(path)),
        TextSettings(script="keep", user_dict=str(path), through_simplified=False),
    ):
        assert Pipeline(settings).forms(text) == [["去", "蘋果電腦公司", "的", "T恤衫廠"]]
    assert Pipeline(TextSettings()).forms(text) != simplified.forms(text)
    assert segment.describe(simplified.settings)["user_dict"]


def test_an_old_rjieba_leaves_words_of_the_user_to_jieba(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rjieba = pytest.importorskip("rjieba")

    class Old:
        cut = staticmethod(rjieba.cut)

    monkeypatch.setattr(rjieba, "Jieba", Old)
    path = tmp_path / "user.txt"
    path.write_text("云计算方面\n", "utf-8")
    facts = jieba.facts(user_dict=str(path))
    assert isinstance(facts, dict)
    assert facts["package"] == "jieba 0.42.1"
    assert jieba.segmenter(user_dict=str(path)).cut("云计算方面的") == ["云计算方面", "的"]
    assert jieba.facts() == f"rjieba {jieba.version('rjieba').split()[1]}"
