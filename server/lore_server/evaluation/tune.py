"""Fit the weights of the hybrid ranking to judged questions, and test the fit on held-out questions.

The fit is a coordinate search: each weight in turn is tried at a few values, and the best is kept if it gains enough.
Gains count only on held-out folds, by a paired test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from lore_etl.config.layers import CONFIG_NAME
from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import ConfigError, InvalidArgument, StorageError
from lore_etl.core.model import Progress, silent
from lore_server.evaluation.bench import Bench
from lore_server.evaluation.measures import ALPHA, Comparison, compare, per_question
from lore_server.evaluation.sets import EvaluationSet, Judgements, Question
from lore_server.query.query_service import Retrieved

MEASURE = "ndcg@10"
FOLDS = 5
MIN_GAIN = 0.001  # a weight that gains less on the training questions is not changed
SMALLEST_SET = 30  # questions
STEPS: Mapping[str, Sequence[float]] = {
    "vectorShare": (0.35, 0.45, 0.55, 0.65),
    "adaptedShare": (0, 5, 20),
    "furtherPassages": (0.0, 0.15, 0.45, 0.6),
    "proximity": (0, 60, 90, 160),
    "sourcePathMatch": (0, 10, 30, 40),
    "namePartMatch": (0, 20, 70),
    "folderCoherence": (0.0, 0.2, 0.4),
    "intentMatch": (0, 8, 24),
    "guideMatch": (-8, 8, 16),
    "sourceMatch": (-4, 0, 12),
    "testPenalty": (-24, -16, 0),
    "examplePenalty": (-12, 4),
    "releasePenalty": (-40, 0),
}
Scores = dict[str, float]
"""Question id -> value of the measure."""


@dataclass(frozen=True)
class Fit:
    """The result of a fit: the changed weights, and their effect on held-out questions."""

    weights: dict[str, float]
    before: float
    after: float
    held_out: Comparison

    @property
    def generalises(self) -> bool:
        """Return whether the gain on held-out questions is significant."""
        return bool(self.weights) and self.held_out.difference > 0 and self.held_out.p < ALPHA


def fit(bench: Bench, chosen: EvaluationSet, progress: Progress = silent) -> Fit:
    """Fit the weights by cross-validation; the returned weights are fitted to all questions.

    Raises:
        ConfigError: another ranking is configured, which does not have these weights.
        InvalidArgument: the set is too small to distinguish a gain from chance.
    """
    if bench.settings.query.ranking != "hybrid":
        raise ConfigError(
            f"Configuration key `query.ranking`: only the weights of hybrid can be fitted, "
            f"not those of {bench.settings.query.ranking}."
        )
    questions = [
        question for question in chosen.questions if any(grade > 0 for grade in chosen.judgements[question.id].values())
    ]
    if len(questions) < SMALLEST_SET:
        hint = f"Use a set of at least {SMALLEST_SET} questions with an answer."
        raise InvalidArgument(f"{len(questions)} questions are too few to fit the weights.", hint)
    score = _scorer(bench, questions, chosen.judgements, bench.retrieve(questions, progress))
    start = dict(bench.weights("hybrid"))
    before = score(start)
    held_out: Scores = {}
    for number in range(FOLDS):
        progress("fitting", number, FOLDS + 1)
        fold = {question.id for question in questions[number::FOLDS]}
        found = score(_search(score, start, [question for question in questions if question.id not in fold]))
        held_out |= {question: found[question] for question in fold}
    progress("fitting", FOLDS, FOLDS + 1)
    best = _search(score, start, questions)
    progress("fitting", FOLDS + 1, FOLDS + 1)
    changed = {name: value for name, value in best.items() if value != start[name]}
    return Fit(changed, fmean(before.values()), fmean(score(best).values()), compare(held_out, before))


def write(file: Path, weights: Mapping[str, float]) -> None:
    """Write weights under `[query.weights]` of a `lore.toml`, keeping everything else including comments.

    Raises:
        ConfigError: the file is not valid TOML.
        StorageError: it cannot be written.
    """
    try:
        # not read_text, which would change line ends
        document = tomlkit.parse(file.read_bytes().decode("utf-8")) if file.exists() else tomlkit.document()
        query = document.setdefault("query", tomlkit.table())
        is_inline = isinstance(query, InlineTable)
        table = query.setdefault("weights", tomlkit.inline_table() if is_inline else tomlkit.table())
        for name, value in weights.items():
            table[name] = value
        write_atomically(file, (tomlkit.dumps(document),))
    except (TOMLKitError, UnicodeDecodeError, AttributeError, TypeError) as error:
        raise ConfigError(f"{CONFIG_NAME} is not valid: {error}.") from error
    except OSError as error:
        raise StorageError(f"Cannot write {CONFIG_NAME}: {error.strerror}.") from error


def _scorer(
    bench: Bench, questions: Sequence[Question], judgements: Judgements, retrieved: Mapping[str, Retrieved]
) -> Callable[[Mapping[str, float]], Scores]:
    """Return a cached function from weights to the value of every question."""
    known: dict[tuple[tuple[str, float], ...], Scores] = {}

    def score(weights: Mapping[str, float]) -> Scores:
        key = tuple(sorted(weights.items()))
        if key not in known:
            runs = bench.runs(questions, bench.rank(questions, retrieved, "hybrid", weights))
            known[key] = per_question(judgements, runs)[MEASURE]
        return known[key]

    return score


def _search(
    score: Callable[[Mapping[str, float]], Scores], start: Mapping[str, float], questions: Sequence[Question]
) -> dict[str, float]:
    """Return the best weights for these questions, optimized one after another."""

    def mean(weights: Mapping[str, float]) -> float:
        values = score(weights)
        return fmean(values[question.id] for question in questions)

    best, value = dict(start), mean(start)
    for name, steps in STEPS.items():
        tried = [{**best, name: step} for step in steps if step != best[name]]
        winner = max(tried, key=mean)
        if mean(winner) >= value + MIN_GAIN:
            best, value = winner, mean(winner)
    return best
