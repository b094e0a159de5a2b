"""Judge more than documents: whether the right type comes first, exact names, and questions without an answer.

Each question has its kind in `metadata.kind`; `data/evaluation/README.md` describes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lore_server.evaluation.measures import Values
from lore_server.evaluation.sets import EvaluationSet, Question
from lore_server.query.confidence import DOUBTFUL
from lore_server.query.ranking import Ranked

TYPES_LOOKED_AT = 3
UNANSWERABLE = "unanswerable"
_FIRST = {"name": "name@1", "version": "version@1"}


def by_kind(
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
            name, value = f"right_type@{TYPES_LOOKED_AT}", _has_type(question, ranked[question.id])
        elif kind in _FIRST:
            name, value = _FIRST[kind], float(runs[question.id][:1] != [] and runs[question.id][0] in gold)
        else:
            name, value = f"{kind}_recall@10", len(gold & set(runs[question.id][:10])) / len(gold)
        values.setdefault(name, {})[question.id] = value
    return values


def _has_type(question: Question, ranked: Sequence[Ranked]) -> float:
    """Return whether the first results include a document of the expected type."""
    expected = question.metadata.get("type")
    wanted = {expected} if isinstance(expected, str) else set(expected or ())
    return float(any(result.chunk.type.value in wanted for result in ranked[:TYPES_LOOKED_AT]))
