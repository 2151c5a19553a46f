"""CoNLL-U files read strictly and written back byte for byte.

Format: https://universaldependencies.org/format.html. Own reader, because the library `conllu` keeps no line numbers,
takes broken ids and rows with too few columns, and splits a FORM at two blanks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from zh_elmo.files import COMPRESSED, BadInput, lines, writing

COLUMNS: Final = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
NO_HEAD: Final = -1  # what `Word.head` is where the HEAD column is `_`

PathLike = str | os.PathLike[str]


class Word(NamedTuple):
    """One syntactic word; all columns but ID and HEAD are strings as they stand, `_` kept."""

    id: int
    form: str
    lemma: str = "_"
    upos: str = "_"
    xpos: str = "_"
    feats: str = "_"
    head: int = NO_HEAD
    deprel: str = "_"
    deps: str = "_"
    misc: str = "_"


class Range(NamedTuple):
    """A multiword token `first-last`; `columns` are its FORM to MISC."""

    first: int
    last: int
    columns: tuple[str, ...]


class EmptyNode(NamedTuple):
    """An empty node `after.number`; `columns` are its FORM to MISC."""

    after: int
    number: int
    columns: tuple[str, ...]


class Token(NamedTuple):
    """One surface token: a word by itself, or a multiword token over the words `first` to `last`."""

    form: str
    first: int
    last: int
    misc: str
    multiword: bool


@dataclass(slots=True)
class Sentence:
    """A sentence. `comments` are whole lines with their `#`; `path` and `line` say where its first line was read."""

    comments: list[str]
    words: list[Word]
    ranges: list[Range] = field(default_factory=list)
    empty_nodes: list[EmptyNode] = field(default_factory=list)
    path: PathLike | None = field(default=None, compare=False)
    line: int | None = field(default=None, compare=False)

    @classmethod
    def from_forms(
        cls, forms: Sequence[str], *, space_after: Sequence[bool] | None = None, comments: Sequence[str] = ()
    ) -> Sentence:
        """Bare words; `space_after` [n_words] says where a blank follows (default: everywhere)."""
        spaces = [True] * len(forms) if space_after is None else space_after
        pairs = enumerate(zip(forms, spaces, strict=True), 1)
        words = [Word(i, form, misc="_" if space else "SpaceAfter=No") for i, (form, space) in pairs]
        return cls(list(comments), words)

    @property
    def forms(self) -> list[str]:
        return [word.form for word in self.words]

    @property
    def tokens(self) -> list[Token]:
        """Surface tokens in order: every word outside the ranges, and the ranges."""
        starts = {span.first: span for span in self.ranges}
        found: list[Token] = []
        covered = 0
        for i, word in enumerate(self.words, 1):
            if i in starts:
                span = starts[i]
                covered = span.last
                found.append(Token(span.columns[0], i, span.last, span.columns[8], True))
            elif i > covered:
                found.append(Token(word.form, i, i, word.misc, False))
        return found

    @property
    def surface(self) -> str:
        """The text rebuilt from the tokens and SpaceAfter=No."""
        parts = [token.form + ("" if "SpaceAfter=No" in token.misc.split("|") else " ") for token in self.tokens]
        return "".join(parts).removesuffix(" ")

    @property
    def text(self) -> str:
        """The comment `# text` if there is one, else the text rebuilt from the tokens."""
        given = self.comment("text")
        return self.surface if given is None else given

    @property
    def sent_id(self) -> str | None:
        return self.comment("sent_id")

    def comment(self, key: str) -> str | None:
        """The value of the comment `# key = value`; "" for a bare `# key`, None where there is no such comment."""
        for line in self.comments:
            name, _, value = line[1:].partition("=")
            if name.strip() == key:
                return value.strip()
        return None

    def line_of(self, word: int) -> int | None:
        """The line that the word with this id was read from, None if the sentence was not read from a file."""
        if self.line is None:
            return None
        before = sum(span.first <= word for span in self.ranges) + sum(node.after < word for node in self.empty_nodes)
        return self.line + len(self.comments) + before + word - 1

    def with_annotation(
        self,
        *,
        lemmas: Sequence[str] | None = None,
        upos: Sequence[str] | None = None,
        xpos: Sequence[str] | None = None,
        feats: Sequence[str] | None = None,
        heads: Sequence[int] | None = None,
        deprels: Sequence[str] | None = None,
        deps: Sequence[str] | None = None,
    ) -> Sentence:
        """A copy with these columns replaced, each [n_words], and everything else kept (DEPS too, unless given).

        The copy no longer says which file it was read from. Raises ValueError where a column has another length.
        """
        given: dict[str, Sequence[Any] | None] = {"lemma": lemmas, "upos": upos, "xpos": xpos, "feats": feats}
        given |= {"head": heads, "deprel": deprels, "deps": deps}
        columns = {name: column for name, column in given.items() if column is not None}
        if "head" in columns:
            columns["head"] = [int(head) for head in columns["head"]]  # numpy integers are not `int`
        for name, column in columns.items():
            if len(column) != len(self.words):
                raise ValueError(f"{len(column)} values of {name} for a sentence of {len(self.words)} words")
        words = [
            word._replace(**{name: column[i] for name, column in columns.items()}) for i, word in enumerate(self.words)
        ]
        return replace(
            self,
            comments=list(self.comments),
            words=words,
            ranges=list(self.ranges),
            empty_nodes=list(self.empty_nodes),
            path=None,
            line=None,
        )


# Reading ------------------------------------------------------------------------------------------------------------


def read(path: PathLike, *, trees: bool = False, allow_empty: bool = False) -> list[Sentence]:
    """All sentences of a file (.xz, .gz and .bz2 are decompressed).

    `trees=True` also demands that the heads of each sentence are a tree with one root; otherwise HEAD may be `_`.
    Raises BadInput with path and line for every fault of the format, and for a file without a sentence unless
    `allow_empty`. Several blank lines between sentences, CRLF and a missing last line feed are taken.
    """
    return list(read_iter(path, trees=trees, allow_empty=allow_empty))


def read_iter(path: PathLike, *, trees: bool = False, allow_empty: bool = False) -> Iterator[Sentence]:
    """Like `read`, one sentence at a time in constant memory."""
    return _sentences(lines(path), path, trees, allow_empty)


def parse(text: str, name: str = "<text>", *, trees: bool = False, allow_empty: bool = False) -> list[Sentence]:
    """Like `read`, for CoNLL-U in a string; `name` stands for the path in errors."""
    numbered = enumerate((line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")), 1)
    return list(_sentences(numbered, name, trees, allow_empty))


def _sentences(
    numbered: Iterable[tuple[int, str]], path: PathLike, trees: bool, allow_empty: bool
) -> Iterator[Sentence]:
    comments: list[str] = []
    rows: list[str] = []
    number, found = 0, False
    for number, line in numbered:
        if not line:
            if rows or comments:
                yield _sentence(comments, rows, path, number - len(rows) - len(comments), trees)
                comments, rows, found = [], [], True
        elif line[0] == "#" and not rows:
            comments.append(line)
        else:
            rows.append(line)
    if rows or comments:
        yield _sentence(comments, rows, path, number + 1 - len(rows) - len(comments), trees)
    elif not found and not allow_empty:
        raise BadInput("no sentence in the file; CoNLL-U expected: lines of 10 tab-separated columns", path=path)


def _sentence(comments: list[str], rows: list[str], path: PathLike, line: int, trees: bool) -> Sentence:
    """One sentence from its lines without line feeds; `line` is the number of the first of them."""
    _refuse_controls([*comments, *rows], path, line)
    first = line + len(comments)
    if not rows:
        raise BadInput("comments without words; a word line is expected after them", path=path, line=first - 1)
    sentence = Sentence(comments, [], path=path, line=line)
    words = sentence.words
    for number, row in enumerate(rows, first):
        columns = row.split("\t")
        if len(columns) != len(COLUMNS) or "" in columns or columns[1].isspace():
            raise BadInput(_row_fault(columns), path=path, line=number)
        identifier, form, lemma, upos, xpos, feats, head, deprel, deps, misc = columns
        if identifier == str(len(words) + 1):
            if head != "_" and not _is_number(head):
                raise BadInput(f"HEAD '{head}' is not the id of a word, nor 0, nor _", path=path, line=number)
            parent = NO_HEAD if head == "_" else int(head)
            words.append(Word(len(words) + 1, form, lemma, upos, xpos, feats, parent, deprel, deps, misc))
        elif fault := _add_other(sentence, columns):
            raise BadInput(fault, path=path, line=number)
    if sentence.ranges and sentence.ranges[-1].last > len(words):
        last = sentence.ranges[-1]
        fault = f"range {last.first}-{last.last} goes beyond the {len(words)} words of its sentence"
        raise BadInput(fault, path=path, line=first + _row_of_last_range(rows))
    check_heads(sentence, trees=trees)
    return sentence


def _refuse_controls(block: list[str], path: PathLike, first: int) -> None:
    """Refuse what no text line holds. The common case is tested for the whole sentence at once."""
    if _is_text("".join(block)):
        return
    number, line = next((number, line) for number, line in enumerate(block, first) if not _is_text(line))
    if "\0" in line:
        fault = "NUL character; the file is damaged or not a text file"
    elif "\r" in line or "\n" in line:
        fault = "line end inside a line; lines end with LF or CRLF"
    else:
        fault = "lone surrogate, which is no character of any text"
    raise BadInput(fault, path=path, line=number)


def _is_text(line: str) -> bool:
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return not ("\0" in line or "\r" in line or "\n" in line)


def _row_fault(columns: list[str]) -> str:
    """What is wrong with a row that has not ten filled columns."""
    if columns[0].startswith("#"):
        return "comment inside a sentence; comments stand before its first word, and a blank line ends a sentence"
    if len(columns) != len(COLUMNS):
        return f"{len(COLUMNS)} tab-separated columns expected, found {len(columns)}"
    if columns[1].isspace():
        return "FORM is only blanks; a word is expected"
    return f"empty {COLUMNS[columns.index('')]}" + ("" if columns[1] == "" else "; write _ where there is no value")


def _is_number(text: str) -> bool:
    """Whether `text` is a number as CoNLL-U writes it: ASCII digits without leading zeros (nine are plenty)."""
    return text.isascii() and text.isdigit() and len(text) < 10 and (text == "0" or text[0] != "0")


def _add_other(sentence: Sentence, columns: list[str]) -> str | None:
    """Add a range or an empty node to a sentence that is being read; returns what is wrong with it, if anything."""
    identifier, rest, n = columns[0], tuple(columns[1:]), len(sentence.words)
    spans, nodes = sentence.ranges, sentence.empty_nodes
    separator = "-" if "-" in identifier else "."
    left, _, right = identifier.partition(separator)
    if _is_number(identifier):
        if identifier == "1":
            return f"id 1 again without a blank line before it; id {n + 1} or the end of the sentence expected"
        return f"id {identifier} found, {n + 1} expected"
    if not (_is_number(left) and _is_number(right)):
        return f"id '{identifier}' is neither a word (3) nor a range (3-4) nor an empty node (3.1); {n + 1} expected"
    low, high = int(left), int(right)
    if separator == "-":
        if spans and low <= spans[-1].last:
            return f"range {identifier} overlaps the range {spans[-1].first}-{spans[-1].last}"
        if low != n + 1 or high < low:
            return f"range {identifier} found, a range must stand before its first word and not run backwards"
        spans.append(Range(low, high, rest))
        return None
    if spans and spans[-1].first == n + 1:
        return f"empty node {identifier} must stand before the range {spans[-1].first}-{spans[-1].last}"
    number = nodes[-1].number + 1 if nodes and nodes[-1].after == n else 1
    if (low, high) != (n, number):
        return f"empty node {identifier} found, {n}.{number} expected"
    nodes.append(EmptyNode(low, high, rest))
    return None


def _row_of_last_range(rows: list[str]) -> int:
    return max(i for i, row in enumerate(rows) if "-" in row.partition("\t")[0])


# Trees --------------------------------------------------------------------------------------------------------------


def check_heads(sentence: Sentence, *, trees: bool = True, name: str = "") -> None:
    """Refuse heads outside the sentence and, with `trees`, heads that are no tree with exactly one root.

    Raises BadInput with the line of the word at fault; `name` leads the message ("system sentence 3").
    """
    heads = [word.head for word in sentence.words]
    fault = None
    if heads and (max(heads) > len(heads) or min(heads) < NO_HEAD):
        at = next(i for i, head in enumerate(heads, 1) if not NO_HEAD <= head <= len(heads))
        fault = (at, f"HEAD {heads[at - 1]} is outside the sentence of {len(heads)} words")
    elif trees:
        fault = tree_fault(heads)
    if fault:
        message = f"{name}: {fault[1]}" if name else fault[1]
        raise BadInput(message, path=sentence.path, line=sentence.line_of(fault[0]))


def tree_fault(heads: Sequence[int]) -> tuple[int, str] | None:
    """Why `heads` [n_words], 0 for the root, are no tree with one root: (id of a word at fault, reason), or None.

    Linear in the number of words and without recursion. The heads must lie inside the sentence.
    """
    if NO_HEAD in heads:
        return heads.index(NO_HEAD) + 1, "no HEAD; the id of a word, or 0 for the root, expected"
    roots = [i for i, head in enumerate(heads, 1) if head == 0]
    if not roots:
        return 1, "no root; exactly one word with HEAD 0 expected"
    if len(roots) > 1:
        return roots[1], f"{len(roots)} roots (words {', '.join(map(str, roots[:5]))}); exactly one expected"
    seen = [0] * (len(heads) + 1)  # the word from which a walk to the root came by; 0: none did
    seen[0] = NO_HEAD
    for start in range(1, len(heads) + 1):
        at = start
        while not seen[at]:
            seen[at] = start
            at = heads[at - 1]
        if seen[at] == start:
            return at, f"cycle: word {at} depends on itself through its head {heads[at - 1]}"
    return None


# Writing ------------------------------------------------------------------------------------------------------------


def dumps(sentences: Iterable[Sentence]) -> str:
    """Sentences as CoNLL-U text. Raises BadInput for what could not be read back as it is: a tab or a line end inside
    a column, an empty form, a lone surrogate, ids out of order, a head outside the sentence, no words at all."""
    return "".join(_dump(sentence, number) for number, sentence in enumerate(sentences, 1))


def write(path: PathLike, sentences: Iterable[Sentence]) -> None:
    """Write a file atomically, one sentence at a time; raises BadInput like `dumps`, and then writes nothing."""
    if Path(path).suffix.lower() in COMPRESSED:
        raise BadInput("CoNLL-U is written plain; give a name without a compression suffix", path=path, usage=True)
    with writing(path) as stream:
        for number, sentence in enumerate(sentences, 1):
            stream.write(_dump(sentence, number).encode("utf-8"))


def _dump(sentence: Sentence, number: int) -> str:
    before: dict[int, list[str]] = {}  # rows of ranges and empty nodes, by the word that they stand before
    for node in sentence.empty_nodes:
        before.setdefault(node.after + 1, []).append("\t".join((f"{node.after}.{node.number}", *node.columns)))
    for span in sentence.ranges:
        before.setdefault(span.first, []).append("\t".join((f"{span.first}-{span.last}", *span.columns)))
    rows: list[str] = []
    for i, word in enumerate(sentence.words, 1):
        if before:
            rows += before.pop(i, ())
        head = "_" if word.head == NO_HEAD else str(word.head)
        rows.append("\t".join((str(word.id), *word[1:6], head, *word[7:])))
    rows += before.pop(len(sentence.words) + 1, ())
    # Reading it back is the shortest proof that nothing is lost, and it names the fault in the reader's words.
    try:
        again = _sentence(sentence.comments, rows, f"sentence {number}", 1, trees=False)
    except BadInput as error:
        raise BadInput(f"cannot be written as CoNLL-U: {error}") from None
    if before or again != sentence:
        raise BadInput(f"cannot be written as CoNLL-U: sentence {number}: ids, ranges or empty nodes out of order")
    if any(line[:1] != "#" for line in sentence.comments):
        raise BadInput(f"cannot be written as CoNLL-U: sentence {number}: a comment does not begin with #")
    return "\n".join([*sentence.comments, *rows, "", ""])
