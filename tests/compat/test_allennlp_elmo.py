"""`Elmo` and `batch_to_ids`: the numbers, the state dict and the learning of AllenNLP's."""

from __future__ import annotations

import copy
import inspect
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from golden.archive import BATCHES, DATA, Archive
from torch import Tensor, nn

import zh_elmo
from zh_elmo.compat.allennlp import Elmo, ScalarMix, batch_to_ids
from zh_elmo.files import BadInput
from zh_elmo.formats.convert import save_as

pytestmark = pytest.mark.filterwarnings("ignore:the model reads")
OPTIONS, WEIGHTS = DATA / "bilm_skip/options.json", DATA / "bilm_skip/weights.hdf5"
MIXES = (([0.3, -0.7, 1.1], 1.5), ([2.0, 0.0, -1.0], 0.4))
SENTENCES = [["今天", "天氣", "cat"], ["好"], ["我", "</S>", "。", "the"]]
STATE = torch.load(DATA / "elmo_th/elmo.th", weights_only=True)


def _elmo(**how: Any) -> Elmo:
    return Elmo(OPTIONS, WEIGHTS, how.pop("num_output_representations", 1), dropout=how.pop("dropout", 0.0), **how)


def _vectors(elmo: Elmo, batch: Sequence[Sequence[str]], number: int = 0) -> Tensor:
    return elmo(batch_to_ids(batch))["elmo_representations"][number].detach()


def _with_golden_mixes(elmo: Elmo) -> Elmo:
    elmo.load_state_dict(
        {
            f"scalar_mix_{i}.{name}": torch.tensor([value])
            for i, (weights, gamma) in enumerate(MIXES)
            for name, value in [("gamma", gamma), *((f"scalar_parameters.{k}", w) for k, w in enumerate(weights))]
        },
        strict=False,
    )
    return elmo


# Numbers --------------------------------------------------------------------------------------------------------------


def test_the_call_is_that_of_the_original() -> None:
    parameters = inspect.signature(Elmo).parameters.values()
    assert [(p.name, p.default) for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD] == [
        ("options_file", inspect.Parameter.empty), ("weight_file", inspect.Parameter.empty),
        ("num_output_representations", inspect.Parameter.empty), ("requires_grad", False), ("do_layer_norm", False),
        ("dropout", 0.5), ("vocab_to_cache", None), ("keep_sentence_boundaries", False),
        ("scalar_mix_parameters", None), ("module", None),
    ]  # fmt: skip
    assert list(inspect.signature(Elmo.forward).parameters) == ["self", "inputs", "word_inputs"]
    assert _elmo().get_output_dim() == 32


def test_ids() -> None:
    golden = Archive("bilm_skip/allennlp.npz")
    for k, batch in enumerate(BATCHES):
        ids = batch_to_ids(batch)
        assert ids.dtype == torch.int64
        np.testing.assert_array_equal(ids.numpy(), golden[f"b{k}_char_ids"])
    words = Archive("char_ids.json")
    np.testing.assert_array_equal(batch_to_ids([words["words"]])[0].numpy(), words["allennlp_50"])
    np.testing.assert_array_equal(batch_to_ids([["a" * 40, "</S>"]], 6)[0].tolist(), [
        [259, 98, 98, 98, 98, 260], [259, 258, 260, 261, 261, 261]
    ])  # fmt: skip
    assert batch_to_ids([]).shape == (0, 0, 50)
    assert batch_to_ids([[], []]).shape == (2, 0, 50)
    with pytest.raises(BadInput, match="list of words"):
        batch_to_ids(["今天"])
    with pytest.raises(BadInput, match="max_characters"):
        batch_to_ids([["a"]], 2)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("layer_norm", [False, True])
def test_golden(layer_norm: bool, keep: bool, requires_grad: bool) -> None:
    """Two batches in a row, places behind the sentences and all."""
    golden = Archive("bilm_skip/allennlp.npz")
    elmo = _elmo(
        num_output_representations=2, do_layer_norm=layer_norm, keep_sentence_boundaries=keep,
        requires_grad=requires_grad, state="carry",
    )  # fmt: skip
    _with_golden_mixes(elmo)
    for _ in range(2):
        for k, batch in enumerate(BATCHES[:2]):
            found = elmo(batch_to_ids(batch))
            lengths = [len(sentence) + 2 * keep for sentence in batch]
            assert found["mask"].dtype == torch.int64
            assert found["mask"].sum(1).tolist() == lengths
            assert (found["mask"].diff(dim=1) <= 0).all()
            for i, vectors in enumerate(found["elmo_representations"]):
                due = golden[f"mix_ln{int(layer_norm)}_keep{int(keep)}_b{k}_rep{i}"]
                np.testing.assert_allclose(vectors.detach().numpy(), due, rtol=0, atol=2e-5)
        elmo.reset_states()


def test_no_state_unless_asked_for() -> None:
    elmo, embedder = _elmo(), zh_elmo.load(WEIGHTS)
    first = _vectors(elmo, SENTENCES)
    torch.testing.assert_close(_vectors(elmo, SENTENCES), first, rtol=0, atol=0)
    for row, sentence in zip(first, SENTENCES, strict=True):
        torch.testing.assert_close(row[: len(sentence)], _vectors(elmo, [sentence])[0], rtol=0, atol=1e-6)
    for row, words in zip(first[:2], embedder.embed(SENTENCES[:2]), strict=True):
        np.testing.assert_allclose(row[: len(words)].numpy(), words, rtol=0, atol=1e-6)
        assert not row[len(words) :].any()


def test_sentences_without_words() -> None:
    elmo = _elmo(keep_sentence_boundaries=True)
    found = elmo(batch_to_ids([["好"], []]))
    assert found["mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    alone = elmo(batch_to_ids([[]]))["elmo_representations"][0]
    torch.testing.assert_close(alone[0], found["elmo_representations"][0][1, :2], rtol=0, atol=1e-6)
    assert _vectors(_elmo(), [[], []]).shape == (2, 0, 32)


def test_more_axes() -> None:
    batches = [SENTENCES, [["。"], ["the", "mat"], ["好"]]]
    ids = torch.zeros(3, 2, 4, 50, dtype=torch.int64)
    for k, batch in enumerate(batches):
        found = batch_to_ids(batch)
        ids[:, k, : found.shape[1]] = found
    for keep in (False, True):
        elmo = _elmo(keep_sentence_boundaries=keep)
        found = elmo(ids)
        assert found["mask"].shape == (3, 2, 4 + 2 * keep)
        for k, batch in enumerate(batches):
            due = _vectors(elmo, batch)
            torch.testing.assert_close(found["elmo_representations"][0][:, k, : due.shape[1]], due)


def test_special_ids() -> None:
    """AllenNLP's `tokens_to_add` are ids of single bytes; and 0 within a word has a vector of its own."""
    elmo = _elmo()
    added = batch_to_ids([["好", "x"]])
    added[0, 1] = torch.tensor([259, 5 + 1, 260] + [261] * 47)
    torch.testing.assert_close(
        elmo(added)["elmo_representations"][0], elmo(batch_to_ids([["好", "\x05"]]))["elmo_representations"][0]
    )
    state = elmo.state_dict()
    table = state["_elmo_lstm._token_embedder._char_embedding_weights"]
    assert not table[0].any()
    table[0] = table[ord("x") + 1]
    elmo.load_state_dict(state)
    holed = batch_to_ids([["好", "axb"]])
    holed[0, 1, 2] = 0
    torch.testing.assert_close(
        elmo(holed)["elmo_representations"][0], elmo(batch_to_ids([["好", "axb"]]))["elmo_representations"][0]
    )


@pytest.mark.parametrize(
    "name", ["bilm_noskip", "bilm_plain", "bilm_ckpt_char", "bilm_ckpt_word", "efml_word_char", "own"]
)
def test_models_that_allennlp_had_not(name: str, model: Path) -> None:
    """Read by bytes where the model reads bytes, else by words put together again."""
    path = model if name == "own" else DATA / name
    batch = [["蘋果", "六斤", "</S>"], [], ["The", "他"], ["今天", "𠮷", "。"]]
    elmo, embedder = Elmo(path, None, 1, dropout=0.0), zh_elmo.load(path)
    ids = batch_to_ids(batch, 30 if name == "bilm_plain" else 50)
    found = elmo(ids)["elmo_representations"][0]
    assert found.shape == (4, 3, elmo.get_output_dim())
    for row, due in zip(found, embedder.embed(batch), strict=True):
        np.testing.assert_allclose(row[: len(due)].detach().numpy(), due, rtol=0, atol=2e-6)
    other = Elmo(path, None, 1)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    other.eval().load_state_dict(elmo.state_dict())
    torch.testing.assert_close(other(ids)["elmo_representations"][0], found)


def test_state_with_words_put_together_again(model: Path) -> None:
    elmo, embedder = Elmo(model, None, 1, dropout=0.0, state="carry"), zh_elmo.load(model, state="carry")
    for batch in ([["我", "买"], ["他"]], [["了"]], [["你", "吃"], ["苹果"], ["六斤", "。"]]):
        for row, due in zip(_vectors(elmo, batch), embedder.embed(batch), strict=True):
            np.testing.assert_allclose(row[: len(due)].numpy(), due, rtol=0, atol=1e-6)


# Words that are cached ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [False, True])
def test_cached_words(own: bool, model: Path) -> None:
    words = ["<padding>", "我", "买", "苹果", "蘋果", "x" * 60]
    first = (model, None) if own else (OPTIONS, WEIGHTS)
    elmo, cached = (Elmo(*first, 2, dropout=0.0, vocab_to_cache=v, state="carry") for v in (None, words))
    numbers = torch.tensor([[1, 2, 3], [4, 5, 0], [0, 0, 0]])
    batch = [[words[i] for i in row if i] for row in numbers]
    for _ in range(2):
        due, found = elmo(batch_to_ids(batch)), cached(batch_to_ids(batch), numbers)
        assert found["mask"].tolist() == due["mask"].tolist() == [[1, 1, 1], [1, 1, 0], [0, 0, 0]]
        for one, other in zip(found["elmo_representations"], due["elmo_representations"], strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-6)
    cache = cached.state_dict()["_elmo_lstm._word_embedding.weight"]
    assert cache.shape == (6, elmo.get_output_dim() // 2)
    assert not cache[0].any()
    inner = cached(torch.zeros(1, 2, 3, 50, dtype=torch.int64), numbers[None, :2])
    assert inner["mask"].shape == (1, 2, 3)


def test_words_outside_the_cache_are_read_by_their_characters() -> None:
    elmo = _elmo(vocab_to_cache=["<padding>", "好"])
    due = _vectors(elmo, [["好", "cat"]])
    torch.testing.assert_close(
        elmo(batch_to_ids([["好", "cat"]]), torch.tensor([[1, 7]]))["elmo_representations"][0], due
    )
    plain = _elmo()
    with pytest.warns(UserWarning, match="without vocab_to_cache"):
        found = plain(batch_to_ids([["好", "cat"]]), torch.tensor([[1, 7]]))
    torch.testing.assert_close(found["elmo_representations"][0], due)
    with pytest.raises(BadInput, match="word ids"):
        elmo(batch_to_ids([["好"]]), torch.tensor([1]))
    with pytest.raises(BadInput, match="vocab_to_cache"):
        _elmo(vocab_to_cache="好")


# The state dict -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["elmo.th", "elmo_zip.th"])
def test_golden_state_dict(file: str) -> None:
    state = torch.load(DATA / "elmo_th" / file, weights_only=True)
    elmo = _elmo(num_output_representations=2, state="carry")
    elmo.load_state_dict(state)
    golden = Archive("elmo_th/allennlp.npz")
    for k, batch in enumerate(BATCHES[:2]):
        for i, vectors in enumerate(elmo(batch_to_ids(batch))["elmo_representations"]):
            np.testing.assert_allclose(vectors.detach().numpy(), golden[f"b{k}_rep{i}"], rtol=0, atol=2e-5)
    assert not golden.unread
    saved = elmo.state_dict()
    assert set(saved) == set(state) == set(json.loads((DATA / "elmo_th/names.json").read_text()))
    for name, tensor in state.items():
        torch.testing.assert_close(saved[name], tensor, rtol=0, atol=1e-7)


def test_weights_out_of_a_state_dict_and_out_of_hdf5_are_the_same() -> None:
    by_file = Elmo(OPTIONS, DATA / "elmo_th/elmo.th", 1, dropout=0.0)
    by_dict = _elmo(num_output_representations=2)
    by_dict.load_state_dict(STATE)
    saved = by_file.state_dict()
    for name in saved:
        if name.startswith("_elmo_lstm._elmo_lstm"):
            torch.testing.assert_close(saved[name], STATE[name], rtol=0, atol=1e-7)


class Task(nn.Module):
    """A model with an Elmo somewhere inside."""

    def __init__(self) -> None:
        super().__init__()
        self.text_field_embedder = nn.ModuleDict(
            {"token_embedder_elmo": nn.ModuleDict({"_elmo": _elmo(num_output_representations=2)})}
        )
        self.tags = nn.Linear(32, 3)


def test_inside_a_model() -> None:
    task, prefix = Task(), "text_field_embedder.token_embedder_elmo._elmo."
    saved = task.state_dict()
    assert set(saved) == {prefix + name for name in STATE} | {"tags.weight", "tags.bias"}
    own = {name: tensor for name, tensor in saved.items() if name.startswith("tags")}
    task.load_state_dict({prefix + name: tensor for name, tensor in STATE.items()} | own)
    for name, tensor in STATE.items():
        torch.testing.assert_close(task.state_dict()[prefix + name], tensor, rtol=0, atol=0)
    written = io.BytesIO()
    torch.save(task.state_dict(), written)
    written.seek(0)
    Task().load_state_dict(torch.load(written, weights_only=True))


def test_what_does_not_fit_is_named_as_allennlp_names_it() -> None:
    elmo = _elmo(num_output_representations=2)
    before = elmo.state_dict()
    state = dict(STATE)
    lacking = "_elmo_lstm._elmo_lstm.backward_layer_1.state_projection.weight"
    wrong = "_elmo_lstm._token_embedder._projection.bias"
    del state[lacking]
    state["_elmo_lstm._elmo_lstm.forward_layer_7.state_linearity.bias"] = torch.zeros(3)
    found = elmo.load_state_dict(state, strict=False)
    assert found.missing_keys == [lacking]
    assert found.unexpected_keys == ["_elmo_lstm._elmo_lstm.forward_layer_7.state_linearity.bias"]
    torch.testing.assert_close(elmo.state_dict()[lacking], before[lacking], rtol=0, atol=0)
    torch.testing.assert_close(elmo.state_dict()[wrong], STATE[wrong], rtol=0, atol=0)
    with pytest.raises(RuntimeError, match=r"Missing key.*backward_layer_1\.state_projection\.weight"):
        elmo.load_state_dict({name: tensor for name, tensor in STATE.items() if name != lacking})
    with pytest.raises(RuntimeError, match=r"size mismatch for _elmo_lstm._token_embedder._projection.bias: \(5,\)"):
        elmo.load_state_dict({**STATE, wrong: torch.zeros(5)})


def test_precision_and_copies() -> None:
    elmo = _elmo(num_output_representations=2).double()
    name = "_elmo_lstm._token_embedder._projection.bias"
    fine = {**STATE, name: STATE[name].double() + 1e-12}
    elmo.load_state_dict(fine)
    assert elmo.state_dict()[name].dtype == torch.float64
    torch.testing.assert_close(elmo.state_dict()[name], fine[name], rtol=0, atol=0)
    twin = copy.deepcopy(elmo)
    torch.testing.assert_close(_vectors(twin, SENTENCES), _vectors(elmo, SENTENCES), rtol=0, atol=0)
    twin.load_state_dict(STATE)
    assert not torch.equal(twin.state_dict()[name], elmo.state_dict()[name])
    torch.testing.assert_close(elmo.state_dict()[name], fine[name], rtol=0, atol=0)
    half = elmo.bfloat16()
    assert half.state_dict()[name].dtype == torch.bfloat16


# Learning -------------------------------------------------------------------------------------------------------------


def test_frozen() -> None:
    elmo = _elmo()
    elmo(batch_to_ids(SENTENCES))["elmo_representations"][0].square().sum().backward()
    learned = {name for name, parameter in elmo.named_parameters() if parameter.grad is not None}
    assert learned == {"scalar_mix_0.gamma", *(f"scalar_mix_0.scalar_parameters.{k}" for k in range(3))}
    frozen = _elmo(scalar_mix_parameters=[-9e10, 1, -9e10])
    assert not any(parameter.requires_grad for parameter in frozen.parameters())
    due = zh_elmo.load(WEIGHTS).embed(SENTENCES, layers=1)
    np.testing.assert_allclose(_vectors(frozen, SENTENCES)[1, :1].numpy(), due[1], atol=1e-6)


@pytest.mark.parametrize("state", ["reset", "carry"])
def test_the_bilm_learns_along(state: Any) -> None:
    elmo = _elmo(requires_grad=True, state=state)
    elmo(batch_to_ids(SENTENCES))
    goal = torch.randn(3, 4, 32, generator=torch.Generator().manual_seed(1))
    loss = (elmo(batch_to_ids(SENTENCES))["elmo_representations"][0] * goal).sum()
    loss.backward()
    assert all(p.grad is not None and not p.grad.is_sparse for p in elmo.parameters())
    before = copy.deepcopy(elmo.state_dict())
    torch.optim.SGD(elmo.parameters(), 1e-2).step()
    after = elmo.state_dict()
    assert not [name for name in before if torch.equal(before[name], after[name])]


def test_gradient() -> None:
    """Of one weight, against the difference of two losses."""
    elmo = _elmo(requires_grad=True).double()
    goal = torch.randn(3, 4, 32, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    weight = elmo.bilm.layers[0].input

    def loss() -> Tensor:
        return (elmo(batch_to_ids(SENTENCES))["elmo_representations"][0] * goal).sum()

    loss().backward()
    with torch.no_grad():
        weight[1, 3, 7] += 1e-6
        up = loss().item()
        weight[1, 3, 7] -= 2e-6
        down = loss().item()
    assert (up - down) / 2e-6 == pytest.approx(weight.grad[1, 3, 7].item(), rel=1e-4)


def test_dropout_while_training_only(model: Path) -> None:
    elmo = _elmo(dropout=0.5)
    torch.manual_seed(0)
    shares = (_vectors(elmo.train(), SENTENCES)[:, :1] == 0).float().mean().item()
    assert 0.3 < shares < 0.7
    assert not (_vectors(elmo.eval(), SENTENCES)[:, :1] == 0).any()
    assert not Elmo(model, None, 1).train().bilm.training  # no dropout inside


def test_fine_tuned_and_saved(tmp_path: Path) -> None:
    """allennlp#2101: back to the files of bilm-tf, which AllenNLP could not write."""
    elmo = _elmo(requires_grad=True)
    optimiser = torch.optim.SGD(elmo.parameters(), 0.05)
    for _ in range(2):
        optimiser.zero_grad()
        elmo(batch_to_ids(SENTENCES))["elmo_representations"][0].square().sum().backward()
        optimiser.step()
    save_as(elmo.bilm, tmp_path / "tuned", "bilm-tf")
    again = Elmo(tmp_path / "tuned/options.json", tmp_path / "tuned/weights.hdf5", 1, dropout=0.0)
    again.load_state_dict({name: t for name, t in elmo.state_dict().items() if "scalar_mix" in name}, strict=False)
    tuned = _vectors(elmo, SENTENCES)
    torch.testing.assert_close(_vectors(again, SENTENCES), tuned, rtol=0, atol=1e-5)
    rare = [["a\0b", "\x01", "\ud800", "", "<S>", "長" * 20]]
    torch.testing.assert_close(_vectors(again, rare), _vectors(elmo, rare), rtol=0, atol=1e-5)
    assert (tuned - _vectors(_elmo(), SENTENCES)).abs().max() > 1e-2


# What is refused ------------------------------------------------------------------------------------------------------


class TwoLayers(nn.Module):
    """What takes the place of the biLM."""

    num_layers = 2

    def forward(self, inputs: Tensor, word_inputs: Tensor | None = None) -> dict[str, Any]:
        mask = torch.ones(len(inputs), inputs.shape[1] + 2, dtype=torch.int64)
        return {"activations": [torch.ones(*mask.shape, 3), 3 * torch.ones(*mask.shape, 3)], "mask": mask}

    def get_output_dim(self) -> int:
        return 3


def test_a_module_of_ones_own() -> None:
    elmo = Elmo(None, None, 1, dropout=0.0, module=TwoLayers())
    found = elmo(batch_to_ids([["a", "b"]]))
    torch.testing.assert_close(found["elmo_representations"][0], torch.full((1, 2, 3), 2.0))
    assert found["mask"].tolist() == [[1, 1]]
    assert elmo.get_output_dim() == 3
    assert isinstance(elmo.scalar_mix_0, ScalarMix)
    with pytest.raises(BadInput, match="module"):
        _ = elmo.bilm
    with pytest.raises(BadInput, match="must be None"):
        Elmo(OPTIONS, WEIGHTS, 1, module=TwoLayers())


def test_bad_input() -> None:
    elmo = _elmo()
    ids = batch_to_ids([["a", "b", "c"]])
    gap = ids.clone()
    gap[0, 1] = 0
    for wrong, message in (
        (ids[..., :20], r"\[sentences, words, 50\]"),
        (ids[0], "are due"),
        (ids.float(), "whole numbers"),
        (ids[:0], "no sentence"),
        (ids + 1, "between 0 and 261"),
        (-ids, "between 0 and 261"),
        (gap, "between the words"),
    ):
        with pytest.raises(BadInput, match=message):
            elmo(wrong)
    with pytest.raises(BadInput, match=r"batch_to_ids\(batch, 30\)"):
        Elmo(DATA / "bilm_plain", None, 1)(ids)
    for wrong_call in ({"num_output_representations": 0}, {"state": "keep"}, {"scalar_mix_parameters": [1.0]}):
        with pytest.raises(BadInput):
            _elmo(**wrong_call)
