"""Ranking measures by ir-measures, their intervals, the paired test between two rankings, and the saved report."""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Self

import ir_measures
import numpy as np
from ir_measures import RR, R, nDCG
from pydantic import TypeAdapter

from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import InvalidArgument
from lore_etl.core.json_types import JSON
from lore_server.evaluation.sets import Judgements

MEASURES = {"ndcg@10": nDCG @ 10, "recall@10": R @ 10, "recall@100": R @ 100, "mrr@10": RR @ 10}
SAMPLES = 2_000
SEED = 1
ALPHA = 0.05
Runs = Mapping[str, Sequence[str]]  # question id -> document ids, best first
Values = dict[str, dict[str, float]]  # measure -> question id -> value


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
        bounds = interval(list(differences))
        return Comparison(bounds[0], bounds, 1.0)
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns if there are few distinct samples
        test = stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=SAMPLES, vectorized=True,
            rng=np.random.default_rng(SEED),
        )  # fmt: skip
    return Comparison(float(differences.mean()), interval(list(differences)), float(test.pvalue))


@dataclass(frozen=True)
class Report:
    """The values of each ranking on one set: ranking -> measure -> question -> value."""

    name: str
    questions: int
    values: dict[str, Values]

    def summary(self) -> JSON:
        """Return ranking -> measure -> mean, with the 95 % intervals of the means."""
        rounded: JSON = {}
        for ranking, values in self.values.items():
            means = {measure: round(fmean(each.values() or [0.0]), 4) for measure, each in values.items()}
            bounds = {measure: [round(x, 4) for x in interval(list(each.values()))] for measure, each in values.items()}
            rounded[ranking] = {**means, "intervals": bounds}
        return rounded

    def against(self, theirs: Self) -> dict[str, dict[str, Comparison]]:
        """Return ranking -> measure -> comparison, for those in both. Raises InvalidArgument without any."""
        found = {
            ranking: {name: compare(ours, theirs.values[ranking][name]) for name, ours in values.items()
                      if ours.keys() & theirs.values[ranking].get(name, {}).keys()}
            for ranking, values in self.values.items() if ranking in theirs.values
        }  # fmt: skip
        if not any(found.values()):
            hint = "Compare runs of the same set with a ranking that both contain."
            raise InvalidArgument(f"This run and the saved one, of {theirs.name}, have no questions in common.", hint)
        return found

    def between(self, ranking: str, other: str, measure: str) -> Comparison:
        return compare(self.values[ranking][measure], self.values[other][measure])


def save(report: Report, file: Path) -> None:
    write_atomically(file, (json.dumps(asdict(report), indent=1, sort_keys=True) + "\n",))


def load(file: Path) -> Report:
    """Read a saved report. Raises InvalidArgument."""
    try:
        return TypeAdapter(Report).validate_json(file.read_bytes())
    except OSError as error:
        raise InvalidArgument(f"Cannot read {file.name}: {error.strerror}.") from error
    except ValueError as error:
        hint = "Write one with `lore eval … --save FILE`."
        raise InvalidArgument(f"{file.name} is not a saved evaluation.", hint) from error
