"""What `corpus show` says of a corpus: figures against slow twins, a page that fits, pictures, odd corpora."""

from __future__ import annotations

import builtins
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zh_elmo.cli.main import main
from zh_elmo.corpus import curves, draw, page, picture
from zh_elmo.corpus.show import facts, show
from zh_elmo.corpus.store import DOCUMENT_END, FORMAT, SENTENCE_END, Corpus
from zh_elmo.files import BadInput

Documents = Sequence[Sequence[Sequence[str]]]  # documents of sentences of words
TEXT = {"script": "keep", "punctuation": "keep", "segmenter": "words"}


def make(
    folder: Path, documents: Documents, held_out: Documents = (), *, shard: int = 1 << 20, **manifest: Any
) -> Corpus:
    """A corpus written by hand, in shards of about so many ids."""
    folder.mkdir(exist_ok=True)
    counts = Counter(word for document in documents for sentence in document for word in sentence)
    extra = {word for document in held_out for sentence in document for word in sentence} - set(counts)
    types = sorted(counts, key=lambda word: (-counts[word], word)) + sorted(extra)
    index = {word: number for number, word in enumerate(types)}

    def ids(part: Documents) -> list[list[int]]:
        sentences = []
        for document in part:
            sentences += [[index[word] for word in sentence] + [SENTENCE_END] for sentence in document]
            sentences[-1].append(DOCUMENT_END)
        return sentences

    shards: list[list[int]] = [[]]
    for sentence in ids(documents):
        if len(shards[-1]) >= shard:
            shards.append([])
        shards[-1] += sentence
    parts = {f"shard-{number:04d}.bin": one for number, one in enumerate(shards)}
    parts["heldout.bin"] = [word for sentence in ids(held_out) for word in sentence]
    for name, content in parts.items():
        (folder / name).write_bytes(np.array(content, "<u4").tobytes())
    (folder / "types.txt").write_text("".join(f"{w}\t{counts[w]}\n" for w in types), "utf-8", newline="\n")
    sizes = {
        part: {
            "words": sum(len(s) for d in found for s in d), "sentences": sum(map(len, found)), "paragraphs": 1,
            "documents": len(found),
        }
        for part, found in (("train", documents), ("heldout", held_out))
    }  # fmt: skip
    whole = {
        "format": FORMAT, "digest": "ab" * 32,
        "made_by": {"command": "zh-elmo corpus build x", "zh_elmo": "0.1.0"},
        "settings": {"exclude": [], "text": TEXT}, "text": {"settings": TEXT, "segmenter": "words"},
        "sources": [{"name": "x", "file": "x.txt", "sha256": "cd" * 32, "bytes": 7, "encoding": "utf-8"}],
        "files": {name: {"bytes": (folder / name).stat().st_size} for name in [*parts, "types.txt"]},
        "counts": {"characters": 9, "paragraphs": 2, "types": len(counts), "types_held_out_only": len(extra), **sizes},
        "drops": {}, "seconds": 1.5, "characters_per_second": 6,
    }  # fmt: skip
    whole["counts"] |= manifest.pop("counts", {})
    (folder / "manifest.json").write_text(json.dumps(whole | manifest, ensure_ascii=False), "utf-8")
    return Corpus.open(folder)


def random_documents(seed: int, number: int) -> list[list[list[str]]]:
    """Zipf-like words of one to four characters, of one to four bytes each."""
    random = np.random.default_rng(seed)
    alphabet = "aé中文字𠮷"
    words = ["".join(random.choice(list(alphabet), random.integers(1, 5))) + str(n) for n in range(400)]
    return [
        [
            [words[min(399, n)] for n in random.zipf(1.4, random.integers(1, 40)) - 1]
            for _ in range(random.integers(1, 9))
        ]
        for _ in range(number)
    ]


# Figures ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("block", "size"), [(1 << 20, 1 << 22), (97, 50), (3, 9)])
def test_figures_are_those_of_a_slow_twin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, size: int
) -> None:
    """Whatever the size of blocks and shards."""
    monkeypatch.setattr(curves, "_BLOCK", block)
    monkeypatch.setattr(curves, "_BYTES", size)
    documents, held_out = random_documents(1, 60), random_documents(2, 4)
    found = facts(make(tmp_path / "c", documents, held_out, shard=500).folder, top=7)
    sentences = [sentence for document in documents for sentence in document]
    running = [word for sentence in sentences for word in sentence]
    counts = Counter(running)
    ordered = sorted(counts, key=lambda word: (-counts[word], word))

    words = found["words"]
    assert [(row["word"], row["count"]) for row in words["top"]] == [(word, counts[word]) for word in ordered[:7]]
    assert words["type_token"] == [{"words": n, "types": len(set(running[:n]))} for n in curves.points(len(running))]
    assert words["type_token"][-1] == {"words": len(running), "types": len(counts)}
    once = sum(count == 1 for count in counts.values())
    assert words["hapax"]["types"] == once > 0
    assert words["hapax"]["share_of_types"] == pytest.approx(once / len(counts))
    kept = [word for document in held_out for sentence in document for word in sentence]
    for row in words["coverage"]["curve"]:
        most = set(ordered[: row["types"]])
        assert row["train"] == pytest.approx(sum(word in most for word in running) / len(running))
        assert row["heldout"] == pytest.approx(sum(word in most for word in kept) / len(kept))
    for share, number in words["coverage"]["types_for"].items():
        covered = np.cumsum([counts[word] for word in ordered]) / len(running)
        assert number == int(np.argmax(covered >= float(share) - 1e-12)) + 1
    lengths = sorted(map(len, sentences))
    assert found["sentence_length"]["mean"] == pytest.approx(np.mean(lengths), abs=1e-3)
    assert found["sentence_length"]["median"] == lengths[(len(lengths) - 1) // 2]
    assert found["sentence_length"]["max"] == lengths[-1]
    assert found["sentence_length"]["sentences"] == {str(n): lengths.count(n) for n in sorted(set(lengths))}
    of_words = Counter(map(len, running))
    assert words["length"]["words"] == {str(n): of_words[n] for n in sorted(of_words)}
    of_types = Counter(map(len, counts))
    assert words["length"]["types"] == {str(n): of_types[n] for n in sorted(of_types)}
    assert found["first_sentences"] == sentences[:3]


def test_points_are_even_on_a_log_scale_and_end_at_the_total() -> None:
    assert curves.points(0) == []
    assert curves.points(1) == [1]
    assert curves.points(12) == [1, 2, 3, 4, 6, 7, 10, 12]
    assert len(curves.points(10**9)) < 80
    assert curves.points(12345)[-1] == 12345


@pytest.mark.parametrize("line", ["word 3", "word\t", "word\t3x", "\t", "word\t-3"])
def test_a_damaged_list_of_types_is_told_by_its_line(tmp_path: Path, line: str) -> None:
    corpus = make(tmp_path / "c", [[["a", "b"]]])
    (corpus.folder / "types.txt").write_text(f"a\t1\n{line}\n", "utf-8")
    with pytest.raises(BadInput, match="a word, a tab and a count") as caught:
        curves.of_types(corpus)
    assert caught.value.line == 2


def test_a_word_may_hold_a_tab_and_a_count_many_digits(tmp_path: Path) -> None:
    corpus = make(tmp_path / "c", [[["a"]]])
    (corpus.folder / "types.txt").write_text(f"中\t文\t{10**15 + 7}\n文\t0", "utf-8")
    types = curves.of_types(corpus)
    assert types.counts.tolist() == [10**15 + 7, 0]
    assert types.word_lengths[3] == 10**15 + 7
    assert types.type_lengths.tolist() == [0, 0, 0, 1]


def test_shards_with_words_that_the_list_has_not(tmp_path: Path) -> None:
    corpus = make(tmp_path / "c", [[["a", "b"]]])
    (corpus.folder / "types.txt").write_text("a\t1\n", "utf-8")
    with pytest.raises(BadInput, match=r"types\.txt does not"):
        curves.of_text(corpus, 1)


# Odd corpora --------------------------------------------------------------------------------------------------------


def test_one_word(tmp_path: Path) -> None:
    make(tmp_path / "c", [[["我"]]])
    text = show(tmp_path / "c")
    assert "word types: 1; 1 of them occur once (100.0 % of types" in text
    assert "training: 1 words, 1 sentences" in text
    assert "growth" not in text  # a curve of one point
    assert "of the held-out part" not in text
    found = facts(tmp_path / "c")
    assert found["words"]["coverage"]["table"] == [{"types": 1, "train": 1.0}]
    assert "heldout" not in found["words"]["coverage"]["curve"][0]


def test_a_page_holds_what_the_manifest_says(tmp_path: Path) -> None:
    make(
        tmp_path / "c", random_documents(1, 9), random_documents(2, 1),
        counts={
            "script": {"documents": {"hans": 3, "hant": 1, "mixed": 0, "none": 0}, "lines_converted": 17},
            "characters_dropped": {"control": 3, "zero_width": 1200, "selector": 0},
            "sentences_by": {"sentences": 40, "in open": 2, "after quote": 1},
            "sentences_cut": 5, "sentences_too_short": 0,
        },
        drops={
            "duplicate": {"paragraphs": 2, "examples": ["同一句话。"]},
            "too little Han": {"paragraphs": 1234, "examples": ["", "buy now\n" * 20]},
        },
        undecodable=[{"file": "x.txt", "byte": 1234, "line": 7, "count": 3}, {"file": "y.txt", "byte": 0}],
        passed_over={"dump.xml": {"redirects": 12}},
        sources=[{"name": f"f{n}", "file": f"f{n}.txt", "bytes": 10, "licence": "CC0 1.0", "sha256": "e" * 64}
                 for n in range(40)],
    )  # fmt: skip
    text = show(tmp_path / "c")
    for said in (
        "  documents: simplified 3 (75.0 %), traditional 1 (25.0 %), mixed 0 (0.0 %), no Chinese 0 (0.0 %)",
        "  lines converted: 17",
        "  characters dropped: control 3, zero width 1,200\n",
        "  split: sentences 40\n  stops that ended no sentence: in open 2, after quote 1\n",
        "  5 sentences too long, cut",
        "  dropped, duplicate: 2 paragraphs, such as '同一句话。'",
        "  dropped, too little Han: 1,234 paragraphs, such as",
        "  bytes that do not decode: 4\n",
        "    x.txt: line 7, byte 1,234",
        "  passed over in dump.xml: 12 redirects",
        "sources: 40 files, 400 bytes",
        "and 28 more (all are in manifest.json); licences: CC0 1.0 (28)",
        "digest " + "ab" * 32,
        "words by words; script kept; punctuation kept",
        "made by zh-elmo 0.1.0: zh-elmo corpus build x",
    ):
        assert said in text
    assert text.index("too little Han") < text.index("duplicate")  # the greater one first
    assert "sentences too short" not in text
    assert max(map(draw.width, text.splitlines())) <= draw.PAGE
    assert text == text.strip("\n")


def test_other_ways_in_which_a_manifest_says_the_same(tmp_path: Path) -> None:
    script = {
        "paragraphs_simplified": 1,
        "paragraphs_traditional": 3,
        "paragraphs_either": 4,
        "characters_converted": 9,
    }
    places = [{"line": 3, "byte": 90, "hex": "ff fe"}]
    make(
        tmp_path / "c", [[["a", "b"]]], counts={"script": script},
        undecodable={"x.txt": {"bytes": 5, "sequences": 2, "places": places}, "y.txt": {"bytes": 0, "places": []}},
    )  # fmt: skip
    text = show(tmp_path / "c")
    assert "  paragraphs: simplified 1 (12.5 %), traditional 3 (37.5 %), the same in both 4 (50.0 %)\n" in text
    assert "  characters converted: 9" in text
    assert "  bytes that do not decode: 5\n    x.txt: line 3, byte 90: ff fe\n" in text


def test_a_manifest_of_an_older_build_is_shown_too(tmp_path: Path) -> None:
    corpus = make(tmp_path / "c", [[["我", "爱"]]])
    manifest = corpus.manifest
    for name in ("made_by", "seconds", "characters_per_second"):
        del manifest[name]
    (corpus.folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    assert "9 characters, 2 paragraphs read\n" in show(corpus.folder)
    del manifest["drops"]
    (corpus.folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(BadInput, match="drops"):
        show(corpus.folder)


@pytest.mark.parametrize("blocks", [True, False])
def test_nothing_is_wider_than_the_page(tmp_path: Path, blocks: bool) -> None:
    long = ["很" * 60, "w" * 300, "\u200b\u0007x", "字"]
    documents = [[long * 9, ["字"]], *random_documents(3, 30)]
    folder = tmp_path / ("很长的名字" * 12)
    make(folder, documents, sources=[{"name": "名" * 80, "file": "文件" * 60, "licence": "许" * 50, "bytes": 10**12}])
    text = show(folder, blocks=blocks, top=60)
    assert max(map(draw.width, text.splitlines())) <= draw.PAGE
    drawn = "".join(set(text)) if blocks else text
    assert any("\u2800" <= c <= "\u28ff" for c in drawn) is blocks
    assert ("█" in drawn) is blocks
    assert ("*" in text) is not blocks


def test_the_example_of_the_frequent_words_is_aligned(tmp_path: Path) -> None:
    make(
        tmp_path / "c", [[["中国"] * 100 + ["a"] * 30 + ["é"] * 29 + ["𠮷"] * 20 + ["e\u0301"] * 11 + ["六个字的词语"]]]
    )
    lines = [line for line in show(tmp_path / "c").splitlines() if line.startswith(("  中国  ", "  六"))]
    assert lines == [
        "  中国         100   a             30   é             29   𠮷            20   e\u0301             11",
        "  六个字的词语   1",
    ]


# Drawing ------------------------------------------------------------------------------------------------------------


def test_widths_and_cuts_count_columns() -> None:
    assert draw.width("中a") == 3
    assert draw.fit("中文中文中文", 8) == "中文..."
    assert draw.fit_end("/很长/路径/file.txt", 12) == ".../file.txt"
    assert draw.fit("a\nb\x07", 10) == "a b\\u0007"
    assert draw.pad("中", 4) + "|" == "中  |"
    assert draw.percent(0.0004) == "<0.1 %"
    assert draw.percent(0.99999) == ">99.9 %"
    assert (draw.percent(0), draw.percent(1)) == ("0.0 %", "100.0 %")
    assert [draw.short(n) for n in (1, 999, 1500, 12_500_000, 3e9)] == ["1", "999", "1.5k", "12.5M", "3G"]


def test_a_curve_begins_and_ends_where_it_should() -> None:
    drawn = draw.curve(
        "t", [(1, 0), (100, 100)], draw.Axis(1, 100, log=True), draw.Axis(0, 100), columns=24, blocks=False
    )
    assert drawn[0] == "t"
    assert drawn[1].startswith(" 100|")
    assert drawn[1].endswith("*")
    assert drawn[9].startswith("   0|*")
    assert drawn[-1].split() == ["1", "10", "100"]
    assert all(len(line) <= 24 for line in drawn)
    flat = draw.curve("t", [(1, 5), (1, 5)], draw.Axis(1, 1, log=True), draw.Axis(5, 5), columns=24)
    assert len(flat) == len(drawn)  # a point that is a whole axis


def test_blocks_are_drawn_where_the_terminal_can(tmp_path: Path) -> None:
    make(tmp_path / "c", random_documents(1, 9))
    code = f"from zh_elmo.cli.main import main; main(['corpus', 'show', {str(tmp_path / 'c')!r}])"
    plain = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "LANG": "C"}
    for environment, stars in ((plain, True), ({"PYTHONUTF8": "1"}, False)):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, env=os.environ | environment
        )
        assert ("*" in done.stdout.decode("utf-8")) is stars


@pytest.mark.parametrize("suffix", picture.SUFFIXES)
def test_a_picture_of_both_curves(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    found = facts(make(tmp_path / "c", random_documents(1, 20), random_documents(2, 2)).folder)
    path = tmp_path / f"new/curves{suffix.upper()}"
    picture.draw(found, path)
    first = path.read_bytes()
    assert first.startswith({".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix])
    picture.draw(found, path)
    assert path.read_bytes() == first
    picture.draw(facts(make(tmp_path / "d", [[["一"]]]).folder), path)  # one word, nothing held out


def test_other_suffixes_and_a_missing_package_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match=r"\.png, \.svg, \.pdf") as caught:
        picture.check(Path("curves.jpg"))
    assert caught.value.usage
    ordinary = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "matplotlib":
            raise ModuleNotFoundError("No module named 'matplotlib'", name=name)
        return ordinary(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(BadInput, match=r"pip install 'zh-elmo\[plots\]'") as caught:
        picture.check(Path("curves.png"))
    assert caught.value.usage


# The command --------------------------------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "c", random_documents(1, 20), random_documents(2, 2))
    folder = str(tmp_path / "c")
    assert main(["corpus", "show", folder, "--top", "3"]) == 0
    ended = capsys.readouterr()
    assert "most frequent words: 3, " in ended.out
    assert ended.err == ""
    assert main(["corpus", "show", folder, "--json", "--top", "4"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(json.dumps(facts(folder, top=4)))
    assert len(found["words"]["top"]) == 4
    assert page.text(found)  # the facts are all that the page needs
    assert main(["corpus", "show", folder, "--top", "0"]) == 0
    assert "most frequent words" not in capsys.readouterr().out
    assert main(["corpus", "show", folder, "--plot", str(tmp_path / "c.gif")]) == 2
    assert main(["corpus", "show", str(tmp_path)]) == 2


def test_the_command_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    make(tmp_path / "c", random_documents(1, 20))
    assert main(["corpus", "show", str(tmp_path / "c"), "--json", "--plot", str(tmp_path / "c.png")]) == 0
    ended = capsys.readouterr()
    json.loads(ended.out)
    assert str(tmp_path / "c.png") in ended.err
    assert (tmp_path / "c.png").stat().st_size > 10_000
