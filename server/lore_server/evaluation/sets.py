"""Read sets of judged questions in BEIR's format: `corpus.jsonl`, `queries.jsonl` and `qrels.tsv`."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lore_etl.core.errors import InvalidArgument
from lore_etl.core.json_types import JSON
from lore_etl.core.text import encodable
from lore_etl.pipeline.corpus import CorpusRecord

Judgements = dict[str, dict[str, int]]  # question id -> document id -> grade of relevance; 0 is not relevant
LINE_END = re.compile(r"\r\n|\r|\n")
_GRADE = re.compile(r"-?[0-9]{1,9}")


@dataclass(frozen=True)
class Question:
    """A question of a set, with its metadata."""

    id: str
    text: str
    metadata: JSON = field(default_factory=dict)


@dataclass(frozen=True)
class EvaluationSet:
    """Judged questions over the documents `corpus`, or without `records` over the project's own index."""

    name: str
    questions: list[Question]
    judgements: Judgements
    records: list[CorpusRecord] | None = None
    corpus: str = ""


def read_set(folder: Path, split: str | None = None) -> EvaluationSet:
    """Read a set or a split: by `qrels.<split>.tsv`, `qrels/<split>.tsv` or metadata. Raises InvalidArgument."""
    queries, qrels, in_metadata = _files(folder, split)
    corpus, documents = folder.resolve().name, folder / "corpus.jsonl"
    questions = [Question(id_, text(row, "text", place), _metadata(row, place)) for place, id_, row in rows(queries)]
    if in_metadata:
        questions = [question for question in questions if question.metadata.get("split") == split]
    records = None
    if documents.exists():
        records = [_record(row, id_, place) for place, id_, row in rows(documents)]
    judgements = _judgements(qrels, None if records is None else {record.id for record in records})
    asked = [question for question in questions if question.id in judgements or records is None]
    judged = {question.id: judgements.get(question.id, {}) for question in asked}
    if not any(grade > 0 for grades in judged.values() for grade in grades.values()):
        where = f" in the split `{split}`" if split else ""
        raise InvalidArgument(f"{corpus}: no question{where} has a relevant document in {qrels.name}.")
    return EvaluationSet(f"{corpus}.{split}" if split else corpus, asked, judged, records, corpus)


def _files(folder: Path, split: str | None) -> tuple[Path, Path, bool]:
    """Return questions file, judgements file, and whether the split is still to be selected by metadata."""
    if not folder.is_dir():
        raise InvalidArgument(f"There is no folder {folder}.", "Give the folder that contains queries.jsonl.")
    if split:
        named = folder / f"queries.{split}.jsonl"
        for qrels in (folder / f"qrels.{split}.tsv", folder / "qrels" / f"{split}.tsv"):
            if qrels.exists():
                return named if named.exists() else folder / "queries.jsonl", qrels, False
    qrels = folder / "qrels.tsv"
    if not qrels.exists() and (folder / "qrels" / "test.tsv").exists():
        qrels = folder / "qrels" / "test.tsv"
    return folder / "queries.jsonl", qrels, split is not None


def rows(file: Path) -> Iterator[tuple[str, str, JSON]]:
    """Yield (file and line, `_id`, record) of a JSON Lines file with unique ids. Raises InvalidArgument."""
    seen: set[str] = set()
    for place, line in _lines(file):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidArgument(f"{place}: not valid JSON.") from error
        if not isinstance(row, dict):
            raise InvalidArgument(f"{place}: not a JSON object.")
        id_ = text(row, "_id", place)
        if id_ in seen:
            raise InvalidArgument(f"{place}: the `_id` `{id_}` occurs twice.")
        seen.add(id_)
        yield place, id_, row


def content(file: Path, name: str, hint: str | None = None) -> str:
    """Return the text of a file with its own line ends. Raises InvalidArgument."""
    try:
        with open(file, encoding="utf-8", newline="") as opened:
            return opened.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidArgument(f"Cannot read {name}: {reason}.", hint) from error


def _lines(file: Path) -> Iterator[tuple[str, str]]:
    """Yield (file and line, text) of the lines that are not blank."""
    hint = "A set has queries.jsonl and qrels.tsv; see docs/evaluating.md."
    for number, line in enumerate(LINE_END.split(content(file, file.name, hint)), start=1):
        if line.strip():
            yield f"{file.name}, line {number}", line


def text(row: JSON, key: str, place: str) -> str:
    """Return a value that must be a string. Raises InvalidArgument."""
    value = _storable(row.get(key))
    if not value.strip():
        raise InvalidArgument(f"{place}: `{key}` is missing or not a string.")
    return value


def _storable(value: object) -> str:
    return encodable(value) if isinstance(value, str) else ""


def _metadata(row: JSON, place: str) -> JSON:
    value = row.get("metadata") or {}
    if not isinstance(value, dict):
        raise InvalidArgument(f"{place}: `metadata` is not a JSON object.")
    return value


def _record(row: JSON, id_: str, place: str) -> CorpusRecord:
    """Return a document; its id or `metadata.path` may be the path of a file."""
    metadata = _metadata(row, place)
    path, language = _storable(metadata.get("path")), metadata.get("language")
    if not path.strip("/"):
        path = id_ if "/" in id_ or Path(id_).suffix else ""
    return CorpusRecord(
        id=id_,
        text=_storable(row.get("text")),
        title=_storable(row.get("title")),
        path=path.strip("/") or None,
        language=language if isinstance(language, str) else None,
    )


def _judgements(file: Path, documents: set[str] | None) -> Judgements:
    found: Judgements = {}
    for place, line in _lines(file):
        cells = line.split("\t")
        if cells[0] == "query-id" and not found:  # the header
            continue
        if len(cells) != 3 or not _GRADE.fullmatch(cells[2]):
            raise InvalidArgument(f"{place}: not `query-id<TAB>corpus-id<TAB>score`.")
        if documents is not None and cells[1] not in documents:
            raise InvalidArgument(f"{place}: there is no document `{cells[1]}` in the corpus.")
        found.setdefault(cells[0], {})[cells[1]] = int(cells[2])
    return found
