"""Files of vectors that other programs wrote and read: the names of the HDF5 layouts, and sentences as HDF5 keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from zh_elmo.files import BadInput

HDF5 = (".h5", ".hdf5")
FORMAT = "zh_elmo vectors"  # attribute `format` of the HDF5 files that we write
LAYOUT = "layout"  # and the attribute that names the layout, of a fixed length
Layout = Literal["own", "bilm-tf", "allennlp", "elmoformanylangs"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
SENTENCES, INDEX = "sentences", "sentence_to_index"  # datasets of text in the layouts `own` and `allennlp`
LOCKS = "HDF5_USE_FILE_LOCKING=FALSE"  # the environment variable that has libhdf5 do without locks
_PERIOD, _SLASH = "$period$", "$backslash$"  # a slash, whatever its name says


def key_of(words: Sequence[str]) -> str:
    """The name of a sentence in ELMoForManyLangs' files: words joined by TAB, `.` and `/` (which mean something in
    HDF5) as `$period$` and `$backslash$`. Raises BadInput where HDF5 has no such name, or where it would be that of
    other words too; integer keys hold every sentence."""
    key = "\t".join(words).replace(".", _PERIOD).replace("/", _SLASH)
    reason = None
    if words_of(key) != list(words):
        reason = "holds a TAB, $period$ or $backslash$ within a word, which its key could not tell apart"
    elif not key or "\0" in key or has_surrogate(key):
        reason = "is empty, or holds a NUL or half a surrogate pair, which no HDF5 name can"
    if reason:
        message = f"the sentence {' '.join(words)[:60]!r} {reason}; use a layout with integer keys (own, allennlp)"
        raise BadInput(message)
    return key


def words_of(key: str, separator: str | None = "\t") -> list[str]:
    """The words of a sentence that ELMoForManyLangs named so."""
    return [unescaped(word) for word in key.split(separator)]


def unescaped(text: str) -> str:
    return text.replace(_PERIOD, ".").replace(_SLASH, "/")


def is_escaped(key: str) -> bool:
    return _PERIOD in key or _SLASH in key


def has_surrogate(text: str) -> bool:
    """Whether half a surrogate pair stands in `text`, which UTF-8 cannot hold."""
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)


def import_h5py() -> Any:
    """The package h5py; raises BadInput (usage) where it is not installed."""
    try:
        import h5py
    except ImportError:
        message = "an HDF5 file needs the package h5py: pip install 'zh-elmo[formats]'; a store (.store) needs nothing"
        raise BadInput(message, usage=True) from None
    return h5py
