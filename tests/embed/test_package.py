"""`import zh_elmo` is light, and gives what it promises when asked."""

from __future__ import annotations

import subprocess
import sys

import pytest

import zh_elmo


def test_import_does_not_bring_torch():
    code = """if True:
        import sys, zh_elmo
        assert zh_elmo.__version__
        heavy = {"torch", "jieba", "opencc", "matplotlib", "gensim", "rich", "h5py"} & set(sys.modules)
        assert not heavy, heavy
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_are_found_when_asked_for():
    from zh_elmo.embed import elmo, embedder

    assert zh_elmo.load is embedder.load
    assert zh_elmo.Embedder is embedder.Embedder
    assert zh_elmo.Elmo is elmo.Elmo
    assert {"load", "Elmo", "Embedder", "__version__"} <= set(dir(zh_elmo))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        zh_elmo.nothing  # noqa: B018
