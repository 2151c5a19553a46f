"""The calls of AllenNLP 0.9: `Elmo`, `batch_to_ids`, `ScalarMix`, and `ElmoEmbedder`, which was gone in 1.0."""

from __future__ import annotations

import json
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch
from torch import Tensor, nn

from zh_elmo.compat.allennlp_bilm import ElmoBiLm, batch_to_ids
from zh_elmo.embed.embedder import Embedder, StateRule, Vectors, load
from zh_elmo.embed.hdf5_write import beside, check_room, created
from zh_elmo.embed.layouts import INDEX, import_h5py
from zh_elmo.embed.mix import checked_weights, layer_normalised, mix
from zh_elmo.embed.padding import pad
from zh_elmo.files import BadInput, lines
from zh_elmo.lm.model import BiLM

__all__ = ["Elmo", "ElmoEmbedder", "ScalarMix", "batch_to_ids"]

_BATCH = 64
_OUTPUTS: dict[str, Callable[[Vectors], Vectors]] = {
    "all": lambda layers: layers,
    "top": lambda layers: layers[-1],
    "average": lambda layers: layers.mean(0),
}


class ElmoEmbedder:
    """`from zh_elmo.compat.allennlp import ElmoEmbedder` in place of `from allennlp.commands.elmo import ElmoEmbedder`.

    With state="carry" the numbers are those of the original, call after call. Differences with state="reset", the
    default: the state is zero before each sentence, so that its vectors are the same in every call and beside every
    other sentence. In both: an empty sentence has the shape of this model, not (3, 0, 1024); blank lines of a file keep
    their place; words are normalised as the corpus of a model of ours was.
    """

    def __init__(
        self,
        options_file: str | Path | None = None,
        weight_file: str | Path | None = None,
        cuda_device: int = -1,
        *,
        state: StateRule = "reset",
    ) -> None:
        """The two files of the original, or one path of a model of any kind in place of the first.

        The vectors are computed on the CPU. Raises BadInput where there is no model, or a damaged one.
        """
        if cuda_device >= 0:
            warnings.warn("ElmoEmbedder computes on the CPU, whatever cuda_device says", stacklevel=2)
        self.cuda_device = cuda_device
        self._embedder = _opened(options_file, weight_file, state)

    def embed_sentence(self, sentence: Sequence[str]) -> Vectors:
        """Words of one sentence -> [n_layers, n_words, width] float32, layer 0 the token encoding."""
        return self.embed_batch([sentence])[0]

    def embed_batch(self, batch: Sequence[Sequence[str]]) -> list[Vectors]:
        """[n_layers, n_words, width] of each sentence, without padding, in the order of the input."""
        if self._embedder.state == "carry" and batch in ([[]], [()]):
            return [np.zeros((self._embedder.n_layers, 0, self._embedder.width), np.float32)]  # moves no state there
        return self._embedder.embed(batch, layers="all")

    def embed_sentences(self, sentences: Iterable[Sequence[str]], batch_size: int = _BATCH) -> Iterator[Vectors]:
        """Like `embed_batch`, lazily, for any number of sentences. With state="reset" no vector depends on batches,
        which are made by number of words."""
        if self._embedder.state == "reset":
            return self._embedder.embed_iter(sentences, layers="all")
        if not isinstance(batch_size, int) or batch_size < 1:
            raise BadInput(f"batch_size must be 1 or more, not {batch_size!r}")
        given = iter(sentences)
        batches = iter(lambda: list(islice(given, batch_size)), [])
        return (vectors for batch in batches for vectors in self.embed_batch(batch))

    def batch_to_embeddings(self, batch: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """(layers [N, n_layers, longest, width], mask [N, longest], int64); zeros where there is no word."""
        layers, mask = pad(self.embed_batch(batch))
        return torch.from_numpy(layers), torch.from_numpy(mask).long()

    def embed_file(
        self,
        input_file: TextIO | str | Path,
        output_file_path: str | Path,
        output_format: str = "all",
        batch_size: int = _BATCH,
        forget_sentences: bool = False,
        use_sentence_keys: bool = False,
    ) -> None:
        """Vectors of the lines of a file, words between white space, to an HDF5 file: a dataset for each line, named by
        its number from 0, and `sentence_to_index`, JSON that names the (last) number of each line.

        input_file: open, and then closed at the end, or a path. output_format: "all", "top" or "average" layers.
        use_sentence_keys: each line is the name of its dataset, so that none may come twice. The file is there whole or
        not at all. Raises BadInput for a line that HDF5 cannot have as a name.
        """
        if output_format not in _OUTPUTS:
            raise BadInput(f"output_format is {', '.join(_OUTPUTS)}, not {output_format!r}", usage=True)
        out, index, held = Path(output_file_path), {}, 0
        waiting: deque[str] = deque()

        def sentences() -> Iterator[list[str]]:
            for line in _lines(input_file):
                waiting.append(line)
                yield line.split()

        with beside(out) as path, created(path) as file:
            for number, layers in enumerate(self.embed_sentences(sentences(), batch_size)):
                line = waiting.popleft()
                vectors = np.ascontiguousarray(_OUTPUTS[output_format](layers), np.float32)
                held += 6 * len(line) + 16
                check_room(out, vectors.nbytes + held)
                key = line if use_sentence_keys else str(number)
                _write(file, key, vectors, out, number)
                index[line] = key
            if not forget_sentences and not use_sentence_keys:
                file.create_dataset(INDEX, (1,), import_h5py().string_dtype())[0] = json.dumps(index)
        if not isinstance(input_file, str | Path):
            input_file.close()


def _lines(file: TextIO | str | Path) -> Iterator[str]:
    found = (line for _, line in lines(file)) if isinstance(file, str | Path) else file
    for line in found:
        if not isinstance(line, str):
            raise BadInput("a text file is due, not a binary one", path=getattr(file, "name", None))
        yield line.strip()


def _write(file: Any, key: str, vectors: Vectors, out: Path, number: int) -> None:
    if not key or "\0" in key:
        reason = f"line {number + 1} is blank or holds a NUL, which no name in HDF5 can"
    elif key in file:
        reason = f"line {number + 1} comes twice, or is the name of another's group: {key[:60]!r}"
    else:
        try:
            file[key] = vectors
            return
        except (KeyError, ValueError, RuntimeError, OSError) as error:
            if isinstance(error, OSError) and error.errno:
                raise
            reason = f"line {number + 1} cannot be a name in HDF5 ({error}): {key[:60]!r}"
    raise BadInput(f"{reason}; leave use_sentence_keys away", path=out)


def _opened(options_file: str | Path | None, weight_file: str | Path | None, state: StateRule = "reset") -> Embedder:
    """The model that two arguments of AllenNLP name, or one of ours."""
    for file in (options_file, weight_file):
        if isinstance(file, str) and file.startswith(("http://", "https://")):
            message = "models are not fetched; give the path of a file (or folder) on this machine"
            raise BadInput(message, path=file, usage=True)
    if weight_file is not None:
        return load(weight_file, options=options_file, state=state)
    if options_file is None:
        message = "which model? AllenNLP's own default is gone: give options_file and weight_file, or a model's folder"
        raise BadInput(message, usage=True)
    if isinstance(options_file, str | Path) and Path(options_file).suffix == ".json" and Path(options_file).is_file():
        raise BadInput("options alone are no model: give weight_file, too", path=options_file, usage=True)
    return load(options_file, state=state)


class Elmo(nn.Module):
    """`from zh_elmo.compat.allennlp import Elmo` in place of `from allennlp.modules.elmo import Elmo`.

    A state dict of either fits the other. With state="carry" the numbers are those of the original, batch after batch
    (`reset_states()` sets the state to zero); with state="reset", the default, every sentence begins with zero.
    """

    def __init__(
        self,
        options_file: str | Path | None,
        weight_file: str | Path | None,
        num_output_representations: int,
        requires_grad: bool = False,
        do_layer_norm: bool = False,
        dropout: float = 0.5,
        vocab_to_cache: Sequence[str] | None = None,
        keep_sentence_boundaries: bool = False,
        scalar_mix_parameters: Sequence[float] | None = None,
        module: nn.Module | None = None,
        *,
        state: StateRule = "reset",
    ) -> None:
        """The two files of the original, or as `options_file` one path of a model of any kind, with `weight_file` None.

        requires_grad: the biLM learns along. do_layer_norm: see `ScalarMix`; vectors then depend on the batch.
        vocab_to_cache: words of which the encodings are computed once; `word_inputs` are places in this list, and the
        first, 0, stands for no word. scalar_mix_parameters: go into the softmax, and stay as they are. module: takes
        the place of the biLM; it has `num_layers`, and gives {"activations": ..., "mask": ...}.
        Raises BadInput where there is no model, or a damaged one, and for other values than these.
        """
        super().__init__()
        if not isinstance(num_output_representations, int) or num_output_representations < 1:
            raise BadInput(f"num_output_representations must be 1 or more, not {num_output_representations!r}")
        if module is None:
            embedder = _opened(options_file, weight_file)
            module = ElmoBiLm(embedder, requires_grad=requires_grad, vocab_to_cache=vocab_to_cache, state=state)
        elif options_file is not None or weight_file is not None:
            raise BadInput("with module, options_file and weight_file must be None", usage=True)
        self._elmo_lstm = module
        self._keep_sentence_boundaries = keep_sentence_boundaries
        self._dropout = nn.Dropout(dropout)
        for number in range(num_output_representations):
            scalar_mix = ScalarMix(
                int(module.num_layers),  # type: ignore[arg-type]
                do_layer_norm,
                scalar_mix_parameters,
                trainable=scalar_mix_parameters is None,
            )
            self.add_module(f"scalar_mix_{number}", scalar_mix)
        self._mixes = [f"scalar_mix_{number}" for number in range(num_output_representations)]

    @property
    def bilm(self) -> BiLM:
        """The biLM, as it has learned: `formats.convert.save_as` and `formats.own.save` write it."""
        if not isinstance(self._elmo_lstm, ElmoBiLm):
            raise BadInput("this Elmo was made with a module of its own, not with a biLM")
        return self._elmo_lstm.bilm

    def get_output_dim(self) -> int:
        """Size of a word's vector."""
        return int(self._elmo_lstm.get_output_dim())  # type: ignore[operator]

    def reset_states(self) -> None:
        """Set the carried state to zero."""
        self._elmo_lstm.reset_states()  # type: ignore[operator]

    def forward(self, inputs: Tensor, word_inputs: Tensor | None = None) -> dict[str, Any]:
        """Character ids [N, ..., T, 50] (`batch_to_ids`) -> {"elmo_representations": [N, ..., T, width] for each mix,
        "mask": int64 [N, ..., T]}; zeros where there is no word.

        With kept marks T is T + 2, and under layer norm what stands behind a sentence is not 0. word_inputs: ids [N,
        ..., T] in place of the characters, see `vocab_to_cache`. Raises BadInput for ids of another shape or kind.
        """
        outer = inputs.shape[:-2] if word_inputs is None else word_inputs.shape[:-1]
        if word_inputs is not None and word_inputs.dim() > 2:
            word_inputs = word_inputs.flatten(0, -2)
        found = self._elmo_lstm(inputs.flatten(0, -3) if inputs.dim() > 3 else inputs, word_inputs)
        layers, mask = found["activations"], found["mask"]
        kept = mask
        if not self._keep_sentence_boundaries:
            steps = torch.arange(mask.shape[1] - 2, device=mask.device)
            kept = (steps < mask.sum(1, keepdim=True) - 2).long()
        representations = []
        for name in self._mixes:
            mixed = self.get_submodule(name)(layers, mask)
            if not self._keep_sentence_boundaries:
                mixed = mixed[:, 1:-1] * kept[..., None]
            representations.append(self._dropout(mixed).unflatten(0, outer))
        return {"elmo_representations": representations, "mask": kept.unflatten(0, outer)}


class ScalarMix(nn.Module):
    """gamma * sum_k softmax(s)_k h_k, as `allennlp.modules.scalar_mix.ScalarMix`: a state dict of either fits the other
    (`gamma` and `scalar_parameters.0` ..., of shape [1] each)."""

    def __init__(
        self,
        mixture_size: int,
        do_layer_norm: bool = False,
        initial_scalar_parameters: Sequence[float] | None = None,
        trainable: bool = True,
    ) -> None:
        """`initial_scalar_parameters` go into the softmax, one a layer (`zh_elmo.embed.mix.ScalarMix` takes what comes
        out of it); default: 0. Raises BadInput where their number is not `mixture_size`."""
        super().__init__()
        self.mixture_size, self.do_layer_norm = mixture_size, do_layer_norm
        given = [0.0] * mixture_size if initial_scalar_parameters is None else initial_scalar_parameters
        self.scalar_parameters = nn.ParameterList(
            nn.Parameter(torch.tensor([value]), requires_grad=trainable)
            for value in checked_weights(given, mixture_size)
        )
        self.gamma = nn.Parameter(torch.ones(1), requires_grad=trainable)

    def forward(self, tensors: Sequence[Tensor], mask: Tensor | None = None) -> Tensor:
        """`tensors`: a list of [..., width], one a layer; mask [...] is False (or 0) where there is no word, looked at
        with `do_layer_norm` only -> [..., width]. Raises BadInput for another number of layers."""
        if len(tensors) != self.mixture_size:
            raise BadInput(f"a mix of {self.mixture_size} layers was given {len(tensors)}")
        stacked = torch.stack(list(tensors))
        if self.do_layer_norm:
            stacked = layer_normalised(stacked, mask)
        return mix(stacked, torch.cat(list(self.scalar_parameters)).softmax(0), self.gamma)
