"""bilm-tf's golden sets: the product in float32 against the program, in float64 against its plain twin."""

from __future__ import annotations

import numpy as np
import pytest
from golden.archive import DATA, TEXT, Archive
from golden.bilm_tf import COMPARISONS, twin, twin_of_checkpoint
from golden.comparison import PLAIN, against_golden, against_plain, check
from golden.engine import Product

from zh_elmo.corpus.store import SENTENCE_END
from zh_elmo.formats.find import load_bilm
from zh_elmo.lm.perplexity import perplexity


@pytest.mark.parametrize("comparison", COMPARISONS, ids=str)
def test_float32_is_what_the_program_computed(comparison):
    check(against_golden(comparison, comparison.product("float32")), comparison.tolerance)


@pytest.mark.parametrize("comparison", COMPARISONS, ids=str)
def test_float64_is_what_the_twin_computes(comparison):
    check(against_plain(comparison), comparison.against_plain)


@pytest.mark.parametrize(("folder", "ids"), [("bilm_noskip", "bilm_tf_50"), ("bilm_plain", "bilm_tf_30")])
def test_odd_words_have_the_vectors_of_the_programs_ids(folder, ids):
    archive, model = Archive("char_ids.json"), twin(folder)
    due = np.array([model.of_ids(row) for row in archive[ids]])
    assert np.abs(Product("float64", folder).encode(archive["words"]) - due).max() < PLAIN


@pytest.mark.parametrize("folder", ["bilm_ckpt_char", "bilm_ckpt_word"])
def test_the_perplexity_of_a_checkpoint(folder):
    """Of whole sentences, every word and the far mark predicted; text.txt has words that are not in the vocabulary."""
    model, sums = twin_of_checkpoint(folder), np.zeros(2)
    for sentence in TEXT:
        marked = ["<S>", *sentence, "</S>"]
        back = marked[::-1]
        for way, (top, words) in enumerate(zip(model.tops(marked[:-1], back[:-1]), (marked, back), strict=True)):
            sums[way] += model.losses(top, words[1:]).sum()
    due = np.exp(sums / sum(len(sentence) + 1 for sentence in TEXT))

    types = sorted({word for sentence in TEXT for word in sentence})
    part = [number for sentence in TEXT for number in (*map(types.index, sentence), SENTENCE_END)]
    bilm = load_bilm(DATA / folder, softmax=True).bilm.double()
    found = perplexity(bilm, np.array(part, np.uint32), types)
    assert [found["forward"], found["backward"]] == pytest.approx(due, rel=1e-9)
