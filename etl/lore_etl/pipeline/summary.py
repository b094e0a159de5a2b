"""Report the files of a sync: their counts, their problems, and possible omissions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from lore_etl.core.extras import install_advice
from lore_etl.core.json_types import JSON
from lore_etl.core.model import Problem, SyncReport, canonical_json
from lore_etl.core.progress import Plan
from lore_etl.core.text import counted
from lore_etl.files.conversion.convert import EXTRA, format_of
from lore_etl.files.indexed import NOTHING_TO_INDEX
from lore_etl.files.scan import Scan
from lore_etl.index import Index
from lore_etl.pipeline.extraction import Claim, Extraction, some_of
from lore_etl.sources.inventory import inventory
from lore_etl.sources.kinds import REGISTRY, AgentFiles
from lore_etl.sources.source import suffix_in
from lore_etl.stores.catalogue import FileRow

LEFT_OUT, WAITING = "left_out", "waiting"
"""The kinds of the notes that say why a file is not read; the others are `failed` and `warning`."""
Notes = Mapping[str, Sequence[tuple[str, str]]]  # the notes of files that have any, by path: (kind, text)


def report_files(
    index: Index, found: Scan, rows: Mapping[str, FileRow], report: SyncReport, circles: str | None = None
) -> None:
    """Report counts and all problems that still exist; `circles` supersede each other, as JSON, if determined again."""
    report.files = sum(1 for row in rows.values() if row.recipe)
    report.failed += found.unreadable
    report.skipped += found.refused
    notes = _notes(rows)
    for path, said in notes.items():
        for kind, text in said:
            if kind == "failed":
                report.failed.append(Problem(path, text))
            elif kind == "warning":
                report.warnings.append(text)
    report.inventory = _counted(rows, notes)
    inventory_ = canonical_json(report.inventory)
    if index.catalogue.meta("inventory") != inventory_:
        index.catalogue.set_meta(inventory=inventory_)
    if not report.files:
        report.warnings.append(" ".join(NOTHING_TO_INDEX))
    report.warnings += _advice(rows, notes)
    if some := json.loads(circles or index.catalogue.meta("circles") or "[]"):
        report.warnings.append(f"These supersede each other, so they do not count as outdated: {some_of(some, 10)}.")
    owners = {row.recipe.partition(":")[0] for row in rows.values()}
    for name, patterns in index.settings.sources.items():
        if patterns and name not in owners:
            report.warnings.append(f"The configured source `sources.{name}` does not match any file.")


def _notes(rows: Mapping[str, FileRow]) -> Notes:
    return {path: json.loads(row.notes) for path, row in rows.items() if row.notes != "[]"}


def _advice(rows: Mapping[str, FileRow], notes: Notes) -> Iterator[str]:
    """Yield warnings about documents that an extra would read, and those for which the budget was too small."""
    if count := sum(1 for path, row in rows.items() if not row.recipe and format_of(path) and row.notes == "[]"):
        files = "1 document needs" if count == 1 else f"{count:,} documents need"
        yield f"{files} the extra `{EXTRA}`. {install_advice(EXTRA)}, then sync again."
    if paths := [path for path, said in notes.items() if any(kind == WAITING for kind, _ in said)]:
        verb = "waits" if len(paths) == 1 else "wait"
        yield (
            f"{counted(len(paths), 'document')} {verb} for the next sync, because converting others took all the time "
            f"or memory of this one: {some_of(paths, 10)}. Run `lore sync` again."
        )


def _counted(rows: Mapping[str, FileRow], notes: Notes) -> JSON:
    """Return the files by type and language, and those without a source by extension."""
    types = {AgentFiles.name: str(AgentFiles.type), **{kind.name: str(kind.type) for kind in REGISTRY}}
    owners = {path: row.recipe.partition(":")[0] for path, row in rows.items()}
    owned = {path + suffix_in(rows[path].recipe): types[owner] for path, owner in owners.items() if owner in types}
    unread = {path: dict(notes.get(path, ())) for path, row in rows.items() if not row.recipe}
    left_out = {
        path: said.get(LEFT_OUT) or said.get(WAITING, "") for path, said in unread.items() if "failed" not in said
    }
    return inventory(owned, left_out)


def plan_of(run: Extraction, claims: Sequence[Claim]) -> Plan:
    """Return what was found; the inventory takes a while in a large project, so not for the sync of an edit."""
    rows = dict(run.rows)
    for claim in claims:  # so that they are counted, though they have not been read yet
        path = claim.entry.path
        rows[path] = FileRow(path, "", "", f"{claim.source.name}::{claim.name.removeprefix(path)}", "{}", "[]")
    deleted = sum(1 for path in run.known if path not in run.scan.files and not run.scan.hides(path))
    files = sum(1 for row in rows.values() if row.recipe)
    return Plan(len(claims), files, deleted, _counted(rows, _notes(rows)) if len(claims) == files else None)
