"""Words of one sentence: settings to a segmenter, and to what manifests say of it.

Libraries are imported when first needed, quietly, and write nothing outside our own cache folder. What they load is
kept by the digest of its file, and no setting changes what another one sees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zh_elmo.text.segmenters import characters, jieba, languages, pkuseg, unicode
from zh_elmo.text.segmenters.pieces import Segmenter, with_offsets
from zh_elmo.text.segmenters.simplified import detour, through_simplified
from zh_elmo.text.settings import TextSettings

__all__ = ["Segmenter", "describe", "is_detour", "segmenter"]


def segmenter(settings: TextSettings, prepare: Callable[[str], str] = str) -> Segmenter:
    """What `settings` ask for. `prepare` brings a word of the user's dictionary to the form that sentences have.

    Text that is segmented already (`words`) is cut at white space; a `Pipeline` does so before it normalises.
    Raises BadInput where a library, a model or a dictionary is missing or is not what is due.
    """
    name = settings.segmenter
    if name == "jieba":
        found = jieba.segmenter(
            hmm=settings.hmm, dictionary=settings.dictionary, user_dict=settings.user_dict, prepare=prepare
        )
        return detour(found) if is_detour(settings) else found
    if name == "pkuseg":
        cut = pkuseg.cutter(settings.segmenter_model)
        return with_offsets(through_simplified(cut) if is_detour(settings) else cut)
    if name == "unicode":
        return with_offsets(unicode.cutter(settings.unicode_rules))
    if name in languages.LANGUAGES:
        return with_offsets(languages.cutter(name))
    return with_offsets(str.split if name == "words" else characters.cut)


def is_detour(settings: TextSettings) -> bool:
    """Whether traditional text is cut through its simplified form: asked for, not simplified anyhow, and what cuts
    knows simplified words (jieba; a pkuseg model that says so of itself)."""
    if not settings.through_simplified or settings.script == "simplified":
        return False
    return settings.segmenter == "jieba" or (
        settings.segmenter == "pkuseg" and pkuseg.is_simplified(settings.segmenter_model)
    )


def describe(settings: TextSettings) -> Any:
    """What cuts, with versions and digests, as `text.json` and manifests have it."""
    name = settings.segmenter
    if name == "jieba":
        return jieba.facts(dictionary=settings.dictionary, user_dict=settings.user_dict)
    if name == "pkuseg":
        return pkuseg.facts(settings.segmenter_model)
    if name == "unicode":
        return unicode.facts(settings.unicode_rules)
    return languages.facts(name) if name in languages.LANGUAGES else name
