"""Recipes are strict and say what is wrong with them."""

from __future__ import annotations

import pytest

from zh_elmo.files import BadInput
from zh_elmo.recipe import Settings, find, load, plain


class Inner(Settings):
    size: int = 3
    name: str = "a"


class Outer(Settings):
    inner: Inner = Inner()
    items: tuple[Inner, ...] = ()
    rate: float = 0.5


def write(tmp_path, text):
    path = tmp_path / "r.toml"
    path.write_text(text, "utf-8")
    return path


def test_values_and_overrides(tmp_path):
    path = write(tmp_path, "rate = 1\n[inner]\nsize = 4\n")
    assert load(path, Outer) == Outer(inner=Inner(size=4), rate=1.0)
    assert load(path, Outer, ["inner.name=b", "inner.size=7"]).inner == Inner(size=7, name="b")
    assert load(path, Outer, ["items=[{size=1}]"]).items == (Inner(size=1),)
    assert plain(load(path, Outer)) == {"inner": {"size": 4, "name": "a"}, "items": (), "rate": 1.0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rat = 1", "unknown key rat; did you mean rate?"),
        ("[inner]\nsiz = 1", "unknown key inner.siz; did you mean size?"),
        ("[[items]]\nzzz = 1", r"unknown key items\[0\]\.zzz; known here: size, name"),
        ("[inner]\nsize = 'x'", "Expected `int`, got `str` at `inner.size`"),
        ("rate = ", "not TOML"),
    ],
)
def test_faults_of_a_file_are_faults_of_the_data(tmp_path, text, said):
    with pytest.raises(BadInput, match=said) as caught:
        load(write(tmp_path, text), Outer)
    assert not caught.value.usage
    assert "r.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("assignment", "said"),
    [("inner.siz=1", "did you mean size"), ("inner", "expected key.subkey=value"), ("rate.x=1", "rate is not a table")],
)
def test_faults_of_an_override_are_wrong_usage(tmp_path, assignment, said):
    with pytest.raises(BadInput, match=said) as caught:
        load(write(tmp_path, "rate = 1"), Outer, [assignment])
    assert caught.value.usage


def test_an_unknown_recipe_names_the_nearest(tmp_path):
    with pytest.raises(BadInput, match=r"no such recipe on the shelf corpora; there are: .*zh_gsd") as caught:
        find("corpora", "zh_gds")
    assert caught.value.usage
    path = write(tmp_path, "")
    assert find("recipes", path) == path
    assert find("corpora", "corpora/zh_gsd.toml").name == "zh_gsd.toml"


@pytest.mark.parametrize(
    "assignment",
    ["training.steps=0", "training.steps=-1", "streams.batch=0", "model.cell=0", "model.dropout=1", "softmax.rate=0"],
)
def test_numbers_that_make_no_sense_are_wrong_usage(assignment):
    from zh_elmo.lm.settings import Pretrain

    with pytest.raises(BadInput, match=rf"Expected .* at `{assignment.partition('=')[0]}`") as caught:
        load(find("recipes", "pretrain-zh-tiny"), Pretrain, [assignment])
    assert caught.value.usage
