"""`[text]` of a recipe: how raw text becomes words."""

from __future__ import annotations

from typing import Literal

from zh_elmo.files import BadInput
from zh_elmo.recipe import Settings
from zh_elmo.text.script import Target

Segmenter = Literal[
    "jieba", "pkuseg", "characters", "words", "unicode", "japanese", "thai", "vietnamese", "cantonese"
]  # words: separated by white space already

# Settings that only one segmenter understands: (its name, what the setting is when it asks for nothing).
_OF_ONE = {
    "segmenter_model": ("pkuseg", ""),
    "dictionary": ("jieba", ""),
    "user_dict": ("jieba", ""),
    "hmm": ("jieba", True),
    "unicode_rules": ("unicode", "regex"),
}


class TextSettings(Settings):
    """`[text]`: the same settings go for corpus, treebank and new text."""

    script: Target = "simplified"  # traditional: of Taiwan
    punctuation: Literal["keep", "full"] = "full"  # half-width Chinese punctuation (treebanks) to full width
    quotes: Literal["keep", "curly", "corner"] = "curly"  # 「」『』 to “”‘’, or the other way round
    segmenter: Segmenter = "jieba"
    segmenter_model: str = ""  # pkuseg: folder of a model
    dictionary: str = ""  # jieba: file in place of its own dictionary, lines of word frequency tag
    user_dict: str = ""  # jieba: file of words to add, lines of word [frequency] [tag]
    hmm: bool = True  # jieba: words that its dictionary lacks by its hidden Markov model
    through_simplified: bool = True  # jieba: words of traditional text are those of its simplified form
    unicode_rules: Literal["regex", "icu"] = "regex"  # unicode: our expression, or the ICU library (extra `icu`)

    def __post_init__(self) -> None:
        for name, (segmenter, nothing) in _OF_ONE.items():
            if self.segmenter != segmenter and getattr(self, name) != nothing:
                raise BadInput(
                    f"text.{name} is for segmenter = {segmenter}; here segmenter = {self.segmenter}", usage=True
                )
