"""Raw text to shards: the right words in the right order, drops with their reasons, the same bytes every time."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zh_elmo.corpus import chunk, processes, sources, write
from zh_elmo.corpus import tasks as tasking
from zh_elmo.corpus.build import build
from zh_elmo.corpus.chunk import Chunk
from zh_elmo.corpus.cut import Cutter, Task
from zh_elmo.corpus.encoding import Undecodable
from zh_elmo.corpus.exclude import Excluded
from zh_elmo.corpus.filters import Filters
from zh_elmo.corpus.processes import cut
from zh_elmo.corpus.readers import How, count_characters
from zh_elmo.corpus.settings import CorpusSettings
from zh_elmo.corpus.show import first_sentences, show
from zh_elmo.corpus.store import DOCUMENT_END, SENTENCE_END, Corpus
from zh_elmo.corpus.work import Work
from zh_elmo.files import BadInput
from zh_elmo.recipe import shelf_folder
from zh_elmo.text.pipeline import TextSettings

WORDS = TextSettings(segmenter="words")
TEXT = "我 愛 北京 。\n北京 在 中国 。\n\n他 愛 她 。\n"


def settings(**changes: Any) -> CorpusSettings:
    return CorpusSettings(**({"text": WORDS, "held_out": 0.0} | changes))


def make(folder: Path, raw: str, /, workers: int = 1, **changes: Any) -> Corpus:
    """The corpus of a text, in `folder`/corpus."""
    folder.mkdir(exist_ok=True)
    (folder / "text.txt").write_text(raw, "utf-8")
    build(settings(**changes), [folder / "text.txt"], folder / "corpus", workers=workers, quiet=True)
    return Corpus.open(folder / "corpus")


def decoded(corpus: Corpus, part: Any = "train") -> list[list[list[str]]]:
    """Documents of sentences of words."""
    documents: list[list[list[str]]] = [[]]
    sentence: list[str] = []
    for word in corpus.ids(part):
        if word == SENTENCE_END:
            documents[-1].append(sentence)
            sentence = []
        elif word == DOCUMENT_END:
            assert not sentence
            documents.append([])
        else:
            sentence.append(corpus.types[word])
    assert not sentence
    assert documents.pop() == []  # the last document is ended as well
    return documents


def reasons(corpus: Corpus) -> dict[str, int]:
    return {reason: facts["paragraphs"] for reason, facts in corpus.manifest["drops"].items()}


def test_words_sentences_and_documents_are_all_there(tmp_path: Path) -> None:
    corpus = make(tmp_path, TEXT)
    assert decoded(corpus) == [
        [["我", "爱", "北京", "。"], ["北京", "在", "中国", "。"]],
        [["他", "爱", "她", "。"]],
    ]
    assert corpus.types == ["。", "北京", "爱", "中国", "他", "在", "她", "我"]  # by frequency, then by code point
    assert corpus.counts.tolist() == [3, 2, 2, 1, 1, 1, 1, 1]
    assert len(corpus.ids("heldout")) == 0
    counts = corpus.manifest["counts"]
    assert counts["train"] == {"documents": 2, "paragraphs": 3, "sentences": 3, "words": 12}
    assert counts["characters"] == sum(map(len, TEXT.split("\n")))
    assert counts["paragraphs"] == 3
    assert isinstance(corpus.ids("train"), np.memmap)
    assert corpus.ids("train").dtype == np.uint32


def test_raw_chinese_becomes_words(tmp_path: Path) -> None:
    corpus = make(tmp_path, "我買了六斤蘋果.他說：好。\n", text=TextSettings())
    assert decoded(corpus) == [[["我", "买", "了", "六斤", "苹果", "。"], ["他", "说", "：", "好", "。"]]]
    assert corpus.manifest["text"]["settings"]["segmenter"] == "jieba"


@pytest.fixture
def long_text() -> str:
    """Some 600 paragraphs, with duplicates of both kinds and documents."""
    lines = []
    for number in range(600):
        which = number % 450
        sentence = f"第 {which} 句 話 說 的 是 {which * 7 % 11} 和 word{which % 97}"
        lines.append(sentence + " 。")
        lines += [sentence + "  ."] if number % 90 == 0 else []
        lines += [""] if number % 50 == 0 else []
    return "\n".join(lines)


def test_bytes_do_not_depend_on_the_number_of_workers(
    tmp_path: Path, long_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasking, "TASK", 1000)
    one = make(tmp_path / "1", long_text, held_out=0.1, exclude=["zh_sample"])
    here = list[Path]()

    def slow(path: Path, raw: bytes) -> None:
        here.append(path)
        time.sleep(0.2)  # time for the other process to begin
        chunk.write(path, raw)

    monkeypatch.setattr(processes, "write", slow)
    two = make(tmp_path / "2", long_text, workers=2, held_out=0.1, exclude=["zh_sample"])
    assert 0 < len(here) < len(long_text) / 1500  # the other one did something, too
    monkeypatch.undo()
    assert one.digest == two.digest
    for key in ("counts", "drops", "files"):
        assert one.manifest[key] == two.manifest[key]
    for name in one.manifest["files"]:
        assert (one.folder / name).read_bytes() == (two.folder / name).read_bytes()
    assert make(tmp_path / "3", long_text, held_out=0.1, exclude=["zh_sample"]).digest == one.digest
    monkeypatch.setattr(write.Writer, "few", 1000)  # words, from which on counts have 64 bits
    assert make(tmp_path / "4", long_text, held_out=0.1, exclude=["zh_sample"]).digest == one.digest


def test_paragraphs_are_kept_or_dropped_for_a_reason(tmp_path: Path, long_text: str) -> None:
    corpus = make(tmp_path, long_text + "\n\u200b\n", held_out=0.1)
    counts = corpus.manifest["counts"]
    kept = counts["train"]["paragraphs"] + counts["heldout"]["paragraphs"]
    assert reasons(corpus) == {"duplicate": 150 + 7, "nothing visible": 1}
    assert kept + 158 == counts["paragraphs"] == 600 + 7 + 1
    assert corpus.manifest["drops"]["duplicate"]["examples"][0].startswith("第")


def test_duplicates_can_be_kept(tmp_path: Path) -> None:
    text = "甲 乙\n甲 乙\n甲  乙\n"
    assert decoded(make(tmp_path / "1", text)) == [[["甲", "乙"]]]
    assert decoded(make(tmp_path / "2", text, drop_duplicates=False)) == [[["甲", "乙"]] * 3]


def test_a_part_is_held_out_and_nothing_is_lost(tmp_path: Path, long_text: str) -> None:
    corpus = make(tmp_path / "1", long_text, held_out=0.2)
    train, heldout = decoded(corpus), decoded(corpus, "heldout")
    flat = [tuple(s) for part in (train, heldout) for document in part for s in document]
    whole = [tuple(s) for document in decoded(make(tmp_path / "2", long_text)) for s in document]
    assert sorted(flat) == sorted(whole)
    assert 0.12 < sum(map(len, heldout)) / len(whole) < 0.28
    n_seen = int((corpus.counts > 0).sum())
    assert n_seen == corpus.manifest["counts"]["types"] < len(corpus.types)
    assert not corpus.counts[n_seen:].any()
    assert len(set(corpus.types)) == len(corpus.types)
    ids = corpus.ids("train")
    assert np.array_equal(np.bincount(ids[ids < DOCUMENT_END], minlength=len(corpus.types)), corpus.counts)
    assert decoded(make(tmp_path / "3", long_text, held_out=0.2, seed=1), "heldout") != heldout


def test_excluded_sentences_are_kept_out_in_either_script(tmp_path: Path) -> None:
    sample = (shelf_folder("corpora") / "sample/zh_sample-ud-test.conllu").read_text("utf-8")
    sentences = [line.removeprefix("# text = ") for line in sample.split("\n") if line.startswith("# text = ")]
    kept = "这一段与树库毫无关系，可以留下。"
    text = "\n".join(["前言。" + sentence + "后语。" for sentence in sentences if len(sentence) > 14] + [kept])
    corpus = make(tmp_path, text, text=TextSettings(), exclude=["zh_sample"])
    assert reasons(corpus) == {"holds a sentence of an excluded treebank": text.count("\n")}
    assert text.count("\n") > 100
    assert "".join(word for document in decoded(corpus) for s in document for word in s) == kept


def test_sentences_have_their_limits(tmp_path: Path) -> None:
    corpus = make(tmp_path, "甲\n甲 乙 丙 丁 戊\n己 庚\n", minimum=2, maximum=3)
    assert decoded(corpus) == [[["甲", "乙", "丙"], ["丁", "戊"], ["己", "庚"]]]
    counts = corpus.manifest["counts"]
    assert (counts["sentences_cut"], counts["sentences_too_short"]) == (1, 1)
    assert reasons(corpus) == {"sentences too short": 1}


def test_shards_end_with_sentences(tmp_path: Path, long_text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make(tmp_path / "1", long_text)
    monkeypatch.setattr(write, "SHARD", 100)
    monkeypatch.setattr(tasking, "TASK", 10)
    corpus = make(tmp_path / "2", long_text)
    names = sorted(name for name in corpus.manifest["files"] if name.startswith("shard-"))
    assert len(names) > 30
    for name in names:
        ids = np.fromfile(corpus.folder / name, "<u4")
        assert 0 < len(ids) < 150  # full, and what one task has
        assert ids[-1] >= DOCUMENT_END
        assert ids[0] < DOCUMENT_END
    assert np.array_equal(corpus.ids("train"), whole.ids("train"))
    assert corpus.types == whole.types


def test_compressed_files_and_folders_are_read(tmp_path: Path) -> None:
    raw = TEXT.encode()
    texts = tmp_path / "texts"
    texts.mkdir()
    digests = set()
    for name, content in [
        ("a.txt", raw),
        ("a.txt.gz", gzip.compress(raw)),
        ("a.txt.bz2", bz2.compress(raw)),
        ("a.txt.xz", lzma.compress(raw)),
        ("a.txt", b"\xef\xbb\xbf" + raw.replace(b"\n", b"\r\n")),
    ]:
        (texts / name).write_bytes(content)
        build(settings(), [texts / name], tmp_path / "corpus", quiet=True)
        digests.add(Corpus.open(tmp_path / "corpus").digest)
    assert len(digests) == 1
    build(settings(drop_duplicates=False), [str(texts)], tmp_path / "corpus", quiet=True)
    corpus = Corpus.open(tmp_path / "corpus")
    assert [source["file"] for source in corpus.manifest["sources"]] == ["a.txt", "a.txt.bz2", "a.txt.gz", "a.txt.xz"]
    assert len(decoded(corpus)) == 8  # each file ends a document


def test_sources_say_where_they_are_from(real_data: Path) -> None:
    news, paper = sources.find(["raw_zh_hans"])[3], sources.find([real_data / "raw_other/kk.txt.xz"])[0]
    facts = news.describe()
    assert facts["name"] == "raw_zh_hans"
    assert facts["licence"] == "CC BY-SA 4.0"
    assert "NTREX" in facts["attribution"]
    assert facts["sha256"] == "8e88577dd5bcdb43d6694c994cc7b06428a5e50dca6b7245cc2c8d7c754b07d6"
    assert "licence" not in paper.describe()
    found = list(sources.paragraphs(news, Counter(), Undecodable()))
    assert sum(1 for text, _ in found if text) == 1_996
    assert sum(read for _, read in found) == count_characters(news.path, news.how)


def test_the_people_daily_loses_its_tags(tmp_path: Path) -> None:
    path = tmp_path / "pfr.txt"
    path.write_text("[中央/n  人民/n  广播/vn  电台/n]nt  １２月/t  //w  [/w  。/w\n\n好/a\n", "utf-8")
    found = sources.paragraphs(sources.Source("x", path, How("pfr")), Counter(), Undecodable())
    assert list(found) == [("中央人民广播电台１２月/[。", 50), ("", 1), ("好", 4)]
    path.write_text("好/a\n好\n", "utf-8")
    with pytest.raises(BadInput, match="word/tag") as caught:
        list(sources.paragraphs(sources.Source("x", path, How("pfr")), Counter(), Undecodable()))
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"", "no sentence is left"),
        (b"\n \n\n", "no sentence is left"),
        ("\u200b\n".encode(), "1 nothing visible"),
        ("好的\n".encode() * 3 + b"ab\xff\n", r"text\.txt:4 \(byte 23\): not UTF-8"),
        ("好".encode("gb18030") + b"\xff", "not UTF-8, and no text in GB18030"),
    ],
)
def test_bad_text_is_one_line_and_leaves_nothing(content: bytes, wanted: str, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(content)
    with pytest.raises(BadInput, match=wanted) as caught:
        build(settings(), [tmp_path / "text.txt"], tmp_path / "corpus", quiet=True)
    assert not caught.value.usage
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_all_text_held_out_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="all text is held out"):
        make(tmp_path, TEXT, held_out=1 - 1e-12)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("raw_zh_han", "raw_zh_hans"),
        ("no/such.txt", "no such file"),
        ("zh_gsd", "treebank"),
        (shelf_folder("corpora") / "sample", "no text file"),
    ],
)
def test_what_is_no_source_is_a_fault_of_usage(source: str | Path, wanted: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=wanted) as caught:
        build(settings(), [source], tmp_path / "corpus", quiet=True)
    assert caught.value.usage
    assert list(tmp_path.iterdir()) == []


def test_no_source_at_all_is_a_fault_of_usage(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no text") as caught:
        build(settings(), [], tmp_path / "corpus", quiet=True)
    assert caught.value.usage


@pytest.mark.parametrize(
    "changes", [{"held_out": 1.0}, {"held_out": -0.1}, {"minimum": 0}, {"maximum": 0}, {"seed": -1}]
)
def test_bad_settings_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        settings(**changes)


def test_only_a_corpus_is_replaced(tmp_path: Path) -> None:
    precious = tmp_path / "corpus"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work")
    with pytest.raises(BadInput, match="not a corpus"):
        make(tmp_path, TEXT)
    assert (precious / "thesis.txt").read_text() == "years of work"
    (precious / "thesis.txt").unlink()
    first = make(tmp_path, TEXT)
    assert make(tmp_path, TEXT + "新 的 。\n").digest != first.digest


def test_a_line_of_a_million_characters(tmp_path: Path) -> None:
    corpus = make(tmp_path, "我爱北京。" * 70_000, text=TextSettings(segmenter="characters"))
    assert corpus.manifest["counts"]["train"]["words"] == 350_000  # more than a million bytes
    assert corpus.counts.tolist() == [70_000] * 5


def test_controls_and_odd_characters_do_no_harm(tmp_path: Path) -> None:
    corpus = make(tmp_path, "a\0b\tc\x1cd\u2028e\ufffe f\u00a0g\n", text=WORDS)
    assert all(not set(word) & set("\0\t\n\u2028") for word in corpus.types)
    assert len(corpus.types) == len(corpus.counts)


class Deadly:
    """Ends the process that unpickles it; slow where it is."""

    def __init__(self) -> None:
        self._cutter = Cutter(settings(), Excluded([]))

    def __reduce__(self) -> Any:
        return os._exit, (1,)

    def __call__(self, task: Task) -> Chunk:
        time.sleep(0.1)
        return self._cutter(task)


def test_a_killed_worker_is_an_error_not_a_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasking, "TASK", 10)
    (tmp_path / "a.txt").write_text("我 爱 北京 天安门 。\n\n" * 600, "utf-8")
    groups = tasking.groups(sources.find([tmp_path / "a.txt"]), [1])
    with Work(tmp_path / "c", 1) as work, pytest.raises(OSError, match="worker process died"):
        list(cut(Deadly(), work, groups, workers=2))  # type: ignore[arg-type]


def test_show(tmp_path: Path) -> None:
    corpus = make(tmp_path, TEXT + "我 愛 北京 。\n")
    text = show(corpus.folder)
    assert "12 words, 3 sentences, 3 paragraphs, 2 documents" in text
    assert "dropped, duplicate: 1 paragraphs" in text
    assert "  我 爱 北京 。" in text
    assert corpus.digest in text
    assert "warning" not in text
    assert first_sentences(corpus, 2) == [["我", "爱", "北京", "。"], ["北京", "在", "中国", "。"]]


def test_text_without_spaces_taken_for_segmented_text_is_noticed(tmp_path: Path) -> None:
    corpus = make(tmp_path, "我们今天去公园看花然后回家吃饭。\n" * 2 + "明天再去。\n")
    assert "warning: words are 10.5 characters long" in show(corpus.folder)


def test_what_is_no_corpus_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no manifest\.json"):
        Corpus.open(tmp_path)
    corpus = make(tmp_path, TEXT)
    shard = corpus.folder / "shard-0000.bin"
    content = shard.read_bytes()
    shard.write_bytes(content[:-4])
    with pytest.raises(BadInput, match=r"shard-0000\.bin.*build the corpus again"):
        Corpus.open(corpus.folder)
    shard.write_bytes(content)
    types = corpus.folder / "types.txt"
    types.write_bytes(types.read_bytes().replace(b"\t", b" "))
    with pytest.raises(BadInput, match="a word, a tab and a count") as caught:
        _ = Corpus.open(corpus.folder).types
    assert caught.value.line == 1
    (corpus.folder / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(BadInput, match="format 1"):
        Corpus.open(corpus.folder)


def test_near_duplicates_are_dropped_and_shown(tmp_path: Path) -> None:
    first = "".join(random.Random(0).choices("的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出", k=120))
    near = first[:60] + "改" + first[61:]
    text = f"{first}\n{near}\n{first}\n{'别的' * 40}\n"
    corpus = make(tmp_path / "c", text, near_duplicates=0.8)
    assert reasons(corpus) == {"duplicate": 1, "near duplicate": 1}
    assert corpus.manifest["drops"]["near duplicate"]["examples"] == [near[:60]]
    assert corpus.manifest["counts"]["train"]["paragraphs"] + corpus.manifest["counts"]["heldout"]["paragraphs"] == 2
    assert reasons(make(tmp_path / "d", text)) == {"duplicate": 1}


def test_bytes_that_do_not_decode_are_refused_or_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("好的。\n".encode() * 60 + b"\xff\xfe\n" + "坏".encode()[:2] + b"\n")
    with pytest.raises(BadInput, match=r"a\.txt:61 \(byte 600\)"):
        build(CorpusSettings(), [path], tmp_path / "c", quiet=True)
    manifest = build(CorpusSettings(undecodable="replace", held_out=0), [path], tmp_path / "c", quiet=True)
    assert manifest["undecodable"] == [{
        "file": "a.txt", "bytes": 4, "sequences": 3,
        "places": [{"line": 61, "byte": 600, "hex": "ff"}, {"line": 61, "byte": 601, "hex": "fe"},
                   {"line": 62, "byte": 603, "hex": "e5 9d"}],
    }]  # fmt: skip
    assert manifest["counts"]["train"]["paragraphs"] == 3


def test_languages_are_told_apart(tmp_path: Path) -> None:
    corpus = make(
        tmp_path / "c",
        "今天天气很好，我们去公园。\n今日はいい天気ですね、公園へ行きましょう。\n",
        filters=Filters(languages=("zh",)),
    )
    (reason,) = reasons(corpus)
    assert "ja" in reason
