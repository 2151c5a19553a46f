"""AllenNLP's `_ElmoBiLm` over a biLM of ours: character ids in, all layers out, and its names in the state dict."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from zh_elmo.embed.embedder import Embedder, StateRule
from zh_elmo.embed.layers import FIRST_WORD, first_rows, layers_of, put_rows
from zh_elmo.embed.words import check_choice, checked
from zh_elmo.files import BadInput
from zh_elmo.formats import allennlp
from zh_elmo.formats.bilm_tf import ALL_BYTES, MARKS, byte_ids
from zh_elmo.formats.places import WHOLE, Place
from zh_elmo.lm.characters import PAD, UNKNOWN
from zh_elmo.lm.lstm import State
from zh_elmo.lm.model import BiLM, Spelled

WIDTH = 50  # ids of a word in all models that were published
# ids after the 256 bytes, which are 1 to 256: marks of a sentence, marks of a word, padding within a word
_BOS, _EOS, _END, _HIGHEST = 257, 258, 260, 261
_BLOCK = 512  # words that are encoded together: of like length, so that hardly any character is padding
_OUTER, _INNER = "_elmo_lstm.", "bilm."  # where AllenNLP's `Elmo` and this module have the biLM

# AllenNLP's id of each character of ours. Bytes leave our unknown character without a use, so that it can be id 0.
_THEIRS = ALL_BYTES + 1
_THEIRS[UNKNOWN] = 0
_OURS = torch.from_numpy(np.argsort(_THEIRS))


class Activations(NamedTuple):
    """What the biLM gives for a batch: [n_layers, N, T + 2, width] with the marks of the sentences, zeros where there
    is nothing, and a mask [N, T + 2] that is True where there is something."""

    layers: Tensor
    mask: Tensor


class ElmoBiLm(nn.Module):
    """Character ids [N, T, 50] -> `activations`, a tensor [N, T + 2, width] for each layer, and `mask` [N, T + 2].

    A model that reads bytes takes the ids as they are. For any other the words are put together again out of their
    bytes and treated as `zh_elmo.load` treats words. `state_dict` has AllenNLP's names and shapes where AllenNLP has
    such models (bytes, an LSTM with projection), and ours elsewhere.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        requires_grad: bool = False,
        vocab_to_cache: Sequence[str] | None = None,
        state: StateRule = "reset",
    ) -> None:
        """`embedder`: freshly loaded; its biLM becomes part of this module."""
        super().__init__()
        check_choice("state", state, StateRule)
        self.bilm = _for_vectors(embedder.bilm).requires_grad_(requires_grad)
        self.num_layers, self.state = self.bilm.n_layers, state
        self._pipeline = embedder.pipeline if embedder.text is not None else None
        settings = self.bilm.settings
        reads_bytes = bool(settings.characters.filters) and settings.characters.unit == "byte"
        self._by_id = reads_bytes and not settings.word_table and self._pipeline is None
        self._states: list[State] = []
        self._word_embedding: nn.Embedding | None = None
        if vocab_to_cache:
            self._word_embedding = self._cache(vocab_to_cache, requires_grad)
        self.bilm.eval()

    def get_output_dim(self) -> int:
        """Size of a vector."""
        return self.bilm.width

    def reset_states(self) -> None:
        """Set the carried state to zero."""
        self._states = []

    def train(self, mode: bool = True) -> ElmoBiLm:
        """AllenNLP has no dropout inside the biLM, so that it stays in evaluation mode."""
        super().train(mode)
        self.bilm.eval()
        return self

    def forward(self, inputs: Tensor, word_inputs: Tensor | None = None) -> dict[str, Any]:
        """{"activations": list of [N, T + 2, width], "mask": int64 [N, T + 2]} for character ids [N, T, 50], or for ids
        [N, T] of the words of `vocab_to_cache` (0: no word). If one of these is none of them, the characters are read.
        """
        layers, mask = self.activations(inputs, word_inputs)
        return {"activations": list(layers), "mask": mask.long()}

    def activations(self, inputs: Tensor, word_inputs: Tensor | None = None) -> Activations:
        """The same as one tensor. Raises BadInput for ids of another shape or kind, and for gaps within a sentence."""
        learns = any(parameter.requires_grad for parameter in self.parameters())
        with torch.set_grad_enabled(torch.is_grad_enabled() and learns):
            cached = self._cached_rows(word_inputs)
            mask, table, rows = cached if cached is not None else self._read(inputs)
            lengths = mask.sum(1)
            if bool((mask != (torch.arange(mask.shape[1], device=mask.device) < lengths[:, None])).any()):
                raise BadInput("rows of zeros stand between the words of a sentence; they belong behind its end")
            layers = self._layers(table, torch.split(rows, lengths.tolist()))
            steps = torch.arange(mask.shape[1] + 2, device=mask.device)
            marked = steps < lengths[:, None] + 2
            padded = layers.new_zeros(self.num_layers, *marked.shape, self.bilm.width)
            padded[:, marked] = layers
        return Activations(padded, marked)

    # State ------------------------------------------------------------------------------------------------------------

    def _layers(self, table: Tensor, sentences: Sequence[Tensor]) -> Tensor:
        """[n_layers, sum of (lengths + 2), width], and the state goes on where it is carried."""
        if self.state == "reset":
            return layers_of(self.bilm, table, sentences, marks=True)[0]
        before = first_rows(self.bilm, self._states, len(sentences))
        with torch.no_grad():  # where gradients are on, padding is read too, and the states at the end are of no use
            layers, after = layers_of(self.bilm, table, sentences, states=before, marks=True)
        if torch.is_grad_enabled():
            layers, _ = layers_of(self.bilm, table, sentences, states=before, marks=True)
        self._states = put_rows(self._states, after)
        return layers

    # Ids --------------------------------------------------------------------------------------------------------------

    def _read(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mask [N, T]; a table of encodings, the marks first; the row of it that each word is, sentence after
        sentence. Each distinct word is encoded once."""
        self._check(inputs)
        mask = (inputs > 0).any(-1)
        given = inputs[mask]
        distinct, rows = (given, given[:, 0]) if not len(given) else torch.unique(given, dim=0, return_inverse=True)
        if self._by_id:
            spelled = Spelled(_OURS.to(given.device)[distinct], distinct.new_zeros(len(distinct)))
            return mask, self._table(spelled), rows + FIRST_WORD
        words = [_word(ids) for ids in distinct.tolist()]
        sentences = [[words[i] for i in part] for part in torch.split(rows.cpu(), mask.sum(1).tolist())]
        if self._pipeline is not None:
            sentences = [self._pipeline.gold(sentence) for sentence in sentences]
        numbers = {word: row for row, word in enumerate(dict.fromkeys(w for s in sentences for w in s), FIRST_WORD)}
        places = torch.tensor([numbers[word] for s in sentences for word in s], dtype=torch.int64, device=given.device)
        return mask, self._table(self.bilm.spell(list(numbers))), places

    def _check(self, inputs: Tensor) -> None:
        width = self.bilm.settings.characters.maximum + 2
        due = f"character ids [sentences, words, {width if self._by_id else WIDTH}]"
        if inputs.dim() != 3 or inputs.is_floating_point() or (self._by_id and inputs.shape[2] != width):
            message = f"{due} are due, whole numbers, not {inputs.dtype} of shape {list(inputs.shape)}"
            raise BadInput(
                f"{message}; this model's come from batch_to_ids(batch, {width})" if self._by_id else message
            )
        if not len(inputs):
            raise BadInput("no sentence in the batch")
        if inputs.numel() and not 0 <= int(inputs.min()) <= int(inputs.max()) <= _HIGHEST:
            raise BadInput(
                f"{due} lie between 0 and {_HIGHEST}, not between {int(inputs.min())} and {int(inputs.max())}"
            )

    def _table(self, spelled: Spelled) -> Tensor:
        """Encodings [2 + n, P] of the marks `<s>`, `</s>` and of n distinct words."""
        return torch.cat([_encoded(self.bilm, self.bilm.marks()), _encoded(self.bilm, spelled)])

    # Cached words -----------------------------------------------------------------------------------------------------

    def _cache(self, words: Sequence[str], learns: bool) -> nn.Embedding:
        """Encodings of words, one a row; row 0 is that of no word, whatever stands there."""
        if isinstance(words, str) or not all(isinstance(word, str) for word in words):
            raise BadInput("vocab_to_cache is a list of words; the first stands for padding")
        if learns:
            message = "with vocab_to_cache and requires_grad, cached words learn on their own, apart from characters"
            warnings.warn(message, stacklevel=4)
        longest = max(len(word.encode("utf-8", "ignore")) for word in words) + 2
        width = self.bilm.settings.characters.maximum + 2 if self._by_id else longest
        ids = torch.from_numpy(byte_ids(words, width))
        with torch.no_grad():
            _, table, rows = self._read(ids[:, None])
        vectors = table[rows]
        vectors[0] = 0
        cache = nn.Embedding(len(vectors), vectors.shape[1], padding_idx=0, _weight=vectors)
        return cache.requires_grad_(learns)

    def _cached_rows(self, word_inputs: Tensor | None) -> tuple[Tensor, Tensor, Tensor] | None:
        """What `_read` gives, out of the cache; None where characters have to be read."""
        if word_inputs is None:
            return None
        if self._word_embedding is None:
            warnings.warn("word ids without vocab_to_cache: the characters are read", stacklevel=4)
            return None
        if word_inputs.dim() != 2 or word_inputs.is_floating_point() or not len(word_inputs):
            raise BadInput(f"word ids [sentences, words] are due, not {word_inputs.dtype} {list(word_inputs.shape)}")
        if word_inputs.numel() and int(word_inputs.max()) >= self._word_embedding.num_embeddings:
            return None
        mask = word_inputs > 0
        distinct, rows = torch.unique(word_inputs[mask], return_inverse=True)
        table = torch.cat([_encoded(self.bilm, self.bilm.marks()), self._word_embedding(distinct)])
        return mask, table, rows + FIRST_WORD

    # State dict -------------------------------------------------------------------------------------------------------

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """As torch's, with AllenNLP's names and shapes; copies, not the parameters themselves."""
        found = super().state_dict(destination=destination, prefix=prefix, keep_vars=keep_vars)
        where = _places(self.bilm)
        if where:
            inner = prefix + _INNER
            ours = {name.removeprefix(inner): found.pop(name) for name in list(found) if name.startswith(inner)}
            arrays = {name: _array(tensor) for name, tensor in ours.items()}
            like = next(self.bilm.parameters())
            for place in where:
                array = place.save([arrays[target][index] for target, index in place.targets])
                found[prefix + place.source] = torch.from_numpy(np.array(array, order="C")).to(like)
        return found

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
        unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Bring AllenNLP's names and shapes to ours before the children look for theirs; a tensor that lacks, or has
        another shape, leaves what is there and is reported by AllenNLP's name."""
        where = _places(self.bilm)
        if where:
            tensors = {name: _array(tensor).copy() for name, tensor in self.bilm.state_dict().items()}
            for place in where:
                name = prefix + place.source
                found = state_dict.pop(name, None)
                if found is None:
                    missing_keys.append(name)
                elif tuple(found.shape) != place.shape:
                    shapes = f"{tuple(found.shape)} in the state dict, {place.shape} in this model"
                    error_msgs.append(f"size mismatch for {name}: {shapes}.")
                else:
                    for (target, index), block in zip(place.targets, place.load(_array(found)), strict=True):
                        tensors[target][index] = block
            state_dict.update({f"{prefix}{_INNER}{name}": torch.from_numpy(a) for name, a in tensors.items()})
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


def batch_to_ids(batch: Sequence[Sequence[str]], max_characters: int = WIDTH) -> Tensor:
    """Sentences, a list of words each -> character ids, int64 [N, longest, max_characters]; 0 where there is no word.

    `max_characters`: bytes of a word, two marks included; AllenNLP had 50. Raises BadInput for what is not a list of
    lists of words.
    """
    if not isinstance(max_characters, int) or max_characters < 3:
        raise BadInput(f"max_characters must be 3 or more, not {max_characters!r}")
    sentences = list(checked(batch, empty=True))
    ids = np.zeros((len(sentences), max(map(len, sentences), default=0), max_characters), np.int64)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = byte_ids(sentence, max_characters)
    return torch.from_numpy(ids)


def _word(ids: list[int]) -> str:
    """The word that a row of ids spells; a character that was cut off within its bytes is left out."""
    inner = ids[1 : ids.index(_END)] if _END in ids else ids[1:]
    if inner in ([_BOS], [_EOS]):
        return MARKS[inner == [_EOS]]
    return bytes(i - 1 for i in inner if 0 < i <= 256).decode("utf-8", "ignore")


def _for_vectors(bilm: BiLM) -> BiLM:
    """Without what has no part in the vectors, and with gradients of tables as any optimiser takes them."""
    bilm.softmax = None
    bilm.settings = msgspec.structs.replace(bilm.settings, softmax=False)
    for module in bilm.modules():
        if isinstance(module, nn.Embedding):
            module.sparse = False
    if bilm.tokens.characters is not None and bilm.settings.characters.unit == "byte":
        with torch.no_grad():
            bilm.tokens.characters.embedding.weight[UNKNOWN] = 0.0  # id 0, as AllenNLP reads HDF5 files
    return bilm


def _encoded(bilm: BiLM, spelled: Spelled) -> Tensor:
    """[n, P], in blocks of words of like length."""
    device = next(bilm.parameters()).device
    chars, ids = spelled.chars.to(device), spelled.ids.to(device)
    if not len(chars):
        return next(bilm.parameters()).new_zeros(0, bilm.settings.projection)
    lengths = ((chars != PAD) * torch.arange(1, chars.shape[1] + 1, device=device)).amax(1)
    order = lengths.argsort()
    parts = [bilm.encode(Spelled(chars[p, : max(1, int(lengths[p[-1]]))], ids[p])) for p in torch.split(order, _BLOCK)]
    return torch.cat(parts)[order.argsort()]


def _places(bilm: BiLM) -> list[Place]:
    """Where AllenNLP has each tensor; nowhere for a kind of model that it does not have."""
    settings = bilm.settings
    reads = settings.characters
    if not reads.filters or reads.unit != "byte" or settings.word_table or settings.lstm != "projected":
        return []
    found = [place._replace(source=place.source.removeprefix(_OUTER)) for place in allennlp.places(settings)]
    return [_whole_table(place) if place.source.endswith("_char_embedding_weights") else place for place in found]


def _whole_table(place: Place) -> Place:
    """The table of characters with its row 0, which other readers have no use for."""
    ((target, _),) = place.targets
    return Place(
        place.source, place.shape, ((target, WHOLE),), lambda a: [a[_THEIRS]], lambda blocks: blocks[0][_OURS.numpy()]
    )


def _array(tensor: Tensor) -> NDArray[Any]:
    """On the CPU, in its own precision (bfloat16, which numpy lacks, as float32)."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
