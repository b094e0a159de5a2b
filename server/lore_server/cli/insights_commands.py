"""`lore insights` and `lore mark`: the logged questions, and judgements on their results."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import FileExists, NotFound, UsageError
from lore_etl.core.json_types import JSON
from lore_server.cli.command import command
from lore_server.owner.session import Session

QUESTIONS, JUDGEMENTS = "queries.jsonl", "qrels.tsv"
GRADES = {"right": 1, "wrong": 0}


@command
def insights(
    session: Session,
    days: Annotated[int, typer.Option(help="How many days to look back.")] = 30,
    limit: Annotated[int, typer.Option("-n", "--limit", help="Maximum rows of each list.")] = 10,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the marks as a set for `lore eval`.", metavar="DIR")
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Delete all logged questions and marks.")] = False,
) -> None:
    """Show frequent, doubtful and unanswered questions, files that no question found, and latency."""
    if clear and export is not None:
        raise UsageError("--clear and --export cannot be combined.", "Export first, then clear.")
    if clear:
        session.call("clear_insights", confirm=True)
    elif export is not None:
        _export(session, export)
    else:
        session.call("get_insights", days=days, limit=limit)


@command
def mark(
    session: Session,
    query: Annotated[str, typer.Argument(help="The question exactly as it was asked.")],
    sources: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files that answer it.")],
    wrong: Annotated[bool, typer.Option("--wrong", help="They do not answer it.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Remove the marks.")] = False,
) -> None:
    """Mark files as right or wrong for a question, as a judged set for `lore eval`."""
    if wrong and undo:
        raise UsageError("--wrong and --undo cannot be combined.", "Use one of them.")
    verdict = "none" if undo else "wrong" if wrong else "right"
    for source in sources:
        session.call("mark_result", query=query, source=source, verdict=verdict)


def _export(session: Session, folder: Path) -> None:
    """Write the marks to a folder. Raises FileExists: a set must not be overwritten by accident."""
    for name in (QUESTIONS, JUDGEMENTS):
        if (folder / name).exists():
            raise FileExists(f"{folder / name} exists.", "Name a new folder.")
    files, skipped = judged_set(session.ask("list_marks")["marks"])
    if not files:
        raise NotFound("No result has been marked as right.", "Mark one: lore mark QUESTION FILE.")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_atomically(folder / name, [text], mode=0o600)
    count = files[QUESTIONS].count("\n")
    left_out = f" Left out, because no result is right: {skipped}." if skipped else ""
    session.show(
        {"folder": str(folder), "questions": count, "skipped": skipped},
        f"Questions written to {folder}: {count}.{left_out} Measure with: lore eval {folder}",
    )


def judged_set(marks: Sequence[Mapping[str, str]]) -> tuple[dict[str, str], int]:
    """Return the files of a judged set by name, and the number of questions without a right result."""
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for row in marks:
        grades[row["query"]][row["source"]] = GRADES[row["verdict"]]
    judged = {query: files for query, files in grades.items() if any(files.values())}
    questions: list[JSON] = [{"_id": f"q{number}", "text": query} for number, query in enumerate(judged, start=1)]
    lines = [json.dumps(question, ensure_ascii=False) for question in questions]
    rows = [
        f"q{number}\t{source}\t{grade}"
        for number, files in enumerate(judged.values(), start=1)
        for source, grade in files.items()
        if not {"\t", "\n", "\r"} & set(source)
    ]
    if not judged:
        return {}, len(grades)
    header = "query-id\tcorpus-id\tscore"
    files = {QUESTIONS: "\n".join(lines) + "\n", JUDGEMENTS: "\n".join([header, *rows]) + "\n"}
    return files, len(grades) - len(judged)
