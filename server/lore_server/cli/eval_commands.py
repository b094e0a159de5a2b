"""`lore eval`, `lore tune`, `lore insights` and `lore mark`; a command imports its measures when it runs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from lore_etl.config.project import CONFIG_NAME
from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import FileExists, InvalidArgument, NotFound, UsageError
from lore_etl.core.extras import require
from lore_etl.core.json_types import JSON
from lore_etl.core.text import counted
from lore_server.cli.command import command
from lore_server.console import output
from lore_server.owner.session import Session

if TYPE_CHECKING:
    from lore_server.evaluation.measures import Comparison, Report

QUESTIONS, JUDGEMENTS = "queries.jsonl", "qrels.tsv"
GRADES = {"right": 1, "wrong": 0}
FolderArgument = Annotated[
    Path | None, Argument(metavar="[DIR]", help="Folder with corpus.jsonl, queries.jsonl and qrels.tsv.")
]
GitOption = Annotated[
    bool, Option("--from-git", help="Use this project's tickets as queries for the files they changed.")
]
SplitOption = Annotated[str | None, Option(help="Only this split of the set.", metavar="NAME")]


@command
def eval_(
    session: Session,
    folder: FolderArgument = None,
    from_git: GitOption = False,
    split: SplitOption = None,
    ranking: Annotated[list[str] | None, Option(help="Only this ranking; can be repeated.")] = None,
    save: Annotated[Path | None, Option(help="Save the values of every question.", metavar="FILE")] = None,
    compare: Annotated[Path | None, Option(help="Compare with a saved run.", metavar="RUN")] = None,
    gate: Annotated[
        Path | None, Option(help="Exit with 1 if significantly worse than this run.", metavar="RUN")
    ] = None,
) -> None:
    """Measure the search on judged questions: nDCG, recall and MRR with 95 % intervals."""
    require("eval", "`lore eval`")
    from lore_server.evaluation import measures as reports
    from lore_server.evaluation.bench import RANKINGS
    from lore_server.evaluation.evaluate import evaluate_folder

    for name in ranking or ():
        if name not in RANKINGS:
            raise InvalidArgument(f"There is no ranking `{name}`.", f"Rankings: {', '.join(RANKINGS)}.")
    if save and not save.parent.is_dir():
        raise InvalidArgument(f"There is no folder {save.parent} to save to.")
    baselines = {file: reports.load(file) for file in (compare, gate) if file}
    _check_source(folder is not None, from_git)
    session.hold_index()
    chosen = tuple(ranking or RANKINGS)
    with output.progress_bar(session.as_json) as progress:
        report = evaluate_folder(folder, split, session.root, session.settings, chosen, progress)
    if save:
        reports.save(report, save)
    found = {file: report.against(baseline) for file, baseline in baselines.items()}
    if session.as_json:
        record = report.summary()
        if compare:
            record["compared"] = {
                name: {measure: _compared(row) for measure, row in measures.items()}
                for name, measures in found[compare].items()
            }
        output.print_json(record)
    else:
        _show(report)
        for file, comparisons in found.items():
            output.line(f"\nAgainst {file.name}:")
            for name, measure, comparison in _rows(comparisons):
                output.line(f"{name:10} {measure:12} {_verdict(comparison)}")
    if gate and (losses := [f"{name} {measure}" for name, measure, row in _rows(found[gate]) if row.is_loss]):
        output.note(f"Significantly worse than {gate.name}: {', '.join(losses)}.")
        raise typer.Exit(1)


def _check_source(has_folder: bool, from_git: bool) -> None:
    if has_folder == from_git:
        raise InvalidArgument("Give either a folder with a set or --from-git.")


def _show(report: Report) -> None:
    summary = report.summary()
    first, *others = report.values
    output.line(f"{report.name}: {counted(report.questions, 'question')}, means with 95 % intervals")
    output.line(f"{'':22}" + "".join(f"{ranking:>24}" for ranking in summary))
    for measure in report.values[first]:
        cells = []
        for values in summary.values():
            low, high = values["intervals"][measure]
            cells.append(f"{values[measure]:.3f} [{low:.3f}, {high:.3f}]")
        output.line(f"{measure:22}" + "".join(f"{cell:>24}" for cell in cells))
    main = next(iter(report.values[first]))
    for other in others:
        output.line(f"{first} − {other}, {main}: {_verdict(report.between(first, other, main))}")


def _rows(found: dict[str, dict[str, Comparison]]) -> Iterator[tuple[str, str, Comparison]]:
    for ranking, measures in found.items():
        yield from ((ranking, measure, comparison) for measure, comparison in measures.items())


def _verdict(comparison: Comparison) -> str:
    low, high = comparison.interval
    return f"{comparison.difference:+.4f} [{low:+.4f}, {high:+.4f}], p = {comparison.p:.3f}"


def _compared(comparison: Comparison) -> JSON:
    interval = [round(bound, 4) for bound in comparison.interval]
    return {"difference": round(comparison.difference, 4), "interval": interval, "p": round(comparison.p, 4)}


@command
def tune(
    session: Session,
    folders: Annotated[
        list[Path] | None, Argument(metavar="[DIR]...", help="Folders with corpus.jsonl, queries.jsonl and qrels.tsv.")
    ] = None,
    from_git: GitOption = False,
    split: SplitOption = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Do not write lore.toml.")] = False,
) -> None:
    """Fit the ranking weights to judged questions, and write them to lore.toml if held-out questions improve.

    With several sets, each is left out once.
    """
    require("eval", "`lore tune`")
    from lore_server.evaluation import tune as tuning

    _check_source(bool(folders), from_git)
    session.hold_index()
    with output.progress_bar(session.as_json) as progress:
        fit = tuning.fit_folders(folders or [], split, session.root, session.settings, progress)
    is_written = fit.generalises and not dry_run
    if is_written:
        tuning.write(session.root / CONFIG_NAME, fit.weights)
    record = {
        "weights": fit.weights,
        "before": round(fit.before, 4),
        "after": round(fit.after, 4),
        "held_out": _compared(fit.held_out),
        "losing": list(fit.losing),
        "generalises": fit.generalises,
        "written": is_written,
    }
    action = "Written to" if is_written else "Nothing was written to"
    session.show(
        record,
        f"{tuning.MEASURE} on all questions: {fit.before:.4f} -> {fit.after:.4f}",
        f"on held-out questions: {_verdict(fit.held_out)}",
        *([f"worse if left out: {', '.join(fit.losing)}"] if fit.losing else []),
        *(f"  {name} = {value:g}" for name, value in fit.weights.items()),
        f"{action} {CONFIG_NAME}{'' if fit.generalises else ': it does not improve held-out questions'}.",
    )
    if not fit.generalises:
        raise typer.Exit(1)


@command
def insights(
    session: Session,
    days: Annotated[int, Option(help="How many days to look back.")] = 30,
    limit: Annotated[int, Option("-n", "--limit", help="Maximum rows of each list.")] = 10,
    export: Annotated[Path | None, Option(help="Write the marks as a set for `lore eval`.", metavar="DIR")] = None,
    clear: Annotated[bool, Option("--clear", help="Delete all logged questions and marks.")] = False,
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
    query: Annotated[str, Argument(help="The question exactly as it was asked.")],
    sources: Annotated[list[str], Argument(metavar="FILE...", help="Files that answer it.")],
    wrong: Annotated[bool, Option("--wrong", help="They do not answer it.")] = False,
    undo: Annotated[bool, Option("--undo", help="Remove the marks.")] = False,
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
    if not judged:
        return {}, len(grades)
    questions, rows = "", "query-id\tcorpus-id\tscore\n"
    for number, (query, files) in enumerate(judged.items(), start=1):
        questions += json.dumps({"_id": f"q{number}", "text": query}, ensure_ascii=False) + "\n"
        for source, grade in files.items():
            if not {"\t", "\n", "\r"} & set(source):
                rows += f"q{number}\t{source}\t{grade}\n"
    return {QUESTIONS: questions, JUDGEMENTS: rows}, len(grades) - len(judged)
