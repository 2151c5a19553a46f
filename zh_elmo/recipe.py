"""Recipes: TOML to typed settings. Unknown keys are refused; `--set a.b=c` overrides one value."""

from __future__ import annotations

import difflib
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from zh_elmo.files import BadInput, read_text

T = TypeVar("T")
Size = Annotated[int, Meta(ge=1)]  # kinds of numbers that settings are made of
Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, lt=1)]
# Not gt=0: msgspec asks for the next number above 0, which is 0 once some library has the processor flush such numbers
Positive = Annotated[float, Meta(ge=sys.float_info.min)]
Amount = Annotated[float, Meta(ge=0)]
_HERE = Path(__file__).parent
SHELVES = ("corpora", "recipes", "eval")


_STRICT = {"frozen": True, "forbid_unknown_fields": True}  # apart: a type checker would want frozen=True said by each


class Settings(msgspec.Struct, kw_only=True, **_STRICT):
    """Base of every room's settings: immutable, strict, keyword-only."""


class Entry(NamedTuple):
    """One recipe on a shelf."""

    name: str
    about: str  # its first comment line
    path: Path


def shelf_folder(shelf: str) -> Path:
    """The folder of a shelf: inside the package when installed, beside it in a checkout."""
    installed = _HERE / "shelves" / shelf
    return installed if installed.is_dir() else _HERE.parent / shelf


def entries(shelf: str) -> list[Entry]:
    """What is on a shelf, by name."""
    return [Entry(path.stem, _about(path), path) for path in sorted(shelf_folder(shelf).glob("*.toml"))]


def _about(path: Path) -> str:
    first = read_text(path).partition("\n")[0]
    return first.removeprefix("#").strip() if first.startswith("#") else ""


def find(shelf: str, name: str | Path) -> Path:
    """A recipe by its name on a shelf (`pretrain-zh-tiny`, also `recipes/pretrain-zh-tiny` or with `.toml`) or by
    path. A file that exists wins. Raises BadInput (usage) with the nearest names."""
    given = Path(name)
    if given.suffix == ".toml" and given.is_file():
        return given
    plain = str(name).removeprefix(f"{shelf}/").removesuffix(".toml")
    names = {entry.name: entry.path for entry in entries(shelf)}
    if plain in names:
        return names[plain]
    near = difflib.get_close_matches(plain, names, n=3) or sorted(names)
    raise BadInput(f"no such recipe on the shelf {shelf}; there are: {', '.join(near)}", path=str(name), usage=True)


def load(path: Path, kind: type[T], sets: Sequence[str] = ()) -> T:
    """Read a TOML recipe as settings of type `kind`, with overrides such as `model.cell=512` applied.

    Raises BadInput: of the data for a fault in the file, of the usage for a fault in `sets`.
    """
    try:
        raw = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"not TOML: {error}", path=path) from None
    settings = convert(raw, kind, path)
    return _changed(raw, kind, sets) if sets else settings


def usual(kind: type[T], sets: Sequence[str] = ()) -> T:
    """The usual settings of type `kind`, with such overrides applied."""
    return _changed({}, kind, sets)


def _changed(raw: dict[str, Any], kind: type[T], sets: Sequence[str]) -> T:
    for assignment in sets:
        _assign(raw, assignment)
    try:
        return convert(raw, kind, "--set")
    except BadInput as error:
        raise BadInput(str(error), usage=True) from None


def convert(raw: Mapping[str, Any], kind: type[T], source: str | Path) -> T:
    """Plain data as settings; raises BadInput naming the key, what was expected and the nearest known key."""
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise BadInput(_explain(str(error), kind), path=source) from None


def plain(settings: Any) -> Any:
    """Settings as plain data (for JSON)."""
    return msgspec.to_builtins(settings)


def _explain(message: str, kind: Any) -> str:
    if choice := re.match(r"Invalid enum value (.*?) - at `\$\.(.*)`$", message):
        value, place = choice.groups()
        return f"{place} = {value}: due is one of {', '.join(map(str, _choices(kind, place.split('.'))))}"
    unknown = re.match(r"Object contains unknown field `(.*?)`(?: - at `\$\.?(.*)`)?$", message)
    if not unknown:
        return message.replace(" - at `$.", " at `").replace(" - at `$", " at `")
    key, place = unknown.group(1), unknown.group(2) or ""
    known = _fields(kind, [part for part in place.split(".") if part])
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
    return f"unknown key {'.'.join(filter(None, [place, key]))}; {hint}"


def _fields(kind: Any, place: list[str]) -> list[str]:
    """Names of the fields of the settings found at `place` inside `kind`."""
    info = msgspec.inspect.type_info(kind)
    for part in place:
        field = next((f for f in getattr(_struct(info), "fields", ()) if f.encode_name == part.split("[")[0]), None)
        if field is None:
            return []
        info = field.type
    return [field.encode_name for field in getattr(_struct(info), "fields", ())]


def _choices(kind: Any, place: list[str]) -> list[Any]:
    """The values that the setting at `place` can have."""
    info = msgspec.inspect.type_info(kind)
    for part in place:
        field = next((f for f in getattr(_struct(info), "fields", ()) if f.encode_name == part.split("[")[0]), None)
        if field is None:
            return []
        info = field.type
    found = next((one for one in (info, *getattr(info, "types", ())) if hasattr(one, "values")), _struct(info))
    return list(getattr(found, "values", ()))


def _struct(info: Any) -> Any:
    """The struct inside an optional or a list of it."""
    for inner in getattr(info, "types", ()):
        if hasattr(inner, "fields"):
            return inner
    return getattr(info, "item_type", info)


def _assign(raw: dict[str, Any], assignment: str) -> None:
    key, equals, value = assignment.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts):
        raise BadInput(f"--set {assignment}: expected key.subkey=value", usage=True)
    for part in parts[:-1]:
        raw = raw.setdefault(part, {})
        if not isinstance(raw, dict):
            raise BadInput(f"--set {assignment}: {part} is not a table", usage=True)
    try:
        raw[parts[-1]] = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        raw[parts[-1]] = value  # a bare word is a string: --set training.optimiser=adagrad
