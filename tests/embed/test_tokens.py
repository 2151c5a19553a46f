"""The context-free vectors of a vocabulary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zh_elmo.embed.embedder import load
from zh_elmo.embed.tokens import encodings, write_token_embeddings
from zh_elmo.files import BadInput

h5py = pytest.importorskip("h5py")
GOLDEN = Path(__file__).parents[1] / "golden" / "data"


def test_the_file_of_bilm_tf(tmp_path):
    folder = GOLDEN / "bilm_skip"
    embedder = load(folder / "weights.hdf5")
    done = write_token_embeddings(embedder, folder / "vocab.txt", tmp_path / "t.h5", quiet=True)
    assert (done.words, done.width) == (75, 16)
    with h5py.File(tmp_path / "t.h5") as ours, h5py.File(folder / "embedding_weights.hdf5") as theirs:
        assert set(ours) == {"embedding"}
        assert ours["embedding"].dtype == np.float32
        np.testing.assert_allclose(ours["embedding"][()], theirs["embedding"][()], rtol=0, atol=2e-5)


def test_rows_are_lines(embedder, tmp_path, monkeypatch):
    monkeypatch.setattr("zh_elmo.embed.tokens._AT_ONCE", 5)
    monkeypatch.setattr("zh_elmo.embed.tokens._BLOCK", 2)
    text = "苹果\n</S>\n 我\t\n我\n\n!!!MAXTERMID\n買\n<S>\nabcabcabc\r\n<S>\n<UNK>\n"
    (tmp_path / "vocab.txt").write_bytes(text.encode())
    words = ["苹果", "</S>", "我", "我", "", "買", "<S>", "abcabcabc", "<S>", "<UNK>"]
    assert write_token_embeddings(embedder, tmp_path / "vocab.txt", tmp_path / "t.h5", quiet=True).words == len(words)
    bilm = embedder.bilm
    forms = ["买" if word == "買" else word for word in words]  # as the model's corpus was normalised
    due = [bilm.encode(bilm.spell([form]))[0].detach().numpy() for form in forms]
    start, stop = bilm.encode(bilm.marks()).detach().numpy()
    due[1], due[6], due[8] = stop, start, start
    with h5py.File(tmp_path / "t.h5") as file:
        np.testing.assert_allclose(file["embedding"][()], np.stack(due), atol=1e-6)
        assert file.attrs["model"] == embedder.digest
    layer0 = embedder.embed([["苹果"]], layers=0)[0][0]
    np.testing.assert_allclose(np.concatenate([due[0], due[0]]), layer0, atol=1e-6)
    bilm.train()
    assert not encodings(embedder, words).requires_grad
    assert bilm.training


def test_what_is_no_vocabulary(embedder, tmp_path):
    (tmp_path / "empty.txt").write_text(" \n\n", "utf-8")
    (tmp_path / "bad.txt").write_bytes(b"a\n\xff\n")
    for name, out, said in (
        ("empty.txt", "t.h5", "empty.txt: no word"),
        ("bad.txt", "t.h5", r"bad.txt:2 \(byte 2\): not UTF-8"),
        ("bad.txt", "t.store", "are written as HDF5"),
        ("absent.txt", "t.h5", "no such file"),
    ):
        with pytest.raises(BadInput, match=said):
            write_token_embeddings(embedder, tmp_path / name, tmp_path / out, quiet=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.txt", "empty.txt"]
