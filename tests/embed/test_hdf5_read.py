"""HDF5 files of vectors, of the original programs and made up, read back."""

from __future__ import annotations

import copy
import fcntl
import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

from zh_elmo.embed.elmo import Elmo
from zh_elmo.embed.hdf5_read import Vectors
from zh_elmo.files import BadInput

h5py = pytest.importorskip("h5py")
GOLDEN = Path(__file__).parents[1] / "golden" / "data"
TEXT = [line.split() for line in (GOLDEN / "text.txt").read_text("utf-8").splitlines()]
TABS = [line.split("\t") for line in (GOLDEN / "text_tab.txt").read_text("utf-8").splitlines() if line]
RNG = np.random.default_rng(1)


def numbers(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def make(path: Path, datasets: dict[str, object], **attributes: object) -> Path:
    with h5py.File(path, "w") as file:
        for name, value in datasets.items():
            file[name] = value
        file.attrs.update(attributes)
    return path


# What the original programs wrote -------------------------------------------------------------------------------------


def test_bilm_tf():
    """Row 47: integer keys in the order of the input, 2 before 10."""
    with Vectors(GOLDEN / "bilm_skip" / "bilm_tf_dump.hdf5") as vectors:
        assert (vectors.layout, len(vectors), vectors.n_layers, vectors.width) == ("bilm-tf", 20, 3, 32)
        assert vectors.keys == [str(number) for number in range(20)]
        assert [found.shape for found in vectors] == [(3, len(words), 32) for words in TEXT]
        with h5py.File(vectors.path, locking=False) as file:
            assert np.array_equal(vectors[10], file["10"][()])
            assert np.array_equal(vectors[-1], file["19"][()])
        assert vectors.words(0) is None
        with pytest.raises(BadInput, match="have numbers alone"):
            vectors.find(TEXT[0])
        with pytest.raises(IndexError, match="sentence 20 of a file of 20"):
            vectors[20]


@pytest.mark.parametrize("name", ["all", "top", "average"])
def test_allennlp(name):
    """Row 46: from a sentence to its number; AllenNLP tells but the last place of a sentence that came again."""
    with Vectors(GOLDEN / "bilm_skip" / f"allennlp_cli_{name}.hdf5") as vectors:
        assert (vectors.layout, len(vectors), vectors.width) == ("allennlp", 20, 32)
        last = {" ".join(words): number for number, words in enumerate(TEXT)}
        for number, words in enumerate(TEXT):
            place = last[" ".join(words)]
            assert vectors[number].shape == ((3,) if name == "all" else ()) + (len(words), 32)
            assert vectors.words(number) == (words if place == number else None)
            assert vectors.find(words) == vectors.find(" ".join(words)) == vectors.find("\t".join(words)) == [place]
        assert len(set(last.values())) == 17
        assert vectors.find(["no", "such"]) == []


@pytest.mark.parametrize("layer", [-1, 0, 2])
def test_elmoformanylangs(layer):
    """Row 44: the key is the whole sentence, with escapes; found by its words all the same."""
    with Vectors(GOLDEN / "efml_word_char" / f"cli.ly{layer}.hdf5") as vectors:
        assert (vectors.layout, len(vectors)) == ("elmoformanylangs", len({tuple(words) for words in TABS}))
        for words in TABS:
            [number] = vectors.find(words)
            assert vectors.words(number) == words
            assert vectors[number].shape == (len(words), 32)
            assert vectors.find("\t".join(words)) == vectors.find(" ".join(words)) == [number]
        assert vectors.words(vectors.find("and/or x.y New York")[0]) == ["and/or", "x.y", "New York"]


def test_sentences_as_keys(tmp_path):
    """Row 45: in AllenNLP 0.4 to 0.5.1 a slash in a sentence made nested groups, and a blank around it was lost."""
    sentences = ["a / a .", "ground/x .", "/ first", "just words", "two  blanks", "我 买 。", ".."]
    keys = {sentence: numbers(3, len(sentence.split()), 4) for sentence in sentences}
    with Vectors(make(tmp_path / "v.h5", keys)) as vectors:
        assert vectors.layout == "sentences"
        assert len(vectors) == 7
        for sentence, due in keys.items():
            for way in (sentence, sentence.split()):
                [number] = vectors.find(way)
                assert np.array_equal(vectors[number], due)
        assert vectors.words(vectors.find("a / a .")[0]) == ["a", "/", "a", "."]
        assert vectors.words(vectors.find("two  blanks")[0]) == ["two", "blanks"]
        assert vectors.words(vectors.find("/ first")[0]) is None  # its slash is gone
        assert vectors.find(["first"]) == []


def test_old_elmoformanylangs_had_spaces_in_its_keys(tmp_path):
    keys = {"the mat $period$": numbers(3, 4), "New York\tis": numbers(2, 4), "one": numbers(1, 4)}
    with Vectors(make(tmp_path / "v.h5", keys)) as vectors:
        assert vectors.layout == "elmoformanylangs"
        assert [vectors.words(n) for n in range(3)] == [["New York", "is"], ["one"], ["the", "mat", "."]]
        assert vectors.find("the\tmat\t.") == vectors.find("the mat .") == vectors.find(["the", "mat", "."]) == [2]
        assert vectors.find(["New", "York", "is"]) == []
        assert vectors.find("New York is") == [0]


def test_keys_of_words_alone_and_of_numbers(tmp_path):
    with Vectors(make(tmp_path / "a.h5", {"好": numbers(1, 4), "7": numbers(1, 4)})) as vectors:
        assert (vectors.layout, vectors.keys) == ("elmoformanylangs", ["7", "好"])
    with Vectors(make(tmp_path / "b.h5", {"10": numbers(1, 4), "9": numbers(1, 4)})) as vectors:
        assert (vectors.layout, vectors.keys) == ("bilm-tf", ["9", "10"])


def test_own_files_of_before_layouts_had_names(tmp_path):
    lines = [json.dumps(["a", "b"]), json.dumps([])]
    datasets = {"0": numbers(3, 2, 4), "1": numbers(3, 0, 4), "sentences": lines}
    for attributes in ({}, {"format": "zh_elmo vectors"}):
        with Vectors(make(tmp_path / "v.h5", datasets, **attributes)) as vectors:
            assert vectors.layout == "own"
            assert [vectors.words(0), vectors.words(1)] == [["a", "b"], []]
            assert vectors.find([]) == vectors.find("") == [1]


def test_numbers_of_other_kinds(tmp_path):
    datasets = {"0": numbers(2, 4).astype(">f8"), "1": np.arange(8, dtype="i2").reshape(2, 4), "2": numbers(1, 4)}
    with Vectors(make(tmp_path / "v.h5", datasets)) as vectors:
        assert vectors[0].dtype == np.float64
        assert vectors[0].dtype.isnative
        assert np.array_equal(vectors[0], datasets["0"])
        assert np.array_equal(vectors[1], datasets["1"])


# As a source of layers ------------------------------------------------------------------------------------------------


def test_a_file_with_all_layers_is_a_source_for_elmo():
    vectors = Vectors(GOLDEN / "bilm_skip" / "allennlp_cli_all.hdf5")
    module = Elmo(vectors, dropout=0.0)
    outputs, mask = module([TEXT[1], TEXT[4]])
    assert outputs[0].shape == (2, 9, 32)
    np.testing.assert_allclose(outputs[0][0].detach(), vectors[1].mean(0), atol=1e-6)
    assert mask.sum() == 10
    assert copy.deepcopy(module).source is vectors
    again = pickle.loads(pickle.dumps(vectors))
    assert np.array_equal(again[3], vectors[3])
    with pytest.raises(BadInput, match="holds no vectors of the sentence not here"):
        module([["not", "here"]])


def test_a_file_that_is_no_source_says_why(tmp_path):
    with pytest.raises(BadInput, match="one vector a word, not all layers"):
        Elmo(Vectors(GOLDEN / "bilm_skip" / "allennlp_cli_top.hdf5"))
    with pytest.raises(BadInput, match="have numbers alone"):
        Elmo(Vectors(GOLDEN / "bilm_skip" / "bilm_tf_dump.hdf5"))([TEXT[0]])
    mixed = make(tmp_path / "v.h5", {"a b.c": numbers(3, 2, 4), "b": numbers(2, 1, 4)})
    with pytest.raises(BadInput, match=r"'b' has the shape \(2, 1, 4\), not \(3, words, 4\)"):
        Vectors(mixed)([["b"]])


# Files that cannot be read --------------------------------------------------------------------------------------------


def test_reading_asks_for_no_lock(tmp_path):
    """Row 48: a file that somebody has locked, or a file system without locks, can be read."""
    path = make(tmp_path / "v.h5", {"0": numbers(1, 2, 4)})
    with open(path, "r+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(OSError, match="unable to lock"):
            h5py.File(path, "r", locking=True)
        assert len(Vectors(path)) == 1


@pytest.mark.parametrize("locking", [True, False, "best-effort", None])
def test_a_file_that_this_process_has_open(tmp_path, locking):
    """Row 48: libhdf5 wants all who open a file in one process to say the same of locks."""
    path = make(tmp_path / "v.h5", {"0": numbers(1, 2, 4)})
    with h5py.File(path, "r", locking=locking):
        assert len(Vectors(path)) == 1


def test_a_lock_that_the_environment_forces_is_named(tmp_path, monkeypatch):
    """Row 48."""
    path = make(tmp_path / "v.h5", {"0": numbers(1, 2, 4)})

    def refuse(*_, **__):
        raise BlockingIOError(37, "Unable to open file (unable to lock file, errno = 37, 'No locks available')")

    monkeypatch.setattr(h5py, "File", refuse)
    with pytest.raises(BadInput, match=r"v\.h5: .*HDF5_USE_FILE_LOCKING=FALSE"):
        Vectors(path)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bilm_skip/weights.hdf5", "a model's weights, not vectors"),
        ("bilm_skip/embedding_weights.hdf5", "a model's weights, not vectors"),
        ("text.txt", "not an HDF5 file that can be read"),
        ("efml_word_char", "a folder stands where"),
        ("absent.h5", "no such file"),
    ],
)
def test_what_is_no_file_of_vectors(name, said):
    with pytest.raises(BadInput, match=said):
        Vectors(GOLDEN / name)


def test_other_things_in_the_file_are_no_sentences(tmp_path):
    datasets = {"0": numbers(1, 2, 4), "about": "text", "0x": [1, 2, 3], "more/text": "here", "1": "no vectors"}
    with Vectors(make(tmp_path / "v.h5", datasets)) as vectors:
        assert (vectors.layout, vectors.keys) == ("bilm-tf", ["0", "1"])
        with pytest.raises(BadInput, match="'1' is no array of numbers"):
            vectors[1]
    for others in ({}, {"about": "text"}, {"a b": np.zeros((2, 2), "S3")}, {"a b": numbers(4)}):
        with pytest.raises(BadInput, match="holds no vectors of sentences"):
            Vectors(make(tmp_path / "v.h5", others))


def test_a_size_without_bytes_behind_it_is_refused(tmp_path):
    path = make(tmp_path / "v.h5", {"0": numbers(3, 2, 4)})
    with h5py.File(path, "r+") as file:
        file.create_dataset("1", (3, 10**9, 1000), "f4")
        file.create_dataset("2", (3, 10**9, 1000), "f4", chunks=(1, 100, 100))
        zipped = file.create_dataset("3", (3, 10**7, 100), "f4", chunks=(1, 10**5, 100), compression="gzip")
        zipped[0, :5] = 1
        file.create_dataset("4", data=np.zeros((3, 50, 100), "f4"), compression="gzip")
    with Vectors(path) as vectors:
        for number in (1, 2, 3):
            with pytest.raises(BadInput, match=r"v\.h5: damaged: .* is said to have 12,000,000,000|12,000,000,000,000"):
                vectors[number]
        assert not vectors[4].any()  # small, and honestly full of zeros
    with h5py.File(path, "r+") as file:
        del file["0"]
        file.create_dataset("0", (3, 10**9, 1000), "f4")
    with pytest.raises(BadInput, match="damaged: '0' is said"):
        Vectors(path)


def test_nothing_outside_the_file_is_read(tmp_path):
    other = make(tmp_path / "other.h5", {"0": numbers(3, 2, 4)})
    (tmp_path / "raw").write_bytes(bytes(96))
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["0"] = numbers(3, 2, 4)
        file["1"] = h5py.ExternalLink(other, "/0")
        file["2"] = h5py.SoftLink("/0")
        file.create_dataset("3", (3, 2, 4), "f4", external=[(tmp_path / "raw", 0, 96)])
        virtual = h5py.VirtualLayout((3, 2, 4), "f4")
        virtual[...] = h5py.VirtualSource(other, "0", (3, 2, 4))
        file.create_virtual_dataset("4", virtual)
    with Vectors(tmp_path / "v.h5") as vectors:
        for number, said in ((1, "in this file"), (2, "in this file"), (3, "in another file"), (4, "in another file")):
            with pytest.raises(BadInput, match=said):
                vectors[number]
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file["a b"] = numbers(2, 4)
        file["c d"] = h5py.ExternalLink(other, "/0")
        file["a group/of sentences"] = numbers(2, 4)
        file["a group/again"] = file["a group"]  # a circle
    assert Vectors(tmp_path / "w.h5").keys == ["a b", "a group/of sentences"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["[1]"], "not a JSON list of words"),
        (["{}"], "not a JSON list"),
        (["[" * 9999], "not a JSON list"),
        (['["a"]', '["b"]'], "`sentences` is not of 1 sentences"),
    ],
)
def test_damaged_sentences(tmp_path, lines, said):
    path = make(
        tmp_path / "v.h5",
        {"0": numbers(1, 1, 4), "sentences": lines},
        format="zh_elmo vectors",
        layout=np.bytes_("own"),
    )
    with pytest.raises(BadInput, match=rf"v\.h5: damaged: .*{said}"):
        Vectors(path).find(["a"])


def test_a_damaged_index_and_strange_attributes(tmp_path):
    path = make(tmp_path / "v.h5", {"0": numbers(1, 1, 4), "sentence_to_index": ["[]"]}, format=[1, 2], layout=3)
    with pytest.raises(BadInput, match="`sentence_to_index` is not a JSON dict"):
        Vectors(path).words(0)
    path = make(tmp_path / "v.h5", {"0": numbers(1, 1, 4)}, layout=np.bytes_("allennlp"))
    with pytest.raises(BadInput, match="damaged: no `sentence_to_index`"):
        Vectors(path)
    with h5py.File(path, "w") as file:
        file["0"] = numbers(1, 1, 4)
        index = file.create_dataset("sentence_to_index", (1,), h5py.string_dtype())
        index[0] = json.dumps({"a": 0, "b": "7"})
    assert Vectors(path).find("a") == [0]
    assert Vectors(path).find("b") == []


@pytest.mark.parametrize("chunks", [(25,), None])
@pytest.mark.parametrize("lie", ["long", "everywhere"])
def test_lines_longer_than_the_file_are_refused(tmp_path, chunks, lie):
    """libhdf5 takes two gigabytes for a line that says so; and all lines can be the same bytes of the file."""
    path = tmp_path / "v.h5"
    lines = [json.dumps([word]) for word in ("a" * 3000, *"b" * 49)]
    with h5py.File(path, "w") as file:
        for number in range(50):
            file[str(number)] = numbers(1, 1, 4)
        told = file.create_dataset("sentences", (50,), h5py.string_dtype(), chunks=chunks)
        told[:] = lines
        where = told.id.get_chunk_info(0).byte_offset if chunks else told.id.get_offset()
    assert Vectors(path).find(["b"]) == list(range(1, 50))
    content = bytearray(path.read_bytes())
    line = content[where : where + 16]
    assert int.from_bytes(line[:4], "little") == 3004
    content[where : where + 16 * 25] = (2**31).to_bytes(4, "little") + line[4:] if lie == "long" else line * 25
    if lie == "long":
        content[where + 16 :] = path.read_bytes()[where + 16 :]
    path.write_bytes(content)
    with pytest.raises(
        BadInput, match=r"v\.h5: damaged: the text of `sentences`: its lines are said to have .* more than"
    ):
        Vectors(path).words(0)


def test_text_that_is_packed(tmp_path):
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["0"] = numbers(1, 1, 4)
        file.create_dataset("sentences", (1,), h5py.string_dtype(), chunks=(1,), compression=1)[0] = '["a"]'
    with pytest.raises(BadInput, match="text of `sentences` is packed in a way that is not read"):
        Vectors(tmp_path / "v.h5").words(0)
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file.update({"0": numbers(1, 1, 4), "1": numbers(1, 0, 4)})
        file.create_dataset("sentences", data=np.array(['["\u4e70"]'.encode(), b"[]"]), chunks=(1,), compression=1)
    assert Vectors(tmp_path / "v.h5").words(0) == ["买"]


def test_a_cut_file_is_one_line(tmp_path):
    whole = (GOLDEN / "bilm_skip" / "allennlp_cli_all.hdf5").read_bytes()
    path = tmp_path / "v.h5"
    for size in range(0, len(whole), 1499):
        path.write_bytes(whole[:size])
        with pytest.raises(BadInput, match=r"^\S*v\.h5: [^\n]*$"):
            Vectors(path)


def test_a_file_that_was_never_closed(tmp_path):
    with h5py.File(tmp_path / "v.h5", "w", libver="latest") as file:
        file["0"] = numbers(1, 1, 4)
        file.flush()
        (tmp_path / "copy.h5").write_bytes((tmp_path / "v.h5").read_bytes())
    with pytest.raises(BadInput, match=r"copy\.h5: still open in, or never closed by, the program"):
        Vectors(tmp_path / "copy.h5")


def test_flipped_bytes_are_one_line_or_read(tmp_path):
    """Whatever is broken: vectors, or one line; never another error, a hang, or memory without bounds."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a / b"] = numbers(3, 3, 4)
        file.create_dataset("c", data=numbers(3, 1, 4), compression="gzip", chunks=(1, 1, 4))
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file.update({"0": numbers(1, 4), "1": numbers(2, 4), "sentences": ['["a"]', '["b", "c"]']})
    rng = np.random.default_rng(3)
    refused = []
    for case in range(200):
        content = bytearray((tmp_path / f"{'ab'[case % 2]}.h5").read_bytes())
        for place in rng.integers(len(content) if case % 3 else 2000, size=1 + case % 8):
            content[place] = rng.choice([0, 1, 127, 128, 255])
        (tmp_path / "v.h5").write_bytes(content)
        try:
            with Vectors(tmp_path / "v.h5") as vectors:
                assert all(found.nbytes < 1 << 20 for found in vectors)
                vectors.find(["a", "/", "b"])
                vectors.words(0)
        except BadInput as error:
            refused.append(str(error))
    assert 20 < len(refused) < 180
    assert all(re.fullmatch(r"\S*v\.h5: [^\n]+", line) for line in refused)
