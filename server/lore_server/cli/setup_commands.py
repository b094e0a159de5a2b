"""`lore install`, `lore uninstall`, `lore doctor` and `lore trust`."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from lore_etl.config.policy import rules
from lore_etl.config.project import CONFIG_NAME, approve_settings, read_layers, revoke_approval
from lore_etl.core.errors import InvalidArgument, UsageError
from lore_etl.core.json_types import JSON
from lore_etl.core.text import counted
from lore_server.cli.command import command
from lore_server.console import output, terminal
from lore_server.owner.session import Session
from lore_server.setup import clients
from lore_server.setup.clients import CLIENTS, Client, ClientEntry, client_named, label_of

if TYPE_CHECKING:
    from lore_server.setup.companions import Companion

LINES = {
    "added": "Wrote {file}: `{name}` starts {line}",
    "present": "Lore is already configured: {file} has `{name}`.",
    "printed": "For {file}:",
    "different": "{file} has a different `{name}`; nothing was written.",
    "unsafe": "{file} has comments or an unusual format; nothing was written.",
    "removed": "Removed `{name}` from {file}.",
    "absent": "{file} has no `{name}`.",
}
_APPROVE = "Read them with `lore trust --show`, then run `lore trust --yes`."
ClientArgument = Annotated[str, Argument(help=f"{', '.join(list(CLIENTS)[:-1])} or {list(CLIENTS)[-1]}.")]
NameOption = Annotated[str, Option(help="Name of the entry.")]


@command
def install(
    session: Session,
    client: ClientArgument,
    user: Annotated[
        bool, Option("--user", help="Write the user's configuration file instead of the project's.")
    ] = False,
    print_only: Annotated[bool, Option("--print", help="Print the entry and write nothing.")] = False,
    name: NameOption = "lore",
    toolsets: Annotated[str | None, Option(help="Toolsets that `lore mcp` offers, such as query,documents.")] = None,
    instructions: Annotated[
        bool, Option("--instructions", help="Tell agents in AGENTS.md (or the client's file) when to use Lore.")
    ] = False,
    skill: Annotated[
        bool, Option("--skill", help="Also add a skill, a search subagent and a hook, as far as the client has them.")
    ] = False,
    yes: Annotated[bool, Option("-y", "--yes", help="Do not ask before writing those.")] = False,
) -> None:
    """Add Lore to an MCP client's configuration, without overwriting existing entries."""
    from lore_server.setup import companions

    found = client_named(client)
    _check(name, toolsets)
    beside = companions.changes(found, name, is_wanted=True) if skill else []
    user = user or not found.project_file
    is_fixed = session.project is not None
    wanted = clients.EntryRequest(found, session.root, user, is_fixed, session.config, toolsets)
    entry = clients.build(wanted)
    record = _record(found, found.file(session.root, user), session.root, not user, name, entry, print_only)
    if instructions and not print_only:
        record["instructions"] = companions.change_guide(found.instructions, session.root, is_wanted=True)
    if not session.as_json:
        _show(record, entry)
        if instructions:
            output.line(companions.BLOCK if print_only else f"{found.instructions} tells agents when to use Lore.")
        elif record["status"] == "added":
            output.note(f"`--instructions` also tells agents in {found.instructions} when to use Lore.")
            if found.own and not skill:
                output.note("`--skill` adds a skill, and a search subagent and a hook if the client has them.")
    if beside:
        record["files"] = _write(beside, yes, print_only, session.as_json)
    session.show(record)
    if record["status"] in ("different", "unsafe"):
        raise typer.Exit(1)


@command
def uninstall(
    session: Session,
    client: ClientArgument,
    user: Annotated[bool, Option("--user", help="Edit the user's configuration file.")] = False,
    name: NameOption = "lore",
) -> None:
    """Remove Lore from an MCP client's configuration and its block from the client's instructions."""
    from lore_server.setup import companions
    from lore_server.setup import install as installing

    found = client_named(client)
    beside = companions.changes(found, name, is_wanted=False)
    user = user or not found.project_file
    path = found.file(session.root, user)
    label = label_of(path, session.root)
    project = None if user else session.root
    text = installing.read(path, label, project)
    merged = installing.removed(text or "", found.form, found.key, name, label)
    if merged.status == "removed":
        installing.write(path, merged.text, label, project)
    guide = companions.change_guide(found.instructions, session.root, is_wanted=False)
    for one in beside:
        one.write()
    files = [str(one.path) for one in beside]
    session.show(
        {"status": merged.status, "client": client, "file": label, "name": name, "instructions": guide, "files": files},
        LINES[merged.status].format(file=label, name=name),
        *([f"Remove `{name}` from it by hand."] if merged.status == "unsafe" else []),
        *([f"Removed the block from {found.instructions}."] if guide == "removed" else []),
        *(f"Removed from {one.path}: {'its hook' if one.after else 'everything'}." for one in beside),
    )
    if merged.status in ("different", "unsafe", "absent"):
        raise typer.Exit(1)


@command
def doctor(
    session: Session, only: Annotated[list[str] | None, Option(help="Run only this check; repeat it for more.")] = None
) -> None:
    """Check everything from Python to the MCP clients and suggest repairs."""
    from lore_server.setup import doctor as checks

    report = checks.examine(session, only or ())
    rows, counts = list[str](), Counter(check["status"] for check in report["checks"])
    for check in report["checks"]:
        rows.append(f"{check['status']:7} {check['name']:14} {check['detail']}")
        if check["remedy"]:
            rows.append(f"{'':22} -> {check['remedy']}")
    summary = f"{counts['failed']} failed, {counted(counts['warn'], 'warning')}."
    session.show(report, *rows, summary if counts["failed"] or counts["warn"] else "Everything works.")
    if report["status"] == "failed":
        raise typer.Exit(1)


def _check(name: str, toolsets: str | None) -> None:
    if not re.fullmatch("[A-Za-z0-9_-]{1,64}", name):
        raise InvalidArgument(f"`{name[:100]}` is not a valid name for an entry.", "Use letters, digits, - and _.")
    from lore_server.contract import load_contract

    known = {operation.toolset for operation in load_contract()}
    for toolset in toolsets.split(",") if toolsets is not None else ():
        if toolset.strip() not in known:
            raise InvalidArgument(f"There is no toolset `{toolset[:100]}`.", f"Toolsets: {', '.join(sorted(known))}.")


def _record(
    client: Client, path: Path, root: Path, is_projects: bool, name: str, entry: ClientEntry, print_only: bool
) -> JSON:
    """Add the entry to the file, or report why not."""
    from lore_server.setup import install as installing

    label = label_of(path, root)
    snippet = installing.document(client.form, client.key, name, entry.value)
    record = {"client": client.name, "file": label, "name": name, "entry": entry.value, "text": snippet}
    if print_only:
        return {"status": "printed", **record, "existing": None, "notes": entry.notes}
    project = root if is_projects else None
    text = installing.read(path, label, project)
    merged = installing.added(text or "", client.form, client.key, name, entry.value, label, is_users=not is_projects)
    if merged.status == "added":
        installing.write(path, merged.text, label, project)
    return {"status": merged.status, **record, "existing": merged.existing, "notes": entry.notes}


def _write(files: list[Companion], is_sure: bool, print_only: bool, as_json: bool) -> list[str]:
    """Show files of the user's folder, write them unless the user at the terminal refuses, and return their paths."""
    ours = [one for one in files if not one.is_left]
    for one in () if as_json else files:
        output.note(f"\n{one.path}" + (" is not Lore's or has comments; add this by hand:" if one.is_left else ":"))
        terminal.out(one.shown)
    is_asked = not (is_sure or as_json or print_only) and sys.stdin.isatty()
    if not ours or print_only or (is_asked and not typer.confirm("Write these files?", err=True)):
        return []
    for one in ours:
        one.write()
    if not as_json:
        output.line(f"Wrote {counted(len(ours), 'file')} for agents.")
    return [str(one.path) for one in ours]


def _show(record: JSON, entry: ClientEntry) -> None:
    """Print the outcome to standard output, with notes and next steps on standard error."""
    status = record["status"]
    line = " ".join(clients.command_line(entry.value))
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
        output.line(f"Add this to it by hand:\n{record['text']}")
    if status in ("added", "printed"):
        for note in entry.notes:
            output.note(note)


@command
def trust(
    session: Session,
    show_only: Annotated[bool, Option("--show", help="Show the settings without approving them.")] = False,
    revoke: Annotated[bool, Option("--revoke", help="Withdraw the approval.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Approve without asking.")] = False,
) -> None:
    """Approve the current settings of a project's lore.toml that only you can allow."""
    if show_only + revoke + yes > 1:
        raise UsageError("Give only one of --show, --revoke and --yes.")
    root = session.root
    layers = read_layers(root)
    requested, is_approved, is_changed = layers.requested, layers.is_approved, False
    if not session.as_json and not revoke:
        output.line("\n".join(_settings(requested, is_approved)))
    if revoke:
        is_changed, is_approved = revoke_approval(root), False
    elif requested and not is_approved and not show_only:
        if not yes and not sys.stdin.isatty():
            raise UsageError("These settings are not approved: there is no terminal for the prompt.", _APPROVE)
        if not yes:
            typer.confirm("Approve these settings for this project?", abort=True, err=True)
        approve_settings(root, requested)
        is_changed = is_approved = True
    if session.as_json:
        plain = json.loads(json.dumps(requested, default=str))
        settings = [{"key": key, "value": value, "reason": rules()[key].reason} for key, value in plain.items()]
        output.print_json({"project": str(root), "approved": is_approved, "changed": is_changed, "settings": settings})
    elif is_changed:
        output.line("Approved." if is_approved else "The approval is withdrawn.")
    elif revoke:
        output.line("Nothing was approved for this project.")


def _settings(requested: JSON, is_approved: bool) -> Iterator[str]:
    if not requested:
        yield f"{CONFIG_NAME} contains no settings that need your approval."
        return
    yield f"{CONFIG_NAME} contains settings that only you can allow{' (approved)' if is_approved else ''}:"
    for key, value in requested.items():
        yield f"  {key} = {json.dumps(value, default=str)}"  # ASCII, because the value is untrusted
        yield f"      {rules()[key].reason}"
