"""Measure how much of the quoted text the best passages contain, and how much other text.

Recall, precision and intersection over union of character ranges, as defined in Chroma's "Evaluating Chunking
Strategies" (2024, section "Metrics"): text that is retrieved twice counts twice against precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lore_etl.core.errors import InvalidArgument
from lore_etl.core.json_types import JSON
from lore_etl.core.model import Chunk
from lore_etl.pipeline.corpus import CorpusRecord
from lore_server.evaluation.sets import LINE_END, EvaluationSet, Question, content, rows, text

PASSAGES = 5
MEASURES = ("recall", "precision", "iou")
Span = tuple[int, int]


@dataclass(frozen=True)
class ExcerptSet:
    """Questions over whole documents, each with the document and character ranges that answer it."""

    asked: EvaluationSet
    documents: dict[str, str]
    answers: dict[str, tuple[str, list[Span]]]


def is_excerpt_set(folder: Path) -> bool:
    return (folder / "questions.jsonl").exists() and (folder / "corpora").is_dir()


def read_excerpts(folder: Path, split: str | None = None) -> ExcerptSet:
    """Read an excerpt set. Raises InvalidArgument."""
    files = sorted(file for file in (folder / "corpora").iterdir() if file.is_file() and file.name[0] != ".")
    documents = {file.name: content(file, f"corpora/{file.name}") for file in files}  # offsets count line ends too
    by_stem = {Path(name).stem: name for name in documents}
    questions, answers = [], {}
    for place, id_, row in rows(folder / "questions.jsonl"):
        question = Question(id_, text(row, "text", place), {"split": row.get("split")})
        name = by_stem.get(text(row, "corpus_id", place))
        if name is None:
            raise InvalidArgument(f"{place}: there is no file `{row['corpus_id']}` in corpora.")
        answers[question.id] = (name, _union(_references(row, len(documents[name]), place)))
        if split is None or question.metadata["split"] == split:
            questions.append(question)
    corpus = folder.resolve().name
    if not questions:
        raise InvalidArgument(f"{corpus}: no question{f' in the split `{split}`' if split else ''}.")
    records = [CorpusRecord(name, content, path=name) for name, content in documents.items()]
    name = f"{corpus}.{split}" if split else corpus
    return ExcerptSet(EvaluationSet(name, questions, {}, records, corpus), documents, answers)


def _references(row: JSON, length: int, place: str) -> list[Span]:
    try:
        spans = [(int(reference["start"]), int(reference["end"])) for reference in row["references"]]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidArgument(f"{place}: not a question with references.") from error
    if not spans or not all(0 <= start < end <= length for start, end in spans):
        raise InvalidArgument(f"{place}: its references are not ranges of the document.")
    return spans


def overlap(passages: Sequence[tuple[str, Span]], document: str, answer: Sequence[Span]) -> dict[str, float]:
    """Measure some passages, each a (document, range), against the ranges that answer the question."""
    found = _union([span for name, span in passages if name == document])  # neither list of ranges has overlaps
    hit = sum(max(0, min(b, d) - max(a, c)) for a, b in answer for c, d in found)
    wanted, given = _length(answer), _length([span for _, span in passages])
    return {
        "recall": hit / wanted if wanted else 0.0,
        "precision": hit / given if given else 0.0,
        "iou": hit / (given + wanted - hit) if given + wanted > hit else 0.0,
    }


class Places:
    """The positions of chunks in a text, converted from lines to characters."""

    def __init__(self, text: str) -> None:
        ends = list(LINE_END.finditer(text))
        self._starts = [0, *(end.end() for end in ends)]
        self._ends = [*(end.start() for end in ends), len(text)]

    def span(self, chunk: Chunk) -> Span:
        """Return the half-open range of characters that the chunk covers."""
        start, end = self._starts[chunk.lines[0] - 1], self._ends[chunk.lines[1] - 1]
        return (start + chunk.columns[0], start + chunk.columns[1]) if chunk.columns else (start, end)


def _union(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _length(spans: Sequence[Span]) -> int:
    return sum(end - start for start, end in spans)
