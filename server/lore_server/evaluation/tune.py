"""Fit the weights of the hybrid ranking by coordinate search; only gains on held-out questions count (paired test)."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from lore_etl.config.project import CONFIG_NAME
from lore_etl.config.settings import Settings
from lore_etl.core.errors import ConfigError, InvalidArgument
from lore_etl.core.progress import Progress, silent
from lore_etl.models.embedder import ConfiguredModel
from lore_server.evaluation.bench import Bench, open_bench, read_chosen
from lore_server.evaluation.measures import ALPHA, Comparison, compare, per_question
from lore_server.evaluation.sets import EvaluationSet
from lore_server.knowledge.safe_files import Files
from lore_server.query.ranking import weights

MEASURE = "ndcg@10"
FOLDS = 5
MIN_GAIN = 0.001  # a weight that gains less on the training questions is not changed
SMALLEST_SET = 30  # questions
STEPS: Mapping[str, Sequence[float]] = {
    "vectorShare": (0.35, 0.45, 0.55, 0.65),
    "adaptedShare": (0, 5, 20),
    "furtherPassages": (0.0, 0.3, 0.45, 0.8),
    "proximity": (0, 60, 90, 160),
    "sourcePathMatch": (0, 10, 30, 40),
    "namePartMatch": (0, 20, 70),
    "historyMatch": (0, 12, 40),
    "intentMatch": (0, 8, 24),
    "guideMatch": (-8, 8, 16),
    "sourceMatch": (-4, 0, 12),
    "releasePenalty": (-40, 0),
}
Scores = dict[str, float]  # question, with its set -> value of the measure
Trial = Callable[[frozenset[tuple[str, float]]], Scores]
"""Returns the values of the answered questions of a set under test, with these items of weights. It is cached."""


@dataclass(frozen=True)
class Fit:
    """The changed weights, their effect on held-out questions, and the held-out sets that significantly lose."""

    weights: dict[str, float]
    before: float
    after: float
    held_out: Comparison
    losing: tuple[str, ...] = ()

    @property
    def generalises(self) -> bool:
        """Return whether the gain on held-out questions is significant and no held-out set loses."""
        return bool(self.weights) and self.held_out.difference > 0 and self.held_out.p < ALPHA and not self.losing


def fit_folders(
    folders: Sequence[Path],
    split: str | None,
    root: Path,
    settings: Settings,
    progress: Progress = silent,
    model: ConfiguredModel | None = None,
) -> Fit:
    """Fit the weights to sets or the project's own history. Raises ConfigError, InvalidArgument."""
    if settings.query.ranking != "hybrid":
        problem = f"only the weights of hybrid can be fitted, not those of {settings.query.ranking}"
        raise ConfigError(f"Configuration key `query.ranking`: {problem}.")
    start = weights("hybrid", settings.query.weights)
    places: Sequence[Path | None] = folders or [None]
    sets = [read_chosen(folder, split) for folder in places]
    if len({chosen and chosen.corpus for chosen in sets}) < len(sets):
        raise InvalidArgument("Two of the sets have folders of the same name.", "Rename one of the folders.")
    with ExitStack() as stack:
        benches = [stack.enter_context(open_bench(chosen, root, settings, progress, model)) for chosen in sets]
        return _fit({chosen.name: _trial(bench, chosen, progress) for bench, chosen in benches}, start, progress)


def _trial(bench: Bench, chosen: EvaluationSet, progress: Progress) -> Trial:
    questions = [
        question for question in chosen.questions if any(grade > 0 for grade in chosen.judgements[question.id].values())
    ]
    if len(questions) < SMALLEST_SET:
        hint = f"Use a set of at least {SMALLEST_SET} questions with an answer."
        raise InvalidArgument(f"{len(questions)} questions are too few to fit the weights.", hint)
    names = {question.id: f"{chosen.name}/{question.id}" for question in questions}
    retrieved = bench.retrieve(questions, progress)

    @cache
    def score(items: frozenset[tuple[str, float]]) -> Scores:
        runs = bench.runs(bench.rank(retrieved, "hybrid", dict(items)))
        values = per_question(chosen.judgements, runs)[MEASURE]
        return {name: values[question] for question, name in names.items()}

    return score


def _fit(sets: Mapping[str, Trial], start: Mapping[str, float], progress: Progress) -> Fit:
    """Fit the weights by cross-validation; the returned weights are fitted to all questions."""
    names, trials = list(sets), list(sets.values())
    before = _scores(trials, start)
    # a set is left out as a whole, because weights that suit one project may hurt another
    folds = [frozenset(_scores([trial], start)) for trial in trials]
    if len(trials) == 1:
        folds = [frozenset(list(before)[number::FOLDS]) for number in range(FOLDS)]
    held_out: Scores = {}
    losing = []
    for number, fold in enumerate(folds):
        progress("fitting", number, len(folds) + 1)
        found = _scores(trials, _search(trials, start, fold))
        own = {question: found[question] for question in fold}
        held_out |= own
        if len(trials) > 1 and compare(own, before).is_loss:
            losing.append(names[number])
    progress("fitting", len(folds), len(folds) + 1)
    best = _search(trials, start, frozenset())
    progress("fitting", len(folds) + 1, len(folds) + 1)
    changed = {name: value for name, value in best.items() if value != start[name]}
    after = _scores(trials, best)
    return Fit(changed, fmean(before.values()), fmean(after.values()), compare(held_out, before), tuple(losing))


def _scores(trials: Sequence[Trial], weights: Mapping[str, float]) -> Scores:
    items = frozenset(weights.items())
    return {question: value for trial in trials for question, value in trial(items).items()}


def write(file: Path, weights: Mapping[str, float]) -> None:
    """Write weights to a `lore.toml` and keep everything else in it. Raises ConfigError, InvalidPath, StorageError."""
    files = Files(file.parent)
    try:
        # bytes, because reading text would change line ends
        document = tomlkit.parse((files.read(file.name) or b"").decode("utf-8"))
        query = document.setdefault("query", tomlkit.table())
        is_inline = isinstance(query, InlineTable)
        table = query.setdefault("weights", tomlkit.inline_table() if is_inline else tomlkit.table())
        for name, value in weights.items():
            table[name] = value
        files.write(file.name, tomlkit.dumps(document).encode())
    except (TOMLKitError, UnicodeDecodeError, AttributeError, TypeError) as error:
        raise ConfigError(f"{CONFIG_NAME} is not valid: {error}.") from error


def _search(trials: Sequence[Trial], start: Mapping[str, float], left_out: frozenset[str]) -> dict[str, float]:
    """Return the best weights for the questions that are not left out, one after another; all sets count equally."""

    def mean(weights: Mapping[str, float]) -> float:
        scores = [_scores([trial], weights) for trial in trials]
        asked = [[value for question, value in own.items() if question not in left_out] for own in scores]
        return fmean(fmean(values) for values in asked if values)

    best, value = dict(start), mean(start)
    for name, steps in STEPS.items():
        tried = [{**best, name: step} for step in steps if step != best[name]]
        winner = max(tried, key=mean)
        if mean(winner) >= value + MIN_GAIN:
            best, value = winner, mean(winner)
    return best
