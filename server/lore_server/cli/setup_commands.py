"""`lore install` and `lore doctor`. Their implementation is imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lore_etl.core.errors import InvalidArgument
from lore_etl.core.json_types import JSON
from lore_server.cli.command import command
from lore_server.console import output, terminal
from lore_server.console.output import print_json
from lore_server.contract import load_contract
from lore_server.owner.session import Session

if TYPE_CHECKING:
    from lore_server.setup.client_entry import ClientEntry
    from lore_server.setup.clients import Client

LINES = {
    "added": "Wrote {file}: `{name}` starts {line}",
    "present": "Lore is already configured: {file} has `{name}`.",
    "printed": "For {file}:",
    "different": "{file} has a different `{name}`; nothing was written.",
    "unsafe": "{file} has a format that Lore cannot edit safely; nothing was written.",
}


@command
def install(
    session: Session,
    client: Annotated[str, typer.Argument(help="claude-code, cursor, vscode, gemini or codex.")],
    user: Annotated[
        bool, typer.Option("--user", help="Write the user's configuration file instead of the project's.")
    ] = False,
    print_only: Annotated[bool, typer.Option("--print", help="Print the entry and write nothing.")] = False,
    name: Annotated[str, typer.Option("--name", help="Name of the entry.")] = "lore",
    toolsets: Annotated[
        str | None, typer.Option("--toolsets", help="Toolsets that `lore mcp` offers, such as query,documents.")
    ] = None,
) -> None:
    """Add Lore to an MCP client's configuration, without overwriting existing entries."""
    from lore_server.setup.client_entry import EntryRequest, build
    from lore_server.setup.clients import client_named

    found = client_named(client)
    _check(name, toolsets)
    entry = build(EntryRequest(found, session.root, user, session.project is not None, session.config, toolsets))
    record = _record(found, found.file(session.root, user), session.root, not user, name, entry, print_only)
    if session.as_json:
        print_json(record)
    else:
        _show(record, entry)
    if record["status"] in ("different", "unsafe"):
        raise typer.Exit(1)


@command
def doctor(
    session: Session,
    only: Annotated[list[str] | None, typer.Option("--only", help="Run only this check; repeat it for more.")] = None,
) -> None:
    """Check everything from Python to the port and suggest repairs."""
    from lore_server.setup import doctor as checks

    report = checks.examine(session, only or ())
    if session.as_json:
        print_json(report)
    else:
        for check in report["checks"]:
            output.line(f"{check['status']:7} {check['name']:14} {check['detail']}")
            if check["remedy"]:
                output.line(f"{'':22} -> {check['remedy']}")
        output.line(_summary(report))
    if report["status"] == "failed":
        raise typer.Exit(1)


def _check(name: str, toolsets: str | None) -> None:
    if (
        not name
        or len(name) > 64
        or not all(character.isascii() and (character.isalnum() or character in "-_") for character in name)
    ):
        raise InvalidArgument(f"`{name[:100]}` is not a valid name for an entry.", "Use letters, digits, - and _.")
    known = {operation.toolset for operation in load_contract()}
    for toolset in toolsets.split(",") if toolsets is not None else ():
        if toolset.strip() not in known:
            raise InvalidArgument(f"There is no toolset `{toolset[:100]}`.", f"Toolsets: {', '.join(sorted(known))}.")


def _record(
    client: Client, path: Path, root: Path, is_projects: bool, name: str, entry: ClientEntry, print_only: bool
) -> JSON:
    """Add the entry to the file, or report why not."""
    from lore_server.setup import install as installing

    label = str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
    snippet = installing.document(client.form, client.key, name, entry.value)
    record = {"client": client.name, "file": label, "name": name, "entry": entry.value, "text": snippet}
    if print_only:
        return {"status": "printed", **record, "existing": None, "notes": entry.notes}
    text = installing.read(path, label, root if is_projects else None)
    merged = installing.added(text or "", client.form, client.key, name, entry.value, label)
    if merged.status == "added":
        installing.write(path, merged.text, label)
    return {"status": merged.status, **record, "existing": merged.existing, "notes": entry.notes}


def _show(record: JSON, entry: ClientEntry) -> None:
    """Print the outcome to standard output, with notes and next steps on standard error."""
    import json

    status = record["status"]
    line = " ".join([entry.value["command"], *entry.value["args"]])
    text = LINES[status].format(file=record["file"], name=record["name"], line=line)
    if status == "printed":
        output.note(text)
        terminal.out(record["text"])
    else:
        output.line(text)
    if status == "different":
        output.line(f"there:   {json.dumps(record['existing'], ensure_ascii=False)}")
        output.line(f"wanted:  {json.dumps(record['entry'], ensure_ascii=False)}")
        output.note("Edit it by hand, or install under another name with --name.")
    elif status == "unsafe":
        output.line(f"Add this by hand:\n{record['text']}")
    if status in ("added", "printed"):
        for note in entry.notes:
            output.note(note)


def _summary(report: JSON) -> str:
    counts = {status: sum(check["status"] == status for check in report["checks"]) for status in ("failed", "warn")}
    if not any(counts.values()):
        return "Everything works."
    return f"{counts['failed']} failed, {counts['warn']} warnings."
