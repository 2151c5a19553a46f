"""One pass over the special characters of wikitext: what is not text of the page goes, what stands for text becomes it.

A flat list of pieces and a stack of what is open: where something closes, the pieces since its opening become what it
shows. What never closes stays as text, as MediaWiki has it, but for what would swallow the rest of the page. Every
character is looked at a bounded number of times (the stack is at most `DEPTH` high), so time is linear whatever comes.
Left for `wikitext`, which reads line by line: what stands at the beginning of lines, and marks that no XML can hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html.entities import html5

from zh_elmo.text import wikinames
from zh_elmo.text.variants import Action, Rule, Unreadable, markup, parse, unmarked

DEPTH = 100  # of everything that nests; MediaWiki itself stops at 40 templates
VARIANT_DEPTH = 10
LITERAL = "\x06"  # text from here on is shown as it stands, at the beginning of a line too
HOLE = "\x0e"  # a template stood here
_PIPE = "\x1f"  # a | that separates; the others are text
MARK = re.compile("\x04([0-9]+)\x05")  # the rule of this number holds, or no longer, from here on

# The opening pieces lie in the list of pieces and stay there, as text, if nothing closes them.
_LINK, _EXTERNAL, _BRACE, _VARIANT, _TABLE = "link", "external", "brace", "variant", "table"
_SCHEME = "(?:(?:https?|ftp|news|irc)://|mailto:|//)"
# Each alternative begins with a plain character, not with a class or a repeat: by these `re` skips text at full speed.
_TOKEN = re.compile(
    r"\[\[([^\[\]{}|<>\n&']*+)(?:\|([^\[\]{}|<>\n&']*+))?\]\]"  # a link with nothing else in it
    r"|\[\["
    rf"|\[{_SCHEME}[^\s\[\]<>\"{{}}|]*+[ \t]*+"
    r"|\]\]?"
    r"|\{\{+"
    r"|-\{(?!\{)"  # -{{ is a hyphen and a template
    r"|\}\}*"
    r"|\|"
    r"|<(?:!--|(/?)([A-Za-z][A-Za-z0-9]*+)(?:[\s/][^<>]*+)?>)"
    r"|&(\#[0-9]{1,8}|\#[xX][0-9A-Fa-f]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});"
    r"|''+"
    rf"|__(?:{'|'.join(sorted(wikinames.SWITCHES))})__"
    r"|\n[ \t:*\#;]*+\{\|"
    r"|\n[ \t]*+\|\}(?!\})"
)
_ENTITY = re.compile(r"&(\#[0-9]{1,8}|\#[xX][0-9A-Fa-f]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});")
_CLOSING = {name: re.compile(rf"</{name}\s*>", re.I) for name in wikinames.DROPPED | wikinames.VERBATIM}


class Scan:
    """Wikitext, read. `text` holds marks; `changes` are the rules that they name."""

    def __init__(self, wikitext: str, variant: str, hidden: frozenset[str]) -> None:
        self.changes: list[tuple[Rule, Action]] = []
        self.groups = 0  # templates that bring rules which are not in the page
        self.as_written = False  # __NOCONTENTCONVERT__
        self._text = "\n" + wikitext
        self._variant, self._hidden = variant, hidden
        self._out: list[str] = []
        self._stack: list[tuple[str, int]] = []  # (kind, place of the opening piece)
        self._lost: set[str] = set()  # tags of which no end lies ahead
        self._handlers: dict[str, Callable[[re.Match[str]], int]] = {
            "[": self._bracket,
            "]": self._end_bracket,
            "{": self._brace,
            "}": self._end_brace,
            "-": self._dash,
            "|": self._pipe,
            "<": self._tag,
            "&": self._entity,
            "'": self._quotes,
            "_": self._switch,
            "\n": self._table,
        }
        self.text = self._scanned()

    def _scanned(self) -> str:
        text, out, handlers, search = self._text, self._out, self._handlers, _TOKEN.search
        position = 0
        while found := search(text, position):
            start = found.start()
            if start > position:
                out.append(text[position:start])
            if (target := found[1]) is not None:
                out.append(self._link(target, found[2]) if ":" in target else found[2] or target)
                position = found.end()
            else:
                position = handlers[text[start]](found)
        out.append(text[position:])
        if any(kind == _TABLE for kind, _ in self._stack):
            raise Unreadable("a table that never ends")
        return "".join(out).replace(_PIPE, "|")

    # What is open ----------------------------------------------------------------------------------------------------

    def _open(self, kind: str, opening: str) -> None:
        self._stack.append((kind, len(self._out)))
        self._out.append(opening)
        if len(self._stack) > DEPTH:
            raise Unreadable("nested too deeply")

    def _find(self, wanted: str, through: tuple[str, ...]) -> int:
        """Place in the stack of the innermost `wanted`, with nothing over it but kinds in `through`; -1: none."""
        for place in range(len(self._stack) - 1, -1, -1):
            kind = self._stack[place][0]
            if kind == wanted:
                return place
            if kind not in through:
                return -1
        return -1

    def _take(self, place: int) -> str:
        """What lies after an opening piece; both leave the list. What was opened later and not closed is text."""
        first = self._stack[place][1]
        content = "".join(self._out[first + 1 :])
        del self._stack[place:], self._out[first:]
        return content

    def _marks(self, content: str) -> str:
        """What stays of content that goes: its rules hold for the page."""
        return "".join(f"\x04{number}\x05" for number in MARK.findall(content)) if self.changes else ""

    def _change(self, rule: Rule | None, action: Action) -> str:
        if rule is None or action == "none":
            return ""
        self.changes.append((rule, action))
        return f"\x04{len(self.changes) - 1}\x05"

    # Links -----------------------------------------------------------------------------------------------------------

    def _bracket(self, found: re.Match[str]) -> int:
        opening = found[0]
        self._open(_LINK if opening == "[[" else _EXTERNAL, opening)
        return found.end()

    def _end_bracket(self, found: re.Match[str]) -> int:
        if (place := self._find(_EXTERNAL, (_VARIANT,))) >= 0:
            if any("\n" in piece for piece in self._out[self._stack[place][1] + 1 :]):
                del self._stack[place:]  # no link, that ends with its line; see again what closes here
                return found.start()
            self._out.append(self._take(place).replace(_PIPE, "|"))
            return found.start() + 1
        if found[0] == "]" or (place := self._find(_LINK, (_VARIANT,))) < 0:
            self._out.append(found[0])
            return found.end()
        target, pipe, label = self._take(place).partition(_PIPE)
        label = label.replace(_PIPE, "|")
        if "\n" in target:
            self._out.append(f"[[{target}{pipe and '|'}{label}]]")
        else:
            self._out.append(self._link(target, label if pipe else None))
        return found.end()

    def _link(self, target: str, label: str | None) -> str:
        """What a link shows: its label, else its target; nothing where it is a picture, a category, a language."""
        name = bare(target).strip()
        namespace, _, _ = name.partition(":")
        if namespace != name:
            if namespace.rstrip().lower() in self._hidden:
                return self._marks(target + (label or ""))
            if "://" in name:  # [[http://a.cn 甲]], meant as an external link
                label = label or name.partition(" ")[2]
                return label.strip()
        return label if label and bare(label).strip() else target.strip().lstrip(":")

    # Templates, parameters, variants -----------------------------------------------------------------------------

    def _brace(self, found: re.Match[str]) -> int:
        if len(found[0]) > DEPTH:
            raise Unreadable("nested too deeply")
        self._open(_BRACE, found[0])
        return found.end()

    def _dash(self, found: re.Match[str]) -> int:
        self._open(_VARIANT, "-{")
        if sum(kind == _VARIANT for kind, _ in self._stack) > VARIANT_DEPTH:
            raise Unreadable("nested too deeply")
        return found.end()

    def _end_brace(self, found: re.Match[str]) -> int:
        """A run of } closes templates and parameters, and with a hyphen after it a variant; the innermost first."""
        position, end = found.span()
        hyphen = self._text.startswith("-", end)
        while position < end:
            variant = self._find(_VARIANT, (_LINK, _EXTERNAL)) if hyphen else -1
            if variant >= 0:
                self._out.append("}" * (end - 1 - position))
                self._out.append(self._resolved(self._take(variant)))
                return end + 1
            brace = self._find(_BRACE, (_LINK, _EXTERNAL, _VARIANT, _TABLE))
            if brace < 0 or end - position < 2:
                self._out.append("}" * (end - position))
                return end
            position += self._close_brace(brace, end - position)
        return end

    def _close_brace(self, place: int, closing: int) -> int:
        """Close two or three of the braces that are open at `place`; the others stay open. How many were closed."""
        opening = len(self._out[self._stack[place][1]])
        size = 3 if min(opening, closing) >= 3 else 2
        content = self._take(place)
        if opening - size >= 2:
            self._open(_BRACE, "{" * (opening - size))
        else:
            self._out.append("{" * (opening - size))
        self._out.append(self._parameter(content) if size == 3 else self._template(content))
        return size

    def _parameter(self, content: str) -> str:
        """`{{{name|what it is by default}}}`: the page is not called with arguments."""
        return content.partition(_PIPE)[2].partition(_PIPE)[0]

    def _template(self, content: str) -> str:
        name, _, rest = content.partition(_PIPE)
        name = bare(name).strip().lower().replace("_", " ")
        name = name.removeprefix("template:").removeprefix("模板:")
        if name == "noteta":
            return self._note(rest.split(_PIPE)) + HOLE
        if name.startswith("cgroup"):
            self.groups += 1
        if places := wikinames.shown(name):
            arguments = _positional(rest.split(_PIPE))
            for place in places:
                if arguments.get(place, "").strip():
                    return self._marks(content) + MARK.sub("", arguments[place]).strip()
        return self._marks(content) + HOLE

    def _note(self, arguments: list[str]) -> str:
        """`{{noteTA|T=…|1=zh-cn:丙;zh-tw:丁|G1=IT}}`: a rule in each numbered argument, tables of others in G…."""
        marks = []
        for number, argument in enumerate(arguments, 1):
            key, equals, value = argument.partition("=")
            key = bare(key).strip().lower()
            if not equals or value.startswith(">"):  # 巨集=>zh-cn:宏 has no name before the equals sign
                key, value = str(number), argument
            marks.append(self._marks(argument))
            if key.isdecimal():
                marks.append(self._change(parse(bare(value)), "add"))
            elif key.startswith("g") and value.strip():
                self.groups += 1
        return "".join(marks)

    def _resolved(self, content: str) -> str:
        """What `-{content}-` shows, and the mark of its rule. Without variants it is text."""
        flags, pipe, text = content.partition(_PIPE)
        if not pipe:
            flags, text = "", content
        text = MARK.sub("", text) if self.changes else text
        done = markup(bare(flags), text.replace(_PIPE, "|").replace(HOLE, "").replace(LITERAL, ""), self._variant)
        return self._marks(content) + self._change(done.rule, done.action) + done.shown

    def _pipe(self, found: re.Match[str]) -> int:
        self._out.append(_PIPE if self._stack else "|")
        return found.end()

    # Tables and tags -------------------------------------------------------------------------------------------------

    def _table(self, found: re.Match[str]) -> int:
        self._out.append("\n")
        if found[0].endswith("{|"):
            self._open(_TABLE, "{|")
        else:
            self._end_table(f"{_PIPE}}}")
        return found.end()

    def _end_table(self, otherwise: str) -> None:
        """Nothing stays of a table but its rules."""
        place = self._find(_TABLE, (_LINK, _EXTERNAL, _VARIANT))
        self._out.append(otherwise if place < 0 else self._marks(self._take(place)) + "\n")

    def _tag(self, found: re.Match[str]) -> int:
        slash, name, end = found[3], (found[4] or "").lower(), found.end()
        if not name:
            if (end := self._text.find("-->", end)) < 0:
                raise Unreadable("a comment that never ends")
            return end + 3
        if name in _CLOSING:
            return end if slash or self._text[end - 2] == "/" else self._closed(name, end)
        if name == "table":
            if slash:
                self._end_table("\n")
            else:
                self._open(_TABLE, found[0])
        elif name in wikinames.BLOCK:
            self._out.append("\n")
        elif name not in wikinames.INLINE:
            self._out.append(found[0])
        return end

    def _closed(self, name: str, position: int) -> int:
        """Where it goes on after a tag whose content is not wikitext; without an end only the tag itself goes."""
        closing = None if name in self._lost else _CLOSING[name].search(self._text, position)
        if closing is None:
            self._lost.add(name)
            return position
        if name in wikinames.VERBATIM:
            lines = self._text[position : closing.start()].split("\n")
            shown = (LITERAL + _ENTITY.sub(_character, line) for line in lines)
            self._out.append((" " if name == "nowiki" else "\n").join(shown))
        return closing.end()

    # Small things ----------------------------------------------------------------------------------------------------

    def _entity(self, found: re.Match[str]) -> int:
        self._out.append(_character(found))
        return found.end()

    def _quotes(self, found: re.Match[str]) -> int:
        """Two quotes are italic, three bold, five both; what is over is text."""
        length = len(found[0])
        self._out.append("'" * (1 if length == 4 else max(0, length - 5)))
        return found.end()

    def _switch(self, found: re.Match[str]) -> int:
        self.as_written |= found[0].strip("_") in wikinames.AS_WRITTEN
        return found.end()


def bare(text: str) -> str:
    """Without marks: a name, a word of a rule."""
    return MARK.sub("", unmarked(text)).replace(HOLE, "").replace(LITERAL, "")


def _positional(arguments: list[str]) -> dict[str, str]:
    """The arguments of a template that have numbers, given or counted."""
    found: dict[str, str] = {}
    counted = 0
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if equals:
            found[bare(key).strip()] = value
        else:
            counted += 1
            found[str(counted)] = argument
    return found


def _character(found: re.Match[str]) -> str:
    """What `&name;` or `&#number;` stands for; white space is a space, a control character nothing."""
    reference = found[found.lastindex or 0]
    if not reference.startswith("#"):
        character = html5.get(f"{reference};")
        if character is None:
            return found[0]
    else:
        code = int(reference[2:], 16) if reference[1] in "xX" else int(reference[1:])
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            return ""
        character = chr(code)
    if character.isspace():
        return " "
    return "" if character < " " or "\x7f" <= character < "\xa0" else character
