"""The transformer: right vectors, and all that scikit-learn asks of an estimator."""

from __future__ import annotations

import importlib
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from small_model import WIDTH, save_small

import zh_elmo
from zh_elmo.files import BadInput
from zh_elmo.plugs.sklearn import ElmoVectorizer

SENTENCES = [["我", "买", "了", "苹果", "。"], ["他"], [], ["蘋果", "六斤"]]


@pytest.fixture(scope="module")
def embedder(model: Path) -> zh_elmo.Embedder:
    return zh_elmo.load(model)


def test_pools_over_true_lengths(embedder: zh_elmo.Embedder) -> None:
    for pooling, pool in (("mean", np.mean), ("max", np.max)):
        for given in ({"layers": 1}, {"layers": -1}, {"mix": "mean"}, {"mix": [0.5, 0.25, 0.25]}):
            rows = ElmoVectorizer(embedder, pooling=pooling, **given).fit_transform(SENTENCES)
            assert rows.shape == (4, WIDTH)
            assert rows.dtype == np.float32
            for row, vectors in zip(rows, embedder.embed(SENTENCES, **given), strict=True):
                np.testing.assert_allclose(row, pool(vectors, axis=0) if len(vectors) else 0, atol=1e-6)
    assert ElmoVectorizer(embedder).fit_transform([]).shape == (0, WIDTH)


def test_raw_text_goes_the_way_of_the_model(embedder: zh_elmo.Embedder) -> None:
    raw = ["我买了。他吃蘋果。", "", "他"]
    rows = ElmoVectorizer(embedder).fit_transform(np.array(raw, object))
    two = np.concatenate(embedder.embed([list("我买了。"), list("他吃苹果。")]))  # two sentences, pooled as one text
    np.testing.assert_allclose(rows[0], two.mean(0), atol=1e-6)
    assert (rows[1] == 0).all()
    np.testing.assert_allclose(rows[2:], ElmoVectorizer(embedder).fit_transform([["他"]]), atol=1e-6)


def test_parameters_clone_and_names(model: Path, embedder: zh_elmo.Embedder) -> None:
    vectorizer = ElmoVectorizer(str(model), pooling="max", layers=0)
    assert vectorizer.get_params() == {"model": str(model), "pooling": "max", "layers": 0, "mix": "mean"}
    copy = clone(vectorizer.set_params(layers=1))
    assert copy.get_params() == vectorizer.get_params()
    with pytest.raises(NotFittedError):
        copy.transform(SENTENCES)
    assert clone(ElmoVectorizer(embedder)).model is embedder
    names = copy.fit().get_feature_names_out()
    assert names.tolist() == [f"elmovectorizer{number}" for number in range(WIDTH)]


def test_pickles_without_the_weights(model: Path, tmp_path: Path) -> None:
    copied = save_small(tmp_path / "model")
    vectorizer = ElmoVectorizer(copied).fit()
    pickled = pickle.dumps(vectorizer)
    assert len(pickled) < 2000
    np.testing.assert_array_equal(pickle.loads(pickled).transform(SENTENCES), vectorizer.transform(SENTENCES))
    save_small(tmp_path / "model", seed=2)
    with pytest.raises(BadInput, match="another model"):
        pickle.loads(pickled)


def test_pipeline_and_grid_search(embedder: zh_elmo.Embedder) -> None:
    texts = [["我", "买", "苹果"], ["他", "吃", "六斤"]] * 8
    labels = [0, 1] * 8
    pipeline = make_pipeline(ElmoVectorizer(embedder), LogisticRegression(C=100))
    search = GridSearchCV(pipeline, {"elmovectorizer__layers": [0, None]}, cv=2).fit(texts, labels)
    assert search.best_score_ == 1.0
    assert search.predict(texts[:2]).tolist() == [0, 1]


def test_bad_input(embedder: zh_elmo.Embedder, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="absent"):
        ElmoVectorizer(tmp_path / "absent").fit()
    for wrong, message in (
        ("我买了", "a list of texts is due"),
        ([["我"], None], r"X\[1\]: a list of words"),
        ([["我", ""]], r"X\[0\]: word 2 .* empty"),
        ([["我", float("nan")]], r"X\[0\]: word 2"),
    ):
        with pytest.raises(BadInput, match=message):
            ElmoVectorizer(embedder).fit_transform(wrong)
    for setting, message in (
        ({"pooling": "sum"}, "pooling"),
        ({"layers": "all"}, "layers"),
        ({"layers": 3}, "layers"),
        ({"mix": [1.0]}, "weights"),
    ):
        with pytest.raises(BadInput, match=message):
            ElmoVectorizer(embedder, **setting).fit_transform(SENTENCES)


def test_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    monkeypatch.delitem(sys.modules, "zh_elmo.plugs.sklearn")
    with pytest.raises(ImportError, match=r"pip install 'zh-elmo\[sklearn\]'") as caught:
        importlib.import_module("zh_elmo.plugs.sklearn")
    assert caught.value.name == "sklearn"
