"""Contextual word embeddings of the ELMo kind for Chinese and any other text."""

from __future__ import annotations

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zh_elmo.embed.elmo import Elmo
    from zh_elmo.embed.embedder import Embedder, load

__all__ = ["Elmo", "Embedder", "__version__", "load"]

# torch takes seconds to import: only who asks for one of these waits for it
_HOMES = {"Elmo": "zh_elmo.embed.elmo", "Embedder": "zh_elmo.embed.embedder", "load": "zh_elmo.embed.embedder"}

try:
    __version__ = metadata.version("zh_elmo")
except metadata.PackageNotFoundError:  # a checkout that was not installed
    __version__ = "0+unknown"


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'zh_elmo' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
