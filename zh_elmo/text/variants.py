"""Language variants in wikitext, `-{zh-hans:计算机; zh-hant:電腦}-`: which value is shown, and which rules it leaves.

As MediaWiki does it (includes/language/ConverterRule.php), but that zh-hans and zh-hant follow rules for the places
that write so, and that a rule without a value for the wanted variant shows its first one instead of an error.
A value that was chosen is final; it stands between the characters OPEN and CLOSE, which no XML can hold, until the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

OPEN, CLOSE = "\x02", "\x03"
FALLBACKS = {
    "zh": ("zh-hans", "zh-hant", "zh-cn", "zh-tw", "zh-hk", "zh-sg", "zh-mo", "zh-my"),
    "zh-hans": ("zh-cn", "zh-sg", "zh-my"),
    "zh-hant": ("zh-tw", "zh-hk", "zh-mo"),
    "zh-cn": ("zh-hans", "zh-sg", "zh-my"),
    "zh-tw": ("zh-hant", "zh-hk", "zh-mo"),
    "zh-hk": ("zh-hant", "zh-mo", "zh-tw"),
    "zh-sg": ("zh-my", "zh-hans", "zh-cn"),
    "zh-mo": ("zh-hk", "zh-hant", "zh-tw"),
    "zh-my": ("zh-sg", "zh-hans", "zh-cn"),
}
# What one page may cost, so that none takes long: words of rules times characters of the page, and words compiled.
# The longest tables that editors write have some hundreds of words; a long page has 100,000 characters.
_SEARCHED = 500_000_000
_COMPILED = 20_000

Span = tuple[int, int]
Action = Literal["none", "add", "remove"]


class Unreadable(Exception):
    """A page that cannot be read as a whole, and so is not read at all; the message is the reason, one of a few."""


class Rule(NamedTuple):
    """Words that stand for each other, by variant, and words that become others in one variant only."""

    both: dict[str, str]  # code -> word
    one_way: tuple[tuple[str, str, str], ...]  # (word, code, what it becomes)


class Markup(NamedTuple):
    """What one `-{ }-` does."""

    shown: str  # with OPEN and CLOSE around what is final
    rule: Rule | None = None
    action: Action = "none"  # what happens to the rule for the rest of the page


def outside(text: str, protected: Sequence[Span], convert: Callable[[str], str]) -> str:
    """`text` with `convert` done on each stretch between the `protected` spans, which stay as they are.

    `convert` must keep lengths if the spans are to be used again. An empty span is a place that no phrase may cross.
    """
    if not protected:
        return convert(text)
    pieces, position = [], 0
    for start, end in protected:
        pieces += [convert(text[position:start]) if start > position else "", text[start:end]]
        position = end
    return "".join([*pieces, convert(text[position:]) if position < len(text) else ""])


def final(text: str) -> str:
    """`text` marked as not to be converted; each line for itself."""
    return f"{OPEN}{unmarked(text)}{CLOSE}".replace("\n", f"{CLOSE}\n{OPEN}")


def unmarked(text: str) -> str:
    return text.replace(OPEN, "").replace(CLOSE, "")


def markup(flags: str, text: str, variant: str) -> Markup:
    """What `-{flags|text}-` shows and does where `variant` is wanted; nested markup in it is resolved already.

    Flags as in MediaWiki: R raw, A show and add the rule, H or + add it silently, - remove it, T for the title only,
    D describe and N name (nothing in a corpus); codes of variants: `text` is not final but to be converted.
    """
    given = {flag.strip() for flag in flags.split(";")}
    if "R" in given:
        return Markup(final(text))
    if given & {"N", "D", "T"} and not given & {"A", "H", "+", "-"}:
        return Markup("")
    if listed := given & FALLBACKS.keys():
        return Markup(text if listed.intersection([variant, *FALLBACKS[variant]]) else final(text))
    rule = parse(unmarked(text))
    if "-" in given:
        return Markup("", rule, "remove")
    silent = bool(given & {"H", "+"})
    display = "" if silent else final(text if rule is None else choose(rule, variant))
    return Markup(display, rule, "add" if silent or "A" in given else "none")


def parse(text: str) -> Rule | None:
    """The rule in `zh-cn:软件; zh-tw:軟體;` or `巨集=>zh-cn:宏;`; None where it is other text.

    A semicolon separates only before a code that is known; any other belongs to the word.
    """
    entries: list[tuple[str, str, list[str]]] = []
    for part in text.split(";"):
        if (entry := _entry(part)) is not None:
            source, code, word = entry
            entries.append((source, code, [word]))
        elif entries:
            entries[-1][2].append(part)
        else:
            return None
    both, one_way = {}, []
    for source, code, parts in entries:
        word = ";".join(parts).strip().rstrip("; \n")
        if source:
            one_way.append((source, code, word))
        else:
            both[code] = word
    return Rule(both, tuple(one_way))


def _entry(part: str) -> tuple[str, str, str] | None:
    """(word or nothing, code, what it is there) of one part between semicolons."""
    source, arrow, rest = part.partition("=>")
    if arrow and source.strip() and (found := _coded(rest)):
        return source.strip(), *found
    if found := _coded(part):
        return "", *found
    return None


def _coded(text: str) -> tuple[str, str] | None:
    code, colon, word = text.partition(":")
    code = code.strip().lower()
    return (code, word) if colon and code in FALLBACKS else None


def _own(rule: Rule, variant: str) -> str | None:
    """The word for `variant` by its fallbacks; None where the rule has none."""
    codes = (variant, *FALLBACKS[variant], "zh")
    return next((rule.both[code] for code in codes if code in rule.both), None)


def choose(rule: Rule, variant: str) -> str:
    """The word that is shown: of `variant`, its fallbacks, `zh`; of a one-way rule for it; else the first there is."""
    if (word := _own(rule, variant)) is not None:
        return word
    becomes = [word for _, code, word in rule.one_way if code == variant]
    return (becomes or list(rule.both.values()) or [rule.one_way[0][0]])[0]


class Words:
    """The rules that hold at one place of a page, as words to be replaced in the text between markup."""

    def __init__(self, variant: str, page: str) -> None:
        """`page` is all of the text; rules for words that it lacks cost nothing later."""
        self._variant, self._page = variant, page
        self._table: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        self._searched = self._compiled = 0

    @property
    def hold(self) -> bool:
        """Whether there is any word to be replaced."""
        return bool(self._table)

    def change(self, rule: Rule, action: Action) -> None:
        """Add or remove the words of a rule. Raises Unreadable where a page has too many."""
        entries = self._entries(rule)
        self._searched += len(entries) * len(self._page)
        if self._searched > _SEARCHED:
            raise Unreadable("too many conversion rules")
        for word, becomes in entries.items():
            if action == "remove":
                self._table.pop(word, None)
            elif word in self._page:
                self._table[word] = becomes.replace("\n", " ")
        self._pattern = None

    def _entries(self, rule: Rule) -> dict[str, str]:
        """No rule holds in plain `zh`, and none without a word for the variant. A word that stays is an entry too: it
        is right as it is, and not to be converted."""
        if self._variant == "zh":
            return {}
        word = _own(rule, self._variant)
        entries = {} if word is None else dict.fromkeys(filter(None, rule.both.values()), word)
        return entries | {source: becomes for source, code, becomes in rule.one_way if code == self._variant}

    def pieces(self, text: str) -> Iterable[tuple[str, bool]]:
        """(piece, whether it is final) of a stretch of text without markup, longest words first."""
        if not self._table:
            return [(text, False)]
        if self._pattern is None:
            self._compiled += len(self._table)
            if self._compiled > _COMPILED:
                raise Unreadable("too many conversion rules")
            longest_first = sorted(self._table, key=lambda word: (-len(word), word))
            self._pattern = re.compile(f"({'|'.join(map(re.escape, longest_first))})")
        parts = self._pattern.split(text)
        return [(self._table[part], True) if place % 2 else (part, False) for place, part in enumerate(parts)]
