"""CoNLL-U is read strictly, with the line of every fault, and written back byte for byte."""

from __future__ import annotations

import lzma
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zh_elmo.files import BadInput
from zh_elmo.ud import conllu
from zh_elmo.ud.conllu import NO_HEAD, EmptyNode, Range, Sentence, Word, dumps, parse, tree_fault


def row(identifier: str, form: str = "a", head: str = "0", misc: str = "_") -> str:
    return "\t".join((identifier, form, "_", "NOUN", "_", "_", head, "root" if head == "0" else "dep", "_", misc))


def text(*rows: str) -> str:
    return "".join(line + "\n" for line in rows) + "\n"


RICH = text(
    "# newdoc",
    "#no blank after the hash",
    "# sent_id = x=1",
    row("0.1", "leer", "_"),
    row("1-2", "du", "_", "SpaceAfter=No|Note=mit Blank"),
    row("1", "de", "0"),
    row("1.1", "q", "_"),
    row("1.2", "r", "_"),
    row("2", "le", "1"),
    row("3", "10 000", "1"),
    row("3.1", "_", "_"),
    row("4-4", "x", "_"),
    row("4", "\u3000y\u2028\x85", "1"),
    row("4.1", "z", "_"),
)


# Round trips ---------------------------------------------------------------------------------------------------------


def test_comments_ranges_and_empty_nodes_come_back_as_they_were():
    sentences = parse(RICH + RICH)
    assert dumps(sentences) == RICH + RICH
    first = sentences[0]
    assert first.forms == ["de", "le", "10 000", "\u3000y\u2028\x85"]
    assert [(span.first, span.last, span.columns[0]) for span in first.ranges] == [(1, 2, "du"), (4, 4, "x")]
    assert [(node.after, node.number) for node in first.empty_nodes] == [(0, 1), (1, 1), (1, 2), (3, 1), (4, 1)]
    assert [word.head for word in first.words] == [0, 1, 1, 1]


def test_real_files_come_back_byte_for_byte(real_data: Path):
    """Dev and test of every treebank; the train splits have nothing that these lack, and take longer."""
    files = sorted(real_data.glob("ud/*-ud-[dt]e*.conllu.xz"))
    assert len(files) > 15
    for path in files:
        sentences = conllu.read(path, trees=True)
        assert dumps(sentences).encode() == lzma.decompress(path.read_bytes()), path.name
        assert all(sentence.surface == sentence.text for sentence in sentences), path.name


@pytest.mark.parametrize("split", ["train", "dev", "test"])
def test_the_sample_comes_back_byte_for_byte(split: str):
    path = Path(__file__).parents[2] / "corpora" / "sample" / f"zh_sample-ud-{split}.conllu"
    assert dumps(conllu.read(path, trees=True)).encode() == path.read_bytes()


def test_real_multiword_tokens_and_words_with_blanks(real_data: Path):
    kazakh = conllu.read(real_data / "ud" / "kk_ktb-ud-test.conllu.xz")
    assert (len(kazakh), sum(len(s.words) for s in kazakh), sum(len(s.ranges) for s in kazakh)) == (1047, 10007, 135)
    vietnamese = conllu.read(real_data / "ud" / "vi_vtb-ud-dev.conllu.xz")
    assert sum(" " in form for sentence in vietnamese for form in sentence.forms) == 2130


def test_written_files_are_read_again(tmp_path: Path):
    path = tmp_path / "new" / "out.conllu"
    conllu.write(path, iter(parse(RICH)))
    assert path.read_bytes() == RICH.encode()
    assert conllu.read(path) == parse(RICH)


COLUMN = st.text(st.characters(exclude_characters="\t\n\r\0", exclude_categories=["Cs"]), min_size=1, max_size=8)
FORM = COLUMN.filter(lambda form: not form.isspace())


@st.composite
def sentences_of_any_kind(draw: st.DrawFn) -> Sentence:
    n = draw(st.integers(1, 6))
    words = [
        Word(i, draw(FORM), *draw(st.tuples(*[COLUMN] * 4)), draw(st.integers(-1, n)), *draw(st.tuples(*[COLUMN] * 3)))
        for i in range(1, n + 1)
    ]
    edges = sorted(draw(st.sets(st.integers(1, n + 1))))
    spans = [(low, high - 1) for low, high in pairwise(edges) if draw(st.booleans())]
    ranges = [Range(*span, (draw(FORM), *draw(st.tuples(*[COLUMN] * 8)))) for span in spans]
    places = draw(st.lists(st.integers(0, n), max_size=3).map(sorted))
    nodes = [
        EmptyNode(after, places[:i].count(after) + 1, (draw(FORM), *draw(st.tuples(*[COLUMN] * 8))))
        for i, after in enumerate(places)
    ]
    comments = ["#" + comment for comment in draw(st.lists(COLUMN, max_size=3))]
    return Sentence(comments, words, ranges, nodes)


@settings(max_examples=60, deadline=None)
@given(st.lists(sentences_of_any_kind(), min_size=1, max_size=2))
def test_what_is_written_is_read_back(sentences: list[Sentence]):
    written = dumps(sentences)
    assert parse(written) == sentences
    assert dumps(parse(written)) == written
    assert parse(written.replace("\n", "\r\n")) == sentences


# What is tolerated ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "variant",
    [
        RICH + RICH[:-1],
        RICH + RICH[:-2],
        RICH + "\n\n" + RICH,
        "\n" + RICH + RICH + "\n\n",
        "\ufeff" + RICH + RICH,
        (RICH + RICH).replace("\n", "\r\n"),
    ],
    ids=["no blank line at the end", "no line feed at the end", "blank lines", "blank lines around", "mark", "CRLF"],
)
def test_harmless_variants_are_the_same_sentences(tmp_path: Path, variant: str):
    assert parse(variant) == parse(RICH + RICH)
    path = tmp_path / "variant.conllu"
    path.write_bytes(variant.encode())
    assert conllu.read(path) == parse(RICH + RICH)


def test_a_line_of_a_megabyte_is_a_line():
    long = text(row("1", "长" * 400_000))
    assert dumps(parse(long)) == long
    with pytest.raises(BadInput, match=r"x:1: 10 tab-separated columns expected, found 1$"):
        parse("1" * 2_000_000, "x")
    with pytest.raises(BadInput, match=r"x:1: HEAD '1+ \.\.\. 1+' is not the id of a word") as error:
        parse(text(row("1", head="1" * 2_000_000)), "x")
    assert len(str(error.value)) < 1000


def test_missing_heads_are_kept_unless_trees_are_demanded():
    bare = text(row("1", head="_"), row("2", head="_"))
    assert [word.head for word in parse(bare)[0].words] == [NO_HEAD, NO_HEAD]
    assert dumps(parse(bare)) == bare
    with pytest.raises(BadInput, match="x:1: no HEAD"):
        parse(bare, "x", trees=True)


def test_sentences_come_one_by_one(tmp_path: Path):
    path = tmp_path / "late.conllu"
    path.write_text(RICH + "broken\n", "utf-8")
    stream = conllu.read_iter(path)
    assert next(stream) == parse(RICH)[0]
    with pytest.raises(BadInput, match=r"late.conllu:16: 10 tab-separated columns expected, found 1"):
        next(stream)


# Faults --------------------------------------------------------------------------------------------------------------

OK = row("1")
FAULTS = {
    "blanks for tabs": (["1  a  _  _  _  _  0  root  _  _"], 1, "10 tab-separated columns expected, found 1"),
    "nine columns": ([OK, row("2", head="1")[:-2]], 2, "10 tab-separated columns expected, found 9"),
    "eleven columns": ([OK, row("2", head="1") + "\t_"], 2, "10 tab-separated columns expected, found 11"),
    "line of blanks": ([OK, "  "], 2, "10 tab-separated columns expected, found 1"),
    "no blank line": (["# a", OK, row("2", head="1"), row("1")], 4, "id 1 again without a blank line before it; id 3"),
    "comment within": ([OK, "# sent_id = 2", row("1")], 2, "comment inside a sentence"),
    "id left out": ([OK, row("3", head="1")], 2, "id 3 found, 2 expected"),
    "first id left out": ([row("2")], 1, "id 2 found, 1 expected"),
    "id of zero": ([row("0")], 1, "id 0 found, 1 expected"),
    "leading zero": ([row("01")], 1, "id '01' is neither a word"),
    "foreign digits": ([row("१")], 1, "id '१' is neither a word"),
    "id of letters": ([row("a")], 1, "id 'a' is neither a word (3) nor a range (3-4) nor an empty node (3.1)"),
    "half a range": ([row("1-"), OK], 1, "id '1-' is neither"),
    "negative id": ([row("-1"), OK], 1, "id '-1' is neither"),
    "empty form": ([OK, row("2", "", "1")], 2, "empty FORM"),
    "blank form": ([row("1", "\u3000 ")], 1, "FORM is only blanks"),
    "empty column": ([OK.replace("NOUN", "")], 1, "empty UPOS; write _"),
    "empty form of a range": ([row("1-2", ""), OK, row("2", head="1")], 1, "empty FORM"),
    "range backwards": ([row("1-0"), OK], 1, "range 1-0 found, a range must stand before its first word"),
    "range too late": ([OK, row("1-2"), row("2", head="1")], 2, "range 1-2 found, a range must stand before"),
    "range too long": (["# a", row("1-3"), OK, row("2", head="1")], 2, "range 1-3 goes beyond the 2 words"),
    "ranges overlap": ([row("1-2"), OK, row("2-3"), row("2", head="1")], 3, "range 2-3 overlaps the range 1-2"),
    "ranges twice": ([row("1-2"), row("1-2"), OK, row("2", head="1")], 2, "range 1-2 overlaps the range 1-2"),
    "empty node too early": ([row("1.1"), OK], 1, "empty node 1.1 found, 0.1 expected"),
    "empty node left out": ([OK, row("1.1"), row("1.3")], 3, "empty node 1.3 found, 1.2 expected"),
    "empty node in a range": ([OK, row("2-3"), row("1.1"), row("2", head="1")], 3, "empty node 1.1 must stand before"),
    "head too large": ([OK, row("2", head="3")], 2, "HEAD 3 is outside the sentence of 2 words"),
    "head of letters": ([OK, row("2", head="x")], 2, "HEAD 'x' is not the id of a word, nor 0, nor _"),
    "head negative": ([OK, row("2", head="-1")], 2, "HEAD '-1' is not the id of a word"),
    "head with a sign": ([OK, row("2", head="+1")], 2, "HEAD '+1' is not the id of a word"),
    "NUL": ([OK, row("2", "a\0", "1")], 2, "NUL character"),
    "NUL in a comment": (["# a\0", OK], 1, "NUL character"),
    "carriage return": ([OK, row("2", "a\rb", "1")], 2, "line end inside a line"),
    "comments alone": ([OK, "", "# a", "# b", "", row("1")], 4, "comments without words"),
    "comments at the end": ([OK, "", "# a"], 3, "comments without words"),
}


@pytest.mark.parametrize(("rows", "line", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_refused_with_its_line(tmp_path: Path, rows: list[str], line: int, message: str):
    path = tmp_path / "faulty.conllu"
    path.write_text(RICH + "\n".join(rows) + "\n", "utf-8", newline="")
    with pytest.raises(BadInput, match=re.escape(f"faulty.conllu:{line + RICH.count(chr(10))}: {message}")) as error:
        conllu.read(path)
    assert error.value.line == line + RICH.count("\n")
    assert not error.value.usage


def test_the_line_is_right_without_a_last_line_feed():
    with pytest.raises(BadInput, match=r"x:3: HEAD 9 is outside"):
        parse("\n" + OK + "\n" + row("2", head="9"), "x")
    with pytest.raises(BadInput, match=r"x:1: comments without words"):
        parse("# a", "x")


@pytest.mark.parametrize(
    ("heads", "line", "message"),
    [
        ("0 0 1", 4, "2 roots (words 1, 2); exactly one expected"),
        ("2 1 1", 3, "no root; exactly one word with HEAD 0 expected"),
        ("0 3 2", 4, "cycle: word 2 depends on itself through its head 3"),
        ("0 2 1", 4, "cycle: word 2 depends on itself through its head 2"),
        ("0 _ 1", 4, "no HEAD"),
    ],
)
def test_trees_are_checked_on_demand(heads: str, line: int, message: str):
    bad = text("# a", row("1-2", "bb", "_"), *(row(str(i), head=h) for i, h in enumerate(heads.split(), 1)))
    assert len(parse(bad)) == 1
    with pytest.raises(BadInput, match=re.escape(f"x:{line}: {message}")):
        parse(bad, "x", trees=True)


def test_a_long_chain_is_no_cycle_and_a_long_cycle_is_one():
    n = 100_000
    assert tree_fault([*range(2, n + 1), 0]) is None
    assert tree_fault([0, *range(1, n)]) is None
    fault = tree_fault([0, *range(3, n + 1), 2])
    assert fault is not None
    assert "cycle" in fault[1]


def test_invalid_utf8_is_refused_with_its_byte(tmp_path: Path):
    path = tmp_path / "latin.conllu"
    path.write_bytes(RICH.encode() + OK.encode().replace(b"NOUN", b"NO\xffN") + b"\n\n")
    with pytest.raises(BadInput, match=rf"latin.conllu:16 \(byte {len(RICH.encode()) + 8:,}\): not UTF-8"):
        conllu.read(path)


def test_a_lone_surrogate_is_refused():
    with pytest.raises(BadInput, match=r"x:2: lone surrogate"):
        parse(text(OK, row("2", "a\ud800", "1")), "x")


@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_a_file_without_a_sentence_is_refused(tmp_path: Path, content: str):
    path = tmp_path / "empty.conllu"
    path.write_text(content, "utf-8")
    with pytest.raises(BadInput, match=r"empty.conllu: no sentence in the file; CoNLL-U expected"):
        conllu.read(path)
    assert conllu.read(path, allow_empty=True) == []
    assert parse(content, allow_empty=True) == []


def test_a_missing_file_is_wrong_usage(tmp_path: Path):
    with pytest.raises(BadInput, match="no such file") as error:
        conllu.read(tmp_path / "none.conllu")
    assert error.value.usage


UNWRITABLE = {
    "tab in a form": [Word(1, "a\tb", head=0)],
    "line feed in a form": [Word(1, "a\nb", head=0)],
    "a row in a column": [Word(1, "a", head=0, misc="_\n" + row("2", head="1"))],
    "carriage return at the end": [Word(1, "a", head=0, misc="x\r")],
    "empty form": [Word(1, "", head=0)],
    "blank form": [Word(1, " ", head=0)],
    "empty column": [Word(1, "a", lemma="", head=0)],
    "lone surrogate": [Word(1, "a\udc80", head=0)],
    "NUL": [Word(1, "\0", head=0)],
    "ids out of order": [Word(2, "a", head=0)],
    "head outside": [Word(1, "a", head=2)],
    "no words": [],
}


@pytest.mark.parametrize("words", UNWRITABLE.values(), ids=UNWRITABLE.keys())
def test_what_could_not_be_read_back_is_not_written(tmp_path: Path, words: list[Word]):
    with pytest.raises(BadInput, match="cannot be written as CoNLL-U: sentence 2:"):
        conllu.write(tmp_path / "out.conllu", [*parse(RICH), Sentence([], words)])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("comment", ["no hash", "# a\n# b", "# a\r", "", "# \udc80"])
def test_a_comment_that_is_none_is_not_written(comment: str):
    with pytest.raises(BadInput, match="cannot be written as CoNLL-U: sentence 1:"):
        dumps([Sentence([comment], [Word(1, "a", head=0)])])


@pytest.mark.parametrize("span", [(0, 1), (1, 3), (3, 4), (2, 1)])
def test_a_range_off_its_words_is_not_written(span: tuple[int, int]):
    with pytest.raises(BadInput, match="cannot be written as CoNLL-U: sentence 1:"):
        dumps([Sentence([], [Word(1, "a", head=0), Word(2, "b", head=1)], [Range(*span, ("ab", *"________"))])])


@pytest.mark.parametrize(
    "ranges",
    [
        [Range(2, 2, ("b", *"________")), Range(1, 1, ("a", *"________"))],
        [Range(1, 2, ("ab", "_\t_", *"______"))],  # ten columns, but not these
    ],
)
def test_ranges_that_would_come_back_otherwise_are_not_written(ranges: list[Range]):
    with pytest.raises(BadInput, match="sentence 1: ids, ranges or empty nodes out of order"):
        dumps([Sentence([], [Word(1, "a", head=0), Word(2, "b", head=1)], ranges)])


def test_a_compressed_name_is_not_written_plainly(tmp_path: Path):
    with pytest.raises(BadInput, match="without a compression suffix"):
        conllu.write(tmp_path / "out.conllu.xz", parse(RICH))


# Sentences -----------------------------------------------------------------------------------------------------------


def test_comments_are_found_by_key():
    sentence = parse(RICH)[0]
    assert (sentence.sent_id, sentence.comment("newdoc"), sentence.comment("domain")) == ("x=1", "", None)


def test_text_is_the_comment_or_else_rebuilt_from_the_tokens():
    sentence = parse(RICH)[0]
    assert sentence.text == sentence.surface == "du10 000 x"
    sentence.comments.append("# text = as given")
    assert sentence.text == "as given"
    assert [(t.form, t.first, t.last, t.multiword) for t in sentence.tokens] == [
        ("du", 1, 2, True),
        ("10 000", 3, 3, False),
        ("x", 4, 4, True),
    ]


def test_bare_forms_keep_the_text():
    sentence = Sentence.from_forms(["我", "爱", "NLP", "too"], space_after=[False, False, True, False])
    assert sentence.text == "我爱NLP too"
    assert parse(dumps([sentence]))[0].text == "我爱NLP too"
    assert Sentence.from_forms(["a", "b"]).text == "a b"
    with pytest.raises(ValueError, match="shorter"):
        Sentence.from_forms(["a", "b"], space_after=[True])


def test_annotation_replaces_columns_and_keeps_everything_else():
    old = parse(RICH)[0]
    new = old.with_annotation(upos=["A", "B", "C", "D"], heads=np.array([2, 0, 2, 2]), deprels=["d", "root", "d", "d"])
    assert old == parse(RICH)[0]
    assert [f"{w.upos} {w.head} {w.deprel}" for w in new.words] == ["A 2 d", "B 0 root", "C 2 d", "D 2 d"]
    assert (new.comments, new.ranges, new.empty_nodes) == (old.comments, old.ranges, old.empty_nodes)
    assert new.with_annotation(upos=["NOUN"] * 4, heads=[0, 1, 1, 1], deprels=["root", *["dep"] * 3]) == old
    lemmas = old.with_annotation(lemmas=["l"] * 4, xpos=["x"] * 4, feats=["A=B"] * 4, deps=["0:root"] * 4)
    assert lemmas.words[3] == Word(4, old.words[3].form, "l", "NOUN", "x", "A=B", 1, "dep", "0:root", "_")
    assert "\t2\tNOUN" not in dumps([new])


def test_annotation_of_another_length_is_refused():
    with pytest.raises(ValueError, match="3 values of upos for a sentence of 4 words"):
        parse(RICH)[0].with_annotation(upos=["A"] * 3)


def test_words_know_their_lines():
    sentence = parse("\n" + RICH)[0]
    assert [sentence.line_of(i) for i in (1, 2, 3, 4)] == [7, 10, 11, 14]
    assert sentence.with_annotation(upos=["A"] * 4).line_of(1) is None
