"""A store gives back what was committed, whatever happened afterwards."""

from __future__ import annotations

import random
import shutil

import numpy as np
import pytest

from zh_elmo.embed.store import FEATURES, INDEX, META, SENTENCES, Store
from zh_elmo.files import BadInput, read_json, write_json

LAYERS, WIDTH = 3, 4


def some(number, seed=0):
    """(words, vectors) of some sentences, an empty one among them."""
    draw = np.random.default_rng(seed)
    made = []
    for i in range(number):
        words = [f"字{draw.integers(5)}" for _ in range(i % 7)]
        made.append((words, draw.standard_normal((LAYERS, len(words), WIDTH)).astype(np.float32)))
    return made


def new(folder, **options):
    return Store.create(folder, **({"n_layers": LAYERS, "width": WIDTH, "model": "m", "text": "t"} | options))


def written(folder, sentences, **options):
    with new(folder, **options) as store:
        for words, vectors in sentences:
            store.append(words, vectors)
    return folder


def same(store, sentences, tolerance=0.0):
    assert len(store) == len(sentences)
    for number, (words, vectors) in enumerate(sentences):
        assert store.sentence(number) == words
        assert store[number].shape == vectors.shape
        assert np.abs(store[number] - vectors).max(initial=0) <= tolerance


def test_float32_comes_back_equal_at_random(tmp_path):
    sentences = some(20)
    store = Store.open(written(tmp_path / "s", sentences, dtype="float32"))
    same(store, sentences)
    for number in random.Random(0).sample(range(20), 20):
        assert np.array_equal(store[number], sentences[number][1])
    assert np.array_equal(store[-1], sentences[-1][1])
    assert [v.shape for v in store] == [v.shape for _, v in sentences]
    with pytest.raises(IndexError):
        store[20]


def test_float16_is_the_default_and_close(tmp_path):
    sentences = some(20)
    store = Store.open(written(tmp_path / "s", sentences))
    same(store, sentences, tolerance=2e-3)
    assert store[1].dtype == np.float32
    assert store.view(1).dtype == np.float16
    assert np.array_equal(store.view(1), sentences[1][1].astype(np.float16))
    with pytest.raises(ValueError, match="read-only"):
        store.view(1)[0] = 0


def test_a_copy_can_be_changed_without_harm(tmp_path):
    store = Store.open(written(tmp_path / "s", some(5), dtype="float32"))
    store[3][:] = 7
    same(Store.open(tmp_path / "s"), some(5))
    same(store, some(5))


def test_found_by_words(tmp_path):
    awkward = [["a/b", "."], ["a", "/b", "."], ["a b"], ["a", "b"], ["\ud800"], ["\x00", "\n"], ['"'], []]
    sentences = [(words, np.full((LAYERS, len(words), WIDTH), i, np.float32)) for i, words in enumerate(awkward)]
    store = Store.open(written(tmp_path / "s", [*sentences, *sentences]))
    for number, words in enumerate(awkward):
        assert store.find(words) == number
        assert words in store
        assert store.find(tuple(words)) == number
        assert store.sentence(number) == words
        assert (store([words])[0] == number).all()
    assert store.find(["不在"]) is None
    with pytest.raises(BadInput, match="holds no vectors of the sentence 不在"):
        store([["a", "b"], ["不在"]])
    with pytest.raises(BadInput, match="not the string"):
        store.find("a b")


def test_only_what_is_committed_counts(tmp_path):
    sentences = some(9)
    store = new(tmp_path / "s", dtype="float32")
    for words, vectors in sentences[:4]:
        store.append(words, vectors)
    assert len(store) == 0
    store.commit()
    same(store, sentences[:4])
    same(Store.open(tmp_path / "s"), sentences[:4])
    for words, vectors in sentences[4:]:
        store.append(words, vectors)
    store.close()
    same(Store.open(tmp_path / "s"), sentences[:4])
    assert Store.open(tmp_path / "s").find(sentences[8][0]) is None
    with pytest.raises(BadInput, match="for reading only"):
        store.append(*sentences[0])


def test_an_error_on_the_way_commits_nothing(tmp_path):
    def fail():
        with new(tmp_path / "s") as store:
            store.append(*some(3)[2])
            raise KeyError("on the way")

    with pytest.raises(KeyError):
        fail()
    assert len(Store.open(tmp_path / "s")) == 0


def test_killed_anywhere_and_resumed(tmp_path):
    sentences = some(30)
    whole = written(tmp_path / "whole", sentences, dtype="float32")
    begun = new(tmp_path / "begun", dtype="float32")
    for words, vectors in sentences[:10]:
        begun.append(words, vectors)
    begun.commit()
    sizes = {name: (tmp_path / "begun" / name).stat().st_size for name in (FEATURES, INDEX, SENTENCES)}
    for words, vectors in sentences[10:25]:
        begun.append(words, vectors)
    begun.close()  # the rest is on the disk, as after a kill, but not committed
    draw = random.Random(3)
    for attempt in range(20):
        folder = tmp_path / f"cut{attempt}"
        shutil.copytree(tmp_path / "begun", folder)
        for name, committed in sizes.items():
            file = folder / name
            kept = draw.randint(committed, file.stat().st_size)
            file.write_bytes(file.read_bytes()[:kept] + b"junk" * draw.randint(0, 1))
        same(Store.open(folder), sentences[:10])
        Store.open(folder, append=True).close()
        assert {name: (folder / name).stat().st_size for name in sizes} == sizes
        with Store.open(folder, model="m", text="t", append=True) as store:
            for words, vectors in sentences[len(store) :]:
                store.append(words, vectors)
        for name in (FEATURES, INDEX, SENTENCES, META):
            assert (folder / name).read_bytes() == (whole / name).read_bytes()


def test_committed_bytes_that_are_missing_are_told_of(tmp_path):
    draw = random.Random(4)
    whole = written(tmp_path / "whole", some(10))
    for attempt in range(10):
        folder = tmp_path / f"cut{attempt}"
        shutil.copytree(whole, folder)
        name = draw.choice([FEATURES, INDEX, SENTENCES])
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: draw.randrange(len(content))])
        for append in (False, True):
            with pytest.raises(BadInput, match=f"damaged: {name} has .* were committed"):
                Store.open(folder, append=append)
        (folder / name).unlink()
        with pytest.raises(BadInput, match=f"damaged: {name} is missing"):
            Store.open(folder)
        with pytest.raises(BadInput, match=f"damaged: {name} is missing"):
            Store.open(folder, append=True)


def test_an_index_that_does_not_fit(tmp_path):
    folder = written(tmp_path / "s", some(10))
    index = np.frombuffer((folder / INDEX).read_bytes(), "<u8").copy()
    index[9] += 10**9
    (folder / INDEX).write_bytes(index.tobytes())
    with pytest.raises(BadInput, match=r"index.bin does not fit meta.json"):
        Store.open(folder)


def test_another_model_or_normalisation_is_refused(tmp_path):
    folder = written(tmp_path / "s", some(3))
    Store.open(folder, model="m", text="t")
    with pytest.raises(BadInput, match="another model"):
        Store.open(folder, model="other")
    with pytest.raises(BadInput, match="another normalisation"):
        Store.open(folder, model="m", text="other", append=True)
    Store.open(folder, append=True).close()  # a refusal leaves no lock behind


def test_one_writer_at_a_time(tmp_path):
    with new(tmp_path / "s"):
        with pytest.raises(BadInput, match="somebody else is writing"):
            Store.open(tmp_path / "s", append=True)
        Store.open(tmp_path / "s")  # reading is free
    Store.open(tmp_path / "s", append=True).close()


def test_what_cannot_be_stored(tmp_path):
    with new(tmp_path / "s") as store:
        with pytest.raises(BadInput, match="shape"):
            store.append(["一"], np.zeros((LAYERS, 2, WIDTH)))
        for number in (1e6, np.nan, np.inf):  # the first is too large for float16
            with pytest.raises(BadInput, match="not finite as float16: 一"):
                store.append(["一"], np.full((LAYERS, 1, WIDTH), number))
        store.append(["一"], np.ones((LAYERS, 1, WIDTH)))
    assert len(Store.open(tmp_path / "s")) == 1


def test_nothing_is_overwritten(tmp_path):
    written(tmp_path / "s", some(3))
    with pytest.raises(BadInput, match="something already") as error:
        new(tmp_path / "s")
    assert error.value.usage
    (tmp_path / "empty").mkdir()
    new(tmp_path / "empty").close()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"format": "x"}, "not the settings of a store"),
        ({"width": "4"}, "Expected `int`, got `str` at `width`"),
        ({"width": 0}, "sizes must be 1"),
        ({"sentences": -1}, "sizes must be 1"),
        ({"more": 1}, "unknown key more"),
        ({"version": 2}, "version"),
        ({"sentences": 2}, "does not fit"),
    ],
)
def test_settings_that_are_wrong(tmp_path, change, what):
    folder = written(tmp_path / "s", some(3))
    write_json(folder / META, read_json(folder / META) | change)
    with pytest.raises(BadInput, match=what):
        Store.open(folder)


def test_what_is_no_store(tmp_path):
    with pytest.raises(BadInput, match=r"no meta.json"):
        Store.open(tmp_path)
    with pytest.raises(BadInput, match="no such store"):
        Store.open(tmp_path / "nowhere")
    write_json(tmp_path / META, [])
    with pytest.raises(BadInput, match="not the settings of a store"):
        Store.open(tmp_path)
