"""Ranking measures by ir-measures, their intervals, and the paired test between two rankings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ir_measures
import numpy as np
from ir_measures import RR, R, nDCG

from lore_server.evaluation.sets import Judgements

MEASURES = {"ndcg@10": nDCG @ 10, "recall@10": R @ 10, "recall@100": R @ 100, "mrr@10": RR @ 10}
SAMPLES = 2_000
SEED = 1
ALPHA = 0.05
Runs = Mapping[str, Sequence[str]]
"""Question id -> document ids, best first."""
Values = dict[str, dict[str, float]]
"""Measure -> question id -> value."""


@dataclass(frozen=True)
class Comparison:
    """The mean difference of two rankings on the same questions, with its 95 % interval and p-value."""

    difference: float
    interval: tuple[float, float]
    p: float

    @property
    def is_loss(self) -> bool:
        return self.difference < 0 and self.p < ALPHA


def per_question(judgements: Judgements, runs: Runs) -> Values:
    """Return each measure of each judged question; 0 for a question without results."""
    judged = {
        question: grades for question, grades in judgements.items() if any(grade > 0 for grade in grades.values())
    }
    ranked = {
        question: {document: -place for place, document in enumerate(runs.get(question, ()))} for question in judged
    }
    values: Values = {name: dict.fromkeys(judged, 0.0) for name in MEASURES}
    names = {measure: name for name, measure in MEASURES.items()}
    for metric in ir_measures.iter_calc(list(names), judged, ranked):
        values[names[metric.measure]][metric.query_id] = float(metric.value)
    return values


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean, by bootstrap over questions (percentiles)."""
    data = np.asarray(values, dtype=float)
    if len(data) < 2 or np.ptp(data) == 0:
        mean = float(data.mean()) if len(data) else 0.0
        return mean, mean
    from scipy import stats

    found = stats.bootstrap((data,), np.mean, n_resamples=SAMPLES, method="percentile", rng=np.random.default_rng(SEED))
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def compare(ours: Mapping[str, float], theirs: Mapping[str, float]) -> Comparison:
    """Compare two rankings on the questions that both have (paired permutation test)."""
    common = [question for question in ours if question in theirs]
    differences = np.array([ours[question] - theirs[question] for question in common])
    if len(differences) < 2 or not differences.any():
        mean = float(differences.mean()) if len(differences) else 0.0
        return Comparison(mean, (mean, mean), 1.0)
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns if there are few distinct samples
        test = stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=SAMPLES, vectorized=True,
            rng=np.random.default_rng(SEED),
        )  # fmt: skip
    return Comparison(float(differences.mean()), interval(list(differences)), float(test.pvalue))
