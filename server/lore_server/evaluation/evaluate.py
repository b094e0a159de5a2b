"""One evaluation: a set, its bench, and the values of each ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lore_etl.config.settings import Settings
from lore_etl.core.errors import InvalidArgument
from lore_etl.core.json_types import JSON
from lore_etl.core.model import Chunk
from lore_etl.core.progress import Progress, silent
from lore_etl.models.embedder import ConfiguredModel
from lore_etl.pipeline.corpus import CorpusRecord
from lore_server.evaluation.bench import Bench, open_bench, read_chosen
from lore_server.evaluation.measures import Report, Values, per_question
from lore_server.evaluation.sets import LINE_END, EvaluationSet, Question, content, rows, text
from lore_server.query.confidence import DOUBTFUL
from lore_server.query.ranking import Ranked

TYPES_LOOKED_AT = 3
UNANSWERABLE = "unanswerable"
PASSAGES = 5
EXCERPT_MEASURES = ("recall", "precision", "iou")
Span = tuple[int, int]


@dataclass(frozen=True)
class ExcerptSet:
    """Questions over whole documents, each with the document and character ranges that answer it."""

    asked: EvaluationSet
    documents: dict[str, str]
    answers: dict[str, tuple[str, list[Span]]]


def evaluate_folder(
    folder: Path | None,
    split: str | None,
    root: Path,
    settings: Settings,
    rankings: Sequence[str],
    progress: Progress = silent,
    model: ConfiguredModel | None = None,
) -> Report:
    """Return the report on a set of any kind or, without a folder, on the project's own history."""
    if folder is None or not is_excerpt_set(folder):
        with open_bench(read_chosen(folder, split), root, settings, progress, model) as (bench, chosen):
            return _evaluate(bench, chosen, rankings, progress)
    of_passages = [ranking for ranking in rankings if ranking != "classic"]
    if not of_passages:
        raise InvalidArgument("The ranking `classic` ranks files, but an excerpt set judges passages.")
    quoted = read_excerpts(folder, split)
    with open_bench(quoted.asked, root, settings, progress, model) as (bench, _):
        return _evaluate_excerpts(bench, quoted, of_passages, progress)


def _evaluate(bench: Bench, chosen: EvaluationSet, rankings: Sequence[str], progress: Progress) -> Report:
    questions = chosen.questions
    retrieved = bench.retrieve(questions, progress)
    kinds = [question.id for question in questions if question.metadata.get("kind") is not None]
    fits = ((kind, bench.service.fit(retrieved[kind])) for kind in kinds)
    doubted = {kind: fit.unknown is not None or fit.confidence < DOUBTFUL for kind, fit in fits}
    values = {}
    for ranking in rankings:
        ranked = bench.rank(retrieved, ranking)
        runs = bench.runs(ranked)
        values[ranking] = per_question(chosen.judgements, runs) | _by_kind(chosen, ranked, runs, doubted)
    return Report(chosen.name, len(questions), values)


def _evaluate_excerpts(bench: Bench, chosen: ExcerptSet, rankings: Sequence[str], progress: Progress) -> Report:
    places = {name: Places(text) for name, text in chosen.documents.items()}
    questions = chosen.asked.questions
    retrieved = bench.retrieve(questions, progress)
    values: dict[str, Values] = {}
    for ranking in rankings:
        values[ranking] = {f"{name}@{PASSAGES}": {} for name in EXCERPT_MEASURES}
        for question in questions:
            hits, _ = bench.service.rank(retrieved[question.id], ranking, bench.weights(ranking))
            passages = [(hit.source, places[hit.source].span(hit.chunk)) for hit in hits[:PASSAGES]]
            for name, value in overlap(passages, *chosen.answers[question.id]).items():
                values[ranking][f"{name}@{PASSAGES}"][question.id] = value
    return Report(chosen.asked.name, len(questions), values)


def _by_kind(
    chosen: EvaluationSet,
    ranked: Mapping[str, Sequence[Ranked]],
    runs: Mapping[str, Sequence[str]],
    doubted: Mapping[str, bool],
) -> Values:
    """Return measure -> question -> value per kind of question; `doubted` holds the questions with a kind."""
    values: Values = {}
    for question in (one for one in chosen.questions if one.id in doubted):
        kind, is_doubted = question.metadata["kind"], doubted[question.id]
        if kind == UNANSWERABLE:
            values.setdefault("unanswerable_recognised", {})[question.id] = float(is_doubted)
            continue
        values.setdefault("answerable_accepted", {})[question.id] = float(not is_doubted)
        gold = {document for document, grade in chosen.judgements[question.id].items() if grade > 0}
        if kind == "type":
            expected = question.metadata.get("type")
            wanted = {expected} if isinstance(expected, str) else set(expected or ())
            first = ranked[question.id][:TYPES_LOOKED_AT]
            name, value = f"right_type@{TYPES_LOOKED_AT}", float(any(result.chunk.type in wanted for result in first))
        elif kind in ("name", "version"):
            name, value = f"{kind}@1", float(runs[question.id][:1] != [] and runs[question.id][0] in gold)
        else:
            name, value = f"{kind}_recall@10", len(gold & set(runs[question.id][:10])) / len(gold)
        values.setdefault(name, {})[question.id] = value
    return values


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
    # as in Chroma's "Evaluating Chunking Strategies" (2024, "Metrics"): text retrieved twice counts twice in precision
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
