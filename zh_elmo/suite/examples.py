"""Sentences on which the arms differ most, for people to look at: as many where the last arm wins as where it loses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zh_elmo.ud.conllu import Sentence, Word
from zh_elmo.ud.oov import OOV

_LONGEST = 22  # words, so that the table can be read


def examples(
    treebank: str,
    gold: Sequence[Sentence],
    systems: Mapping[str, Sequence[Sentence]],
    labels: Sequence[Sequence[str]],
    shown: int,
) -> list[dict[str, Any]]:
    """Half of `shown` where the last arm is right on most words more than the first one, half where on most fewer.

    `labels` say of every word whether it is OOV. Needs gold segmentation; sentences whose words differ are left out.
    """
    arms = list(systems)
    if len(arms) < 2:
        return []
    gains = {}
    for number, sentence in enumerate(gold):
        same = all(systems[arm][number].forms == sentence.forms for arm in arms)
        if same and len(sentence.words) <= _LONGEST:
            first, last = (_right(sentence, systems[arm][number]) for arm in (arms[0], arms[-1]))
            gains[number] = last - first
    best = [number for number in sorted(gains, key=lambda n: (-gains[n], n)) if gains[number] > 0]
    worst = [number for number in sorted(gains, key=lambda n: (gains[n], n)) if gains[number] < 0]
    chosen = best[: shown - min(shown // 2, len(worst))]
    chosen += worst[: shown - len(chosen)]
    return [_example(treebank, gold[n], {arm: systems[arm][n] for arm in arms}, labels[n]) for n in chosen]


def _right(gold: Sentence, system: Sentence) -> int:
    """Right tags, heads and relations of a sentence, in all."""
    return sum(
        sum(ours[key] == theirs[key] for key in ours)
        for ours, theirs in zip(map(_annotation, gold.words), map(_annotation, system.words), strict=True)
    )


def _example(treebank: str, gold: Sentence, systems: Mapping[str, Sentence], labels: Sequence[str]) -> dict[str, Any]:
    words = [
        {
            "form": word.form,
            "oov": labels[number] == OOV,
            "gold": _annotation(word),
            "arms": {arm: _annotation(sentence.words[number]) for arm, sentence in systems.items()},
        }
        for number, word in enumerate(gold.words)
    ]
    return {"treebank": treebank, "sent_id": gold.sent_id or "", "text": gold.text, "words": words}


def _annotation(word: Word) -> dict[str, Any]:
    """Relations without subtypes, as they are scored."""
    return {"upos": word.upos, "head": word.head, "deprel": word.deprel.partition(":")[0]}
