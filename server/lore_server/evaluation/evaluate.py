"""One evaluation: a set, its bench, and the values of each ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lore_etl.config.settings import Settings
from lore_etl.core.errors import InvalidArgument
from lore_etl.core.progress import Progress, silent
from lore_etl.models.embedder import Model
from lore_server.evaluation import excerpts
from lore_server.evaluation.bench import Bench, opened, read_chosen
from lore_server.evaluation.excerpts import PASSAGES, ExcerptSet, Places, overlap
from lore_server.evaluation.measures import Report, Values, per_question
from lore_server.evaluation.sets import EvaluationSet
from lore_server.query.confidence import DOUBTFUL
from lore_server.query.ranking import Ranked

TYPES_LOOKED_AT = 3
UNANSWERABLE = "unanswerable"


def evaluate_folder(
    folder: Path | None,
    split: str | None,
    root: Path,
    settings: Settings,
    rankings: Sequence[str],
    progress: Progress = silent,
    model: Model | None = None,
) -> Report:
    """Return the report on a set of any kind or, without a folder, on the project's own history."""
    if folder is None or not excerpts.is_excerpt_set(folder):
        with opened(read_chosen(folder, split), root, settings, progress, model) as (bench, chosen):
            return _evaluate(bench, chosen, rankings, progress)
    of_passages = [ranking for ranking in rankings if ranking != "classic"]
    if not of_passages:
        raise InvalidArgument("The ranking `classic` ranks files, but an excerpt set judges passages.")
    quoted = excerpts.read_excerpts(folder, split)
    with opened(quoted.asked, root, settings, progress, model) as (bench, _):
        return _evaluate_excerpts(bench, quoted, of_passages, progress)


def _evaluate(bench: Bench, chosen: EvaluationSet, rankings: Sequence[str], progress: Progress) -> Report:
    questions = chosen.questions
    retrieved = bench.retrieve(questions, progress)
    kinds = [question.id for question in questions if question.metadata.get("kind") is not None]
    confidences = {kind: bench.service.fit(retrieved[kind]).confidence for kind in kinds}
    values = {}
    for ranking in rankings:
        ranked = bench.rank(retrieved, ranking)
        runs = bench.runs(ranked)
        values[ranking] = per_question(chosen.judgements, runs) | _by_kind(chosen, ranked, runs, confidences)
    return Report(chosen.name, len(questions), values)


def _evaluate_excerpts(bench: Bench, chosen: ExcerptSet, rankings: Sequence[str], progress: Progress) -> Report:
    """Return recall, precision and intersection over union of the best passages per ranking."""
    places = {name: Places(text) for name, text in chosen.documents.items()}
    questions = chosen.asked.questions
    retrieved = bench.retrieve(questions, progress)
    values: dict[str, Values] = {}
    for ranking in rankings:
        values[ranking] = {f"{name}@{PASSAGES}": {} for name in excerpts.MEASURES}
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
    confidences: Mapping[str, float],
) -> Values:
    """Return measure -> question -> value per kind of question; `confidences` holds the questions with a kind."""
    values: Values = {}
    for question in chosen.questions:
        if question.id not in confidences:
            continue
        kind = question.metadata["kind"]
        is_doubted = confidences[question.id] < DOUBTFUL
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
