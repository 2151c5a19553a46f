"""Prediction fills columns, keeps everything else, and lets nothing given pass for a prediction."""

from __future__ import annotations

import pytest
from toy_treebank import toy

from zh_elmo.text.pipeline import Pipeline, TextSettings
from zh_elmo.ud.batches import Training
from zh_elmo.ud.conllu import NO_HEAD, dumps, parse
from zh_elmo.ud.parser import Parser, ParserSettings, ParserTraining
from zh_elmo.ud.predict import annotate
from zh_elmo.ud.tagger import Tagger, TaggerSettings

TEXT = Pipeline(TextSettings())
BRIEF = Training(epochs=1, minimum_steps=4)
FILE = """\
# sent_id = 1
# text = 甲子來了 。
1-2	甲子來了	_	_	_	_	_	_	_	SpaceAfter=Yes
1	甲子	lemma	GOLD	GOLD	Gold=Yes	2	gold	2:gold	Gloss=a
2	來了	lemma	GOLD	GOLD	Gold=Yes	0	root	0:root	_
2.1	空	_	_	_	_	_	_	2:gold	CopyOf=2
3	。	lemma	GOLD	GOLD	Gold=Yes	2	gold	2:gold	SpaceAfter=No

"""


@pytest.fixture(scope="module")
def pair() -> tuple[Tagger, Parser]:
    tagger = Tagger.train(TaggerSettings(hidden=4, training=BRIEF), toy(20, 1), [], text=TEXT, quiet=True)
    brief = ParserTraining(epochs=1, minimum_steps=4)
    settings = ParserSettings(hidden=4, arc_size=4, label_size=4, training=brief)
    return tagger, Parser.train(settings, toy(20, 1), [], text=TEXT, tagger=tagger, quiet=True)


def test_only_the_predicted_columns_change(pair: tuple[Tagger, Parser]) -> None:
    sentences = parse(FILE)
    written = dumps(annotate(sentences, *pair))
    assert "Gold" not in written
    assert "GOLD" not in written
    parse(written, trees=True)
    for before, after in zip(FILE.splitlines(), written.splitlines(), strict=True):
        old, new = before.split("\t"), after.split("\t")
        if old[0].isdigit():
            assert (new[:2], new[9]) == (old[:2], old[9])
            assert new[2] == new[1]  # the lemma is the form, as in its training
            assert new[8] == "_"
        else:
            assert new == old
    assert dumps(sentences) == FILE  # what was given is left alone


def test_without_tagger_or_parser_the_columns_are_empty(pair: tuple[Tagger, Parser]) -> None:
    sentences = parse(FILE)
    tagged = annotate(sentences, pair[0], None)[0]
    assert [word.head for word in tagged.words] == [NO_HEAD] * 3
    assert {word.deprel for word in tagged.words} == {"_"}
    assert {word.upos for word in tagged.words} <= {"NOUN", "VERB", "ADJ", "PUNCT"}
    nothing = annotate(sentences, None, None)[0]
    assert {(w.lemma, w.upos, w.xpos, w.feats) for w in nothing.words} == {("_", "_", "_", "_")}
    assert annotate([], *pair) == []


def test_what_was_there_before_does_not_matter(pair: tuple[Tagger, Parser]) -> None:
    sentences = toy(5, 7)
    once = annotate(sentences, *pair)
    assert annotate(once, *pair) == once
    assert annotate(annotate(sentences, None, None), *pair) == once
