"""Fill the columns of sentences with what tagger and parser predict, and keep everything else."""

from __future__ import annotations

from collections.abc import Sequence

from zh_elmo.ud.conllu import NO_HEAD, Sentence
from zh_elmo.ud.parser import Parser, Tree
from zh_elmo.ud.tagger import Tagger, Tags


def annotate(sentences: Sequence[Sentence], tagger: Tagger | None, parser: Parser | None) -> list[Sentence]:
    """New sentences with UPOS, XPOS, FEATS, LEMMA from `tagger` and HEAD, DEPREL from `parser`.

    Forms, multiword tokens, empty nodes, comments and MISC are kept. What these columns (and DEPS, which belongs to
    another tree) held before is gone, also where there is no tagger or no parser: nothing that was given can pass for a
    prediction. Raises BadInput where the parser needs tags and there is no tagger.
    """
    forms = [sentence.forms for sentence in sentences]
    tags = tagger.annotate(forms) if tagger else [_no_tags(len(words)) for words in forms]
    trees = [_no_tree(len(words)) for words in forms]
    if parser:
        trees = parser.parse(forms, [one.upos for one in tags] if tagger else None)
    return [
        sentence.with_annotation(
            lemmas=one.lemmas,
            upos=one.upos,
            xpos=one.xpos,
            feats=one.feats,
            heads=tree.heads,
            deprels=tree.deprels,
            deps=["_"] * len(tree.heads),
        )
        for sentence, one, tree in zip(sentences, tags, trees, strict=True)
    ]


def _no_tags(words: int) -> Tags:
    return Tags(*(["_"] * words for _ in Tags._fields))


def _no_tree(words: int) -> Tree:
    return Tree([NO_HEAD] * words, ["_"] * words)
