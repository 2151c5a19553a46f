"""The CoNLL 2018 metrics agree with udtools on outputs with errors of every kind, and slices add up to the whole."""

from __future__ import annotations

import io
import random
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zh_elmo.files import BadInput
from zh_elmo.ud import conllu
from zh_elmo.ud.conllu import Range, Sentence, Word
from zh_elmo.ud.score import METRICS, Evaluation, Score, score

udeval = pytest.importorskip("udtools.udeval", reason="udtools comes with the test extra")

FILES = ("zh_gsd-ud-dev", "zh_gsd-ud-test", "kk_ktb-ud-test", "vi_vtb-ud-dev", "af_afribooms-ud-test", "ga_idt-ud-test")
CUT = 50  # sentences of each file


# Errors put in -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Node:
    """A word that may move between tokens and sentences, its head with it."""

    word: Word
    head: Node | None = None


@dataclass
class Piece:
    """A token: its form, and the words in it."""

    form: str
    nodes: list[Node]
    multiword: bool = False


def pieces_of(sentence: Sentence) -> list[Piece]:
    nodes = [Node(word) for word in sentence.words]
    for node in nodes:
        node.head = nodes[node.word.head - 1] if node.word.head else None
    return [Piece(token.form, nodes[token.first - 1 : token.last], token.multiword) for token in sentence.tokens]


def sentence_of(pieces: list[Piece]) -> Sentence:
    """A sentence with one root and no cycle: heads that are elsewhere or would close a cycle become the root."""
    nodes = [node for piece in pieces for node in piece.nodes]
    place = {id(node): i for i, node in enumerate(nodes, 1)}
    heads = [place.get(id(node.head), 0) for node in nodes]
    root = heads.index(0) + 1 if 0 in heads else 1
    heads = [0 if i == root else head or root for i, head in enumerate(heads, 1)]
    for i in range(1, len(nodes) + 1):
        at, steps = i, 0
        while at and steps <= len(nodes):
            at, steps = heads[at - 1], steps + 1
        if at:
            heads[i - 1] = root
    words = [n.word._replace(id=i, head=h) for i, (n, h) in enumerate(zip(nodes, heads, strict=True), 1)]
    ranges, first = [], 1
    for piece in pieces:
        if piece.multiword:
            ranges.append(Range(first, first + len(piece.nodes) - 1, (piece.form, *"________")))
        first += len(piece.nodes)
    return Sentence([], words, ranges)


def relabelled(word: Word, rate: float, rng: random.Random, pool: list[Word]) -> Word:
    """Each annotated column is, at this rate, that of some other word."""
    names = [name for name in ("lemma", "upos", "xpos", "feats", "deprel") if rng.random() < rate]
    return word._replace(**{name: getattr(rng.choice(pool), name) for name in names})


def retokenised(pieces: list[Piece], rate: float, rng: random.Random) -> list[Piece]:
    """At this rate tokens are split, merged with the one before, made multiword, or made plain again."""
    done: list[Piece] = []
    for piece in pieces:
        form, nodes = piece.form, piece.nodes
        kind = rng.choice(["split", "merge", "multiword", "multiword merge", "plain"]) if rng.random() < rate else ""
        cut = rng.randint(1, max(1, len(form) - 1))
        left, right = form[:cut], form[cut:]
        breaks = not left.strip() or not right.strip()  # nothing, or only blanks, on one side
        if kind == "split" and not piece.multiword and not breaks:
            done += [Piece(left, [Node(nodes[0].word._replace(form=left), nodes[0].head)])]
            done += [Piece(right, [Node(nodes[0].word._replace(form=right), nodes[0])])]
        elif kind == "merge" and done and not piece.multiword and not done[-1].multiword:
            word = done[-1].nodes[0]
            word.word = word.word._replace(form=done[-1].form + form)
            done[-1].form += form
        elif kind == "multiword" and not piece.multiword and not breaks:
            parts = [left.upper() if rng.random() < 0.3 else left, "X" if rng.random() < 0.3 else right]
            second = Node(nodes[0].word._replace(form=parts[1]), nodes[0])
            nodes[0].word = nodes[0].word._replace(form=parts[0])
            done.append(Piece(form, [nodes[0], second], True))
        elif kind == "multiword merge" and done:
            done[-1] = Piece(done[-1].form + form, done[-1].nodes + nodes, True)
        elif kind == "plain" and piece.multiword:
            done.append(Piece(form, [Node(nodes[0].word._replace(form=form), nodes[0].head)]))
        else:
            done.append(piece)
    return done


def damaged(sentences: list[Sentence], seed: int, *, labels: float = 0.1, cuts: float = 0.1) -> list[Sentence]:
    """A system's output for the same text; `cuts` is the rate of wrong tokens and sentence borders."""
    rng = random.Random(seed)
    pool = [word for sentence in sentences for word in sentence.words]
    rows = [pieces_of(sentence) for sentence in sentences]
    for row in rows:
        nodes = [node for piece in row for node in piece.nodes]
        for node in nodes:
            node.word = relabelled(node.word, labels, rng, pool)
            if rng.random() < labels:
                node.head = rng.choice(nodes)
    rows = [retokenised(row, cuts, rng) for row in rows]
    for i in range(len(rows) - 1):
        if rng.random() < cuts:  # the border moves, or goes
            kept = rng.randint(0, len(rows[i]) - 1) if rows[i] else 0
            rows[i], rows[i + 1] = rows[i][:kept], rows[i][kept:] + rows[i + 1]
    halves = []
    for row in rows:
        middle = rng.randint(1, len(row)) if row and rng.random() < cuts else len(row)
        halves += [row[:middle], row[middle:]]
    return [sentence_of(row) for row in halves if row]


def official(gold: list[Sentence], system: list[Sentence]) -> dict[str, Any]:
    def load(sentences: list[Sentence]) -> Any:
        return udeval.load_conllu(io.StringIO(conllu.dumps(sentences)), "memory", {})

    return udeval.evaluate(load(gold), load(system))


def assert_same(ours: Evaluation, theirs: dict[str, Any]) -> None:
    assert tuple(ours.metrics) == METRICS
    for name in METRICS:
        mine, other = ours.metrics[name], theirs[name]
        expected = (other.correct, other.gold_total, other.system_total, other.aligned_total)
        assert tuple(mine) == expected, name
        for measure in ("precision", "recall", "f1", "aligned_accuracy"):
            value, right = getattr(mine, measure), getattr(other, measure)
            assert value == (None if right is None else pytest.approx(right, abs=1e-9)), (name, measure)
            assert value is None or 0 <= value <= 1


@cache
def treebank(path: Path) -> list[Sentence]:
    return list(islice(conllu.read_iter(path, trees=True), CUT))


@pytest.fixture(params=FILES)
def real(request: pytest.FixtureRequest, real_data: Path) -> list[Sentence]:
    return treebank(real_data / "ud" / f"{request.param}.conllu.xz")


# Agreement with udtools ----------------------------------------------------------------------------------------------


def test_gold_against_itself_is_perfect(real: list[Sentence]):
    found = score(real, real)
    assert_same(found, official(real, real))
    assert all(found.metrics[name].f1 == 1 for name in METRICS)


@pytest.mark.parametrize(("labels", "cuts"), [(0.15, 0.0), (0.1, 0.05), (0.3, 0.5)])
def test_agrees_with_udtools_on_seeded_errors(real: list[Sentence], labels: float, cuts: float):
    system = damaged(real, seed=1, labels=labels, cuts=cuts)
    found = score(real, system)
    assert_same(found, official(real, system))
    assert found.metrics["LAS"].f1 < 1
    assert (found.metrics["Words"].f1 == 1) == (cuts == 0)


@pytest.mark.parametrize("seed", [5, 6])
def test_agrees_with_udtools_whichever_side_has_the_multiword_tokens(real: list[Sentence], seed: int):
    gold, system = damaged(real[:15], seed, cuts=0.4), damaged(real[:15], seed + 10, cuts=0.4)
    assert_same(score(gold, system), official(gold, system))


def test_agrees_with_udtools_on_a_whole_file(real_data: Path):
    gold = conllu.read(real_data / "ud" / "zh_gsd-ud-test.conllu.xz", trees=True)
    system = damaged(gold, seed=2)
    assert_same(score(gold, system), official(gold, system))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), labels=st.sampled_from([0.0, 0.2]), cuts=st.sampled_from([0.0, 0.2, 0.8]))
def test_agrees_with_udtools_on_made_up_text(seed: int, labels: float, cuts: float):
    rng = random.Random(seed)
    gold = []
    for _ in range(rng.randint(1, 4)):
        n = rng.randint(1, 6)
        forms = ["".join(rng.choices("abcA \u3000", k=rng.randint(0, 3))) + rng.choice("abc") for _ in range(n)]
        words = [
            Word(i, form, "_" if rng.random() < 0.3 else form, "NOUN", "_", rng.choice(["_", "Case=Nom", "Own=Yes"]),
                 i - 1, rng.choice(["det", "case:x", "obj", "punct", "nsubj:pass"]))
            for i, form in enumerate(forms, 1)
        ]  # fmt: skip
        gold.append(Sentence([], words))
    gold = damaged(gold, seed + 1, labels=labels, cuts=0.3)  # multiword tokens in gold too
    system = damaged(gold, seed + 2, labels=labels, cuts=cuts)
    found = score(gold, system)
    assert_same(found, official(gold, system))
    assert found.metrics["LAS"].correct <= found.metrics["UAS"].correct


# By hand -------------------------------------------------------------------------------------------------------------


def line_up(tokens: list[str]) -> list[Sentence]:
    """One sentence of tokens; "bc b c" is the multiword token bc of the words b and c."""
    pieces = [Piece(form, [Node(Word(0, word)) for word in words or [form]], bool(words))
              for form, *words in (token.split() for token in tokens)]  # fmt: skip
    return [sentence_of(pieces)]


@pytest.mark.parametrize(
    ("gold", "system", "correct"),
    [
        (["a", "b", "c"], ["a", "b", "c"], 3),
        (["abcd"], ["a", "b", "c", "d"], 0),
        (["abc", "d"], ["a", "b", "c", "d"], 1),
        (["a", "bc", "d"], ["a", "b", "c", "d"], 2),
        (["abc a b c"], ["a", "b", "c"], 3),
        (["a", "bc b c", "d"], ["a", "b", "c", "d"], 4),
        (["abcd a b c d"], ["ab a b", "cd c d"], 4),
        (["abc a b c", "de d e"], ["a", "bcd b c d", "e"], 5),
        (["a", "bc b c", "d"], ["a", "b", "cd"], 2),
        (["abc a BX c", "def d EX f"], ["ab a b", "cd c d", "ef e f"], 4),
        (["ab a b", "cd bc d"], ["a", "bc", "d"], 2),
        (["a", "bc b c", "d"], ["ab AX BX", "cd CX a"], 1),
    ],
)
def test_words_are_aligned_by_characters(gold: list[str], system: list[str], correct: int):
    """The cases of the official scorer's own tests."""
    ours, theirs = line_up(gold), line_up(system)
    words = score(ours, theirs).metrics["Words"]
    assert words == Score(correct, len(ours[0].words), len(theirs[0].words))
    assert score(theirs, ours).metrics["Words"] == Score(correct, len(theirs[0].words), len(ours[0].words))


GOLD = """\
1\t他\t他\tPRON\tP\t_\t2\tnsubj\t_\t_
2\t买\t买\tVERB\tV\tAspect=Perf|Mine=1\t0\troot\t_\t_
3\t了\t_\tPART\tA\t_\t2\tcase:aspect\t_\t_
4\t苹果\t苹果\tNOUN\tN\t_\t2\tobj\t_\t_
5\t。\t。\tPUNCT\tF\t_\t2\tpunct\t_\t_
"""


def changed(*, row: int, column: int, to: str) -> list[Sentence]:
    rows = [line.split("\t") for line in GOLD.splitlines()]
    rows[row - 1][column] = to
    return conllu.parse("\n".join(map("\t".join, rows)))


@pytest.mark.parametrize(
    ("row", "column", "to", "wrong"),
    [
        (1, 3, "NOUN", {"UPOS": 1, "AllTags": 1, "MLAS": 1}),
        (1, 4, "X", {"XPOS": 1, "AllTags": 1}),
        (1, 2, "我", {"Lemmas": 1, "BLEX": 1}),
        (3, 2, "anything", {}),  # gold has no lemma there
        (2, 5, "Aspect=Perf|Mine=2", {}),  # not a universal feature
        (2, 5, "_", {"UFeats": 1, "AllTags": 1, "MLAS": 1}),
        (4, 7, "obj:own", {}),  # subtypes are cut off
        (4, 7, "iobj", {"LAS": 1, "CLAS": 1, "MLAS": 1, "BLEX": 1}),
        (4, 6, "1", {"UAS": 1, "LAS": 1, "CLAS": 1, "MLAS": 1, "BLEX": 1}),
        (5, 6, "1", {"UAS": 1, "LAS": 1}),  # punctuation is no content word
        (3, 6, "4", {"UAS": 1, "LAS": 1, "MLAS": 1}),  # the verb loses its function word, the noun gains one (below)
        (3, 3, "AUX", {"UPOS": 1, "AllTags": 1, "MLAS": 1}),  # a function word's tag counts against its head
    ],
)
def test_one_error_counts_where_it_should(row: int, column: int, to: str, wrong: dict[str, int]):
    gold = conllu.parse(GOLD)
    found = score(gold, changed(row=row, column=column, to=to)).metrics
    missing = {name: s.gold_total - s.correct for name, s in found.items() if s.correct < s.gold_total}
    if (row, column) == (3, 6):
        wrong = {**wrong, "MLAS": 2}
    assert missing == wrong
    assert found["CLAS"].gold_total == 3


# Slices --------------------------------------------------------------------------------------------------------------


def total(parts: list[Score]) -> tuple[int | None, ...]:
    return tuple(None if column[0] is None else sum(column) for column in zip(*parts, strict=True))


@pytest.mark.parametrize("cuts", [0.0, 0.3])
def test_slices_add_up_and_stay_in_bounds(real: list[Sentence], cuts: float):
    found = score(real, damaged(real, seed=3, cuts=cuts))
    by_length = found.slices(lambda sentence: [str(min(len(form), 3)) for form in sentence.forms])
    middle = sorted(len(sentence.words) for sentence in real)[len(real) // 2]
    by_sentence = found.slices([["short" if len(s.words) < middle else "long"] * len(s.words) for s in real])
    assert set(by_sentence) == {"long", "short"}
    assert set(next(iter(by_sentence.values()))) == set(METRICS)
    assert set(METRICS) - set(next(iter(by_length.values()))) == {"Sentences"}
    for slices in (by_length, by_sentence):
        for name in next(iter(slices.values())):
            assert total([scores[name] for scores in slices.values()]) == tuple(found.metrics[name])
        for part in (s for scores in slices.values() for s in scores.values()):
            assert max(part.precision, part.recall, part.f1, part.aligned_accuracy or 0) <= 1


def test_slice_of_a_gold_word_counts_what_stands_in_its_place():
    gold, system = line_up(["ab", "cd", "e"]), line_up(["a", "b", "cd", "e"])
    found = score(gold, system).slices([["OOV", "IV", "IV"]])
    assert found["OOV"]["Words"] == Score(0, 1, 2)
    assert found["IV"]["Words"] == Score(2, 2, 2)


def test_sentence_counts_sum_to_the_whole_and_to_slices(real: list[Sentence]):
    found = score(real, damaged(real, seed=4, cuts=0.2))

    def short(sentence: Sentence) -> list[str]:
        return ["short" if len(form) < 3 else "long" for form in sentence.forms]

    slices = found.slices(short)
    for name in METRICS:
        counts = found.sentence_counts(name)
        assert [column.shape for column in counts] == [(len(real),)] * 3
        assert tuple(column.sum() for column in counts) == tuple(found.metrics[name][:3])
        if name in slices["long"]:
            parts = found.sentence_counts(name, short, "long")
            assert tuple(column.sum() for column in parts) == tuple(slices["long"][name][:3])
    assert found.sentence_counts("UPOS").gold.tolist() == [len(sentence.words) for sentence in real]
    assert found.sentence_counts("UPOS", short, "no such label").gold.sum() == 0


def test_sentence_counts_are_of_the_right_sentence():
    gold = conllu.parse(GOLD + "\n" + GOLD)
    system = conllu.parse(GOLD) + changed(row=1, column=3, to="NOUN")
    counts = score(gold, system).sentence_counts("UPOS")
    assert [column.tolist() for column in counts] == [[5, 4], [5, 5], [5, 5]]


def test_tallies_say_which_word_is_right():
    found = score(conllu.parse(GOLD), changed(row=4, column=6, to="1"))
    assert found.tallies["LAS"].correct.tolist() == [True, True, True, False, True]
    assert np.array_equal(found.tallies["CLAS"].gold, [True, True, False, True, False])


@pytest.mark.parametrize("labels", [[], [["IV"] * 4], [["IV"] * 5, ["IV"]], ["IV"] * 5])
def test_labels_that_do_not_fit_are_refused(labels: Any):
    with pytest.raises(ValueError, match="one for each word"):
        score(conllu.parse(GOLD), conllu.parse(GOLD)).slices(labels)


# Faults --------------------------------------------------------------------------------------------------------------


def test_other_text_is_refused_where_it_begins(tmp_path: Path):
    gold = conllu.parse("# sent_id = one\n" + GOLD + "\n# sent_id = two\n" + GOLD)
    file = tmp_path / "system.conllu"
    file.write_text(GOLD + "\n# text = 他买了梨。\n" + GOLD.replace("苹果", "梨"), "utf-8")
    message = r"system.conllu:11: system text .* gold sentence 2 \(two\) and system sentence 2: .*'苹果。', .*'梨。'"
    with pytest.raises(BadInput, match=message):
        score(gold, conllu.read(file))


def test_text_that_ends_early_is_refused():
    gold = conllu.parse(GOLD + "\n" + GOLD)
    with pytest.raises(BadInput, match="gold has '他买了苹果。', system has nothing more"):
        score(gold, gold[:1])
    with pytest.raises(BadInput, match="gold sentence 1 and system sentence 1: gold has nothing more, system has '他"):
        score([], gold)


def test_blanks_make_no_other_text():
    gold = line_up(["ab"])
    gold[0].words[0] = gold[0].words[0]._replace(form="a\u00a0b")
    assert score(gold, line_up(["ab"])).metrics["Words"].f1 == 1


def test_nothing_against_nothing_scores_nothing():
    assert score([], []).metrics["LAS"] == Score(0, 0, 0, 0)
    assert score([], []).metrics["LAS"].f1 == 0


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([0, 0, 2, 2, 2], "system sentence 1: 2 roots"),
        ([2, 1, 2, 2, 2], "system sentence 1: no root"),
        ([2, 0, 4, 3, 2], "system sentence 1: cycle"),
        ([2, 0, 2, 2, -1], "system sentence 1: no HEAD"),
        ([2, 0, 2, 2, 6], "system sentence 1: HEAD 6 is outside the sentence of 5 words"),
    ],
)
def test_heads_that_are_no_tree_are_refused(heads: list[int], message: str):
    gold = conllu.parse(GOLD)
    with pytest.raises(BadInput, match=message):
        score(gold, [gold[0].with_annotation(heads=heads)])


def test_without_trees_missing_heads_are_wrong_and_tags_still_score():
    gold = conllu.parse(GOLD)
    system = [gold[0].with_annotation(heads=[-1] * 5)]
    found = score(gold, system, trees=False).metrics
    assert (found["UPOS"].f1, found["UAS"].correct, found["LAS"].correct) == (1, 0, 0)
    assert score(system, system, trees=False).metrics["UAS"].correct == 0


def test_a_word_of_blanks_is_refused():
    system = line_up(["ab"])
    system[0].words.append(Word(2, "\u3000", head=1))
    with pytest.raises(BadInput, match="system sentence 1: word without characters"):
        score(line_up(["ab"]), system)
    with pytest.raises(BadInput, match="gold sentence 1: no words"):
        score([Sentence([], [])], system)
