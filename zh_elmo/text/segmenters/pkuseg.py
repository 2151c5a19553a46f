"""spacy-pkuseg with models of one's own, by folder: never fetched by name, never unpickled, white space left out."""

from __future__ import annotations

import os
import re
import threading
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from zh_elmo.files import BadInput, read_json, sha256
from zh_elmo.text.characters import EMOJI, HAN
from zh_elmo.text.segmenters.pieces import Cut, keep_clusters
from zh_elmo.text.segmenters.quiet import quietly, version

FEATURES, WEIGHTS = "features.msgpack", "weights.npz"  # what spacy-pkuseg writes and reads
FACTS = "segmenter.json"  # ours beside them: what the model was trained on, and its scores
TAGS = {"B", "B_single", "I", "I_end", "I_first"}

_MARK = re.compile(f"([\"'“”‘’「」『』（）()《》〈〉【】，。、；：？！…—,;:?!{EMOJI}])")
_LETTER = re.compile(f"[{HAN}A-Za-z]")
_LOADING = threading.Lock()  # spacy-pkuseg reads where to load from out of a variable of its module


def cutter(model: str) -> Cut:
    """Words by the model in the folder `model`, without the dictionary of spacy-pkuseg, which costs up to 10 F1.

    Raises BadInput where the folder is not a model that is safe to load.
    """
    paths = files(model)
    loaded = _loaded(os.path.abspath(model), *map(sha256, paths))

    def cut(sentence: str) -> list[str]:
        return [piece for word in loaded.cut(sentence) for piece in split_marks(word)]

    return keep_clusters(cut)


def facts(model: str) -> dict[str, str]:
    """Version of the package and digests of the model's files, so that runs can be told apart."""
    return {"package": version("spacy-pkuseg"), **{path.name: sha256(path) for path in files(model)}}


def is_simplified(model: str) -> bool:
    """Whether the model says of itself that it was trained on text brought to simplified script."""
    path = Path(model, FACTS)
    facts = read_json(path) if model and path.is_file() else None
    text = facts.get("text") if isinstance(facts, dict) else None
    return isinstance(text, dict) and text.get("script") == "simplified"


def files(model: str) -> list[Path]:
    """Features and weights of a model; raises BadInput (usage) where they are not there."""
    paths = [Path(model, FEATURES), Path(model, WEIGHTS)]
    if model and all(path.is_file() for path in paths):
        return paths
    if model and Path(model, "features.pkl").is_file():
        raise BadInput(
            "a model of the old kind: features.pkl is a pickle, which can run any code, and is not loaded; train one "
            f"that is safe ({FEATURES}) with `zh-elmo train segment-gsd`",
            path=model,
            usage=True,
        )
    raise BadInput(
        f"segmenter_model = {model!r}: a folder with {FEATURES} and {WEIGHTS} is due, such as `zh-elmo train "
        "segment-gsd` makes (models are not fetched by name)",
        usage=True,
    )


def split_marks(word: str) -> list[str]:
    """Quotes, other marks and emoji that the model glued to a word are cut off it; words of marks alone stay."""
    if len(word) == 1 or not _MARK.search(word) or not _LETTER.search(word) or word.isascii():
        return [word]
    return [piece for piece in _MARK.split(word) if piece]


@lru_cache(maxsize=4)
def _loaded(folder: str, features_digest: str, weights_digest: str) -> Any:
    with _LOADING, quietly():
        try:
            import spacy_pkuseg
        except ImportError as error:
            raise BadInput(f"segmenter = pkuseg needs spacy-pkuseg ({error}): pip install spacy-pkuseg") from None
        try:
            model = spacy_pkuseg.pkuseg(folder, user_dict=None)
            _check(model)
        except (ValueError, KeyError, TypeError, AttributeError, AssertionError, EOFError, zipfile.BadZipFile) as error:
            reason = f"{type(error).__name__}: {error}"
            raise BadInput(f"not a model of spacy-pkuseg, or a damaged one ({reason})", path=folder) from None
    return model


def _check(model: Any) -> None:
    """Its compiled code looks up weights without looking at bounds: every feature must have its own."""
    features, tags, weights = model.feature_extractor.feature_to_idx, model.feature_extractor.tag_to_idx, model.model.w
    count = model.model.n_feature
    if set(tags) != TAGS or sorted(tags.values()) != list(range(len(TAGS))) or model.model.n_tag != len(TAGS):
        raise ValueError(f"tags {sorted(TAGS)} are due")
    if count < 1 or not all(type(place) is int and 0 <= place < count for place in features.values()):
        raise ValueError("a feature without a weight")
    if weights.dtype != "float64" or weights.shape != (len(TAGS) * (count + len(TAGS)),):
        raise ValueError(f"weights of {weights.dtype}, shape {weights.shape}")
