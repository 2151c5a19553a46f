"""NFC plus a small table, never NFKC; for every output character the input span that it came from is kept.

Policy: surrogates joined, line ends to LF, invisible characters removed, white space runs to one space, full-width
letters and digits to ASCII (full-width punctuation stays), radicals to ideographs, private use of old Chinese code
tables mended, NFC; on request half-width Chinese punctuation to full width and one kind of quotes. Idempotent.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from zh_elmo.files import BadInput
from zh_elmo.text import characters
from zh_elmo.text.punctuation import full_width, requote

Edit = tuple[int, int, str]  # text[start:end] becomes the string


class Normalised(NamedTuple):
    """Output character k came from input[starts[k]:ends[k]]; both None where the two are the same throughout."""

    text: str
    starts: list[int] | None = None
    ends: list[int] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The input span of output[start:end], which must not be empty."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]


_CRLF = re.compile("\r\n")
_SURROGATE = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")
_REMOVED = re.compile(f"[{characters.REMOVED}]+")
_JOINERS_OR_TAGS = re.compile(f"{characters.JOINER}+|[{characters.TAGS}]+")
_EMOJI = re.compile(f"[{characters.EMOJI}]")
_SPACES = re.compile(" +")
_FOLDED = "".join(map(chr, characters.FOLDS))
_TOUCHED = re.compile(
    f"[{characters.REMOVED}{characters.JOINER}{characters.TAGS}{characters.SURROGATES}{_FOLDED}]|  | \n|\n "
)


def normalise(
    text: str,
    *,
    punctuation: Literal["keep", "full"] = "keep",
    quotes: Literal["keep", "curly", "corner"] = "keep",
) -> Normalised:
    """Normalise `text`, of any number of lines. Raises BadInput where it is not a str."""
    if not isinstance(text, str):
        raise BadInput(f"text is due (str), not {type(text).__name__}; decode bytes first")
    now = Normalised(text)
    if not (unicodedata.is_normalized("NFC", text) and _TOUCHED.search(text) is None and text.strip(" ") == text):
        now = _clean(now)
    if quotes != "keep":
        now = now._replace(text=requote(now.text, quotes))
    return widened(now) if punctuation == "full" else now


def widened(now: Normalised) -> Normalised:
    """Half-width Chinese punctuation to full width, until nothing is left to do."""
    while edits := full_width(now.text):  # ends soon: each round leaves fewer half-width marks
        now = edited(now, edits)
    return now


def _clean(now: Normalised) -> Normalised:
    """Steps 1 to 8 of the policy."""
    now = edited(now, ((*m.span(), _scalar(m.group())) for m in _SURROGATE.finditer(now.text)))
    now = edited(now, ((*m.span(), "\n") for m in _CRLF.finditer(now.text)))
    now = now._replace(text=now.text.translate(characters.FOLDS))  # one to one: spans stay
    now = edited(now, ((*m.span(), "") for m in _REMOVED.finditer(now.text)))
    now = edited(now, _joiners_and_tags(now.text))
    if not unicodedata.is_normalized("NFC", now.text):
        now = edited(now, _compositions(now.text))
    return edited(now, _spaces(now.text))


def _scalar(surrogates: str) -> str:
    """A pair as the character that it stands for, a lone half as U+FFFD."""
    return surrogates.encode("utf-16", "surrogatepass").decode("utf-16") if len(surrogates) == 2 else "\ufffd"


def _joiners_and_tags(text: str) -> Iterator[Edit]:
    """Zero-width joiners that join no two emoji, and tag characters that follow no flag, go."""
    for match in _JOINERS_OR_TAGS.finditer(text):
        start, end = match.span()
        if text[start] != characters.JOINER:
            if text[start - 1 : start] != characters.BLACK_FLAG:
                yield start, end, ""
        elif start > 0 and _EMOJI.match(text, start - 1) and _EMOJI.match(text, end):
            if end - start > 1:
                yield start, end - 1, ""
        else:
            yield start, end, ""


def _compositions(text: str) -> Iterator[Edit]:
    """NFC cluster by cluster: a starter with its marks and jamo."""
    start = 0
    for end in range(1, len(text) + 1):
        if end < len(text) and characters.composes(text[end]):
            continue
        cluster = text[start:end]
        composed = unicodedata.normalize("NFC", cluster)
        if composed != cluster:
            yield start, end, composed
        start = end


def _spaces(text: str) -> Iterator[Edit]:
    """Runs of spaces to one; none at the beginning or the end of a line."""
    for match in _SPACES.finditer(text):
        start, end = match.span()
        inside = start > 0 and end < len(text) and text[start - 1] != "\n" and text[end] != "\n"
        if not inside or end - start > 1:
            yield start, end, " " if inside else ""


def edited(now: Normalised, edits: Iterable[Edit]) -> Normalised:
    """Apply edits, in order and apart from each other; each new character has the whole span of what it replaces."""
    given = list(edits)
    if not given:
        return now
    pieces: list[str] = []
    position = 0
    for start, end, new in given:
        pieces += (now.text[position:start], new)
        position = end
    text = "".join(pieces) + now.text[position:]
    if all(end - start == 1 == len(new) for start, end, new in given):
        return now._replace(text=text)
    identity = range(len(now.text) + 1)
    starts = _respanned(now.starts or identity[:-1], given, first=True)
    ends = _respanned(now.ends or identity[1:], given, first=False)
    return Normalised(text, starts, ends)


def _respanned(old: Sequence[int], edits: list[Edit], *, first: bool) -> list[int]:
    new: list[int] = []
    position = 0
    for start, end, replacement in edits:
        new += old[position:start]
        new += [old[start] if first else old[end - 1]] * len(replacement)
        position = end
    new += old[position:]
    return new
