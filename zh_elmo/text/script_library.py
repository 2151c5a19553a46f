"""The installed `opencc`: which of three packages it is, its converters, and one line on what is wrong with it.

opencc-python-reimplemented, opencc-py and the official wheel `opencc` all bring a module `opencc` with
`OpenCC(config).convert(text)`. Installed beside each other the last one wins, and uninstalling either leaves a folder
without code that pip still lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import metadata
from typing import Any, NamedTuple

from zh_elmo.files import BadInput

Convert = Callable[[str], str]

_DISTRIBUTIONS = {"reimplemented": "opencc-python-reimplemented", "pure": "opencc-py", "official": "opencc"}
_REPAIR = (
    "pip uninstall -y opencc opencc-py opencc-python-reimplemented, then pip install opencc-python-reimplemented "
    "(three packages bring a module called opencc and overwrite each other)"
)
_LONGEST = 2000  # characters handed to the library at a time, which may take more than linear time over a long piece
# Up to the last mark at which no word goes on, if there is one: the library finds the same words as in the whole.
_CHUNK = re.compile(f"(?s:.{{0,{_LONGEST - 1}}}[\\s。，、；：？！…,;?!])|(?s:.{{1,{_LONGEST}}})")


class Inside(NamedTuple):
    """What a converter of one stage knows, where it can be read."""

    characters: dict[str, str]  # single characters that it changes or names
    phrases: frozenset[str]  # what it does not convert character by character
    before: str  # characters that it exchanges first, each of which may become a part of a phrase


def package() -> dict[str, str]:
    """Which package brings the module `opencc`: {"package", "version"}. Raises BadInput where none or a damaged one."""
    module = _module()
    name = _DISTRIBUTIONS[_kind(module)]
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        version = str(getattr(module, "__version__", "unknown"))
    return {"package": name, "version": version}


@cache
def converter(config: str) -> Any:
    """The library's object for `config`. Raises BadInput where the library is missing or damaged."""
    module = _module()
    given, due = ("漢語", "汉语") if config == "t2s" else ("汉语", "漢語")
    try:
        library = module.OpenCC(config)
        got = library.convert(given)
    except Exception as error:  # whatever a half-overwritten package raises
        raise BadInput(f"the module opencc is damaged ({type(error).__name__}: {error}): {_REPAIR}") from None
    if got != due:
        raise BadInput(f"the module opencc is damaged ({config} makes {got!r} of {given!r}): {_REPAIR}")
    for key, value in _entries(getattr(library, "_dict_chain_data", ())):
        if not all(character.isalnum() or character in key for character in value.replace(" ", "")):
            raise BadInput(f"the module opencc is damaged (its {config} has {value!r} for {key!r}): {_REPAIR}")
    return library


def _entries(tables: Any) -> Iterator[tuple[str, str]]:
    """Keys and values of the dictionaries of opencc-python-reimplemented, however deep they lie."""
    if isinstance(tables, dict):
        yield from tables.items()
    elif isinstance(tables, list | tuple):
        for table in tables:
            yield from _entries(table)


def aligned(config: str) -> Convert:
    """The library's conversion with as many characters as before, whatever the library does.

    No configuration used here has an entry that changes the length in any of the three packages; but the official one
    ends a text at a NUL character in its configurations of two stages (s2tw, s2hk), and takes no surrogates. A piece
    that does not come back with its length is halved until what is to blame is alone, and that character stays.
    """
    convert: Convert = converter(config).convert

    def whole(text: str) -> str:
        if len(text) <= _LONGEST:
            return _same_length(convert, text)
        return "".join(_same_length(convert, chunk.group()) for chunk in _CHUNK.finditer(text))

    return whole


def _same_length(convert: Convert, text: str) -> str:
    try:
        converted = convert(text)
    except UnicodeEncodeError:
        converted = ""
    if len(converted) == len(text):
        return converted
    if len(text) == 1:
        return text
    middle = len(text) // 2
    return _same_length(convert, text[:middle]) + _same_length(convert, text[middle:])


def inside(library: Any) -> Inside | None:
    """What the object for `t2s` knows; None for a package whose inside is closed or has changed."""
    try:
        return _of_reimplemented(library) if hasattr(library, "_dict_chain_data") else _of_pure(library)
    except (AttributeError, TypeError, ValueError, IndexError):
        return None


def _of_reimplemented(library: Any) -> Inside:
    """opencc-python-reimplemented: one stage of two dictionaries, phrases and characters."""
    ((*stage,),) = library._dict_chain_data
    first = {key: value.split(" ")[0] for _, _, entries in reversed(stage) for key, value in entries.items()}
    if any(len(key) != len(value) for key, value in first.items()):
        raise ValueError("a conversion that changes the length")
    characters = {key: value for key, value in first.items() if len(key) == 1}
    return Inside(characters, frozenset(first) - characters.keys(), "")


def _of_pure(library: Any) -> Inside:
    """opencc-py: compatibility ideographs to common ones, then one group of tries."""
    if library._segmenter is not None or len(library._chain) != 1:
        raise ValueError("other stages than expected")
    before = [key for matcher in library._normalization for key in _keys(matcher)]
    keys = [*before, *_keys(library._chain[0])]
    characters = {key: library.convert(key) for key in keys if len(key) == 1}
    if any(len(value) != 1 for value in characters.values()):
        raise ValueError("a conversion that changes the length")
    return Inside(characters, frozenset(key for key in keys if len(key) > 1), "".join(sorted(before)))


def _keys(matcher: Any) -> Iterator[str]:
    """All keys of a trie of opencc-py, or of a group of them."""
    if hasattr(matcher, "matchers"):
        for one in matcher.matchers:
            yield from _keys(one)
        return
    left = [("", matcher.root)]
    while left:
        prefix, node = left.pop()
        if node.value is not None:
            yield prefix
        left += [(prefix + character, child) for character, child in node.children.items()]


def _module() -> Any:
    try:
        import opencc
    except Exception as error:  # not there, or a shared library that this system cannot load
        raise BadInput(f"script conversion needs the module opencc ({error}): {_REPAIR}") from None
    if not hasattr(opencc, "OpenCC"):
        raise BadInput(f"the module opencc is damaged (it has no OpenCC): {_REPAIR}")
    return opencc


def _kind(module: Any) -> str:
    if hasattr(module.OpenCC, "set_conversion"):
        return "reimplemented"
    return "pure" if hasattr(module, "_opencc_pure") else "official"
