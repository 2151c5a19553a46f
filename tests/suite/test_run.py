"""A whole suite, tiny, in two processes: files, slices that add up, nothing done twice, failures that stay alone."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from zh_elmo.files import BadInput, read_json
from zh_elmo.suite import plots, tables
from zh_elmo.suite.run import complain, run_suite
from zh_elmo.suite.settings import Suite
from zh_elmo.suite.treebanks import load
from zh_elmo.ud import conllu
from zh_elmo.ud.score import score


class Done(NamedTuple):
    suite: Suite
    folder: Path
    results: dict[str, Any]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, toy: Path, model: Path, corpus: Path, small: dict[str, Any]) -> Done:
    """Two arms on a good treebank, and on one whose training split has no tags."""
    folder = tmp_path_factory.mktemp("run")
    broken = folder / "broken"
    shutil.copytree(toy, broken)
    bare = [s.with_annotation(upos=["_"] * len(s.words)) for s in load(str(toy)).train]
    conllu.write(broken / "toy-ud-train.conllu", bare)
    suite = Suite(
        title="Tiny",
        treebanks=[str(toy), str(broken)],
        arms=["none", "elmo"],
        model=str(model),
        corpus=str(corpus),
        samples=50,
        **small,
    )
    return Done(suite, folder / "out", run_suite(suite, folder / "out", workers=2, command="test", quiet=True))


def test_the_run_holds_what_it_should(done: Done) -> None:
    assert read_json(done.folder / "results.json") == done.results
    assert "<svg" in (done.folder / "report.html").read_text("utf-8")
    cells = [(cell["treebank"], cell["arm"], cell["seed"]) for cell in done.results["cells"]]
    assert cells == [("toy", "none", 1), ("toy", "elmo", 1)]
    for name in ("toy-none-1", "toy-elmo-1"):
        there = sorted(path.name for path in (done.folder / "cells" / name).iterdir())
        assert there == [
            "dev.conllu", "parser", "parser-training", "tagger", "tagger-training", "test.conllu", "text.json",
            "vectors.json",
        ]  # fmt: skip
        assert not list((done.folder / "cells" / name).rglob("checkpoints"))
    assert (done.folder / "features" / "toy" / "meta.json").is_file()


def test_a_failure_is_named_and_stops_nothing_else(done: Done) -> None:
    failures = done.results["failures"]
    assert sorted(failures) == [f"broken {arm} 1: {part}" for arm in ("elmo", "none") for part in ("parser", "tagger")]
    assert failures["broken none 1: tagger"] == "the training sentences have no UPOS"
    assert failures["broken none 1: parser"] == "not run, since it needs broken none 1: tagger"
    with pytest.raises(BadInput, match=r"4 jobs failed.*broken none 1: tagger: the training sentences have no UPOS"):
        complain(done.results)


def test_slices_of_every_group_add_up(done: Done, toy: Path) -> None:
    facts = done.results["treebanks"]["toy"]
    assert facts["slices"]["all"] == sum(len(sentence.words) for sentence in load(str(toy)).test)
    whole_of = {"vocabulary": "all", "share": "all", "frequency": "IV", "pre-training": "OOV"}
    assert set(facts["groups"]) == set(whole_of)
    for group, whole in whole_of.items():
        assert sum(facts["slices"][label] for label in facts["groups"][group]) == facts["slices"][whole] > 0
        for cell in done.results["cells"]:
            for metric in ("Words", "UPOS", "UAS", "LAS", "CLAS", "MLAS"):
                parts = [cell["metrics"][label][metric] for label in facts["groups"][group]]
                total = cell["metrics"][whole][metric]
                assert [sum(p[i] or 0 for p in parts) for i in range(3)] == total[:3]
    assert facts["oov_rate"] == facts["slices"]["OOV"] / facts["slices"]["all"]


def test_scores_are_those_of_the_predictions(done: Done, toy: Path) -> None:
    for cell in done.results["cells"]:
        assert cell["files"]["test"] == f"cells/toy-{cell['arm']}-1/test.conllu"
        found = score(load(str(toy)).test, conllu.read(done.folder / cell["files"]["test"])).metrics
        assert cell["metrics"]["all"] == {name: list(counts) for name, counts in found.items()}
        for metric in ("UPOS", "UAS", "LAS"):
            row = tables.scores_of(done.results, "toy")[cell["arm"], "all", metric]
            assert row["f1"] == pytest.approx(100 * found[metric].f1, abs=1e-5)
            assert row["low"] <= row["f1"] <= row["high"]


def test_only_elmo_has_layer_weights(done: Done) -> None:
    mixes = {cell["arm"]: cell["mix"] for cell in done.results["cells"]}
    assert mixes["none"] == {}
    assert set(mixes["elmo"]) == {"tagger", "parser"}
    for mix in mixes["elmo"].values():
        assert len(mix["s"]) == 3
        assert sum(mix["s"]) == pytest.approx(1)


def test_the_arms_are_compared_and_judged(done: Done) -> None:
    found = {(row["slice"], row["metric"]): row for row in done.results["comparisons"]}
    scores = tables.scores_of(done.results, "toy")
    for label in ("all", "IV", "OOV"):
        expected = scores["elmo", label, "LAS"]["f1"] - scores["none", label, "LAS"]["f1"]
        assert found[label, "LAS"]["difference"] == pytest.approx(expected, abs=1e-5)
        assert 0 < found[label, "LAS"]["p"] <= 1
    assert done.results["notes"][0].startswith("toy, OOV words, elmo against none UPOS ")


def test_tables_show_it(done: Done) -> None:
    stream = io.StringIO()
    tables.show(done.results, stream=stream, width=100)
    for said in ["toy test: gold segmentation, predicted tags", "elmo - none", "never seen", "toy elmo, seed 1"]:
        assert said in stream.getvalue()


def test_what_is_done_is_not_done_again(done: Done, toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def written() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in (done.folder / "jobs").glob("*.json")}

    monkeypatch.setattr(plots, "available", lambda: False)
    before = written()
    settings = {name: getattr(done.suite, name) for name in done.suite.__struct_fields__}
    good = Suite(**settings | {"treebanks": [str(toy)]})
    results = run_suite(good, done.folder, workers=1, command="test", quiet=True)
    assert written() == before
    same = ("treebanks", "cells", "scores", "comparisons", "examples", "notes")
    assert {name: results[name] for name in same} == {name: done.results[name] for name in same}
    assert results["failures"] == {}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": ""}, "needs a biLM"),
        ({"arms": ["static"], "corpus": ""}, "needs the corpus"),
        ({"model": "nowhere"}, "nowhere: no such model"),
        ({"corpus": "nowhere"}, "nowhere: not a corpus"),
        ({"treebanks": ["zh_gsb"]}, "zh_gsd"),
    ],
)
def test_what_is_missing_is_said_before_anything_runs(
    done: Done, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    settings = {name: getattr(done.suite, name) for name in done.suite.__struct_fields__}
    with pytest.raises(BadInput, match=said):
        run_suite(Suite(**settings | change), tmp_path / "out", workers=1, quiet=True)
    assert not (tmp_path / "out").exists()


def test_a_biLM_of_another_corpus_is_refused(done: Done, tmp_path: Path, corpus: Path) -> None:
    other = tmp_path / "corpus"
    shutil.copytree(corpus, other)
    manifest = (other / "manifest.json").read_text("utf-8")
    (other / "manifest.json").write_text(manifest.replace('"digest": "', '"digest": "0'), "utf-8")
    settings = {name: getattr(done.suite, name) for name in done.suite.__struct_fields__}
    with pytest.raises(BadInput, match="pre-trained on another corpus"):
        run_suite(Suite(**settings | {"corpus": str(other)}), tmp_path / "out", workers=1, quiet=True)


@pytest.mark.parametrize(
    "change",
    [{"arms": ["none", "none"]}, {"seeds": [1, 1]}, {"treebanks": ["zh_gsd", "zh_gsd"]}, {"treebanks": ["a/x", "b/x"]}],
)
def test_nothing_stands_in_a_suite_twice(change: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="stands there twice"):
        Suite(**{"title": "T", "treebanks": ["zh_gsd"]} | change)
