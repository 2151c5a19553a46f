"""Four layouts of HDF5 files, and text, written sentence by sentence; what is written can be read back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from zh_elmo.embed.hdf5_read import Vectors
from zh_elmo.embed.hdf5_write import writing_hdf5
from zh_elmo.embed.layouts import LAYOUTS, key_of, words_of
from zh_elmo.embed.text_write import writing_text
from zh_elmo.files import BadInput

h5py = pytest.importorskip("h5py")
GOLDEN = Path(__file__).parents[1] / "golden" / "data"
AWKWARD = [
    ["a", "/", "a", "."], ["a", "/", "a", "."], ["ground/."], ["."], [".."], [], ["sentence_to_index"], ["sentences"],
    ["0"], ["我", "买", "。"], [], ["New York", "."], ["\u3000"], ["😀👍🏽", "\b"], ["词" * 30_000], ["/"], ["", "b"],
]  # fmt: skip
HARD = [["$period$"], ["a\tb", "c"], ["nul\0", "\0"], ["\ud800", "\udc80x"]]


def vectors_of(sentences, *shape, seed=1):
    """The same for the same words, whatever stands around them."""
    known = {}
    rng = np.random.default_rng(seed)
    for words in sentences:
        known.setdefault(tuple(words), rng.standard_normal((*shape, len(words), 4)).astype("f4"))
    return [known[tuple(words)] for words in sentences]


def put(path, sentences, layout, *shape, **options):
    found = vectors_of(sentences, *shape)
    fill(path, layout, *zip(sentences, found, strict=True), **options)
    return found


def fill(path, layout, *parts, error=None, **options):
    with writing_hdf5(path, layout=layout, **options) as file:
        for words, vectors in parts:
            file.add(words, vectors)
        if error is not None:
            raise error


@pytest.mark.parametrize("shape", [(3,), ()])
def test_own_layout_keeps_everything(tmp_path, shape):
    """Rows 44, 45, 46: one entry a line whatever its words are, found by number and by sentence."""
    sentences = AWKWARD + HARD
    due = put(tmp_path / "v.h5", sentences, "own", *shape, facts={"command": "x"}, model="m")
    with Vectors(tmp_path / "v.h5") as vectors:
        assert vectors.layout == "own"
        assert vectors.keys == [str(number) for number in range(len(sentences))]
        assert all(np.array_equal(found, right) for found, right in zip(vectors, due, strict=True))
        for number, words in enumerate(sentences):
            assert vectors.words(number) == words
            assert vectors.find(words) == [n for n, other in enumerate(sentences) if other == words]
        assert vectors.find("a / a .") == vectors.find("a\t/\ta\t.") == [0, 1]
        assert vectors.find([]) == [5, 10]
        assert vectors.find(["a", "b", "c"]) == []
    with h5py.File(tmp_path / "v.h5") as file:
        assert set(file) == {"sentences", *map(str, range(len(sentences)))}
        attributes = {"format": "zh_elmo vectors", "layout": b"own", "model": "m", "facts": '{"command": "x"}'}
        assert dict(file.attrs) == attributes


def test_allennlp_layout(tmp_path):
    """Rows 45, 46."""
    sentences = AWKWARD + HARD
    due = put(tmp_path / "v.h5", sentences, "allennlp", 3)
    with h5py.File(tmp_path / "v.h5") as file:
        assert set(file) == {"sentence_to_index", *map(str, range(len(sentences)))}
        told = file["sentence_to_index"]
        assert told.shape == (1,)
        assert h5py.check_string_dtype(told.dtype).length is None
        index = json.loads(told[0])
        assert index["a / a ."] == "1"  # the last place of a repeated sentence, as AllenNLP does
        assert index == {" ".join(words): str(number) for number, words in enumerate(sentences)}
    with Vectors(tmp_path / "v.h5") as vectors:
        assert vectors.layout == "allennlp"
        assert all(np.array_equal(found, right) for found, right in zip(vectors, due, strict=True))
        for number, words in enumerate(sentences):
            if sentences.index(words) == number and sentences.count(words) == 1:
                assert vectors.find(words) == vectors.find(" ".join(words)) == [number]


def test_bilm_tf_layout(tmp_path):
    due = put(tmp_path / "v.h5", AWKWARD + HARD, "bilm-tf", 3)
    with h5py.File(tmp_path / "v.h5") as file:
        assert set(file) == {str(number) for number in range(len(due))}
        assert {dataset.dtype for dataset in file.values()} == {np.dtype("f4")}
    with Vectors(tmp_path / "v.h5") as vectors:
        assert vectors.layout == "bilm-tf"
        assert all(np.array_equal(found, right) for found, right in zip(vectors, due, strict=True))


def test_elmoformanylangs_layout(tmp_path):
    """Rows 44, 45: keys that are sentences, escaped, in the order of the input; what cannot be a key is told of."""
    with pytest.warns(UserWarning, match="of 17 sentences 2 without words, .* and 1 that come again are stored once"):
        put(tmp_path / "v.h5", AWKWARD, "elmoformanylangs")
    kept = [words for number, words in enumerate(AWKWARD) if words and AWKWARD.index(words) == number]
    with h5py.File(tmp_path / "v.h5") as file:
        assert {"a\t$backslash$\ta\t$period$", "$period$$period$", "sentence_to_index"} < set(file)
        assert len(file) == len(kept) == 14
    with Vectors(tmp_path / "v.h5") as vectors:
        assert vectors.layout == "elmoformanylangs"
        assert [vectors.words(number) for number in range(len(vectors))] == kept
        for number, (words, right) in enumerate(zip(kept, vectors_of(kept), strict=True)):
            assert vectors.find(words) == vectors.find("\t".join(words)) == [number]
            assert vectors[number].shape == right.shape
        assert np.array_equal(vectors[vectors.find(["ground/."])[0]], vectors_of(AWKWARD)[2])


@pytest.mark.parametrize("words", [*HARD, [""], ["$backslash$"], ["$period."]])
def test_words_that_a_key_cannot_tell_apart_are_refused(tmp_path, words):
    with pytest.raises(BadInput, match="use a layout with integer keys"):
        put(tmp_path / "v.h5", [["a"], words], "elmoformanylangs")
    assert list(tmp_path.iterdir()) == []


def test_keys_and_words():
    for words in (["a.b", "/"], ["...", "//"], ["New York", ""], ["$", "period$"]):
        assert words_of(key_of(words)) == words


def test_a_sentence_that_comes_again_with_other_vectors_has_no_key(tmp_path):
    rounded, other = [np.ones((1, 4), "f4") + difference for difference in (1e-6, 1e-3)]
    with pytest.warns(UserWarning, match="of 2 sentences 1 that come again are stored once"):
        fill(tmp_path / "v.h5", "elmoformanylangs", (["a"], np.ones((1, 4))), (["a"], rounded))
    with pytest.raises(BadInput, match=r"comes twice with other vectors, .* integer keys"):
        fill(tmp_path / "w.h5", "elmoformanylangs", (["a"], np.ones((1, 4))), (["a"], other))


def test_twelve_sentences_keep_their_order(tmp_path):
    """Row 47: 0, 1, 2, ..., 10, 11, in every layout."""
    sentences = [[word] for word in "zyxwvutsrqpo"]
    for layout in LAYOUTS:
        due = put(tmp_path / "v.h5", sentences, layout, *(() if layout == "elmoformanylangs" else (3,)))
        with Vectors(tmp_path / "v.h5") as vectors:
            assert all(np.array_equal(found, right) for found, right in zip(vectors, due, strict=True))


def test_text_is_written_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("zh_elmo.embed.hdf5_write._AT_ONCE", 4)
    sentences = [[f"w{number}"] for number in range(13)]
    put(tmp_path / "v.h5", sentences, "own")
    with Vectors(tmp_path / "v.h5") as vectors:
        assert [vectors.words(number) for number in range(13)] == sentences


@pytest.mark.parametrize("layout", LAYOUTS)
def test_raising_inside_the_writer_leaves_the_file_of_before(tmp_path, layout):
    """Row 49: a file under its name is whole. What must survive an interruption is a store's (tests of `write`)."""
    shape = () if layout == "elmoformanylangs" else (3,)
    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path / "v.h5", layout, (["a"], np.ones((*shape, 1, 4))), error=KeyboardInterrupt())
    assert list(tmp_path.iterdir()) == []
    put(tmp_path / "v.h5", [["a"], ["b"]], layout, *shape)
    with pytest.raises(RuntimeError, match="far in"):
        fill(tmp_path / "v.h5", layout, (["c"], np.ones((*shape, 1, 4))), error=RuntimeError("far in"))
    assert len(Vectors(tmp_path / "v.h5")) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["v.h5"]


def test_writing_without_locks(tmp_path, monkeypatch):
    """Row 48: no lock is asked for; where one is forced and there are none, the setting is named."""
    created = h5py.File

    def watched(*arguments, **options):
        assert options["locking"] is False
        return created(*arguments, **options)

    monkeypatch.setattr(h5py, "File", watched)
    put(tmp_path / "v.h5", [["a"]], "own")

    def refuse(*_, **__):
        raise OSError("Unable to create file (unable to lock file, errno = 37, 'No locks available')")

    monkeypatch.setattr(h5py, "File", refuse)
    with pytest.raises(BadInput, match="HDF5_USE_FILE_LOCKING=FALSE"):
        put(tmp_path / "w.h5", [["a"]], "own")
    assert [path.name for path in tmp_path.iterdir()] == ["v.h5"]


@pytest.mark.parametrize(
    ("layout", "words", "shape", "said"),
    [
        ("own", ["a"], (3, 2, 4), r"shape \(3, 1, 4\) are due, not \(3, 2, 4\)"),
        ("own", ["a"], (2, 1, 4), r"shape \(3, 1, 4\) are due, not \(2, 1, 4\)"),
        ("own", ["a"], (1, 4), r"shape \(3, 1, 4\) are due"),
        ("bilm-tf", ["a"], (1, 4), r"\(3, 1, 4\) are due"),
        ("allennlp", ["a"], (3, 1, 5), r"\(3, 1, 4\) are due"),
        ("elmoformanylangs", ["a"], (3, 1, 4), r"2 axes, the last but one of 1 words, are due, not \(3, 1, 4\)"),
    ],
)
def test_other_shapes_are_refused(tmp_path, layout, words, shape, said):
    first = [] if layout == "elmoformanylangs" else [(["b", "c"], np.ones((3, 2, 4)))]
    with pytest.raises(BadInput, match=rf"v\.h5: vectors of .*{said}"):
        fill(tmp_path / "v.h5", layout, *first, (words, np.ones(shape)))
    assert list(tmp_path.iterdir()) == []


def test_numbers_and_layouts_that_cannot_be(tmp_path):
    with pytest.raises(BadInput, match="not finite as float16: a"):
        fill(tmp_path / "v.h5", "own", (["a"], np.full((1, 4), 1e5)), dtype="float16")
    with pytest.raises(BadInput, match="the layout allennlp is float32"):
        fill(tmp_path / "v.h5", "allennlp", dtype="float16")
    with pytest.raises(BadInput, match="a layout is one of own, bilm-tf"):
        fill(tmp_path / "v.h5", "x")
    assert list(tmp_path.iterdir()) == []


# Text -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", [-1, 0, 2])
def test_text_is_byte_for_byte_the_original_program_s(tmp_path, layer):
    golden = (GOLDEN / "efml_word_char" / f"cli.ly{layer}.txt").read_bytes()
    blocks = golden.decode("utf-8").removesuffix("\n\n").split("\n\n")
    sentences = [[line.split("\t")[0] for line in block.split("\n")] for block in blocks]
    with Vectors(GOLDEN / "efml_word_char" / f"cli.ly{layer}.hdf5") as vectors, writing_text(tmp_path / "v.txt") as out:
        for words in sentences:
            out.add(words, vectors[vectors.find(words)[0]])
    assert (tmp_path / "v.txt").read_bytes() == golden


def test_text_of_awkward_sentences(tmp_path):
    with writing_text(tmp_path / "v.txt") as out:
        out.add([], np.ones((0, 2)))
        out.add(["New York", "\ud800."], np.array([[1, -2.5], [0.1, 1e-9]]))
    text = "\nNew York\t1.00000000\t-2.50000000\n\ufffd.\t0.10000000\t0.00000000\n\n"
    assert (tmp_path / "v.txt").read_text("utf-8") == text
    for words, shape, said in (
        (["a\tb"], (1, 2), "holds a TAB"),
        (["a\n"], (1, 2), "TAB"),
        (["a"], (3, 1, 2), "shape"),
    ):
        with pytest.raises(BadInput, match=said), writing_text(tmp_path / "w.txt") as out:
            out.add(words, np.ones(shape))
    assert [path.name for path in tmp_path.iterdir()] == ["v.txt"]
