"""A small corpus and small settings for the tests of lm."""

from __future__ import annotations

from collections import Counter

import numpy as np

from zh_elmo.corpus.store import DOCUMENT_END, SENTENCE_END
from zh_elmo.fit import Plan
from zh_elmo.lm.settings import Characters, Model, Pretrain, SoftmaxSettings, StreamSettings

TEXT = """我 爱 北京 天安门 。
天安门 上 太阳 升 。

他 买 了 六 斤 苹果 。
苹果 很 好吃 。
她 在 苹果 公司 工作 。

今天 天气 很 好 。
我们 去 公园 玩 。"""


class SmallCorpus:
    """What lm needs of a corpus, from words in memory."""

    digest = "small"
    origin = {"sources": ["small"], "kept_out": [], "licence": {"small": "none needed"}}  # noqa: RUF012 (never changed)

    def __init__(self, text: str = TEXT, held_out: str = "我 买 了 西瓜 。\n他 爱 公园 。") -> None:
        counts = Counter(text.split())
        extra = sorted(set(held_out.split()) - set(counts))
        self.types = sorted(counts, key=lambda w: (-counts[w], w)) + extra
        self.counts = np.array([counts[w] for w in self.types])
        self.index = {w: i for i, w in enumerate(self.types)}
        self.parts = {"train": self._ids(text), "heldout": self._ids(held_out)}

    def _ids(self, text: str) -> np.ndarray:
        ids: list[int] = []
        for document in text.split("\n\n"):
            for line in document.split("\n"):
                ids += [self.index[w] for w in line.split()] + [SENTENCE_END]
            ids.append(DOCUMENT_END)
        return np.array(ids, np.uint32)

    def ids(self, part: str) -> np.ndarray:
        return self.parts[part]


def settings(steps: int = 30, **changes) -> Pretrain:
    values = {
        "model": Model(
            characters=Characters(size=4, filters=[(1, 4), (2, 5), (3, 3)], minimum_count=1),
            projection=6, cell=8, vocabulary=20,
        ),
        "streams": StreamSettings(batch=2, window=4),
        "softmax": SoftmaxSettings(negatives=8),
        "training": Plan(steps=steps, save_every=7),
    }  # fmt: skip
    return Pretrain(**(values | changes))
