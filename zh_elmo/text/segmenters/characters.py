"""One character a word; runs of ASCII letters and digits stay whole."""

from __future__ import annotations

import re

from zh_elmo.text.segmenters.pieces import keep_clusters

_CHARACTER = re.compile(r"[A-Za-z0-9]+|.", re.S)


def _each(sentence: str) -> list[str]:
    return _CHARACTER.findall(sentence)


cut = keep_clusters(_each)
