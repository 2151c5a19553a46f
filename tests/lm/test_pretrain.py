"""Pre-training learns, repeats itself to the byte, survives a kill, and refuses what does not belong together."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from small_corpus import SmallCorpus, settings

from zh_elmo.files import BadInput
from zh_elmo.fit import Diverged, Plan
from zh_elmo.lm.pretrain import pretrain
from zh_elmo.lm.settings import SoftmaxSettings, StreamSettings

HERE = Path(__file__).parent.parent


def weights(bilm) -> dict[str, torch.Tensor]:
    return dict(bilm.state_dict())


def same(one, other) -> bool:
    return all(torch.equal(a, b) for a, b in zip(weights(one).values(), weights(other).values(), strict=True))


def test_it_learns_what_word_counts_cannot():
    """After training on a text its perplexity on that text is far below that of word frequencies."""
    corpus = SmallCorpus()
    corpus.parts["heldout"] = corpus.ids("train")
    known = settings(300, training=Plan(steps=300, learning_rate=1e-2))
    figures = pretrain(known, corpus, quiet=True).facts["held_out_perplexity"]
    assert figures["forward"] < 3
    assert figures["backward"] < 3


@pytest.mark.parametrize("negatives", [0, 8])
def test_the_same_seed_gives_the_same_bytes(negatives):
    chosen = settings(12, softmax=SoftmaxSettings(negatives=negatives))
    one, other = (pretrain(chosen, SmallCorpus(), quiet=True).bilm for _ in range(2))
    assert same(one, other)
    changed = settings(12, softmax=SoftmaxSettings(negatives=negatives), training=Plan(steps=12, seed=2))
    assert not same(one, pretrain(changed, SmallCorpus(), quiet=True).bilm)


CHILD = """
import sys; sys.path.insert(0, {here!r})
import torch; torch.set_num_threads(1)
from pathlib import Path
from small_corpus import SmallCorpus, settings
from zh_elmo.lm.pretrain import pretrain
from zh_elmo.lm.settings import StreamSettings
from safetensors.torch import save_file
print("start", flush=True)
chosen = settings(400, streams=StreamSettings(batch=2, window=4, reset=False))
made = pretrain(chosen, SmallCorpus(), Path({folder!r}), resume=True, quiet=True)
save_file(made.bilm.state_dict(), {folder!r} + "/end.safetensors")
"""


def child(folder: Path) -> subprocess.Popen:
    code = CHILD.format(here=str(HERE), folder=str(folder))
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=one_thread)


def test_killed_at_random_and_resumed_it_ends_with_the_same_bytes(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert child(whole).wait(300) == 0
    seed = int.from_bytes(os.urandom(2))
    chance, kills = random.Random(seed), 0
    for _ in range(2):
        process = child(broken)
        process.stdout.readline()
        wanted = chance.randrange(5, 300)
        while process.poll() is None and reached(broken) < wanted:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        kills += process.wait(30) == -signal.SIGKILL
    assert kills, f"seed {seed}"
    assert child(broken).wait(300) == 0
    assert (broken / "end.safetensors").read_bytes() == (whole / "end.safetensors").read_bytes(), f"seed {seed}"


def reached(folder: Path) -> int:
    found = sorted(folder.glob("checkpoints/step-*.safetensors"))
    return int(found[-1].stem.removeprefix("step-")) if found else 0


def test_a_run_is_not_overwritten_and_not_mixed(tmp_path):
    pretrain(settings(7), SmallCorpus(), tmp_path, quiet=True)
    with pytest.raises(BadInput, match="--resume"):
        pretrain(settings(7), SmallCorpus(), tmp_path, quiet=True)
    with pytest.raises(BadInput, match="other data or settings"):
        pretrain(settings(9), SmallCorpus(), tmp_path, resume=True, quiet=True)


def test_a_damaged_checkpoint_falls_back_to_the_one_before(tmp_path):
    chosen = settings(9, training=Plan(steps=9, save_every=4))
    whole = pretrain(chosen, SmallCorpus(), tmp_path, quiet=True).bilm
    before, last = sorted((tmp_path / "checkpoints").glob("*.safetensors"))
    last.write_bytes(last.read_bytes()[:-5])
    with pytest.warns(UserWarning, match=f"{last.name}: not a checkpoint .*; going on from the one before it"):
        again = pretrain(chosen, SmallCorpus(), tmp_path, resume=True, quiet=True).bilm
    assert same(whole, again)
    for path in (before, last):
        path.write_bytes(path.read_bytes()[:100])
    with pytest.warns(UserWarning, match=last.name), pytest.raises(BadInput, match=f"{before.name}: not a checkpoint"):
        pretrain(chosen, SmallCorpus(), tmp_path, resume=True, quiet=True)
    assert [reached(tmp_path), before.exists()] == [9, True]  # nothing is removed that could be mended


def test_divergence_is_said_and_the_last_checkpoint_stays(tmp_path):
    wild = settings(50, training=Plan(steps=50, learning_rate=1e30, save_every=1, warmup=0.0, clip=0.0))
    with pytest.raises(Diverged, match=r"diverged.*learning_rate"):
        pretrain(wild, SmallCorpus(), tmp_path, quiet=True)
    assert reached(tmp_path) >= 1


def test_a_vocabulary_larger_than_the_corpus_and_more_negatives_than_words():
    chosen = settings(2, softmax=SoftmaxSettings(negatives=8192))
    facts = pretrain(chosen, SmallCorpus("我 。\n好", "好"), quiet=True).facts
    assert facts["steps"] == 2
    assert facts["words_read"] == 16


def test_facts_add_up():
    facts = pretrain(settings(10, streams=StreamSettings(batch=3, window=5)), SmallCorpus(), quiet=True).facts
    assert facts["words_read"] == 10 * 15
    assert facts["corpus"]["words"] == 37
    assert facts["epochs"] == pytest.approx(150 / 37)
    assert 0 < facts["corpus"]["known_words"] < 1
