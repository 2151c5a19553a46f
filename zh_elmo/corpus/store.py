"""A corpus on the disk: shards of word ids, memory-mapped; word types by frequency; the manifest."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from zh_elmo.fetch.bring import is_address, public
from zh_elmo.files import BadInput, lines, read_json

FORMAT = 1
SENTENCE_END = 2**32 - 1  # after each sentence
DOCUMENT_END = 2**32 - 2  # after the last sentence of each document, as well


class Corpus:
    """A corpus that `zh-elmo corpus build` made. `Corpus.open(folder)` raises BadInput where it is not one."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        self.digest: str = manifest["digest"]

    @classmethod
    def open(cls, folder: str | Path) -> Corpus:
        if is_address(str(folder)):
            message = "a corpus is mapped into memory, out of a folder of this machine; copy it there first"
            raise BadInput(message, path=public(str(folder)), usage=True)
        folder = Path(folder)
        path = folder / "manifest.json"
        if not path.is_file():
            raise BadInput(
                "not a corpus: it holds no manifest.json (see zh-elmo corpus build)", path=folder, usage=True
            )
        manifest = read_json(path)
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise BadInput(f"not the manifest of a corpus of format {FORMAT}; build the corpus again", path=path)
        for name, facts in manifest["files"].items():
            file = folder / name
            if not file.is_file() or file.stat().st_size != facts["bytes"]:
                raise BadInput(f"not of {facts['bytes']:,} bytes as it should be; build the corpus again", path=file)
        return cls(folder, manifest)

    @property
    def origin(self) -> dict[str, Any]:
        """For the card of a model: where the text came from, its licences, and the treebanks that were kept out."""
        sources = self.manifest["sources"]
        return {
            "sources": sorted({source["name"] for source in sources}),
            "kept_out": self.manifest["settings"]["exclude"],
            "licence": {source["name"]: source.get("licence", "not stated") for source in sources},
        }

    @cached_property
    def _types(self) -> tuple[list[str], NDArray[np.int64]]:
        types: list[str] = []
        counts: list[int] = []
        path = self.folder / "types.txt"
        for number, line in lines(path):
            word, tab, count = line.rpartition("\t")
            if not tab or not count.isdigit():
                raise BadInput("expected a word, a tab and a count", path=path, line=number)
            types.append(word)
            counts.append(int(count))
        return types, np.array(counts, np.int64)

    @property
    def types(self) -> list[str]:
        """Word types by falling frequency in the training part, ties by code point; then those held out only."""
        return self._types[0]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Occurrences of each type in the training part; 0 for types that are in the held-out part only."""
        return self._types[1]

    def ids(self, part: Literal["train", "heldout"]) -> NDArray[np.uint32]:
        """Places in `types`, with SENTENCE_END and DOCUMENT_END between; memory-mapped where it is one shard, else
        all shards in memory."""
        shards = self.shards(part)
        return shards[0] if len(shards) == 1 else np.concatenate(shards)

    def shards(self, part: Literal["train", "heldout"]) -> list[NDArray[np.uint32]]:
        """The same shard by shard, each memory-mapped and ending with a sentence."""
        names = sorted(name for name in self.manifest["files"] if name.startswith("shard-"))
        return [_mapped(self.folder / name) for name in (names if part == "train" else ["heldout.bin"])]


def _mapped(path: Path) -> NDArray[np.uint32]:
    if path.stat().st_size == 0:  # an empty file cannot be mapped
        return np.empty(0, np.uint32)
    return np.memmap(path, "<u4", mode="r")
