"""The parser: learns, gives trees, never sees gold tags, keeps its promises on batches, files and seeds."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
import torch
from toy_treebank import ToyVectors, sentence, toy

from zh_elmo.files import BadInput
from zh_elmo.text.pipeline import Pipeline, TextSettings
from zh_elmo.ud.biaffine import Biaffine
from zh_elmo.ud.conllu import Sentence, parse, tree_fault
from zh_elmo.ud.inputs import Inputs
from zh_elmo.ud.network import BiLSTM, EncoderSettings, WordInput
from zh_elmo.ud.parser import Parser, ParserSettings, ParserTraining
from zh_elmo.ud.predict import annotate
from zh_elmo.ud.score import score
from zh_elmo.ud.tagger import Tagger, TaggerSettings
from zh_elmo.ud.vocabulary import Vocabulary

TEXT = Pipeline(TextSettings())
SIZES = {"word_size": 8, "character_size": 8, "vector_size": 8, "arc_size": 12, "label_size": 8}
QUICK = ParserTraining(epochs=1, minimum_steps=80, batch_words=80, evaluations=2, learning_rate=0.02, beta2=0.95)
SMALL = ParserSettings(**SIZES, hidden=16, dropout=0.1, tags="none", training=QUICK)
BRIEF = ParserTraining(epochs=1, minimum_steps=4, evaluations=1)
FEW = ParserSettings(**SIZES, hidden=4, layers=1, tags="none", training=BRIEF)


def train(settings: ParserSettings = SMALL, seed: int = 1, **given: object) -> Parser:
    data = {"train": toy(80, 1), "dev": toy(15, 2), "text": TEXT, "quiet": True} | given
    return Parser.train(settings, data.pop("train"), data.pop("dev"), seed=seed, **data)


@pytest.fixture(scope="module")
def parser() -> Parser:
    return train()


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    settings = TaggerSettings(word_size=4, character_size=8, hidden=8, training=QUICK)
    return Tagger.train(settings, toy(60, 1), [], text=TEXT, quiet=True)


def test_learns(parser: Parser) -> None:
    assert parser.fitted is not None
    figures = parser.fitted.figures
    assert figures["score"] == figures["las"] > 90
    assert figures["uas"] >= figures["las"]
    assert figures["upos"] > 90
    unknown = toy(40, 9)  # most of its words are not in training
    scored = score(unknown, annotate(unknown, None, parser))
    assert scored.metrics["LAS"].f1 > 0.85


def test_dev_figures_are_those_of_the_scorer_where_greedy_heads_are_trees(parser: Parser) -> None:
    dev = toy(15, 2)
    scored = score(dev, annotate(dev, None, parser)).metrics
    assert parser.fitted is not None
    assert 100 * scored["UAS"].f1 == pytest.approx(parser.fitted.figures["uas"], abs=1.5)
    assert 100 * scored["LAS"].f1 == pytest.approx(parser.fitted.figures["las"], abs=1.5)


def test_trees_have_one_root_and_only_it_is_called_root() -> None:
    untrained = train(FEW)
    sentences = [s.forms for s in toy(30, 4)] + [["甲子"], ["了", "了"], ["甲子"] * 400]
    for forms, tree in zip(sentences, untrained.parse(sentences), strict=True):
        assert len(tree.heads) == len(tree.deprels) == len(forms)
        assert tree_fault(tree.heads) is None
        assert [label == "root" for label in tree.deprels] == [head == 0 for head in tree.heads]
        assert all(isinstance(head, int) for head in tree.heads)


def test_a_sentence_does_not_depend_on_its_companions(parser: Parser) -> None:
    sentences = [s.forms for s in toy(40, 3)] + [["子"], [], ["甲子", "乙了"] * 200]
    together = parser.parse(sentences)
    order = random.Random(0).sample(range(len(sentences)), len(sentences))
    again = parser.parse([sentences[i] for i in order])
    assert [again[order.index(i)] for i in range(len(sentences))] == together
    assert [parser.parse([one])[0] for one in sentences] == together
    assert together[41] == ([], [])
    assert parser.parse([]) == []


def test_subtypes_on_request() -> None:
    assert train(FEW).contents.labels["deprel"].values == ["amod", "nsubj", "obj", "punct"]
    full = train(ParserSettings(**SIZES, hidden=4, tags="none", subtypes=True, training=BRIEF))
    assert full.contents.labels["deprel"].values == ["amod", "nsubj", "obj:toy", "punct"]


def test_gold_tags_never_enter(tagger: Tagger) -> None:
    """With tags as input and without the second loss, the tags of the treebank change nothing at all."""
    settings = ParserSettings(**SIZES, hidden=4, tag_size=4, upos_weight=0, training=BRIEF)
    data = toy(30, 1), toy(5, 2)
    other = [[s.with_annotation(upos=["X"] * len(s.words)) for s in split] for split in data]
    one = train(settings, train=data[0], dev=data[1], tagger=tagger)
    two = train(settings, train=other[0], dev=other[1], tagger=tagger)
    assert one.network.state_dict().keys() == two.network.state_dict().keys()
    for name, tensor in one.network.state_dict().items():
        assert torch.equal(tensor, two.network.state_dict()[name]), name
    test = toy(5, 3)
    wrong = [s.with_annotation(upos=["X"] * len(s.words)) for s in test]
    assert annotate(test, tagger, one) == annotate(wrong, tagger, one)


def test_predicted_tags_do_enter(tagger: Tagger) -> None:
    """The only thing that tells dependents from heads here is a tag that the characters do not show."""
    settings = ParserSettings(**SIZES, hidden=8, tag_size=8, tag_dropout=0.1, upos_weight=0, training=QUICK)

    class Knows(Tagger):
        def tag(self, sentences: object) -> list[list[str]]:
            return [["VERB" if word in ("子", "了") else "NOUN" for word in words] for words in sentences]

    knows = Knows(tagger.contents, tagger.network, None)
    parser = train(settings, tagger=knows)
    forms = [["甲子", "乙了"]]
    views = [parser._views(parser._inputs(forms, tags)) for tags in ([["NOUN", "VERB"]], [["VERB", "NOUN"]])]
    (_, one), (_, two) = next(views[0]), next(views[1])
    assert not torch.allclose(one.arcs[1:, :1], two.arcs[1:, :1], atol=1e-3)


def test_tags_are_asked_for(tagger: Tagger) -> None:
    settings = ParserSettings(**SIZES, hidden=4, training=BRIEF)
    with pytest.raises(BadInput, match="needs a tagger"):
        train(settings)
    parser = train(settings, tagger=tagger)
    for tags in (None, [["NOUN"]], [["NOUN", "VERB"], ["X"]]):
        with pytest.raises(BadInput, match="tags"):
            parser.parse([["甲子", "乙了"]], tags)
    assert len(parser.parse([["甲子", "乙了"]], [["NOUN", "never seen"]])[0].heads) == 2
    with pytest.raises(BadInput, match="tags"):
        annotate(toy(1, 1), None, parser)


def test_saves_and_loads(tmp_path: Path, tagger: Tagger) -> None:
    vectors = ToyVectors(set())
    settings = ParserSettings(**SIZES, hidden=4, training=BRIEF)
    parser = train(settings, tagger=tagger, vectors=vectors)
    parser.save(tmp_path / "parser")
    assert sorted(p.name for p in (tmp_path / "parser").iterdir()) == [
        "config.json",
        "model.safetensors",
        "vocabulary.json",
    ]
    again = Parser.load(tmp_path / "parser", vectors)
    test = toy(10, 5)
    assert annotate(test, tagger, again) == annotate(test, tagger, parser)
    assert again.mix() == parser.mix() is not None
    with pytest.raises(BadInput, match="holds a parser, not a tagger"):
        Tagger.load(tmp_path / "parser", vectors)
    vectors.width = 9
    with pytest.raises(BadInput, match="2 x 9"):
        Parser.load(tmp_path / "parser", vectors)


def test_same_seed_same_bytes() -> None:
    one, two, other = (train(FEW, seed=seed).network.state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["biaffine.arc"], other["biaffine.arc"])


def test_resumes_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    often = ParserTraining(epochs=1, minimum_steps=12, batch_words=80, evaluations=1, save_every=5)
    settings = ParserSettings(**SIZES, hidden=4, tags="none", training=often)
    whole = train(settings, folder=tmp_path / "whole")
    original, count = torch.optim.Adam.step, itertools.count(1)

    def dies(self: torch.optim.Adam, *given: object) -> object:
        if next(count) == 9:
            raise MemoryError
        return original(self, *given)

    monkeypatch.setattr(torch.optim.Adam, "step", dies)
    with pytest.raises(MemoryError):
        train(settings, folder=tmp_path / "cut")
    resumed = train(settings, folder=tmp_path / "cut", resume=True)  # from step 5
    for name, tensor in whole.network.state_dict().items():
        assert torch.equal(tensor, resumed.network.state_dict()[name]), name


def test_arms_differ_in_the_vectors_alone() -> None:
    plain, helped = train(FEW), train(FEW, vectors=ToyVectors(set()))
    shapes = {name: tuple(p.shape) for name, p in plain.network.named_parameters()}
    with_vectors = {name: tuple(p.shape) for name, p in helped.network.named_parameters()}
    further = {name for name in with_vectors if ".vectors." in name}
    assert set(with_vectors) - further == set(shapes)
    assert {n for n in shapes if shapes[n] != with_vectors[n]} == {"biaffine.lstm.layers.0.input"}


def test_single_words_only() -> None:
    single = [sentence([("甲子", "NOUN", 0, "root")])] * 8
    parser = train(FEW, train=single, dev=single[:2])
    assert parser.parse([["甲子"], ["乙了"]]) == [([0], ["root"])] * 2
    assert parser.fitted is not None
    assert parser.fitted.figures["las"] == 100


def test_unseen_labels_in_dev_count_as_wrong() -> None:
    dev = [s.with_annotation(deprels=["root" if w.head == 0 else "vocative" for w in s.words]) for s in toy(10, 2)]
    parser = train(dev=dev)
    assert parser.fitted is not None
    words = sum(len(s.words) for s in dev)
    assert parser.fitted.figures["las"] <= 100 * len(dev) / words
    assert parser.fitted.figures["uas"] > 60  # the first state is kept: no later one has a better LAS


def test_bad_trees_are_refused_with_their_line() -> None:
    rows = ["1\t甲\t_\tNOUN\t_\t_\t2\tdep\t_\t_", "2\t乙\t_\tNOUN\t_\t_\t1\tdep\t_\t_"]
    cycle: list[Sentence] = parse("\n".join(rows) + "\n\n", "some.conllu")
    with pytest.raises(BadInput, match=r"some\.conllu:1: .*root"):
        train(train=[*toy(2, 1), *cycle])
    with pytest.raises(BadInput, match="no DEPREL"):
        train(train=[s.with_annotation(deprels=["_"] * len(s.words)) for s in toy(3, 1)])
    with pytest.raises(BadInput, match="no sentence"):
        train(train=[])


# The network ---------------------------------------------------------------------------------------------------------


def test_scores_are_the_formulas_of_the_paper() -> None:
    """Against loops over pairs; and what stands beside a sentence in its batch has no part in them."""
    torch.manual_seed(0)
    forms = [["甲", "乙", "丙"], ["丁"], ["戊", "己"]]
    vocabulary = Vocabulary.build([*forms, *forms])
    words = WordInput(EncoderSettings(word_size=3, character_size=2), vocabulary, None)
    network = (
        Biaffine(words, BiLSTM(words.width, 3, 1, 0.3), arc_size=4, label_size=3, labels=5, dropout=0.3).double().eval()
    )
    for parameter in (network.arc, network.label):
        torch.nn.init.normal_(parameter)
    inputs = Inputs(forms, vocabulary, raw=forms, root=True)
    batch = inputs.batch(np.array([0, 2, 1]))
    with torch.no_grad():
        views = network(batch)
        hidden = torch.nn.functional.leaky_relu(network.perceptrons(views.first), 0.1)
    arc_dependent, arc_head, label_dependent, label_head = hidden.split([4, 4, 3, 3], 1)
    for begin, size in ((0, 4), (4, 3), (7, 2)):
        for d in range(size):
            for h in range(size):
                left, right = arc_dependent[begin + d], arc_head[begin + h]
                wanted = left @ network.arc[:4] @ right + network.arc[4] @ right
                wanted = wanted if d != h else torch.tensor(-torch.inf)
                assert views.arcs[begin + d, h].item() == pytest.approx(wanted.item(), abs=1e-12)
                one = torch.ones(1, dtype=torch.double)
                left = torch.cat([label_dependent[begin + d], one])
                right = torch.cat([label_head[begin + h], one])
                pair = torch.tensor([begin + d]), torch.tensor([begin + h])
                wanted_labels = torch.einsum("i,lij,j->l", left, network.label, right)
                torch.testing.assert_close(network.labels(views, *pair)[0], wanted_labels, atol=1e-12, rtol=0)
        assert (views.arcs[begin : begin + size, size:] == -torch.inf).all()
        alone = network(inputs.batch(np.array([{0: 0, 4: 2, 7: 1}[begin]]))).arcs
        torch.testing.assert_close(alone, views.arcs[begin : begin + size, :size], atol=1e-12, rtol=0)


def test_dropout_has_one_mask_a_sentence() -> None:
    forms = [["甲"] * 6, ["乙"] * 4]
    vocabulary = Vocabulary.build(forms)
    words = WordInput(EncoderSettings(word_size=40, character_size=10, dropout=0.4), vocabulary, None).train()
    out = words(Inputs(forms, vocabulary, raw=forms).batch(np.array([0, 1])))
    assert (out[:6] == out[0]).all()
    assert (out[6:] == out[6]).all()
    lost = (out[0] == 0, out[6] == 0)
    assert (lost[0] != lost[1]).any()
    assert 0.2 < float(lost[0].double().mean()) < 0.6
    assert (words.eval()(Inputs(forms, vocabulary, raw=forms).batch(np.array([0, 1]))) != 0).all()
