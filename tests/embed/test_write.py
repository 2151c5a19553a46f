"""Files of four kinds to stores, HDF5 files and text."""

from __future__ import annotations

import errno
import json
import lzma
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from zh_elmo.embed.embedder import Embedder, load
from zh_elmo.embed.hdf5_read import Vectors
from zh_elmo.embed.layouts import LAYOUTS
from zh_elmo.embed.read import kind_of
from zh_elmo.embed.read import sentences as read
from zh_elmo.embed.store import Store
from zh_elmo.embed.write import write
from zh_elmo.files import BadInput, sha256
from zh_elmo.text.pipeline import Pipeline, TextSettings

GOLDEN = Path(__file__).parents[1] / "golden" / "data"
WORDS = "我 买 了 苹果 。\n\n你 吃 了 a/b .\n我 买 了 苹果 。\n"
CONLLU = """# text = 我買了。
1	我	_	_	_	_	0	_	_	_
2-3	買了	_	_	_	_	_	_	_	_
2	買	_	_	_	_	1	_	_	_
3	了	_	_	_	_	1	_	_	_
3.1	空	_	_	_	_	_	_	_	_
4	。	_	_	_	_	1	_	_	_


1	吃	_	_	_	_	0	_	_	_
"""


def put(path, text):
    path.write_bytes(lzma.compress(text.encode()) if path.suffix == ".xz" else text.encode())
    return path


def test_words_to_a_store(embedder, tmp_path):
    done = write(embedder, put(tmp_path / "w.txt", WORDS), tmp_path / "v.store", dtype="float32", quiet=True)
    assert (done.kind, done.sentences, done.words) == ("words", 4, 15)
    store = Store.open(tmp_path / "v.store", model=embedder.digest, text=embedder.text_digest)
    lines = [line.split() for line in WORDS.splitlines()]
    assert [store.sentence(i) for i in range(len(store))] == lines
    for vectors, due in zip(store, embedder(lines), strict=True):
        assert np.array_equal(vectors, due)
    assert store.meta.facts["source"]["name"] == "w.txt"


def test_raw_text_to_a_store(embedder, tmp_path):
    write(embedder, put(tmp_path / "t.txt.xz", "我買了蘋果。你吃了。\n\n大人\n"), tmp_path / "v.store", quiet=True)
    store = Store.open(tmp_path / "v.store")
    due = [list("我买了苹果。"), list("你吃了。"), list("大人")]
    assert [store.sentence(i) for i in range(len(store))] == due
    assert np.abs(store[1] - embedder(due)[1]).max() < 1e-2


def test_conllu_to_hdf5(embedder, tmp_path):
    h5py = pytest.importorskip("h5py")
    done = write(embedder, put(tmp_path / "t.conllu", CONLLU), tmp_path / "v.h5", quiet=True)
    assert (done.kind, done.sentences, done.words) == ("conllu", 2, 5)
    due = embedder([["我", "買", "了", "。"], ["吃"]])
    with h5py.File(tmp_path / "v.h5") as file:
        assert set(file) == {"0", "1", "sentences"}
        assert [json.loads(line) for line in file["sentences"].asstr()[:]] == [["我", "買", "了", "。"], ["吃"]]
        for number, vectors in enumerate(due):
            assert file[str(number)].dtype == np.float32
            assert np.array_equal(file[str(number)][:], vectors)
        assert file.attrs["model"] == embedder.digest


def test_hdf5_of_a_mix_and_awkward_words(embedder, tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    source = put(tmp_path / "w.txt", "a / a .\na / a .\nground/.\n.\n" + "我 买\n" * 10)
    monkeypatch.setattr("zh_elmo.embed.hdf5_write._AT_ONCE", 4)
    write(embedder, source, tmp_path / "v.h5", kind="words", layers=None, mix=(0, 0, 1), dtype="float16", quiet=True)
    due = embedder.embed([["a", "/", "a", "."], ["a", "/", "a", "."], ["ground/."], ["."]], layers=2)
    with h5py.File(tmp_path / "v.h5") as file:
        assert len(file) == 15
        assert json.loads(file["sentences"].asstr()[13]) == ["我", "买"]
        for number, vectors in enumerate(due):
            assert np.array_equal(file[str(number)][:], vectors.astype(np.float16))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(embedder, tmp_path, layout):
    """Row 45 among them: the same line twice, a slash, a blank line: an entry for each line."""
    pytest.importorskip("h5py")
    source = put(tmp_path / "w.txt", "a / a .\na / a .\n\nground/.\n.\n我 买\n")
    layers = None if layout == "elmoformanylangs" else "all"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        write(embedder, source, tmp_path / "v.h5", kind="words", layout=layout, layers=layers, quiet=True)
    sentences = [["a", "/", "a", "."], ["a", "/", "a", "."], [], ["ground/."], ["."], ["我", "买"]]
    if layout == "elmoformanylangs":
        sentences = [sentences[0], *sentences[3:]]
        assert "1 without words, which have no key, are left out and 1 that come again" in str(told[0].message)
    assert len(told) == (layout == "elmoformanylangs")
    with Vectors(tmp_path / "v.h5") as vectors:
        assert vectors.layout == layout
        for number, (found, due) in enumerate(zip(vectors, embedder.embed(sentences, layers=layers), strict=True)):
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, due, atol=1e-6)
            assert layout == "bilm-tf" or number in vectors.find(sentences[number]) or number == 0


def test_what_made_a_file_is_in_it(embedder, tmp_path):
    h5py = pytest.importorskip("h5py")
    source, mix = put(tmp_path / "w.txt", WORDS), np.array([0, 0.5, 1], "f4")
    write(embedder, source, tmp_path / "v.h5", layers=None, mix=mix, command="zh-elmo embed 'a b'", quiet=True)
    with h5py.File(tmp_path / "v.h5") as file:
        facts = json.loads(file.attrs["facts"])
    assert facts["command"] == "zh-elmo embed 'a b'"
    assert facts["source"] == {"name": "w.txt", "sha256": sha256(source), "kind": "words"}
    how = {"state": "reset", "normalize": "model", "layers": None, "mix": [0, 0.5, 1], "warmup": False}
    assert facts["how"] == how | {"batch_size": None}


def test_text(embedder, tmp_path):
    write(embedder, put(tmp_path / "w.txt", WORDS), tmp_path / "v.txt", layers=-1, quiet=True)
    lines = [line.split() for line in WORDS.splitlines()]
    due = embedder.embed(lines, layers=2)
    blocks = (tmp_path / "v.txt").read_text("utf-8").split("\n")
    for words, vectors in zip(lines, due, strict=True):
        for word, vector in zip(words, vectors, strict=True):
            first, *numbers = blocks.pop(0).split("\t")
            assert first == word
            np.testing.assert_allclose(np.array(numbers, float), vector, atol=1e-6)
        assert blocks.pop(0) == ""
    assert blocks == [""]
    (tmp_path / "bad.txt").write_bytes("我 买\n".encode() * 9 + b"\xff\n")
    before = (tmp_path / "v.txt").read_bytes()
    with pytest.raises(BadInput, match=r"bad.txt:10"):
        write(embedder, tmp_path / "bad.txt", tmp_path / "v.txt", kind="words", layers=0, quiet=True)
    assert (tmp_path / "v.txt").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.txt", "v.txt", "w.txt"]


@pytest.mark.filterwarnings("ignore:the model reads 48")
@pytest.mark.parametrize(
    ("golden", "layout", "layers", "batch_size"),
    [
        ("bilm_tf_dump", "bilm-tf", "all", 1),
        ("allennlp_cli_all", "allennlp", "all", 4),
        ("allennlp_cli_top", "allennlp", -1, 4),
        ("allennlp_cli_average", "allennlp", None, 4),
    ],
)
def test_files_of_the_original_programs(tmp_path, golden, layout, layers, batch_size):
    """Carried state and layout together: what bilm-tf's dump and AllenNLP's command wrote for the same text."""
    pytest.importorskip("h5py")
    folder, out = GOLDEN / "bilm_skip", tmp_path / "v.h5"
    options = {"kind": "words", "layout": layout, "layers": layers, "batch_size": batch_size, "quiet": True}
    write(load(folder / "weights.hdf5", state="carry"), GOLDEN / "text.txt", out, **options)
    with Vectors(out) as found, Vectors(folder / f"{golden}.hdf5") as due:
        assert found.layout == due.layout == layout
        assert found.keys == due.keys
        for vectors, right in zip(found, due, strict=True):
            np.testing.assert_allclose(vectors, right, rtol=0, atol=5e-5)
        if layout == "allennlp":
            assert [found.words(number) for number in range(20)] == [due.words(number) for number in range(20)]


@pytest.mark.filterwarnings("ignore:the model reads 48", "ignore:.* that come again")
@pytest.mark.parametrize("layer", [-1, 0, 2])
def test_files_of_elmoformanylangs(tmp_path, layer):
    pytest.importorskip("h5py")
    folder, layers = GOLDEN / "efml_word_char", None if layer < 0 else layer
    options = {"kind": "tabs", "layers": layers, "quiet": True}
    embedder = load(folder)
    write(embedder, GOLDEN / "text_tab.txt", tmp_path / "v.h5", layout="elmoformanylangs", **options)
    with Vectors(tmp_path / "v.h5") as found, Vectors(folder / f"cli.ly{layer}.hdf5") as due:
        assert sorted(found.keys) == sorted(due.keys)
        for number, key in enumerate(found.keys):
            np.testing.assert_allclose(found[number], due[due.keys.index(key)], rtol=0, atol=2e-5)
    write(embedder, GOLDEN / "text_tab.txt", tmp_path / "v.txt", **options)
    ours, theirs = [
        {tuple(line.split("\t")[0] for line in block.split("\n")) for block in path.read_text("utf-8").split("\n\n")}
        for path in (tmp_path / "v.txt", folder / f"cli.ly{layer}.txt")
    ]
    assert ours == theirs


def test_warmup_and_carried_state(new_bilm, tmp_path):
    pytest.importorskip("h5py")
    source, text = put(tmp_path / "w.txt", WORDS), TextSettings(segmenter="characters")
    lines = [line.split() for line in WORDS.splitlines()]
    carried = Embedder(new_bilm(), text, state="carry")
    due = carried.embed(lines, layers="all", batch_size=2, warmup=True)
    carried.reset()
    write(carried, source, tmp_path / "v.h5", batch_size=2, warmup=True, quiet=True)
    with Vectors(tmp_path / "v.h5") as vectors:
        for found, right in zip(vectors, due, strict=True):
            np.testing.assert_allclose(found, right, atol=1e-6)
        assert np.abs(vectors[0][1:] - Embedder(new_bilm(), text)(lines)[0][1:]).max() > 1e-4
    carried.reset()
    with pytest.raises(BadInput, match="with state carry a store cannot be resumed"):
        write(carried, source, tmp_path / "v.store", resume=True, quiet=True)


def test_raw_text_for_a_model_whose_segmenter_nobody_knows(new_bilm, tmp_path):
    source = put(tmp_path / "t.txt", "我买了苹果。")
    with pytest.warns(UserWarning, match=r"t\.txt: raw text is cut into words by jieba, and nobody says"):
        write(Embedder(new_bilm()), source, tmp_path / "v.store", quiet=True)
    assert len(Store.open(tmp_path / "v.store")) == 1


def test_resume(embedder, tmp_path, monkeypatch):
    """Row 49 as well: an interruption costs what was not committed, and no more."""
    source = put(tmp_path / "w.txt", WORDS * 10)
    write(embedder, source, tmp_path / "whole", dtype="float32", quiet=True)

    append, count = Store.append, iter(range(1000))

    def killed(self, words, vectors):
        append(self, words, vectors)
        self.commit()
        if next(count) == 13:
            raise KeyboardInterrupt

    monkeypatch.setattr(Store, "append", killed)
    with pytest.raises(KeyboardInterrupt):
        write(embedder, source, tmp_path / "v", dtype="float32", quiet=True)
    monkeypatch.setattr(Store, "append", append)
    assert len(Store.open(tmp_path / "v")) == 14  # what was flushed can be read
    with pytest.raises(BadInput, match="something already"):
        write(embedder, source, tmp_path / "v", quiet=True)
    done = write(embedder, source, tmp_path / "v", resume=True, quiet=True)
    assert done.sentences == 40
    assert done.words < 150
    whole, resumed = Store.open(tmp_path / "whole"), Store.open(tmp_path / "v")
    assert len(resumed) == len(whole) == 40
    for number in range(40):
        assert resumed.sentence(number) == whole.sentence(number)
        assert np.abs(resumed[number] - whole[number]).max(initial=0) < 1e-5

    with pytest.raises(BadInput, match="a store of another file"):
        write(embedder, put(tmp_path / "other.txt", WORDS), tmp_path / "v", resume=True, quiet=True)


def test_a_new_store_can_be_asked_to_resume(embedder, tmp_path):
    done = write(embedder, put(tmp_path / "w.txt", WORDS), tmp_path / "v", resume=True, quiet=True)
    assert done.sentences == 4


def test_progress_tells_words_and_rate(embedder, tmp_path, capsys):
    write(embedder, put(tmp_path / "w.txt", WORDS), tmp_path / "v")
    assert "embed (words): 15 of 15 words (100 %), " in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "\n \n", "# only\n\n"])
def test_a_file_without_a_sentence_leaves_nothing(embedder, tmp_path, text):
    source = put(tmp_path / ("e.conllu" if text.startswith("#") else "e.txt"), text)
    for name in ("v.h5", "v.store"):
        with pytest.raises(BadInput, match="no sentence in this file"):
            write(embedder, source, tmp_path / name, quiet=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == [source.name]


def test_a_fault_far_in_leaves_no_hdf5_file(embedder, tmp_path):
    (tmp_path / "t.txt").write_bytes("我 买\n".encode() * 9 + b"\xff\n")
    with pytest.raises(BadInput, match=r"t.txt:10 \(byte 72\): not UTF-8"):
        write(embedder, tmp_path / "t.txt", tmp_path / "v.h5", kind="words", quiet=True)
    assert [p.name for p in tmp_path.iterdir()] == ["t.txt"]


@pytest.mark.parametrize(
    ("out", "options", "what"),
    [
        ("v.h5", {"resume": True}, "cannot be resumed"),
        ("v", {"layers": 1}, "a store has all layers"),
        ("v.h5", {"layers": 9}, "from 0 to 2"),
        ("v.h5", {"layers": -4}, "from 0 to 2"),
        ("v.txt", {"layers": 9}, "from 0 to 2"),
        ("v", {"layout": "allennlp"}, "is one of HDF5 files"),
        ("v.txt", {"layout": "own"}, "is one of HDF5 files"),
        ("v.txt", {}, "text holds one vector a word"),
        ("v.txt", {"layers": 0, "resume": True}, "cannot be resumed"),
        ("v.txt", {"layers": 0, "dtype": "float32"}, "has 8 decimals"),
        ("v.h5", {"layout": "elmoformanylangs"}, "the layout elmoformanylangs holds one vector a word"),
        ("v.h5", {"layout": "bilm-tf", "layers": None}, "holds all layers"),
        ("v.h5", {"layout": "allennlp", "dtype": "float16"}, "the layout allennlp is float32"),
        ("v.h5", {"batch_size": 4}, "with state carry alone"),
    ],
)
def test_wrong_options(embedder, tmp_path, out, options, what):
    source = put(tmp_path / "w.txt", WORDS)
    with pytest.raises(BadInput, match=what) as caught:
        write(embedder, source, tmp_path / out, quiet=True, **options)
    assert caught.value.usage
    assert [p.name for p in tmp_path.iterdir()] == ["w.txt"]
    with pytest.raises(BadInput, match="no such file"):
        write(embedder, tmp_path / "nowhere", tmp_path / out)
    with pytest.raises(BadInput, match="a folder stands where a file"):
        write(embedder, tmp_path, tmp_path / out)


def test_without_h5py(embedder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(BadInput, match=r"needs the package h5py: pip install"):
        write(embedder, put(tmp_path / "w.txt", WORDS), tmp_path / "v.h5", quiet=True)


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.txt", WORDS, "words"),
        ("a.txt", "我买了苹果。\n他说 Python 很好。", "text"),
        ("a.txt", "plain english words .", "text"),
        ("a.conllu", "", "conllu"),
        ("a.conllu.xz", "", "conllu"),
        ("a.txt", "", "text"),
        ("a.txt", WORDS.replace(" ", "\t"), "tabs"),
        ("a.txt", "0\t我买了苹果。\n1\t他不吃。\n", "text"),
        ("a.txt", CONLLU, "conllu"),
        ("a.txt", "# a\n\n1-2\t我买" + 8 * "\t_" + "\n", "conllu"),
        ("a.txt", "\n1\t我\t买\n", "tabs"),
    ],
)
def test_kinds_are_told_apart(tmp_path, name, text, kind):
    assert kind_of(put(tmp_path / name, text)) == kind


def test_words_with_tabs_between_them_can_hold_spaces(tmp_path):
    source = put(tmp_path / "a.txt", "New York\tis\t 大 \n\n \t\n\u3000\t\tx\n\u3000\n")
    due = [["New York", "is", " 大 "], [], [], ["\u3000", "x"], ["\u3000"]]
    assert [found.words for found in read(source, "tabs", Pipeline(TextSettings()))] == due


def test_raw_text_given_as_words_is_remarked_on(tmp_path):
    source = put(tmp_path / "a.txt", "我 买\n" + "我" * 40 + "\n")
    with pytest.warns(UserWarning, match=r"a.txt:2: 40 Chinese characters without a space"):
        assert len(list(read(source, "words", Pipeline(TextSettings())))) == 2


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1\t我\n", "a.conllu:1: 10 columns"),
        ("# x\n1\t\t_\t_\t_\t_\t0\t_\t_\t_\n", "a.conllu:2: 10 columns with a FORM"),
        ("1\t我\t_\t_\t_\t_\t0\t_\t_\t_\n1\t买\t_\t_\t_\t_\t0\t_\t_\t_\n", "a.conllu:2: word 2 is due, not 1"),
        ("x\t我\t_\t_\t_\t_\t0\t_\t_\t_\n", "a.conllu:1: x is no ID"),
    ],
)
def test_conllu_that_cannot_be_read(tmp_path, text, what):
    with pytest.raises(BadInput, match=what):
        list(read(put(tmp_path / "a.conllu", text), "conllu", Pipeline(TextSettings())))


def test_a_full_disk_is_one_line_and_no_hdf5_file(embedder, tmp_path, monkeypatch):
    """h5py crashes the process where it cannot write, so room is looked for before each sentence."""
    pytest.importorskip("h5py")
    free = iter([1 << 30, 1 << 10])
    monkeypatch.setattr("zh_elmo.embed.hdf5_write.shutil.disk_usage", lambda _: SimpleNamespace(free=next(free)))
    source = put(tmp_path / "w.txt", WORDS)
    with pytest.raises(OSError, match="no room") as caught:
        write(embedder, source, tmp_path / "v.h5", quiet=True)
    assert caught.value.errno == errno.ENOSPC
    assert [path.name for path in tmp_path.iterdir()] == ["w.txt"]


def test_a_store_on_a_full_disk_says_how_to_go_on(embedder, tmp_path, monkeypatch):
    source, out = put(tmp_path / "w.txt", WORDS), tmp_path / "v.store"

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "append", full)
        with pytest.raises(BadInput, match=r"v\.store: the disk is full.*--resume"):
            write(embedder, source, out, quiet=True)
    write(embedder, source, out, resume=True, quiet=True)
    assert len(Store.open(out)) == 4
