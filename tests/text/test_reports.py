"""What users of Chinese text tools reported in public (jieba, pkuseg, OpenCC, spaCy, stanza, ...), each as a test.

`test_report_NN` is row NN of the project's list of reports (area text), `test_open_NN` row NN of the open reports on
Chinese text. Rows that other tests hold are named in COVERED.
"""

from __future__ import annotations

import itertools
import random
import re
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from zh_elmo.corpus.build import build
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.corpus.store import Corpus
from zh_elmo.embed.embedder import Embedder
from zh_elmo.files import BadInput
from zh_elmo.lm.model import BiLM
from zh_elmo.lm.settings import Characters, Model
from zh_elmo.recipe import convert
from zh_elmo.text import script, script_library
from zh_elmo.text.normalise import dropped, normalise
from zh_elmo.text.pipeline import LONGEST_WORD, Pipeline, TextSettings
from zh_elmo.text.segmenters import jieba, jieba_dictionary, pkuseg_train
from zh_elmo.text.segmenters.jieba_dictionary import Dictionary

TESTS = Path(__file__).parents[1]
CODE = Path(jieba.__file__).parents[2]
COVERED = {  # row -> the tests that hold it
    "06": ["text/test_segment_pkuseg.py::test_the_dictionary_of_the_library_is_off"],
    "07": [
        "corpus/test_build.py::test_a_killed_worker_is_an_error_not_a_hang",
        "text/test_segment_pkuseg.py::test_threads_and_workers_cut_the_same",
    ],
    "08": ["text/test_segment_pkuseg.py::test_models_are_told_apart_by_their_bytes"],
    "09": ["cli/test_reports.py::test_report_09_user_dictionary_from_the_command_line"],
    "14": ["text/test_script.py::test_conversion_is_done_after_one_pass"],
    "15": ["text/test_segment.py::test_traditional_text_is_cut_as_its_simplified_form"],
    "16": ["text/test_script.py::test_what_would_change_lengths_is_refused_with_the_reason"],
    "21": ["embed/test_embedder.py::test_another_segmenter_than_the_corpus_had_is_remarked_on"],
    "22": [
        "embed/test_write.py::test_raw_text_given_as_words_is_remarked_on",
        "corpus/test_build.py::test_text_without_spaces_taken_for_segmented_text_is_noticed",
    ],
    "23": ["text/test_pipeline.py::test_no_line_becomes_one_word"],
    "open 01": ["text/test_segment_jieba.py::test_the_table_is_kept_for_its_owner_only"],
    "open 02": ["text/test_segment.py::test_nothing_is_printed_or_left_even_where_warnings_are_errors"],
    "open 03": ["text/test_segment_jieba.py::test_a_dictionary_given_again_is_not_read_again"],
    "open 04": ["text/test_reports.py::test_report_05_workers_and_hmm"],
    "open 06": ["text/test_segment_jieba.py::test_runs_are_cut_the_same_by_both"],
    "open 10": ["text/test_segment_pkuseg.py::test_marks_glued_to_words_are_cut_off"],
    "open 11": ["text/test_segment_pkuseg.py::test_a_pickle_is_not_loaded"],
    "open 12": ["text/test_script.py::test_zhu_and_zhe_are_told_apart_in_native_text"],
    "open 15": ["text/test_pipeline.py::test_describe_tells_runs_apart"],
    "open 16": ["text/test_script_packages.py::test_the_installed_package_is_named"],
    "open 17": ["text/test_script_packages.py::test_a_package_without_code_or_no_package_is_told_in_one_line"],
    "open 18": ["text/test_sentences.py::test_case"],
    "open 19": ["text/test_sentences.py::test_spans_cover_all_but_white_space_and_keep_the_cap"],
    "open 20": ["text/test_wikitext.py::test_markup_within_a_line"],
    "open 21": ["corpus/test_sources.py::test_encodings_are_found"],
    "open 22": ["text/test_normalise.py::test_case"],
}


@pytest.mark.parametrize("row", list(COVERED))
def test_rows_that_other_tests_hold(row: str) -> None:
    for name in COVERED[row]:
        file, test = name.split("::")
        assert re.search(rf"^def {test}\(", (TESTS / file).read_text("utf-8"), re.M), name


@pytest.fixture(params=["rjieba", "jieba"])
def cut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """jieba's words of a text with words of the user, by either library."""
    if request.param == "rjieba":
        pytest.importorskip("rjieba")
    monkeypatch.setattr(jieba, "_has_rjieba", lambda: request.param == "rjieba")

    def words(text: str, user_dict: Path | str = "", hmm: bool = True) -> list[str]:
        (sentence,) = Pipeline(TextSettings(user_dict=str(user_dict), hmm=hmm)).forms(text)
        return sentence

    return words


def put(path: Path, words: list[str], line_end: str = "\n", mark: bytes = b"") -> Path:
    path.write_bytes(mark + "".join(word + line_end for word in words).encode())
    return path


def corpus_of(folder: Path, text: str, workers: int = 1, **more: Any) -> Corpus:
    (folder / "text.txt").write_text(text, "utf-8")
    settings = CorpusSettings(text=TextSettings(**more), held_out=0)
    build(settings, [folder / "text.txt"], folder / "corpus", workers=workers, quiet=True)
    return Corpus.open(folder / "corpus")


# Words of the user ---------------------------------------------------------------------------------------------------


def test_report_01_hyphen_and_digits(cut: Callable[..., list[str]], tmp_path: Path) -> None:
    """fxsjy/jieba#749: a word with a hyphen and digits was cut apart."""
    path = put(tmp_path / "user.txt", ["糖类抗原19-9"])
    for hmm in (True, False):
        assert cut("糖类抗原19-9", path, hmm) == ["糖类抗原19-9"]
        assert cut("查糖类抗原19-9了", path, hmm) == ["查", "糖类抗原19-9", "了"]


def test_report_02_brackets_and_slashes(cut: Callable[..., list[str]], tmp_path: Path) -> None:
    """fxsjy/jieba#873, #356: such a word was split before any dictionary was asked; it is refused by name."""
    for entry in ("[/白眼]", "白眼/翻", "白（眼）"):
        path = put(tmp_path / "user.txt", ["北京", entry])
        with pytest.raises(BadInput, match=re.escape(entry)) as caught:
            cut("白眼", path)
        assert caught.value.line == 2


def test_report_03_files_of_windows(cut: Callable[..., list[str]], tmp_path: Path) -> None:
    """fxsjy/jieba#236: a byte order mark or CRLF made jieba pass over a dictionary without a word."""
    entries = ["云计算方面", "石墨烯电池 5", "创新办公室 9 n"]
    text = "云计算方面的石墨烯电池在创新办公室"
    bom = b"\xef\xbb\xbf"
    forms = [("\n", b""), ("\r\n", b""), ("\r\n", bom), ("\n", bom)]
    for number, (line_end, mark) in enumerate(forms):
        path = put(tmp_path / f"{number}.txt", entries, line_end, mark)
        assert cut(text, path) == ["云计算方面", "的", "石墨烯电池", "在", "创新办公室"]
        facts = Pipeline(TextSettings(user_dict=str(path))).describe()["segmenter"]
        assert facts["user_words"] == 3


def test_report_04_single_characters(cut: Callable[..., list[str]], tmp_path: Path) -> None:
    """fxsjy/jieba#837: many single characters were dropped, by the order of adding; refused ones are named."""
    entries = [chr(point) for point in range(ord("丁"), ord("丁") + 76)] + list("豆制品生")
    text = "豆制品生产，" + "".join(entries)
    seen = []
    for seed in range(3):
        random.Random(seed).shuffle(entries)
        path = put(tmp_path / f"{seed}.txt", entries)
        seen.append(cut(text, path))
        assert all(len(cut(entry, path)) == 1 for entry in entries)
    assert seen[0] == seen[1] == seen[2]
    with pytest.raises(BadInput, match=r":2: the frequency 1 of '的是' is too low"):
        cut(text, put(tmp_path / "low.txt", ["豆", "的是 1"]))


# Workers, models -----------------------------------------------------------------------------------------------------


def test_report_05_workers_and_hmm(tmp_path: Path) -> None:
    """fxsjy/jieba PR#382, PR#371: cutting in parallel with the hidden Markov model off died."""
    draw = random.Random(5)
    parts = ["我们", "凱特琳", "說", "北京大学", "李小福", "在", "3.5mm", "。", "，", "杭研大厦", "看書"]
    text = "\n".join("".join(draw.choices(parts, k=12)) for _ in range(1000))
    digests = {}
    for hmm, workers in itertools.product((True, False), (1, 4)):
        folder = tmp_path / f"{hmm}-{workers}"
        folder.mkdir()
        digests[hmm, workers] = corpus_of(folder, text, workers, hmm=hmm).manifest["files"]
    assert digests[True, 1] == digests[True, 4]
    assert digests[False, 1] == digests[False, 4]
    assert digests[True, 1] != digests[False, 1]


def test_report_06_pkuseg_has_no_dictionary() -> None:
    """lancopku/pkuseg-python#103, #127, #86: a dictionary changed words that it did not hold."""
    with pytest.raises(BadInput, match=r"text\.user_dict is for segmenter = jieba"):
        TextSettings(segmenter="pkuseg", segmenter_model="m", user_dict="words.txt")


def test_report_10_a_segmenter_that_was_moved(tmp_path: Path) -> None:
    """explosion/spaCy#13868: a model asked for the path of the machine that it was made on."""
    pytest.importorskip("spacy_pkuseg")
    words = [["我们", "在", "北京", "。"], ["他", "买", "了", "3.5", "斤", "苹果", "！"]] * 15
    pkuseg_train.write_words(tmp_path / "words", words)
    code = "import sys; from zh_elmo.text.segmenters.pkuseg_train import train; train(*sys.argv[1:4], 1, 1)"
    arguments = [sys.executable, "-c", code, tmp_path / "words", tmp_path / "words", tmp_path / "first"]
    subprocess.run(arguments, check=True, capture_output=True, cwd=CODE.parent)
    first = Pipeline(TextSettings(segmenter="pkuseg", segmenter_model=str(tmp_path / "first")))
    before, facts = first.forms("他在北京买了苹果。"), first.describe()["segmenter"]
    shutil.move(tmp_path / "first", tmp_path / "second")
    moved = Pipeline(TextSettings(segmenter="pkuseg", segmenter_model=str(tmp_path / "second")))
    assert moved.forms("他在北京买了苹果。") == before
    assert moved.describe()["segmenter"] == facts  # named by its bytes, not by where it lies
    with pytest.raises(BadInput, match=r"segmenter_model = '.*first': a folder with features.msgpack"):
        Pipeline(first.settings).forms("我")


# Script --------------------------------------------------------------------------------------------------------------


def test_report_11_one_word_for_all() -> None:
    """yichen0831/opencc-python#1: 一干 became 一幹 where conversions are chained."""
    for target in ("traditional", "traditional-hk", "traditional-opencc"):
        assert script.convert("一干", "all", target) == "一干"  # type: ignore[arg-type]
        assert script.convert("一干人等这", "all", target)[:2] == "一干"  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["tw2t", "hk2t", "t2jp", "jp2t", "tw2t.json", "nonsense"])
def test_report_12_configurations_that_are_not_there(name: str) -> None:
    """yichen0831/opencc-python#35: a bare FileNotFoundError; what there is is listed."""
    due = "due is one of keep, simplified, traditional, traditional-hk, traditional-opencc"
    with pytest.raises(BadInput, match=due):
        script.converter(name)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=f"recipe: script = '{name}': {due}"):
        convert({"script": name}, TextSettings, "recipe")


@pytest.mark.parametrize(
    ("name", "target"),
    [("t2s", "simplified"), ("tw2s", "simplified"), ("s2t", "traditional-opencc"), ("s2tw", "traditional")],
)
def test_report_13_names_with_and_without_json(name: str, target: str) -> None:
    """spaceskynet/Sigil-Plugins#2: s2t or s2t.json, by package. Here scripts have names of their own, and both are
    told which."""
    for given in (name, f"{name}.json"):
        with pytest.raises(BadInput, match=f"script = '{given}' of OpenCC is called '{target}' here"):
            script.converter(given)  # type: ignore[arg-type]


def test_report_14_back_and_forth() -> None:
    """nk2028/opencc-js#45: 什么 became 什幺 when conversion was repeated."""
    text = "什么，怎么？抬头看着萧乾的头发，后来皇后理发。"
    simplified, traditional = script.converter("simplified"), script.converter("traditional")
    assert simplified(text) == text
    other = traditional(text)
    assert traditional(other) == other != text
    assert simplified(other) == text


def test_report_15_traditional_text_is_not_cut_through(cut: Callable[..., list[str]]) -> None:
    """hankcs/HanLP#206: 臺/北大/... by a segmenter of simplified text."""
    assert cut  # by either library
    raw = "臺北大眾捷運股份有限公司"
    (kept,) = Pipeline(TextSettings(script="keep")).sentences(raw)
    assert [raw[word.start : word.end] for word in kept][:2] == ["臺北", "大眾捷運"]
    (converted,) = Pipeline(TextSettings()).sentences(raw)
    assert [tuple(word[1:]) for word in converted] == [tuple(word[1:]) for word in kept]


def test_report_16_every_character_points_into_the_input() -> None:
    """maziyarpanahi/openmed#1467: exchange of words changes lengths and loses offsets; ours goes character by
    character."""
    raw = "\ufeff計算機和光碟，\r\n隨身碟"
    words = [word for sentence in Pipeline(TextSettings()).sentences(raw) for word in sentence]
    assert "".join(word.form for word in words) == "计算机和光碟，随身碟"
    assert "".join(raw[word.start : word.end] for word in words) == "計算機和光碟，隨身碟"


def test_report_17_a_broken_line_of_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """infinilabs/analysis-stconvert#13: 恭弘 became a string with separators."""

    class Closed:
        """A package that cannot be looked into."""

        def __init__(self, config: str) -> None:
            pass

        def convert(self, text: str) -> str:
            return text.replace("漢語", "汉语").replace("恭弘", "恭/弘")

    class Open(Closed):
        """One that can."""

        _dict_chain_data = ([{"漢": "汉"}, {"恭弘": "恭/弘"}],)

    module = ModuleType("opencc")
    monkeypatch.setitem(sys.modules, "opencc", module)
    monkeypatch.setattr(script_library, "converter", script_library.converter.__wrapped__)
    module.OpenCC = Open  # type: ignore[attr-defined]
    with pytest.raises(BadInput, match=r"opencc is damaged \(its t2s has '恭/弘' for '恭弘'\)"):
        script_library.aligned("t2s")
    module.OpenCC = Closed  # type: ignore[attr-defined]
    assert script_library.aligned("t2s")("恭弘漢語") == "恭弘汉语"


def test_report_18_another_segmenter_changes_words_alone() -> None:
    """stanfordnlp/stanza#289: the segmenter can be chosen, and all else stays."""
    raw = "我們在北京大學.「好嗎?」他說。\n第２行Type-C"
    by = [Pipeline(TextSettings(segmenter=name)).sentences(raw) for name in ("jieba", "characters", "unicode")]
    joined = [["".join(word.form for word in sentence) for sentence in sentences] for sentences in by]
    assert joined[0] == joined[1] == joined[2] == ["我们在北京大学。", "“好吗？”他说。", "第2行Type-C"]
    assert len({len(sentences[0]) for sentences in by}) > 1


# What models say of their text ---------------------------------------------------------------------------------------


@pytest.fixture
def bilm() -> BiLM:
    settings = Model(characters=Characters(size=4, filters=((1, 4),), maximum=6), projection=4, cell=6)
    return BiLM(settings, list("我们說說"), [])


def test_report_19_the_other_script(bilm: BiLM) -> None:
    """stanfordnlp/stanza#132: simplified text into a model of traditional text."""
    simplified = [
        ["这", "个", "国家", "的", "车", "发", "来", "说"],
        ["头发", "买", "书", "们", "东", "门", "马", "鸟", "龙"],
    ]
    simplified += [["见", "话", "语", "读", "词", "贝", "钱"]]
    traditional = TextSettings(script="traditional", segmenter="characters")
    as_given = Embedder(bilm, traditional, normalize=None)
    with pytest.warns(UserWarning, match=r'100% of .* are simplified, and .* is traditional; normalize="model" brings'):
        as_given.embed(simplified)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_given.embed(simplified)  # said once
        Embedder(bilm, traditional).embed(simplified)
        converted = Embedder(bilm, traditional).normalised(simplified[0])
        Embedder(bilm, TextSettings(segmenter="characters"), normalize=None).embed(simplified)
    assert converted == ["這", "個", "國家", "的", "車", "發", "來", "說"]


def test_report_20_zero_width_characters(tmp_path: Path) -> None:
    """UniversalDependencies/docs#1010: they always go, since words that look the same must be the same; how many went
    is counted, and a word of nothing else is no empty one."""
    raw = "中\u200b国，\ufeff我\xad们\u200b。\n\u200b\ufeff\n"
    pipeline = Pipeline(TextSettings())
    assert pipeline.forms(raw) == [["中国", "，", "我们", "。"]]
    assert pipeline.gold(["中\u200b国", "\u200b", "\ufeff", "\xad"]) == ["中国", "\ufffd", "\ufffd", "\ufffd"]
    assert [kind for _, kind in dropped(raw, normalise(raw))] == ["zero-width"] * 6
    assert Pipeline(TextSettings(segmenter="words")).forms("中\u200b国 \u200b 我") == [["中国", "我"]]
    manifest = corpus_of(tmp_path, raw).manifest
    assert "'zero-width': 6" in str(manifest)


def test_report_21_another_segmenter(bilm: BiLM, tmp_path: Path) -> None:
    """HIT-SCIR/ELMoForManyLangs#59, #66, #42: nobody could tell how the training text was cut."""
    described = Pipeline(TextSettings(script="keep")).describe()
    assert described["settings"]["script"] == "keep"
    assert described["segmenter"].split()[0] in ("jieba", "rjieba")
    assert {"punctuation", "quotes", "segmenter"} <= set(described["settings"])
    embedder = Embedder(bilm, TextSettings(), made_with=described | {"segmenter": "jieba 0.39"})
    (tmp_path / "raw.txt").write_text("我们说话。", "utf-8")
    from zh_elmo.embed.write import write

    with pytest.warns(UserWarning, match=r"made with segmenter jieba 0\.39, this text with r?jieba"):
        write(embedder, tmp_path / "raw.txt", tmp_path / "out.store", kind="text", quiet=True)


def test_report_22_a_line_as_one_word(bilm: BiLM) -> None:
    """tensorflow/models#334, #329: Chinese that was not cut is one word."""
    embedder = Embedder(bilm)
    with pytest.warns(UserWarning, match=r"sentences\[1\] holds 40 Chinese characters without a space in one word"):
        embedder.embed([["我"], ["我们" * 20]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        embedder.embed([["我们" * 19], ["a" * 50]])


def test_report_23_the_longest_word_is_told_of(tmp_path: Path) -> None:
    """adobe/NLP-Cube#100: a long text without punctuation became one word."""
    corpus = corpus_of(tmp_path, "天" * 150 + "\n" + "地 玄 黄\n", segmenter="words")
    assert max(map(len, corpus.types)) == LONGEST_WORD
    assert corpus.manifest["counts"]["words_cut"] == 1
    classical = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏" * 5
    assert max(len(word) for words in Pipeline(TextSettings()).forms(classical) for word in words) < 10


# Open reports on Chinese text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["posseg", "enable_parallel", "enable_paddle", "import +pkuseg", "jieba_fast"])
def test_open_05_words_come_from_cut_alone(name: str) -> None:
    """fxsjy/jieba#353, #239, pull 371: posseg gives other words, parallel cutting fails, paddle runs pip; deepcs233's
    jieba_fast #26 leaks (07), pkuseg does not build (11)."""
    ours = re.compile(r"from zh_elmo[\w.]* import .*")
    texts = {path: ours.sub("", path.read_text("utf-8")) for path in CODE.rglob("*.py")}
    assert [path for path, text in texts.items() if re.search(rf"\b{name}\b", text)] == []


def test_open_07_09_11_what_is_required() -> None:
    """jieba_fast leaks memory, spacy-pkuseg 1.0.0 broke with numpy 1, pkuseg does not build on Python 3.11."""
    needs = [need.replace(" ", "") for need in metadata.requires("zh-elmo") or []]
    assert not [need for need in needs if re.match(r"(jieba_fast|pkuseg)\b", need)]
    (pkuseg,) = [need for need in needs if re.match("spacy[-_]pkuseg", need)]
    assert ">=1.0.1" in pkuseg


def test_open_08_many_processes_make_one_cache(tmp_path: Path) -> None:
    """a358003542/fenci#1: a cache broken by processes that start at once."""
    path = put(tmp_path / "dict.txt", [f"词{number} 5 n" for number in range(3000)])
    wanted = jieba_dictionary.table(Dictionary(path, "one"), tmp_path / "other", "0.42.1")
    found: list[Any] = []

    def start() -> None:
        found.append(jieba_dictionary.table(Dictionary(path, "one"), tmp_path / "cache", "0.42.1"))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(one == wanted for one in found)
    (kept,) = (tmp_path / "cache").iterdir()  # nothing half-written lies beside
    assert jieba_dictionary.load_private(kept) == wanted


def test_open_13_words_with_qian() -> None:
    """BYVoid/OpenCC#1154, #179, nk2028/opencc-js#24: names with 乾 lost it, and words with 乾 for dry keep none."""
    converted = script.converter("simplified")("乾安縣的乾清宮，蕭乾和王丙乾，曬乾的乾淨衣裳，扭轉乾坤，乾隆")
    assert converted == "乾安县的乾清宫，萧乾和王丙乾，晒干的干净衣裳，扭转乾坤，乾隆"


def test_open_14_phrases_do_not_match_across_words() -> None:
    """BYVoid/OpenCC#580: 去干扰 became 去幹擾; words of a treebank are converted one by one."""
    gold = Pipeline(TextSettings(script="traditional")).gold
    assert gold(["去", "干扰", "信号", "这"]) == ["去", "干擾", "信號", "這"]
    assert Pipeline(TextSettings()).gold(["屬於", "單一"]) == ["属于", "单一"]


def test_open_15_the_package_is_named() -> None:
    """yichen0831/opencc-python#1: packages give different results."""
    assert set(Pipeline(TextSettings()).describe()["opencc"]) == {"package", "version"}
