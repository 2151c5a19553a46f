"""A trained folder -> annotation of CoNLL-U or of raw text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from zh_elmo.files import BadInput, existing, lines, read_json
from zh_elmo.suite.cell import open_vectors
from zh_elmo.text.pipeline import Pipeline
from zh_elmo.ud import conllu
from zh_elmo.ud.parser import Parser
from zh_elmo.ud.predict import annotate
from zh_elmo.ud.tagger import Tagger

_AT_ONCE = 500  # sentences


def predict(folder: str | Path, source: str | Path, *, model: str | Path | None = None) -> Iterator[conllu.Sentence]:
    """Annotate a file with what `zh-elmo train` (or a cell of a suite) left in `folder`, a part of it at a time.

    A file named *.conllu (also .xz, .gz, .bz2) keeps its sentences, words and comments, and everything that is
    predicted is written anew; any other file is raw text, split and segmented as the tagger's own text settings say.
    `model` is the biLM where it lies elsewhere than when the folder was trained.
    Raises BadInput where folder, model or file are missing or damaged.
    """
    annotator = _Annotator(Path(existing(folder, "trained folder")), model)
    source = existing(source, "file")
    if ".conllu" in source.suffixes:
        return annotator.annotated(conllu.read_iter(source))
    return _some(annotator.annotated(_from_text(source, annotator.text)), source)


def _some(sentences: Iterator[conllu.Sentence], source: Path) -> Iterator[conllu.Sentence]:
    """The sentences; raises BadInput where there is none."""
    number = -1
    for number, sentence in enumerate(sentences):  # noqa: B007 (looked at behind the loop)
        yield sentence
    if number < 0:
        raise BadInput("no sentence in this file", path=source)


class _Annotator:
    """The tagger and the parser of a folder."""

    def __init__(self, folder: Path, model: str | Path | None) -> None:
        has = {part: (folder / part).is_dir() for part in ("tagger", "parser")}
        if not any(has.values()):
            raise BadInput("neither a tagger nor a parser lies here; `zh-elmo train` makes them", path=folder)
        facts = read_json(existing(folder / "vectors.json", "vectors.json of a trained folder"))
        vectors = open_vectors(facts["kind"], folder / facts["static"], model or facts["model"])
        self.tagger = Tagger.load(folder / "tagger", vectors) if has["tagger"] else None
        self.parser = Parser.load(folder / "parser", vectors) if has["parser"] else None
        self.text: Pipeline = (self.tagger or self.parser).text  # type: ignore[union-attr]  # one of them is there

    def annotated(self, sentences: Iterator[conllu.Sentence]) -> Iterator[conllu.Sentence]:
        while part := list(islice(sentences, _AT_ONCE)):
            yield from annotate(part, self.tagger, self.parser)


def _from_text(path: Path, text: Pipeline) -> Iterator[conllu.Sentence]:
    """Sentences of a text file, each line by itself; FORM is what stands in the text, not what it is normalised to."""
    number = 0
    for _, line in lines(path):
        for words in text.sentences(line):
            number += 1
            spans = [(word.start, word.end) for word in words]
            ends = [start for start, _ in spans[1:]] + [len(line)]
            after = [line[end:following].isspace() for (_, end), following in zip(spans, ends, strict=True)]
            forms = ["".join(line[start:end].split()) or "\ufffd" for start, end in spans]
            comments = [f"# sent_id = {number}", f"# text = {line[spans[0][0] : spans[-1][1]]}"]
            yield conllu.Sentence.from_forms(forms, space_after=after, comments=comments)
