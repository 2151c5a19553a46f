"""A made-up language that a small tagger and parser learn in a second: the last character tells what a word is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zh_elmo.ud.conllu import Sentence, Word

STEMS = "甲乙丙丁戊己庚辛壬癸天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏"
NOUN, VERB, ADJECTIVE = "子", "了", "的"


def toy(sentences: int, seed: int, stems: str = STEMS) -> list[Sentence]:
    """Sentences `(adjective* noun) verb (adjective* noun)? 。`: nouns hang on the verb, adjectives on their noun."""
    rng = np.random.default_rng(seed)

    def stem() -> str:
        return "".join(rng.choice(list(stems), size=rng.integers(1, 3)))

    found = []
    for _ in range(sentences):
        before, after = int(rng.integers(0, 3)), int(rng.integers(-1, 3))
        words = [(stem() + ADJECTIVE, "ADJ", before + 1, "amod") for _ in range(before)]
        verb = before + 2
        words.append((stem() + NOUN, "NOUN", verb, "nsubj"))
        words.append((stem() + VERB, "VERB", 0, "root"))
        if after >= 0:
            words += [(stem() + ADJECTIVE, "ADJ", verb + after + 1, "amod") for _ in range(after)]
            words.append((stem() + NOUN, "NOUN", verb, "obj:toy"))
        words.append(("。", "PUNCT", verb, "punct"))
        found.append(sentence(words))
    return found


def sentence(words: Sequence[tuple[str, str, int, str]]) -> Sentence:
    """(form, UPOS, head, relation) of each word; the lemma is the form, XPOS and FEATS follow from UPOS."""
    rows = [
        Word(number, form, form, upos, upos[0], f"Kind={upos.title()}" if upos != "PUNCT" else "_", head, deprel)
        for number, (form, upos, head, deprel) in enumerate(words, 1)
    ]
    return Sentence(["# domain = toy"], rows)


class ToyVectors:
    """Two layers: layer 0 is noise, layer 1 says whether a word is among `marked`."""

    n_layers, width, digest = 2, 6, "toy"

    def __init__(self, marked: set[str]) -> None:
        self.marked = marked
        self.asked: list[list[str]] = []

    def __call__(self, sentences: Sequence[Sequence[str]]) -> list[np.ndarray]:
        self.asked += [list(words) for words in sentences]
        rng = np.random.default_rng(0)
        found = []
        for words in sentences:
            layers = rng.normal(size=(2, len(words), self.width)).astype(np.float16)
            layers[1] = np.where([[word in self.marked] for word in words], 1, -1)
            found.append(layers)
        return found
