"""One arm from a recipe, and what its folder can do afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zh_elmo.files import BadInput, read_json
from zh_elmo.recipe import load
from zh_elmo.suite.predict import predict
from zh_elmo.suite.settings import DataSettings, TrainRecipe, VectorSettings
from zh_elmo.suite.static import StaticSettings
from zh_elmo.suite.train import train
from zh_elmo.ud import conllu


@pytest.fixture(scope="module")
def make(toy: Path, corpus: Path, model: Path, small: dict[str, Any]) -> Callable[..., TrainRecipe]:
    def recipe(kind: str = "none", **changes: Any) -> TrainRecipe:
        return TrainRecipe(
            data=DataSettings(treebank=str(toy)),
            vectors=VectorSettings(kind=kind, corpus=str(corpus), model=str(model)),
            static=StaticSettings(width=6, epochs=1),
            **small | changes,
        )

    return recipe


@pytest.fixture(scope="module")
def plain(make: Callable[..., TrainRecipe], here: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained folder of the arm none."""
    folder = tmp_path_factory.mktemp("train") / "out"
    results = train(make("none"), folder, command="zh-elmo train")
    assert results["failures"] == {}
    assert read_json(folder / "results.json") == results
    return folder


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("kind", ["static", "elmo"])
def test_a_trained_folder_predicts_what_its_training_did(
    make: Callable[..., TrainRecipe], tmp_path: Path, toy: Path, kind: str
) -> None:
    results = train(make(kind), tmp_path / "out")
    assert [cell["arm"] for cell in results["cells"]] == [kind]
    (tmp_path / "out").rename(tmp_path / "moved")
    found = list(predict(tmp_path / "moved", toy / "toy-ud-test.conllu"))
    assert conllu.dumps(found) == (tmp_path / "moved" / "test.conllu").read_text("utf-8")
    assert all(word.upos != "_" and word.head >= 0 for sentence in found for word in sentence.words)


def test_gold_columns_do_not_reach_a_prediction(plain: Path, tmp_path: Path, toy: Path) -> None:
    sentences = conllu.read(toy / "toy-ud-test.conllu")
    wrong = [
        s.with_annotation(upos=["X"] * len(s.words), heads=[0] * len(s.words), deprels=["root"] * len(s.words))
        for s in sentences
    ]
    conllu.write(tmp_path / "wrong.conllu", wrong)
    found = list(predict(plain, tmp_path / "wrong.conllu"))
    assert conllu.dumps(found) == (plain / "test.conllu").read_text("utf-8")


@pytest.mark.usefixtures("here")
def test_a_tagger_alone_is_scored_on_tags_alone(make: Callable[..., TrainRecipe], tmp_path: Path) -> None:
    results = train(make(parser=None), tmp_path / "out")
    scored = results["cells"][0]["metrics"]["all"]
    assert {"UPOS", "Words"} <= set(scored)
    assert not {"UAS", "LAS", "MLAS"} & set(scored)
    assert {row["metric"] for row in results["scores"]} == {"UPOS"}
    assert not (tmp_path / "out" / "parser").exists()


@pytest.mark.usefixtures("here")
def test_a_parser_alone_has_no_tags(make: Callable[..., TrainRecipe], tmp_path: Path, small: dict[str, Any]) -> None:
    settings = {name: getattr(small["parser"], name) for name in small["parser"].__struct_fields__}
    parser = type(small["parser"])(**settings | {"tags": "none"})
    results = train(make(tagger=None, parser=parser), tmp_path / "out")
    assert {row["metric"] for row in results["scores"]} == {"UAS", "LAS", "CLAS"}
    assert "UPOS" not in results["cells"][0]["metrics"]["all"]


def test_raw_text_is_segmented_and_keeps_its_own_characters(plain: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("我買了 蘋果。\n\n很好！真的？\n", "utf-8")
    found = list(predict(plain, text))
    assert [sentence.text for sentence in found] == ["我買了 蘋果。", "很好！", "真的？"]
    assert [sentence.surface for sentence in found] == ["我買了 蘋果。", "很好！", "真的？"]
    assert found[0].forms == ["我", "買", "了", "蘋", "果", "。"]
    assert [sum(word.head == 0 for word in sentence.words) for sentence in found] == [1, 1, 1]


def test_what_cannot_predict_is_refused(tmp_path: Path, toy: Path) -> None:
    with pytest.raises(BadInput, match="neither a tagger nor a parser"):
        list(predict(tmp_path, toy / "toy-ud-test.conllu"))
    with pytest.raises(BadInput, match="no such trained folder"):
        list(predict(tmp_path / "nothing", toy / "toy-ud-test.conllu"))


def test_a_recipe_needs_something_to_train(tmp_path: Path) -> None:
    path = tmp_path / "tag.toml"
    path.write_text('[data]\ntreebank = "zh_sample"\n', "utf-8")
    with pytest.raises(BadInput, match=r"\[tagger\] or \[parser\]"):
        load(path, TrainRecipe)
    path.write_text('[data]\ntreebank = "zh_sample"\n[vectors]\nkind = "elmo"\n[tagger]\n', "utf-8")
    with pytest.raises(BadInput, match=r"--set vectors\.model"):
        load(path, TrainRecipe).check()
    assert load(path, TrainRecipe, ["vectors.model=there"]).vectors.model == "there"
