"""What lies at a path -> the loader for it, or one line that says what was looked for and what is there."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from zh_elmo.files import BadInput, existing, read_json
from zh_elmo.formats import allennlp, bilm_tf, many_langs, own
from zh_elmo.formats.archive import unpacked
from zh_elmo.formats.checkpoint import read_checkpoint
from zh_elmo.formats.hdf5 import read_hdf5
from zh_elmo.formats.opened import Opened
from zh_elmo.formats.pickled import read_pickle
from zh_elmo.formats.places import shown
from zh_elmo.formats.stored import Stored

T = TypeVar("T")
_UNMISTAKABLE = {own.WEIGHTS, own.CHARS, own.WORDS, own.TEXT}  # two of these are a model of ours, if a damaged one
_VOCABULARIES = ("vocab.txt", "vocab.txt.gz")
_STATE_DICTS = (".th", ".pt", ".pth", ".bin")
_ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".tbz", ".xz", ".txz", ".model")
_HDF5, _ZIP, _PICKLE = b"\x89HDF\r\n\x1a\n", b"PK\x03\x04", b"\x80"
_MAGIC = {_ZIP: "zip", b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ": "xz"}


class Asked(NamedTuple):
    """What of a model is wanted, and files that were named outright."""

    softmax: bool = False
    words: bool = False
    options: Path | None = None
    weights: Path | None = None
    vocabulary: Path | None = None
    embedding: Path | None = None


def load_bilm(
    path: str | Path, *, softmax: bool = False, words: bool = False, files: Mapping[str, Path] | None = None
) -> Opened:
    """The biLM at `path`, whatever program wrote it; told apart by looking at the files, never by the name.

    softmax: with its output layer, where it has one; our own models always have theirs. words: with the words of a
    vocabulary that the vectors do not need. files: `options`, `weights`, `vocabulary`, `embedding`, named outright (see
    `embed.embedder.load`).
    Raises BadInput for what is no model, naming what was looked for and what was found.
    """
    where = "model; give the path of a folder, file or archive on this machine: nothing is downloaded"
    prefix = Path(f"{path}.index")  # the name that TensorFlow has for a checkpoint, which is no file
    place, files = prefix if prefix.is_file() else existing(path, where), files or {}
    for file in files.values():
        existing(file, "file")
    asked = Asked(softmax, words, **files)
    opened = _file(place, asked) if place.is_file() else _folder(place, asked)
    if opened is None:
        raise BadInput(_nothing(_names(place)), path=place)
    if files and opened.kind in ("zh_elmo", many_langs.KIND):
        raise BadInput(f"a model of {opened.kind} is whole; no other files can be named for it", path=place, usage=True)
    if softmax and opened.bilm.softmax is None:
        raise BadInput("this model came without its softmax: it gives vectors, but no probabilities", path=place)
    return opened


# Folders ------------------------------------------------------------------------------------------------------------


def _folder(place: Path, asked: Asked) -> Opened | None:
    """The model in a folder, or None; raises BadInput where there is one that is not whole, or something else."""
    names = _names(place)
    there = set(names)
    if own.is_own(place) or len(_UNMISTAKABLE.intersection(names)) > 1:
        return own.open_model(place)
    if own.is_own(place / "model"):  # the folder of a pre-training
        return own.open_model(place / "model")
    if many_langs.is_folder(there):
        return many_langs.open_folder(place, softmax=asked.softmax)
    if asked.weights is not None:
        return _file(asked.weights, asked)
    if (place / "variables" / "variables.index").is_file():
        return _checkpoint(place / "variables" / "variables", asked, "TensorFlow Hub module", place)
    return _weights_in(place, names, asked) or _else_in(place, names, asked)


def _weights_in(place: Path, names: Sequence[str], asked: Asked) -> Opened | None:
    """Weights of bilm-tf or AllenNLP in a folder: HDF5, a checkpoint, a state dict, an archive. An HDF5 file with
    vectors, or with a table of words alone, is no weights."""
    files = [place / name for name in names if (place / name).is_file()]
    hdf5, faults = [], []
    for file in files:
        if _starts_with(file, _HDF5):
            try:
                hdf5.append((file, read_hdf5(file)))
            except BadInput as fault:  # it matters only if nothing else is found
                faults.append(fault)
    weights = [(file, stored) for file, stored in hdf5 if bilm_tf.is_weights(stored)]
    prefix = _checkpoint_in(place, names)
    if prefix is not None:  # which has all that a dump of it has, and the softmax
        opened = _checkpoint(prefix, asked, "bilm-tf training checkpoint", place)
        beside = [f"{file.name} beside it was not looked at" for file, _ in weights]
        return opened._replace(notes=(*opened.notes, *beside))
    if weights:
        file, stored = _one(weights, place, "weights")
        return _hdf5(file, stored, asked)
    pickles = [file for file in files if file.suffix in _STATE_DICTS and _is_pickle(file)]
    if pickles:
        return _file(_one([(file, 0) for file in pickles], place, "weights")[0], asked)
    if faults:
        raise faults[0]
    if hdf5:
        raise BadInput(_about_hdf5(hdf5[0][1]), path=hdf5[0][0])
    archives = [file for file in files if _is_archive(file)]
    return _file(_one([(file, 0) for file in archives], place, "weights")[0], asked) if archives else None


def _else_in(place: Path, names: Sequence[str], asked: Asked) -> Opened | None:
    """The model in the only folder of a folder, as archives have it; raises BadInput for what is known to be none."""
    reason = _no_model(set(names))
    if reason:
        raise BadInput(reason, path=place)
    folders = [place / name for name in names if (place / name).is_dir() and not name.startswith((".", "__"))]
    return _folder(folders[0], asked) if len(folders) == 1 else None


def _checkpoint_in(place: Path, names: Sequence[str]) -> Path | None:
    """The checkpoint that `checkpoint` names by its last part, whatever folder it had; else that of most steps."""
    prefixes = [name.removesuffix(".index") for name in names if name.endswith(".index")]
    prefixes = [prefix for prefix in prefixes if any(name.startswith(f"{prefix}.data-") for name in names)]
    if not prefixes:
        return None
    if "checkpoint" in names:
        with open(place / "checkpoint", encoding="utf-8", errors="replace") as file:
            said = file.read(10_000).partition("model_checkpoint_path:")[2].partition("\n")[0].strip().strip('"')
        last = said.replace("\\", "/").rpartition("/")[2]
        if last in prefixes:
            return place / last
    return place / max(prefixes, key=lambda prefix: (int("0" + "".join(filter(str.isdigit, prefix))), prefix))


def _one(found: Sequence[tuple[Path, T]], place: Path, what: str) -> tuple[Path, T]:
    if len(found) > 1:
        names = ", ".join(file.name for file, _ in found)
        raise BadInput(f"{len(found)} files of {what}: {names}; name one ({what}=...)", path=place, usage=True)
    return found[0]


# Files --------------------------------------------------------------------------------------------------------------


def _file(file: Path, asked: Asked) -> Opened | None:
    """The model in one file, with what belongs to it beside it."""
    if file.name in (*own.NEEDED, own.CARD) and own.is_own(file.parent):
        raise BadInput(f"one file of a model; give the folder that holds it: {file.parent}", path=file)
    if file.name.endswith(".index") or ".data-" in file.name:
        prefix = file.with_name(file.name.removesuffix(".index").partition(".data-")[0])
        return _checkpoint(prefix, asked, "bilm-tf training checkpoint", file)
    if _starts_with(file, _HDF5):
        stored = read_hdf5(file)
        if not bilm_tf.is_weights(stored):
            raise BadInput(_about_hdf5(stored), path=file)
        return _hdf5(file, stored, asked)
    if _is_archive(file):
        return _archive(file, asked)
    if _is_pickle(file):
        return _state_dict(file, asked)
    raise BadInput(f"a file that is no model; looked for {_LOOKED_FOR}", path=file)


def _hdf5(file: Path, stored: dict[str, Stored], asked: Asked) -> Opened:
    return _bilm_tf(stored, file, asked, "bilm-tf / AllenNLP weights (HDF5)", file)


def _checkpoint(prefix: Path, asked: Asked, kind: str, place: Path) -> Opened:
    return _bilm_tf(read_checkpoint(prefix), prefix, asked, kind, place)


def _bilm_tf(stored: dict[str, Stored], file: Path, asked: Asked, kind: str, place: Path) -> Opened:
    options = asked.options or _options_for(file)
    if options is None and file.name == "variables":
        options = _options_for(file.parent)
    wants_words = asked.softmax or asked.words or asked.embedding is not None
    vocabulary = None
    if wants_words or not any("char_embed" in name for name in stored):
        named = asked.vocabulary or next((f for n in _VOCABULARIES if (f := file.parent / n).is_file()), None)
        vocabulary = bilm_tf.read_vocabulary(named) if named is not None else None
    embedding = None
    if asked.embedding is not None:
        table = read_hdf5(asked.embedding)
        if "embedding" not in table:
            raise BadInput(f"expected a table `embedding`; it has {shown(table)}", path=asked.embedding)
        embedding = table["embedding"]
    read = bilm_tf.open_tensors(stored, options, vocabulary, embedding=embedding, softmax=asked.softmax)
    files = {next(iter(stored.values())).path: None, options: None, asked.embedding: None}
    files[vocabulary.path if vocabulary is not None else None] = None
    return Opened(
        read.bilm, kind, place, tuple(f for f in files if f is not None), {}, {}, "float32", notes=tuple(read.notes)
    )


def _options_for(weights: Path) -> Path | None:
    """options.json beside the weights, or the one of several whose name begins as theirs does."""
    folder = weights.parent
    if (folder / "options.json").is_file():
        return folder / "options.json"
    found = sorted(file for file in folder.glob("*.json") if "options" in file.name.lower())
    if len(found) > 1:
        same = {file: _alike(file.name, weights.name) for file in found}
        best = [file for file in found if same[file] == max(same.values())]
        if len(best) > 1:
            names = ", ".join(file.name for file in found)
            raise BadInput(f"several options files: {names}; name one (options=...)", path=folder, usage=True)
        return best[0]
    return found[0] if found else None


def _alike(one: str, other: str) -> int:
    """Characters at the start that two names share."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _state_dict(file: Path, asked: Asked) -> Opened:
    stored = read_pickle(file)
    if not allennlp.is_state_dict(stored):
        other = allennlp.other_architecture(stored)
        if other:
            message = "a language model that AllenNLP itself trained, another architecture than ELMo"
            raise BadInput(f"{message} (it has {other}): not read", path=file)
        if any(name.startswith(("encoder.", "forward_layer_", "projection.")) for name in stored):
            raise BadInput("one file of a model of ELMoForManyLangs; give the folder that holds it", path=file)
        raise BadInput(f"a state dict without an ELMo: it has {shown(stored)}", path=file)
    read = allennlp.open_state_dict(stored, asked.options or _options_for(file))
    mixes = allennlp.mixes(stored)
    options = asked.options or _options_for(file)
    files = (file, options) if options is not None else (file,)
    facts = {"mixes": mixes} if mixes else {}
    return Opened(read.bilm, "AllenNLP state dict", file, files, {}, facts, "float32", notes=tuple(read.notes))


def _archive(file: Path, asked: Asked) -> Opened | None:
    """The model in a zip or tar: unpacked, read and cleared away again."""
    with unpacked(file) as folder:
        opened = _allennlp_archive(folder, asked) if (folder / "weights.th").is_file() else _folder(folder, asked)
        if opened is None:
            raise BadInput(_nothing(_names(folder)), path=file)
        inside = tuple(_inside(one, folder, file) for one in opened.files)
        notes = tuple(note.replace(f"{folder}{os.sep}", f"{file}:") for note in opened.notes)
        return opened._replace(kind=f"{opened.kind}, in an archive", path=file, files=inside, notes=notes)


def _inside(one: Path, folder: Path, archive: Path) -> Path:
    return archive / one.relative_to(folder) if one.is_relative_to(folder) else one


def _allennlp_archive(folder: Path, asked: Asked) -> Opened:
    """model.tar.gz: weights.th, and config.json that names the options file of the ELMo in it."""
    config = read_json(folder / "config.json") if (folder / "config.json").is_file() else {}
    if asked.options is None:
        found = _value_of(config, "options_file")
        last = found.replace("\\", "/").rpartition("/")[2] if isinstance(found, str) else ""
        beside = [file for file in sorted(folder.rglob("*.json")) if last and file.name == last]
        beside += sorted((folder / "fta").glob("*options_file"))  # "files to archive", named by their place in config
        asked = asked._replace(options=beside[0] if beside else _options_for(folder / "weights.th"))
    opened = _state_dict(folder / "weights.th", asked)
    facts = {key: value for key in ("do_layer_norm", "projection_dim") if (value := _value_of(config, key)) is not None}
    return opened._replace(kind="AllenNLP archive", facts={**opened.facts, **facts})


def _value_of(config: object, key: str, depth: int = 0) -> object:
    """The first value of a key anywhere in a configuration."""
    if isinstance(config, dict) and key in config:
        return config[key]
    inner = config.values() if isinstance(config, dict) else config if isinstance(config, list) else ()
    values = (_value_of(value, key, depth + 1) for value in inner if depth < 20)
    return next((value for value in values if value is not None), None)


# What is said -------------------------------------------------------------------------------------------------------

_LOOKED_FOR = (
    f"a zh_elmo model ({', '.join(own.NEEDED)}); ELMoForManyLangs (encoder.pkl, token_embedder.pkl); bilm-tf or "
    "AllenNLP (HDF5 weights with options.json, *.index with *.data-*, .th, model.tar.gz); TensorFlow Hub (variables/); "
    "an NLPL zip"
)


def _about_hdf5(stored: dict[str, Stored]) -> str:
    if set(stored) == {"embedding"}:
        return "a table of word vectors alone; give the weights of the LSTM, and this as embedding=..."
    if any(name.startswith(("char_embed", "CNN")) for name in stored):
        return f"weights of bilm-tf without an LSTM; it has {shown(stored)}"
    return f"this holds vectors that were made by a model, not a model; it has {shown(stored)}"


_ELSEWHERE: tuple[tuple[Callable[[set[str]], bool], str], ...] = (
    (lambda there: {"meta.json", "features.bin"} <= there, "a store of vectors made by a model, not a model"),
    (lambda there: {"manifest.json", "types.txt"} <= there, "a corpus; `zh-elmo pretrain` makes a model of it"),
    (
        lambda there: "checkpoints" in there,
        "the folder of a training that has not ended: go on with `zh-elmo pretrain ... --resume`",
    ),
    (
        lambda there: bool(there & {"encoder.pkl", "token_embedder.pkl", "char.dic", "word.dic"}),
        "a part of a model of ELMoForManyLangs: it needs encoder.pkl and token_embedder.pkl, word.dic and char.dic",
    ),
    (
        lambda there: bool(there & {"saved_model.pb", "tfhub_module.pb"}),
        "a module of TensorFlow Hub without its variables/ folder",
    ),
    (
        lambda there: any(name.endswith(".json") and "options" in name for name in there),
        "options of a bilm-tf model without weights (HDF5, or *.index with *.data-*)",
    ),
)


def _no_model(there: set[str]) -> str:
    return next((said for is_so, said in _ELSEWHERE if is_so(there)), "")


def _nothing(names: Sequence[str]) -> str:
    return f"no model here; looked for {_LOOKED_FOR}; found {shown(names)}"


def _names(place: Path) -> list[str]:
    return sorted(file.name for file in place.iterdir()) if place.is_dir() else [place.name]


def _starts_with(file: Path, magic: bytes) -> bool:
    if not file.is_file():
        return False
    with open(file, "rb") as stream:
        return stream.read(len(magic)) == magic


def _is_pickle(file: Path) -> bool:
    return _starts_with(file, _PICKLE) or _starts_with(file, _ZIP)


def _is_archive(file: Path) -> bool:
    """A tar, compressed or not, or a zip that is none of torch's own."""
    if not file.is_file():
        return False
    with open(file, "rb") as stream:
        start = stream.read(512)
    if file.suffix.lower() == ".npz":
        return False
    if start.startswith(_ZIP):
        try:
            with zipfile.ZipFile(file) as inside:
                return not any(name.endswith("/data.pkl") or name == "data.pkl" for name in inside.namelist())
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            return file.suffix not in _STATE_DICTS
    if start[257:262] == b"ustar":
        return True
    compressed = any(start.startswith(magic) for magic in _MAGIC)
    return compressed and file.suffix.lower() in _ARCHIVES
