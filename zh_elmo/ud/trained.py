"""What tagger, parser and labeller have in common: settings and vocabulary, network, vectors, and their folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import torch
from torch import nn

from zh_elmo.fit import Fitted
from zh_elmo.text.pipeline import Pipeline
from zh_elmo.ud.folder import Contents, fill, open_folder, save_folder
from zh_elmo.ud.inputs import Vectors
from zh_elmo.ud.network import EncoderSettings, WordInput, mix_weights

Network = TypeVar("Network", bound=nn.Module)


class Trained(Generic[Network]):
    """A trained network, whose `words` is a WordInput, with all that it needs to be given raw forms."""

    kind: ClassVar[str]
    settings_kind: ClassVar[type[EncoderSettings]]
    network_kind: ClassVar[type[Any]]  # called with Contents

    def __init__(self, contents: Contents, network: Network, vectors: Vectors | None) -> None:
        self.contents, self.network, self.vectors = contents, network, vectors
        self.text = Pipeline(contents.text)
        self.fitted: Fitted | None = None  # how its training ended; None when loaded

    @classmethod
    def untrained(cls, contents: Contents, vectors: Vectors | None, seed: int) -> Self:
        """Weights drawn with `seed`; torch's own generator is left alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(contents, cls.network_kind(contents), vectors)

    def mix(self) -> dict[str, Any] | None:
        """The learned weights of the layers of vectors, {"s": [...], "gamma": x}; None where nothing is mixed."""
        words = self.network.words
        assert isinstance(words, WordInput)
        return mix_weights(words)

    def save(self, folder: Path) -> None:
        """Write the folder whole: model.safetensors, config.json, vocabulary.json."""
        save_folder(folder, self.kind, self.contents, self.network)

    @classmethod
    def load(cls, folder: Path, vectors: Vectors | None = None) -> Self:
        """Raises BadInput where the folder is damaged or of another kind, or where `vectors` are not those that it was
        trained with."""
        contents = open_folder(folder, cls.kind, cls.settings_kind, vectors)
        network = cls.network_kind(contents)
        fill(network, folder)
        return cls(contents, network, vectors)
