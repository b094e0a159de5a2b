"""Check the connection between Lore and its clients: the MCP handshake and the clients' configurations."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lore_etl.core.errors import LoreError
from lore_etl.core.json_types import JSON
from lore_server.owner.session import Session
from lore_server.setup import program
from lore_server.setup.client_entry import command_line, filled, foreign_parts, starts_lore
from lore_server.setup.clients import CLIENTS, Client, label_of
from lore_server.setup.place import Finding

HANDSHAKE_SECONDS = 60.0
MAX_PARTS = 300
CONVERSATION = [
    {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "lore doctor", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
]  # fmt: skip


def handshake(session: Session, index: Path) -> Finding:
    """Start `lore mcp` on the project as a client would, and list its tools; start an owner only for an index."""
    from lore_etl.stores.claim import CATALOGUE, is_ours

    command = [*program.running(), "mcp", "-C", str(session.root)]
    if session.no_daemon or not (is_ours(index) and (index / CATALOGUE).exists()):
        command.append("--no-daemon")
    command += ["-c", str(session.config.absolute())] if session.config else []
    lines = "".join(json.dumps(message) + "\n" for message in CONVERSATION)
    started = time.monotonic()
    try:
        done = subprocess.run(
            command, input=lines, capture_output=True, encoding="utf-8", timeout=HANDSHAKE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return Finding("failed", f"`lore mcp` did not respond within {HANDSHAKE_SECONDS:g} s.", "Run `lore -v mcp`.")
    tools = _tools(done.stdout)
    if tools is None:
        line = (done.stderr.strip().splitlines() or ["nothing"])[-1][:300]
        return Finding("failed", f"`lore mcp` ended with {done.returncode}; its output: {line}", "Run `lore -v mcp`.")
    return Finding("ok", f"`lore mcp` lists {len(tools)} tools; start to exit took {time.monotonic() - started:.1f} s.")


def _tools(output: str) -> list[Any] | None:
    """Return the reply to `tools/list`; None if it is missing or if standard output contains anything else."""
    try:
        replies = [json.loads(line) for line in output.splitlines()]
        return next(list(reply["result"]["tools"]) for reply in replies if reply.get("id") == 2)
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
        return None


def clients(root: Path) -> Finding:
    """Report which clients mention Lore, and whether their commands exist."""
    found: list[str] = []
    wrong: list[str] = []
    foreign: list[str] = []
    unread: list[str] = []
    for client, path, name, entry, is_user in _mentions(root, unread):
        problem = _problem(entry, root)
        subject = f"{client.title}: `{name}` in {label_of(path, root)}"
        parts = [] if is_user else foreign_parts(client, entry, root)
        if problem:
            wrong.append(f"{subject} {problem}")
        elif parts:
            foreign.append(f"{subject} contains what Lore does not write there: {', '.join(parts)[:MAX_PARTS]}")
        else:
            found.append(subject)
    if wrong:
        return Finding(
            "failed",
            "; ".join([*wrong, *foreign, *found]),
            "Correct the entry, or remove it and run `lore install` again.",
        )
    if foreign:
        remedy = "Do not let the client start it unless you wrote it; compare it with `lore install CLIENT --print`."
        return Finding("warn", "; ".join([*foreign, *unread, *found]), remedy)
    if unread:
        return Finding("warn", "; ".join([*unread, *found]), "Correct the file; its client cannot read it either.")
    if not found:
        return Finding(
            "warn", "No client's configuration mentions Lore.", "Run `lore install claude-code` (or another)."
        )
    return Finding("ok", "; ".join(found))


def _mentions(root: Path, unread: list[str]) -> Iterator[tuple[Client, Path, str, JSON, bool]]:
    """Yield every entry that starts Lore; append errors of unreadable files to `unread`."""
    from lore_server.setup import install

    for client in CLIENTS.values():
        for is_user in (False, True) if client.project_file else (True,):
            path = client.file(root, is_user)
            try:
                label = label_of(path, root)
                text = install.read(path, label, None if is_user else root)
                data = install.parse(text or "", client.form, label)
            except LoreError as error:
                unread.append(error.message)
                continue
            for servers in (data.get(client.key), _of_project(data, root, client.key)):
                for name, entry in servers.items() if isinstance(servers, dict) else ():
                    if isinstance(entry, dict) and (name == program.NAME or starts_lore(entry)):
                        yield client, path, str(name), entry, is_user


def _of_project(data: JSON, root: Path, key: str) -> object:
    """Return the servers of this project from the user's file, where Claude Code may also store them."""
    projects = data.get("projects")
    own = projects.get(str(root)) if isinstance(projects, dict) else None
    return own.get(key) if isinstance(own, dict) else None


def _problem(entry: JSON, root: Path) -> str | None:
    """Return the reason why an entry cannot start Lore, or None."""
    line = [filled(word, root) for word in command_line(entry)]
    if not line:
        return None  # an entry with an address starts nothing
    if "${" not in line[0] and shutil.which(line[0]) is None:
        return f"starts {line[0]}, which does not exist"
    for option, value in itertools.pairwise(line):
        if option in ("-C", "--project") and "${" not in value and not (root / value).is_dir():
            return f"names the project {value}, which does not exist"
    return None
