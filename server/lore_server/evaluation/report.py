"""The report of an evaluation: means with intervals, and each question's value for later comparison."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from pydantic import TypeAdapter

from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import InvalidArgument
from lore_etl.core.json_types import JSON
from lore_server.evaluation.measures import Comparison, Values, compare, interval


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

    def against(self, theirs: Report) -> dict[str, dict[str, Comparison]]:
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

    def between(self, ranking: str, other: str) -> dict[str, Comparison]:
        return {name: compare(ours, self.values[other][name]) for name, ours in self.values[ranking].items()}


def save(report: Report, file: Path) -> None:
    record = {"name": report.name, "questions": report.questions, "values": report.values}
    write_atomically(file, (json.dumps(record, indent=1, sort_keys=True) + "\n",))


def load(file: Path) -> Report:
    """Read a saved report. Raises InvalidArgument."""
    try:
        return TypeAdapter(Report).validate_json(file.read_bytes())
    except OSError as error:
        raise InvalidArgument(f"Cannot read {file.name}: {error.strerror}.") from error
    except ValueError as error:
        hint = "Write one with `lore eval … --save FILE`."
        raise InvalidArgument(f"{file.name} is not a saved evaluation.", hint) from error
