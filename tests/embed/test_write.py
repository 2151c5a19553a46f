"""Files of three kinds to stores and HDF5 files."""

from __future__ import annotations

import errno
import json
import lzma
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from zh_elmo.embed.read import kind_of
from zh_elmo.embed.read import sentences as read
from zh_elmo.embed.store import Store
from zh_elmo.embed.write import write
from zh_elmo.files import BadInput
from zh_elmo.text.pipeline import Pipeline, TextSettings

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
    monkeypatch.setattr("zh_elmo.embed.write._SENTENCES_AT_ONCE", 4)
    write(embedder, source, tmp_path / "v.h5", kind="words", layers=None, mix=(0, 0, 1), dtype="float16", quiet=True)
    due = embedder.embed([["a", "/", "a", "."], ["a", "/", "a", "."], ["ground/."], ["."]], layers=2)
    with h5py.File(tmp_path / "v.h5") as file:
        assert len(file) == 15
        assert json.loads(file["sentences"].asstr()[13]) == ["我", "买"]
        for number, vectors in enumerate(due):
            assert np.array_equal(file[str(number)][:], vectors.astype(np.float16))


def test_resume(embedder, tmp_path, monkeypatch):
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
    assert len(Store.open(tmp_path / "v")) == 14
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
    ],
)
def test_wrong_options(embedder, tmp_path, out, options, what):
    source = put(tmp_path / "w.txt", WORDS)
    with pytest.raises(BadInput, match=what):
        write(embedder, source, tmp_path / out, quiet=True, **options)
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
    ],
)
def test_kinds_are_told_apart(tmp_path, name, text, kind):
    assert kind_of(put(tmp_path / name, text)) == kind


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
    monkeypatch.setattr("zh_elmo.embed.write.shutil.disk_usage", lambda _: SimpleNamespace(free=next(free)))
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
