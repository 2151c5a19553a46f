"""Raw text to sentences of words with offsets, and treebank words to the same forms: the one way into every model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from zh_elmo.files import BadInput
from zh_elmo.recipe import plain
from zh_elmo.text import script, segment, sentences
from zh_elmo.text.normalise import Normalised, normalise, widened
from zh_elmo.text.segmenters.pieces import CONTINUING, LONGEST_WORD, shortened
from zh_elmo.text.settings import TextSettings

__all__ = ["LONGEST_WORD", "Pipeline", "TextSettings", "Word"]

_MEMO = 200_000  # treebank words remembered
# Between white space of any kind; a long one is not cut before a mark or inside a pair of surrogates, if that can be.
_SOLID = rf"[^\s\u2028\u2029\ue5e5]{{1,{LONGEST_WORD}}}"
_TOKEN = re.compile(f"{_SOLID}(?![\udc00-\udfff{CONTINUING}])|{_SOLID}")
_LINE = re.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]+")
_ASCII_WORD = re.compile("[A-Za-z0-9]")


class Word(NamedTuple):
    """A word as normalised, and where it stood: raw[start:end], in code points."""

    form: str
    start: int
    end: int


class Pipeline:
    """Normalise, convert the script, split sentences, cut words. Pickles as its settings."""

    def __init__(self, settings: TextSettings) -> None:
        self.settings = settings
        self._segmenter: segment.Segmenter | None = None
        self._convert = script.converter(settings.script)
        self._memo: dict[tuple[str, str], str] = {}

    def __reduce__(self) -> tuple[type[Pipeline], tuple[TextSettings]]:
        return Pipeline, (self.settings,)

    def sentences(self, raw: str) -> list[list[Word]]:
        """Sentences of a paragraph or more; empty where there is nothing but white space and invisible characters.

        Raises BadInput where `raw` is not a str.
        """
        if self.settings.segmenter == "words":
            return [words for line in _lines(raw) if (words := self._spaced(line.group(), line.start()))]
        now = self.normalised(raw)
        text = self._scripted(now.text)
        return [self._words(text[start:end], start, now) for start, end in sentences.split(text)]

    def normalised(self, raw: str) -> Normalised:
        """`raw` as the settings want it, in its own script."""
        return normalise(raw, punctuation=self.settings.punctuation, quotes=self.settings.quotes)

    def forms(self, raw: str, *, document: script.Share | None = None, final: bool = False) -> list[list[str]]:
        """Like `sentences`, without offsets. document: how much is to be converted of the document that `raw` is a part
        of, where that is known (`script.verdict`); final: `raw` is in the wanted script, whatever it holds."""
        if self.settings.segmenter == "words":
            return [[word.form for word in words] for words in self.sentences(raw)]
        text = self.normalised(raw).text
        text = text if final else self._scripted(text, document)
        return [self._pieces(text[start:end]) for start, end in sentences.split(text)]

    def gold(self, words: Sequence[str]) -> list[str]:
        """Words of one sentence that are segmented already, normalised one by one: as many as came in.

        The script is decided for the sentence, conversion is word by word (a phrase must not match across a boundary);
        punctuation is decided with the sentence around it. A word of nothing but invisible characters becomes U+FFFD.
        Raises BadInput for a bare string, for something that is not a str, and for an empty word.
        """
        if isinstance(words, str | bytes):
            raise BadInput(f"a sentence is a list of words; this is one {type(words).__name__}: {words[:20]!r}")
        for number, word in enumerate(words, 1):
            if not isinstance(word, str):
                raise BadInput(f"word {number} of the sentence is not a str but {type(word).__name__}")
            if not word:
                raise BadInput(f"word {number} of the sentence is empty")
        return [form or "\ufffd" for form in self._gold(words)]

    def describe(self) -> dict[str, Any]:
        """What `text.json` holds: the settings and everything else that the words depend on."""
        facts: dict[str, Any] = {"settings": plain(self.settings), "unicode": unicodedata.unidata_version}
        if self.settings.script != "keep" or segment.is_detour(self.settings):
            facts["opencc"] = script.package()
        facts["segmenter"] = segment.describe(self.settings)
        return facts

    # Raw text ------------------------------------------------------------------------------------------------------

    def _scripted(self, text: str, document: script.Share | None = None) -> str:
        """In the wanted script, line by line (a normalised paragraph is one line), the same length."""
        if document is None:
            return self._convert(text)
        return "\n".join(self._convert.line(line, document) for line in text.split("\n"))

    def _pieces(self, sentence: str) -> list[str]:
        """Words of one sentence, in order; white space is left out, and none is longer than LONGEST_WORD."""
        pieces = self.segmenter.cut(sentence)
        if " " in sentence:  # the only white space that normalisation leaves
            pieces = [piece for piece in pieces if piece != " "]
        if len(sentence) <= LONGEST_WORD or max(map(len, pieces)) <= LONGEST_WORD:
            return pieces
        return [part for piece in pieces for part in shortened(piece)]

    def _words(self, sentence: str, offset: int, now: Normalised) -> list[Word]:
        """The same with offsets; the sentence stands at `offset` in the normalised text."""
        words: list[Word] = []
        for piece, start, _ in self.segmenter.tokens(sentence):
            if piece == " ":
                continue
            place = offset + start
            for form in shortened(piece) if len(piece) > LONGEST_WORD else (piece,):
                words.append(Word(form, *now.span(place, place + len(form))))
                place += len(form)
        return words

    @property
    def segmenter(self) -> segment.Segmenter:
        """What cuts normalised sentences, made when first needed."""
        if self._segmenter is None:
            self._segmenter = segment.segmenter(self.settings, self._prepared)
        return self._segmenter

    def _prepared(self, word: str) -> str:
        """A word of the user's dictionary in the form in which the cutter sees text."""
        form = normalise(word, punctuation=self.settings.punctuation, quotes=self.settings.quotes).text
        form = self._scripted(form)
        return script.to_simplified(form) if segment.is_detour(self.settings) else form

    # Words that are segmented already ------------------------------------------------------------------------------

    def _spaced(self, line: str, offset: int) -> list[Word]:
        """A line of words between spaces is a sentence; words of nothing but invisible characters are left out."""
        tokens = list(_TOKEN.finditer(line))
        forms = self._gold([token.group() for token in tokens])
        return [  # characters that NFC takes apart may make one longer than it was
            Word(form[:LONGEST_WORD], offset + token.start(), offset + token.end())
            for token, form in zip(tokens, forms, strict=True)
            if form
        ]

    def _gold(self, words: Sequence[str]) -> list[str]:
        wanted: script.Share = script.share("".join(words), self.settings.script)
        forms = [self._form(word, wanted) for word in words]
        return _widened(forms) if self.settings.punctuation == "full" else forms

    def _form(self, word: str, wanted: script.Share) -> str:
        """One word, remembered; empty where it is nothing but invisible characters."""
        form = self._memo.get((wanted, word))
        if form is None:
            form = normalise(word, quotes=self.settings.quotes).text.replace("\n", " ")
            form = script.convert(form, wanted, self.settings.script)
            if len(self._memo) >= _MEMO:
                self._memo.clear()
            self._memo[wanted, word] = form
        return form


def _lines(raw: str) -> Iterator[re.Match[str]]:
    if not isinstance(raw, str):
        raise BadInput(f"text is due (str), not {type(raw).__name__}; decode bytes first")
    return _LINE.finditer(raw)


def _widened(forms: list[str]) -> list[str]:
    """Punctuation words as they become in the sentence; words with an ASCII letter or digit stay as they are."""
    joined = "".join(forms)
    full = widened(Normalised(joined))
    if full.text == joined:
        return forms
    result: list[str] = []
    place = position = 0
    for form in forms:
        end = position + len(form)
        become = ""
        while place < len(full.text) and full.span(place, place + 1)[1] <= end:
            if full.span(place, place + 1)[0] >= position:  # else one mark was made of several words: they stay
                become += full.text[place]
            place += 1
        result.append(form if not become or _ASCII_WORD.search(form) else become)
        position = end
    return result
