"""Column files: read as they stand, refused with their line."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from zh_elmo.files import BadInput
from zh_elmo.tasks.columns import Labelled, read

CONLL2003 = "-DOCSTART- -X- O O\n\nU.N. NNP I-NP B-ORG\nofficial NN I-NP O\n\n\nPeter NNP I-NP B-PER\n"


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "x.conll"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_reads(tmp_path: Path) -> None:
    path = written(tmp_path, CONLL2003)
    assert read(path, scheme="BIO") == [
        Labelled(["U.N.", "official"], ["B-ORG", "O"]),
        Labelled(["Peter"], ["B-PER"]),
    ]
    assert read(path, word=0, label=1)[0].labels == ["NNP", "NN"]
    assert read(written(tmp_path, "我\tO\r\n\r\n天 津\tB-LOC"), scheme="BIO") == [
        Labelled(["我"], ["O"]),
        Labelled(["天 津"], ["B-LOC"]),
    ]
    assert read(written(tmp_path, "# O\n\u3000   O\n")) == [Labelled(["#", "\u3000"], ["O", "O"])]
    packed = tmp_path / "x.conll.xz"
    packed.write_bytes(lzma.compress(CONLL2003.encode()))
    assert len(read(packed)) == 2


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("我 O\n你\n", 2, "1 columns, where the lines before have 2"),
        ("我 O\n\n你 N O\n", 3, "3 columns"),
        ("我\n", 1, "1 columns do not have"),
        ("\tO\n", 1, "empty word or label"),
        ("我\t\n", 1, "empty word or label"),
        ("我 O\n你 I-A\n", 2, "I-A may not stand after O"),
        ("我 O\n\n你 I-A\n他 O\n", 3, "at the beginning"),
        ("我 O\n你 S-A\n", 2, "no label of BIO"),
        (b"\xce\xd2 O\n", 1, "not UTF-8"),
        ("\n\n-DOCSTART- O\n", None, "no sentence"),
        ("", None, "no sentence"),
    ],
)
def test_bad_files(tmp_path: Path, text: str | bytes, line: int | None, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(BadInput, match=message) as caught:
        read(path, scheme="BIO")
    assert str(caught.value).startswith(str(path) + (f":{line}" if line else ": "))


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    path = written(tmp_path, "我 N O\n")
    for word, label in ((3, -1), (0, -4), (0, -3), (2, -1)):
        with pytest.raises(BadInput, match="do not have"):
            read(path, word=word, label=label)
    with pytest.raises(BadInput, match="no such file"):
        read(tmp_path / "absent")
