"""Read the list of promises and the tests that name them, and write the table of docs/reliability.md from them."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.harness.marked import LONG, Marked, marked, with_section
from tests.harness.projects import ROOT

LIST = ROOT / "tests" / "promises.toml"
RECORD = ROOT / "tests" / "full_run.toml"
PAGE = ROOT / "docs" / "reliability.md"


class Promise(NamedTuple):
    """A promise, its figure, what the tests that name it assert, and what no test proves yet."""

    promise: str
    figure: str
    asserted: str
    missing: str


def listed() -> dict[str, Promise]:
    """Return the promises by number."""
    tables = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return {number: Promise(**fields) for number, fields in tables.items()}


def last_run() -> str:
    """Return a sentence about the last run of the long suite, from the record that `make test-all` writes."""
    if not RECORD.exists():
        return (
            "No complete run of the long suite has been recorded yet: `make test-all` records one when all tests pass."
        )
    run = tomllib.loads(RECORD.read_text(encoding="utf-8"))
    names = ", ".join(f"`{test.partition('::')[2]}`" for test in run["repeated"])
    alone = f"; {names} only when run again, alone" if names else ""
    return f"The long suite last passed on {run['date']}, at commit {run['commit']}{alone}."


def section() -> str:
    """Return the last run, the counts, and a row for each promise, as Markdown."""
    promises, tests = listed(), marked("promise")
    whole = sum(not one.missing for one in promises.values())
    lines = [
        "",
        f"{last_run()} Of {len(promises)} promises, {whole} are shown with their figures, the others in part.",
        "",
        "| | promise | promised figure | what the tests assert | tests |",
        "|---|---|---|---|---|",
    ]
    for number, one in promises.items():
        shown = f"{one.asserted}. *Not shown:* {one.missing}" if one.missing else one.asserted
        lines.append(f"| {number} | {one.promise} | {one.figure} | {shown} | {_places(tests.get(number, []))} |")
    return "\n".join(lines) + "\n"


def _places(tests: Sequence[Marked]) -> str:
    """Return the modules of the tests; those of the long suite alone are marked."""
    in_quick = {test.file for test in tests if test.runs != LONG}
    files = dict.fromkeys(test.file for test in tests)
    return ", ".join(f"`{Path(file).stem}`" + ("" if file in in_quick else " (long)") for file in files)


def page() -> str:
    """Return the page with the current section."""
    return with_section(PAGE, section())
