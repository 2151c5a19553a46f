"""Models of spacy-pkuseg: by folder alone, nothing unpickled, nothing fetched, damaged ones refused before they run."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zh_elmo.files import BadInput, read_text
from zh_elmo.recipe import shelf_folder
from zh_elmo.text import segment
from zh_elmo.text.pipeline import Pipeline, TextSettings
from zh_elmo.text.segmenters import pkuseg, pkuseg_train
from zh_elmo.text.segmenters.pkuseg import FACTS, FEATURES, WEIGHTS

SAMPLE = shelf_folder("corpora") / "sample"


def gold_words(part: str, count: int) -> list[list[str]]:
    blocks = read_text(SAMPLE / f"zh_sample-ud-{part}.conllu").split("\n\n")[:count]
    return [[line.split("\t")[1] for line in block.split("\n") if line[:1].isdigit()] for block in blocks]


TRAIN = "import sys; from zh_elmo.text.segmenters.pkuseg_train import train; print(train(*sys.argv[1:4], 1, 1))"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A model of a few sentences of the sample, and what its training printed."""
    pytest.importorskip("spacy_pkuseg")
    folder = tmp_path_factory.mktemp("pkuseg")
    assert pkuseg_train.write_words(folder / "train", gold_words("train", 60)) == 60
    pkuseg_train.write_words(folder / "held-out", gold_words("dev", 20))
    (folder / "temporary").mkdir()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", TRAIN, folder / "train", folder / "held-out", folder / "model"],
        capture_output=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(folder / "temporary")},
        cwd=Path(pkuseg.__file__).parents[3],
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list((folder / "temporary").iterdir()) == []
    return folder / "model", done.stdout


@pytest.fixture
def model(trained: tuple[Path, str], tmp_path: Path) -> Path:
    """A copy of the model, to be damaged."""
    shutil.copytree(trained[0], tmp_path / "model")
    return tmp_path / "model"


def settings_of(model: Path | str, **more: Any) -> TextSettings:
    return TextSettings(segmenter="pkuseg", segmenter_model=str(model), **more)


def test_training_writes_a_model_of_the_safe_kind_and_says_how_it_went(trained: tuple[Path, str]) -> None:
    model, said = trained
    assert sorted(path.name for path in model.iterdir()) == [FEATURES, WEIGHTS]
    line, result, end = said.split("\n")
    score = line.split("word F1 ")[1].split()[0]
    assert line == f"iteration 1 of 1 (100 %), word F1 {score} on held-out text"
    assert 40 < float(score) < 95
    assert (result, end) == (f"[{float(score)}]", "")


def test_too_little_to_train_on(tmp_path: Path) -> None:
    pkuseg_train.write_words(tmp_path / "train", gold_words("train", 19))
    with pytest.raises(BadInput, match="19 sentences"):
        pkuseg_train.train(str(tmp_path / "train"), str(tmp_path / "train"), str(tmp_path / "model"), 1, 1)
    assert not (tmp_path / "model").exists()


def test_white_space_parts_words_in_training_as_in_cutting(tmp_path: Path) -> None:
    assert pkuseg_train.write_words(tmp_path / "words", [["我", "a b"], [" "], ["好"]]) == 2
    assert (tmp_path / "words").read_text("utf-8") == "我 a b\n好\n"


def test_white_space_is_put_back_by_offsets(model: Path) -> None:
    sentence = "他说：“我去年买了 3.5  斤苹果。”"
    found = segment.segmenter(settings_of(model))
    tokens = found.tokens(sentence)
    assert "".join(found.cut(sentence)) == sentence.replace(" ", "")
    assert [sentence[start:end] for _, start, end in tokens] == found.cut(sentence)
    assert "“" in found.cut(sentence)
    assert found.cut("") == found.cut(" \u3000") == []
    assert found.cut("我😀👨\u200d👩好")[1:3] == ["😀", "👨\u200d👩"]
    assert "".join(found.cut("龘靐齉爩" * 5_000)) == "龘靐齉爩" * 5_000


def test_the_dictionary_of_the_library_is_off(model: Path) -> None:
    """It would merge words after the model, at up to 10 F1."""
    loaded = pkuseg._loaded(str(model), "one", "two")
    assert loaded.preprocesser.dict_data == []
    assert loaded.postprocesser.do_process is False


def test_threads_and_workers_cut_the_same(model: Path) -> None:
    pipeline = Pipeline(settings_of(model))
    sentence = "他去年在北京大学买了三斤苹果。"
    wanted = pipeline.forms(sentence)
    assert pickle.loads(pickle.dumps(pipeline)).forms(sentence) == wanted
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(pipeline.forms(sentence * 20))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted * 20] * 4


def test_models_are_told_apart_by_their_bytes(model: Path) -> None:
    facts = segment.describe(settings_of(model))
    assert set(facts) == {"package", FEATURES, WEIGHTS}
    assert facts["package"].startswith("spacy-pkuseg ")
    cut = segment.segmenter(settings_of(model)).cut
    assert len(cut("他去年在北京")) > 1
    weights = dict(np.load(model / WEIGHTS))
    np.savez(model / WEIGHTS, sizes=weights["sizes"], w=np.zeros_like(weights["w"]))  # the same path, another model
    assert segment.segmenter(settings_of(model)).cut("他去年在北京") != cut("他去年在北京")
    assert segment.describe(settings_of(model)) != facts


# Refused -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "spacy_ontonotes", "news", "no/such/folder"])
def test_models_are_never_fetched(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def called(*_: Any, **__: Any) -> None:
        raise AssertionError("the library was asked")

    monkeypatch.setattr(pkuseg, "_loaded", called)
    with pytest.raises(BadInput, match="not fetched by name") as caught:
        segment.segmenter(settings_of(name))
    assert caught.value.usage
    assert "\n" not in str(caught.value)


def test_a_pickle_is_not_loaded(model: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
            return os.mkdir, (str(model / "ran"),)

    (model / "features.pkl").write_bytes(pickle.dumps(Evil()))
    segment.segmenter(settings_of(model)).cut("我们")  # it lies beside the safe kind
    (model / FEATURES).unlink()
    with pytest.raises(BadInput, match=r"features\.pkl is a pickle"):
        segment.segmenter(settings_of(model))
    assert not (model / "ran").exists()


def test_weights_that_are_pickled_are_not_loaded(model: Path) -> None:
    np.savez(model / WEIGHTS, sizes=np.array([5, 1]), w=np.array([{}], dtype=object))
    with pytest.raises(BadInput, match="not a model of spacy-pkuseg"):
        segment.segmenter(settings_of(model))


def change_features(model: Path, change: Callable[[dict[str, Any]], object]) -> None:
    import srsly

    features = srsly.read_msgpack(model / FEATURES)
    change(features)
    srsly.write_msgpack(model / FEATURES, features)


@pytest.mark.parametrize(
    "change",
    [
        lambda features: features["feature_to_idx"].update({"c.我": 10**9}),  # memory behind the weights
        lambda features: features["feature_to_idx"].update({"c.我": -(10**6)}),
        lambda features: features["feature_to_idx"].update({"c.我": "1"}),
        lambda features: features["tag_to_idx"].update(B=7),
        lambda features: features["tag_to_idx"].pop("I"),
        lambda features: features.pop("bigram"),
        lambda features: features.update(unigram=5),
    ],
)
def test_features_that_would_read_beside_the_weights_are_refused(
    model: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    change_features(model, change)
    with pytest.raises(BadInput, match="not a model of spacy-pkuseg, or a damaged one"):
        segment.segmenter(settings_of(model))


@pytest.mark.parametrize("name", [FEATURES, WEIGHTS])
@pytest.mark.parametrize("damage", [lambda raw: b"", lambda raw: raw[: len(raw) // 2], lambda raw: b"\xc1" + raw[1:]])
def test_damaged_files_are_refused(model: Path, name: str, damage: Callable[[bytes], bytes]) -> None:
    (model / name).write_bytes(damage((model / name).read_bytes()))
    with pytest.raises(BadInput, match="or a damaged one") as caught:
        segment.segmenter(settings_of(model))
    assert caught.value.path == str(model)


def test_weights_of_another_size_are_refused(model: Path) -> None:
    weights = dict(np.load(model / WEIGHTS))
    for sizes, w in (
        (weights["sizes"], weights["w"][:-5]),
        (weights["sizes"] - np.array([0, 7]), weights["w"][:-35]),
        (weights["sizes"], weights["w"].astype(np.float32)),
    ):
        np.savez(model / WEIGHTS, sizes=sizes, w=w)
        with pytest.raises(BadInput, match="or a damaged one"):
            segment.segmenter(settings_of(model))


# Marks and script ----------------------------------------------------------------------------------------------------


def test_marks_glued_to_words_are_cut_off() -> None:
    assert pkuseg.split_marks('用"') == ["用", '"']
    assert pkuseg.split_marks("（他") == ["（", "他"]
    assert pkuseg.split_marks("我😀") == ["我", "😀"]
    assert pkuseg.split_marks("……") == ["……"]
    assert pkuseg.split_marks("3:4") == ["3:4"]


def test_traditional_text_for_a_model_of_simplified_text(model: Path) -> None:
    text = "他說去年買了蘋果。"
    kept = settings_of(model, script="keep")
    direct = segment.segmenter(kept).cut(text)
    assert "opencc" not in Pipeline(kept).describe()
    (model / FACTS).write_text('{"text": {"script": "simplified"}}')
    words = segment.segmenter(kept).cut(text)
    assert "".join(words) == "".join(direct) == text
    simplified = segment.segmenter(settings_of(model)).cut("他说去年买了苹果。")
    assert [len(word) for word in words] == [len(word) for word in simplified]
    assert "opencc" in Pipeline(kept).describe()
