"""Near duplicates: signatures estimate the likeness of real text, and the first of near paragraphs stays."""

from __future__ import annotations

import hashlib
import lzma
import random
from pathlib import Path

import numpy as np
import pytest

from zh_elmo.corpus import near, repeated
from zh_elmo.corpus.exclude import key
from zh_elmo.corpus.near import PERMUTATIONS, SHORTEST, NearDuplicates, alike, bands, sketches

NOTHING = np.zeros(1, np.uint8)


def flags(folder: Path, texts: list[str], *, threshold: float = 0.8, task: int = 0, skip: set[int] | None = None):
    """What is near in `texts`, handed over in tasks of so many paragraphs."""
    found = NearDuplicates(folder / "near", threshold)
    task = task or max(1, len(texts))
    for start in range(0, len(texts), task):
        some = texts[start : start + task]
        found.add(sketches(some), np.array([start + n in (skip or ()) for n in range(len(some))], np.uint8))
    result = found.flags().tolist()
    found.clear()
    assert not (folder / "near").exists()
    return result


def invented(number: int, *, seed: int = 0, size: int = 80) -> list[str]:
    generator = random.Random(seed)
    return ["".join(chr(generator.randrange(0x4E00, 0x9FA0)) for _ in range(size)) for _ in range(number)]


def edited(text: str, share: float, generator: random.Random) -> str:
    """With so many of its characters exchanged, left out or doubled."""
    result = []
    for character in text:
        if generator.random() >= share:
            result.append(character)
        elif (what := generator.randrange(3)) < 2:
            result.append(text[generator.randrange(len(text))] * (what + 1))
    return "".join(result)


def likeness(first: str, second: str) -> float:
    """Jaccard, exact."""
    one, two = ({text[n : n + 5] for n in range(len(text) - 4)} for text in map(key, (first, second)))
    return len(one & two) / len(one | two)


@pytest.fixture(scope="module")
def pairs(real_data: Path) -> tuple[list[str], list[str]]:
    """1,500 real paragraphs, and edited copies of them."""
    texts: list[str] = []
    for name in ("wiki_qa", "fiction"):
        with lzma.open(real_data / f"raw_zh_hans/{name}.txt.xz", "rt", encoding="utf-8") as stream:
            lines = (line.strip() for line in stream)
            distinct = dict.fromkeys(line for line in lines if len(key(line)) >= SHORTEST + 20)
            texts += list(distinct)[:750]
    generator = random.Random(0)
    return texts, [edited(text, generator.choice((0.002, 0.01, 0.02, 0.03, 0.05, 0.3)), generator) for text in texts]


def test_signatures_estimate_the_likeness(pairs):
    first, second = pairs
    exact = np.array([likeness(*pair) for pair in zip(first, second, strict=True)])
    here, there = sketches(first), sketches(second)
    assert here.shape == (len(first), 1 + PERMUTATIONS)
    assert here.dtype == np.uint32
    long = there[:, 0]
    error = alike(here[long], there) - exact[long]
    assert abs(error.mean()) < 0.004  # nothing systematic
    spread = np.sqrt((exact * (1 - exact))[long] / PERMUTATIONS)
    assert np.sqrt((error**2).mean() / (spread**2).mean()) == pytest.approx(1, abs=0.08)  # as theory has it
    apart = alike(here[:-1], here[1:])
    assert (apart > 0.2).mean() < 0.01  # different texts are not alike


def test_near_paragraphs_of_real_text_are_found(tmp_path, pairs):
    first, second = pairs
    exact = np.array([likeness(*pair) for pair in zip(first, second, strict=True)])
    alone = np.array(flags(tmp_path, first), bool)
    found = np.array(flags(tmp_path, first + second)[len(first) :], bool)
    kept = ~alone & np.isin(np.arange(len(first)), sketches(second)[:, 0])
    assert kept.sum() > 1300
    high, low = kept & (exact >= 0.88), kept & (exact <= 0.72)
    assert min(high.sum(), low.sum()) > 250
    assert found[high].mean() >= 0.99
    assert found[low].mean() <= 0.01
    assert alone.mean() < 0.05
    right = (found & kept & (exact >= 0.8)).sum()
    assert right / (found & kept).sum() > 0.9  # precision
    assert right / (kept & (exact >= 0.8)).sum() > 0.9  # recall


def test_the_result_depends_on_nothing_but_the_text(tmp_path, monkeypatch):
    texts = invented(150)
    generator = random.Random(1)
    texts += [edited(generator.choice(texts), generator.choice((0, 0.01, 0.03)), generator) for _ in range(450)]
    generator.shuffle(texts)
    whole = flags(tmp_path, texts)
    assert 200 < sum(whole) < 440
    assert [flags(tmp_path, texts, task=task) for task in (1, 7, 250)] == [whole] * 3
    monkeypatch.setattr(near, "_PAIRS", 100)  # many parts on the disk
    monkeypatch.setattr(near, "_COMPARED", 10)
    monkeypatch.setattr(near, "_AT_ONCE", 300)
    monkeypatch.setattr(repeated, "_IN_MEMORY", 64)
    monkeypatch.setattr(repeated, "_BLOCK", 32)
    assert flags(tmp_path, texts) == whole


def test_the_plain_way_gives_the_same(tmp_path):
    """Each with every earlier one that stays; what no band finds (1 in 20 at the threshold itself) set apart."""
    texts = invented(60, seed=3)
    generator = random.Random(4)
    texts += [edited(texts[n % 60], 0.02, generator) for n in range(120)]
    rows = sketches(texts)
    assert rows[:, 0].tolist() == list(range(len(texts)))
    stay: list[int] = []
    for number in range(len(texts)):
        if not (alike(rows[stay], rows[[number] * len(stay)]) >= 0.8).any():
            stay.append(number)
    found = flags(tmp_path, texts)
    different = set(stay) ^ {number for number, flag in enumerate(found) if not flag}
    assert len(different) <= 4
    assert 60 < len(stay) < 150


def test_the_first_stays_and_what_is_near_only_what_went_stays_too(tmp_path):
    base = np.arange(1, PERMUTATIONS + 1, dtype=np.uint32)
    second, third = base.copy(), base.copy()
    second[-20:] += 1000
    third[-40:] += 1000  # 108 of 128 as the second one, 88 as the first
    rows = np.stack([base, second, third, base + 5000])
    found = NearDuplicates(tmp_path / "near", 0.8)
    found.add(np.concatenate([np.array([[0], [2], [3], [5]], np.uint32), rows], axis=1), np.zeros(7, np.uint8))
    assert found.flags().tolist() == [0, 0, 1, 0, 0, 0, 0]
    found = NearDuplicates(tmp_path / "near", 0.8)
    found.add(np.concatenate([np.array([[0], [1], [2], [3]], np.uint32), rows], axis=1), np.array([1, 0, 0, 0], "u1"))
    assert found.flags().tolist() == [0, 0, 1, 0]  # without the first one the second stays, and the third goes


def test_short_paragraphs_and_document_ends_are_never_near(tmp_path):
    short = "字" * 10 + "，" * 100 + "词句段落篇章" * 6 + "abc"
    assert len(key(short)) == SHORTEST - 1
    assert sketches([short, "", "x"]).shape == (0, 1 + PERMUTATIONS)
    assert sketches([]).shape == (0, 1 + PERMUTATIONS)
    assert flags(tmp_path, [short, "", short, "", short + "d", short + "d"]) == [0, 0, 0, 0, 0, 1]
    assert flags(tmp_path, []) == []
    assert flags(tmp_path, ["", ""]) == [0, 0]


def test_what_is_skipped_is_not_compared(tmp_path):
    (text,) = invented(1)
    assert flags(tmp_path, [text, text, text], skip={1}) == [0, 0, 1]
    assert flags(tmp_path, [text, text, text], skip={0}) == [0, 0, 1]
    assert flags(tmp_path, [text, text], skip={0, 1}) == [0, 0]


def test_punctuation_and_script_do_not_matter(tmp_path):
    text = (
        "他说我们今天去公园看花这里的风景很好大家都很高兴因为学校放假了所以没有人着急回家吃饭休息也不用准备明天的考试"
    )
    other = "他說：我們今天去公園看花。這裏的風景很好，大家都很高興；因為學校放假了，所以沒有人着急回家吃飯、休息，"
    other += "也不用準備明天的考試！"
    assert flags(tmp_path, [text, other]) == [0, 1]


def test_a_template_takes_linear_time_and_its_twins_are_found(tmp_path):
    """4,000 paragraphs that share half of their text: every band has buckets with hundreds of them."""
    same = invented(1, size=150)[0]
    parts = invented(2000, seed=2, size=60)
    texts = [same + part for part in parts for _ in range(2)]
    assert 0.4 < likeness(texts[0], texts[2]) < 0.75
    assert flags(tmp_path, texts) == [0, 1] * 2000


@pytest.mark.parametrize(("threshold", "expected"), [(1.0, (1, 128)), (0.9, (10, 12)), (0.8, (18, 7)), (0.5, (42, 3))])
def test_bands(threshold, expected):
    assert bands(threshold) == expected
    number, rows = expected
    assert 1 - (1 - threshold**rows) ** number >= 0.95


def test_at_one_only_the_same_is_near(tmp_path):
    (text,) = invented(1)
    assert flags(tmp_path, [text, text, text[:40] + "的" + text[41:]], threshold=1.0) == [0, 1, 0]


def test_signatures_are_the_same_everywhere():
    """Chunks of a build that was interrupted may have been made with other versions of everything."""
    rows = sketches(["从前有座山山里有座庙庙里有个老和尚给小和尚讲故事他讲的是什么呢他讲的是从前有座山山里有座庙" * 2])
    assert hashlib.sha256(rows.astype("<u4").tobytes()).hexdigest()[:16] == "d0d6cc43466eb1d4"
