"""Each of the three packages called opencc is known by name; what is damaged or missing is told in one line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from types import ModuleType

import pytest

from zh_elmo.files import BadInput
from zh_elmo.text import script, script_library, script_tables

opencc = pytest.importorskip("opencc")


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Nothing is remembered of another package, before and after."""
    caches = (
        script_library.converter, script_tables.tables, script_tables._table, script_tables._remembered, script._library
    )  # fmt: skip
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def replaced(monkeypatch: pytest.MonkeyPatch, convert: Callable[[str, str], str]) -> None:
    """Put a package in place of the installed one whose inside is closed; `convert` is given config and text."""

    class Closed:
        def __init__(self, config: str) -> None:
            self.config = config

        def convert(self, text: str) -> str:
            return convert(self.config, text)

    module = ModuleType("opencc")
    module.OpenCC = Closed  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "opencc", module)


def test_the_installed_package_is_named() -> None:
    """opencc-python-reimplemented where one of ours is installed; the others in environments of their own."""
    found = script.package()
    assert metadata.version(found["package"]) == found["version"]
    sign = {
        "opencc-python-reimplemented": hasattr(opencc.OpenCC, "set_conversion"),
        "opencc-py": hasattr(opencc, "_opencc_pure"),
        "opencc": hasattr(opencc, "opencc_clib"),
    }
    assert [name for name, there in sign.items() if there] == [found["package"]]


def test_the_inside_of_open_packages_is_read() -> None:
    """Else the fast path would be lost without a word."""
    known = script_library.inside(script_library.converter("t2s"))
    if script.package()["package"] == "opencc":
        assert known is None
    else:
        assert known is not None
        assert len(known.characters) > 4000
        assert 250 < len(known.phrases) < 1000


def test_a_package_with_a_closed_inside_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["蕭乾看著頭髮", "萧乾", "說" * 300, "于謙說：屬於單一，甚麼", "a\nb"]
    right = [script.converter("simplified")(text) for text in texts]
    script_tables.tables.cache_clear()
    script_library.converter.cache_clear()
    library = {config: opencc.OpenCC(config).convert for config in ("t2s", "s2t")}
    replaced(monkeypatch, lambda config, text: library[config](text))
    assert script_tables.tables().phrases is None
    assert [script.converter("simplified")(text) for text in texts] == right
    assert script.detect("說") == "hant"
    assert script.package()["package"] == "opencc"


def test_texts_that_a_package_shortens_keep_their_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """As OpenCC 1.4.2 does at a NUL, and as a later table might for a phrase."""
    tables = str.maketrans("汉语发网络说话", "漢語發網絡說話")

    def convert(config: str, text: str) -> str:
        return text.translate(tables).replace("網絡", "互聯網").partition("\0")[0]

    replaced(monkeypatch, convert)
    to_opencc = script_library.aligned("s2t")
    assert to_opencc("说话") == "說話"
    assert to_opencc("说\0话" * 3) == "說\0話" * 3
    assert to_opencc("\0") == "\0"
    assert to_opencc("发说话网络语") == "發說話網絡語"
    assert to_opencc("说话。" * 3000) == "說話。" * 3000
    assert len(to_opencc("说\0" * 3001)) == 6002


def test_surrogates_that_a_package_refuses_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def convert(config: str, text: str) -> str:
        text.encode()
        return text.replace("汉语", "漢語")

    replaced(monkeypatch, convert)
    assert script_library.aligned("s2t")("汉语\ud800汉语") == "漢語\ud800漢語"


def failing(config: str, text: str) -> str:
    raise FileNotFoundError("t2s.json")


@pytest.mark.parametrize("convert", [failing, lambda config, text: text, lambda config, text: ""])
def test_a_package_that_does_not_work_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, convert: Callable[[str, str], str]
) -> None:
    replaced(monkeypatch, convert)
    for use in (script.to_simplified, script.to_traditional, script.count):
        with pytest.raises(BadInput, match=r"damaged .*pip install opencc-python-reimplemented") as caught:
            use("說说")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("module", "what"),
    [(ModuleType("opencc"), "the module opencc is damaged"), (None, "script conversion needs the module opencc")],
)
def test_a_package_without_code_or_no_package_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType | None, what: str
) -> None:
    """What is left where two were installed and one of them was taken away, which pip lists as installed."""
    monkeypatch.setitem(sys.modules, "opencc", module)
    for use in (lambda: script.to_simplified("說"), script.package):
        with pytest.raises(BadInput, match=f"{what}.*overwrite each other") as caught:
            use()
        assert "\n" not in str(caught.value)
