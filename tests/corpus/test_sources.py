"""Text in every form and encoding becomes the same paragraphs."""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from pathlib import Path

import pytest
import zstandard

from zh_elmo.corpus.encoding import decide, named
from zh_elmo.corpus.readers import How, count_characters, decoded, paragraphs
from zh_elmo.corpus.sources import Asked, find
from zh_elmo.files import BadInput

HANS = "他说：“我们今天去公园看花。”\n\n这是第二段，有数字１２３和 English。\n" * 20
HANT = "他說：「我們今天去公園看花。」\n\n這是第二段，有數字１２３和 English。\n" * 20


@pytest.mark.parametrize(
    ("encoding", "text", "answer"),
    [
        ("utf-8", HANS, "utf-8"), ("utf-8-sig", HANT, "utf-8-sig"), ("gb18030", HANS, "gb18030"),
        ("gbk", HANT, "gb18030"), ("gb2312", HANS, "gb18030"), ("big5", HANT, "big5hkscs"),
        ("big5hkscs", "佢哋喺度食嘢，唔該俾個橙我，係咪呀？\n" * 5, "big5hkscs"), ("utf-16", HANS, "utf-16"),
        ("utf-16-le", HANT, "utf-16-le"), ("utf-16-be", HANS, "utf-16-be"), ("ascii", "only letters\n", "utf-8"),
    ],
)  # fmt: skip
def test_encodings_are_found(tmp_path, encoding, text, answer):
    raw = text.encode(encoding)
    assert decide(raw, whole=True).name == answer
    path = tmp_path / "a.txt"
    path.write_bytes(raw)
    (source,) = find([path])
    assert source.how.encoding == answer
    assert [line for _, line in decoded(path, source.how.encoding)] == text.split("\n")[:-1]
    assert ("encoding_decided" in source.describe()) == (answer != "utf-8")


@pytest.mark.parametrize("text", [HANS, HANT])
@pytest.mark.parametrize("encoding", ["gb18030", "big5hkscs", "utf-16-le", "utf-8"])
def test_a_sample_that_ends_inside_a_character_is_no_fault(text, encoding):
    raw = text.encode(encoding, "ignore")
    answers = {decide(raw[:cut], whole=False).name for cut in range(200, 210)}
    assert answers == {encoding}


def test_what_is_in_no_encoding_is_said_with_its_byte(tmp_path):
    (tmp_path / "a.txt").write_bytes("好的\n好\n".encode() + b"\xff\xfe\x00 \x81\n")
    with pytest.raises(BadInput, match=r"a\.txt:3 \(byte 11\): not UTF-8, and no text in GB18030") as error:
        find([tmp_path / "a.txt"])
    assert error.value.byte == 11


@pytest.mark.parametrize(("given", "meant"), [("GBK", "gb18030"), ("gb2312", "gb18030"), ("Big5", "big5hkscs"),
                                              ("UTF8", "utf-8"), ("latin-1", "iso8859-1")])  # fmt: skip
def test_names_of_encodings(given, meant):
    assert named(given) == meant


def test_an_encoding_that_is_said_is_taken_and_faults_have_line_and_byte(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("好\n".encode("gb18030") + b"ab\xff\n")
    (source,) = find([path], Asked("gbk"))
    with pytest.raises(BadInput, match=r"a\.txt:2 \(byte 5\): not gb18030: bytes ff 0a"):
        list(paragraphs(path, source.how, Counter()))
    for name in ("klingon", "rot13", "base64"):
        with pytest.raises(BadInput, match=f"'{name}' is no encoding"):
            find([path], Asked(name))
    path.write_bytes("好\n".encode("utf-16-le") + b"\x00\xd8\x41\x00")
    with pytest.raises(BadInput, match=r"not utf-16-le: bytes 00 d8"):
        list(decoded(path, "utf-16-le"))


def test_utf16_over_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("zh_elmo.corpus.readers._BLOCK", 7)
    path = tmp_path / "a.txt"
    path.write_bytes("甲乙\r\n😀丙\n\n丁".encode("utf-16"))
    assert list(decoded(path, "utf-16")) == [(1, "甲乙"), (2, "😀丙"), (3, ""), (4, "丁")]


# Kinds of files -----------------------------------------------------------------------------------------------------


def of(path: Path, **asked: str) -> list[str]:
    (source,) = find([path], Asked(**asked))
    read = list(paragraphs(path, source.how, Counter()))
    assert sum(number for _, number in read) > 0
    return [paragraph for paragraph, _ in read]


def test_json_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    records = [{"text": "甲。\n乙。\n"}, {"text": "丙", "meta": {"body": "丁\ud800"}}]
    path.write_text("\n".join(map(json.dumps, records)) + "\n\n")
    assert of(path) == ["甲。", "乙。", "", "丙", ""]
    with pytest.raises(BadInput, match=r"a\.jsonl:1: no field 'meta\.body' \(has: text\)"):
        of(path, field="meta.body")
    path.write_text(json.dumps(records[1]))
    assert of(path, field="meta.body") == ["丁\ud800", ""]
    for bad, said in (
        ('{"text": 3}', "the field 'text' holds int, not text"),
        ("[1]", "the line is no object"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"text": ' + "1" * 10_000 + "}", "not JSON"),
    ):
        path.write_text('{"text": "a"}\n' + bad)
        with pytest.raises(BadInput, match=rf"a\.jsonl:2: .*{said}"):
            of(path)


def test_treebanks_named_by_themselves(tmp_path):
    path = tmp_path / "a.conllu"
    rows = ["1\tIl\til\tX\t_\t_\t0\troot\t_\tSpaceAfter=No", "2-3\tdu\t_\t_\t_\t_\t_\t_\t_\t_", "2\tde\t_" + "\t_" * 7,
            "3\tle\t_" + "\t_" * 7, "4\tlac\t_" + "\t_" * 7, "4.1\tvide\t_" + "\t_" * 7]  # fmt: skip
    path.write_text("# newdoc\n# text = 我們 去。\n" + rows[0] + "\n\n" + "\n".join(rows) + "\n", "utf-8")
    assert of(path) == ["", "我們 去。", "Ildu lac"]
    path.write_text("1\tx\n")
    with pytest.raises(BadInput, match=r"a\.conllu:1: 10 tab-separated columns expected, not 2"):
        of(path)


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["甲\n乙", "丙"], "n": [1, 2]}), path)
    assert of(path) == ["甲", "乙", "", "丙", ""]
    with pytest.raises(BadInput, match=r"no column 'body' \(has: text, n\)"):
        of(path, field="body")
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(BadInput, match="not a Parquet file"):
        of(path)


def test_parquet_without_its_package(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BadInput, match=r"pip install 'zh-elmo\[parquet\]'"):
        of(tmp_path / "a.parquet")


def test_folders_patterns_and_standard_input(tmp_path, monkeypatch):
    (tmp_path / "deep").mkdir()
    for name in ("b.txt", "deep/a.txt.zst", "c.jsonl", "d.conllu", "e.md", "f.jsonl.zst"):
        raw = b'{"text": "x"}\n' if "json" in name else "甲\n".encode()
        (tmp_path / name).write_bytes(zstandard.compress(raw) if name.endswith("zst") else raw)
    names = [source.path.name for source in find([tmp_path])]
    assert names == ["b.txt", "c.jsonl", "a.txt.zst", "f.jsonl.zst"]  # a treebank is taken only by its own name
    monkeypatch.chdir(tmp_path)
    assert [source.path.name for source in find(["*.txt", "**/*.zst"])] == ["b.txt", "a.txt.zst", "f.jsonl.zst"]
    with pytest.raises(BadInput, match="no file is called like this"):
        find(["*.csv"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("甲\n乙\n".encode("gb18030"))))
    (source,) = find(["-"], Asked("gbk"))
    assert (source.name, of(source.path, encoding="gbk")) == ("standard input", ["甲", "乙"])


def test_characters_are_counted_for_progress(tmp_path):
    for encoding in ("utf-8", "utf-16-le", "gb18030"):
        (tmp_path / "a.txt").write_text("甲乙😀\n" * 50, encoding)
        number = count_characters(tmp_path / "a.txt", How("lines", encoding))
        assert number == 200 if encoding == "utf-8" else 150 < number < 300
