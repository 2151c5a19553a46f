"""Files damaged at random, thousands of them: every reader gives tensors or one line, quickly and in little memory.

2,000 cases of each reader; `ZH_ELMO_FUZZ=20000 pytest tests/formats/test_fuzz_readers.py` runs more.
A case that fails is run again by its number: `python tests/formats/test_fuzz_readers.py hdf5 17 18`.
"""

from __future__ import annotations

import gzip
import io
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zh_elmo.files import BadInput
from zh_elmo.formats import checkpoint
from zh_elmo.formats.archive import unpacked
from zh_elmo.formats.checkpoint import read_checkpoint
from zh_elmo.formats.crc32c import crc32c, masked
from zh_elmo.formats.hdf5 import read_hdf5
from zh_elmo.formats.pickled import read_pickle

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "data"
CASES = int(os.environ.get("ZH_ELMO_FUZZ", "2000"))
ADDRESSES = 3 << 29  # 1.5 GB beyond what the process begins with
MEMORY = 256 << 20  # by which it may grow, for files of some hundred thousand bytes
SECONDS = 10  # of processor time a case; most take milliseconds


# Damage -------------------------------------------------------------------------------------------------------------


def damaged(content: bytes, draw: random.Random) -> bytes:
    """`content` with up to eight faults: bits turned, bytes and sizes changed, ranges cut, zeroed or put elsewhere."""
    out = bytearray(content)
    for _ in range(draw.choice([1, 1, 1, 2, 3, 8])):
        if not out:
            break
        near = draw.choice([200, 2000, len(out), len(out)])  # what describes a file often lies at its ends
        place = draw.randrange(min(near, len(out)))
        place = len(out) - 1 - place if draw.random() < 0.5 else place
        length = draw.choice([1, 2, 4, 8, 16, 100, 500])
        match draw.randrange(8):
            case 0 | 1:
                out[place] ^= 1 << draw.randrange(8)
            case 2:
                out[place] = draw.randrange(256)
            case 3:
                out[place : place + length] = bytes(min(length, len(out) - place))
            case 4:
                _change_number(out, place, draw)
            case 5:
                del out[place : place + length]
            case 6:
                begin = draw.randrange(len(out))
                part = out[begin : begin + length]
                out[place : place + len(part) * draw.randrange(2)] = part  # put in, or put over
            case 7 if draw.random() < 0.5:
                del out[place:]
    return bytes(out)


def _change_number(out: bytearray, place: int, draw: random.Random) -> None:
    """A number of 1 to 8 bytes becomes a little or much larger, negative, or the largest there is."""
    size = draw.choice([1, 2, 4, 8])
    if place + size > len(out):
        return
    order = draw.choice(["little", "big"])
    value = int.from_bytes(out[place : place + size], order)
    value = draw.choice([value + 1, value - 1, value * 2, value << 16, 0, -1, 1 << (8 * size - 1), 1 << 40, 1 << 31])
    out[place : place + size] = (value % (1 << 8 * size)).to_bytes(size, order)


# Readers ------------------------------------------------------------------------------------------------------------

Sources = list
Case = Callable[[Any, Path, random.Random], None]


def golden(*names: str) -> Sources:
    return [(GOLDEN / name).read_bytes() for name in names]


def read_all(tensors: dict) -> None:
    for tensor in tensors.values():
        try:
            numbers = tensor.read()
        except BadInput:
            continue
        assert numbers.shape == tensor.shape
        assert numbers.dtype == tensor.dtype
        numbers.copy()


def pickle_case(content: bytes, folder: Path, draw: random.Random) -> None:
    (folder / "p").write_bytes(damaged(content, draw))
    read_all(read_pickle(folder / "p"))


def index_case(content: bytes, folder: Path, draw: random.Random) -> None:
    """Half of the cases with checksums made right again, which would tell of most of the damage."""
    content = damaged(content, draw)
    (folder / "m.index").write_bytes(_resealed(content) if draw.random() < 0.5 else content)
    (folder / "m.data-00000-of-00001").write_bytes(bytes(114_128))
    read_all(read_checkpoint(folder / "m"))


def _resealed(content: bytes) -> bytes:
    out = bytearray(content)
    try:
        at = len(out) - 48
        _, at = checkpoint._handle(content, at)
        whole, _ = checkpoint._handle(content, at)
        first, _ = checkpoint._handle(content, whole.offset + 3 + content[whole.offset + 1])
        for offset, size in (first, whole):
            end = offset + size
            out[end + 1 : end + 5] = struct.pack("<I", masked(crc32c(out[offset : end + 1])))
    except (IndexError, ValueError):
        pass
    return bytes(out)


def data_case(content: bytes, folder: Path, draw: random.Random) -> None:
    (folder / "m.index").write_bytes((GOLDEN / "bilm_ckpt_word" / "model.ckpt-100.index").read_bytes())
    (folder / "m.data-00000-of-00001").write_bytes(damaged(content, draw))
    read_all(read_checkpoint(folder / "m"))


def hdf5_case(content: bytes, folder: Path, draw: random.Random) -> None:
    (folder / "h").write_bytes(damaged(content, draw))
    read_all(read_hdf5(folder / "h"))


def archive_case(content: bytes, folder: Path, draw: random.Random) -> None:
    (folder / "a").write_bytes(damaged(content, draw))
    _unpack(folder / "a")


def tar_inside_case(content: bytes, folder: Path, draw: random.Random) -> None:
    """The tar is damaged and then compressed, so that no checksum of gzip tells of it."""
    (folder / "a").write_bytes(gzip.compress(damaged(content, draw), 1))
    _unpack(folder / "a")


def _unpack(path: Path) -> None:
    with unpacked(path) as folder:
        for file in folder.rglob("*"):
            assert file.is_relative_to(folder)
            assert file.is_dir() or (file.is_file() and not file.is_symlink())


FOLDER = ("efml_char/config.json", "efml_char/token_embedder.pkl", "efml_char/word.dic")


def zips() -> Sources:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in FOLDER:
            new.writestr(name, (GOLDEN / name).read_bytes())
    return [out.getvalue()]


def tars(compressed: str = "") -> Sources:
    found = []
    for how in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode=f"w:{compressed}", format=how) as new:
            for name in FOLDER:
                new.add(GOLDEN / name, f"{'long' * 30}/{name}")
        found.append(out.getvalue())
    return found


def hdf5s() -> Sources:
    """Golden files, and compressed ones of the oldest and the newest layout, which are the harder ones for libhdf5."""
    import h5py
    import numpy as np

    found = golden("bilm_skip/embedding_weights.hdf5", "efml_word_char/cli.ly0.hdf5", "bilm_skip/weights.hdf5")
    for layout in ("earliest", "latest"):
        out = io.BytesIO()
        with h5py.File(out, "w", libver=layout) as file:
            values = np.random.default_rng(1).normal(size=(50, 40))
            filters = {"compression": "gzip", "shuffle": True, "fletcher32": True}
            file.create_dataset("a/b/c", data=values.astype("i1"), chunks=(5, 10), **filters)
            file.create_dataset("a/b/plain", data=values[:9], chunks=(4, 7))
            file["strings"] = ["a", "bb"]
            file["link"] = h5py.SoftLink("/a/b/c")
            file.attrs["facts"] = "x" * 100
            for number in range(20):
                file[f"a/{number}"] = np.arange(5, dtype=">f4")
        found.append(out.getvalue())
    return found


MODELS = {
    "efml_word_char": ("config.json", "cnn_sample.json", "char.dic", "word.dic", "encoder.pkl", "token_embedder.pkl"),
    "bilm_skip": ("options.json", "weights.hdf5"),
    "bilm_ckpt_word": ("options.json", "vocab.txt", "checkpoint", "model.ckpt-100.index",
                       "model.ckpt-100.data-00000-of-00001"),
    "elmo_th": ("options.json", "elmo.th"),
}  # fmt: skip


def models() -> Sources:
    """Whole folders of models, {name: content} each; one of them our own."""
    from zh_elmo.formats.convert import convert

    found = [{name: (GOLDEN / folder / name).read_bytes() for name in names} for folder, names in MODELS.items()]
    with tempfile.TemporaryDirectory() as place:
        convert(GOLDEN / "efml_word_char", Path(place) / "own", "own")
        found.append({file.name: file.read_bytes() for file in (Path(place) / "own").iterdir()})
    return found


def model_case(content: dict[str, bytes], folder: Path, draw: random.Random) -> None:
    """One file of a model is damaged, small ones and large ones as often; it opens, or one line says why not."""
    from zh_elmo.formats.find import load_bilm

    target = draw.choice(sorted(content))
    place = folder / "model"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name, raw in content.items():
        (place / name).write_bytes(damaged(raw, draw) if name == target else raw)
    load_bilm(place)


READERS: dict[str, tuple[Callable[[], Sources], Case]] = {
    "pickle-legacy": (lambda: golden("efml_char/token_embedder.pkl", "elmo_th/elmo.th"), pickle_case),
    "pickle-zip": (lambda: golden("efml_word/token_embedder.pkl", "elmo_th/elmo_zip.th"), pickle_case),
    "checkpoint-index": (
        lambda: golden("bilm_ckpt_char/model.ckpt-100.index", "bilm_ckpt_word/model.ckpt-100.index"),
        index_case,
    ),
    "checkpoint-data": (lambda: golden("bilm_ckpt_word/model.ckpt-100.data-00000-of-00001"), data_case),
    "hdf5": (hdf5s, hdf5_case),
    "zip": (zips, archive_case),
    "tar.gz": (lambda: tars("gz"), archive_case),
    "tar-in-gz": (tars, tar_inside_case),
    "models": (models, model_case),
}


def run(reader: str, begin: int, end: int, folder: Path) -> Counter:
    """How many cases of a reader gave tensors (or files), and how many one line. All else is raised."""
    make, case = READERS[reader]
    sources = make()
    results: Counter = Counter()
    for number in range(begin, end):
        print(number, flush=True)  # whoever crashes has said where
        started = time.process_time()
        try:
            case(sources[number % len(sources)], folder, random.Random(f"{reader} {number}"))
            said = None
        except BadInput as error:
            said = str(error)
        results["read" if said is None else "refused"] += 1
        if said is not None:
            assert said.startswith(str(folder))
            assert "\n" not in said
            assert "MemoryError" not in said
            assert "Unable to allocate" not in said
        assert time.process_time() - started < SECONDS
    return results


def main(reader: str, begin: str, end: str) -> None:
    """Cases of one reader: their numbers, then how many were read and refused, and the growth of memory in bytes."""
    with tempfile.TemporaryDirectory() as place:
        READERS[reader][0]()  # what it imports is not of the readers
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if Path("/proc/self/statm").exists():
            held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (held + ADDRESSES, held + ADDRESSES))
        resource.setrlimit(resource.RLIMIT_CPU, (600, 600))
        tempfile.tempdir = str(Path(place) / "temporary")
        Path(tempfile.tempdir).mkdir()
        results = run(reader, int(begin), int(end), Path(place))
        assert list(Path(tempfile.tempdir).iterdir()) == []
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(results["read"], results["refused"], grown * 1024)


# Tests --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reader", READERS)
def test_damaged_files(reader, tmp_path):
    """In a process of its own with limits: libhdf5 is not Python, and a crash of that process tells of itself."""
    if reader in ("hdf5", "models"):
        pytest.importorskip("h5py")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-W", "error", __file__, reader, "0", str(CASES)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60 + CASES)
    said = done.stdout.split()
    assert done.returncode == 0, f"case {said[-1:]}: {done.stderr[-2000:]}"
    read, refused, grown = map(int, said[-3:])
    assert read + refused == CASES
    assert refused > CASES / 20
    assert read > CASES / 100
    assert grown < MEMORY


def test_the_damage_is_the_same_every_time_and_of_every_kind():
    content = bytes(range(256)) * 20
    once, again = ([damaged(content, random.Random(number)) for number in range(300)] for _ in range(2))
    assert once == again
    lengths = {len(made) for made in once}
    assert min(lengths) < len(content) < max(lengths)
    assert len(set(once)) > 280


if __name__ == "__main__":
    main(*sys.argv[1:])
