"""`lore doctor`: run every check independently; a check that raises has failed, and the others still run."""

import itertools
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from lore_etl.config.project import index_folder
from lore_etl.config.settings import Settings
from lore_etl.core.errors import Busy, InternalError, InvalidArgument, LoreError
from lore_etl.core.json_types import JSON
from lore_etl.stores.claim import has_index
from lore_server import __version__
from lore_server.owner.session import Session
from lore_server.setup import clients, place
from lore_server.setup.clients import CLIENTS, Client, command_line, filled, foreign_parts, label_of, starts_lore
from lore_server.setup.place import Finding

CHECK_SECONDS = 30.0
HEALTH = ("contract", "database", "collection", "keywords", "verification", "embedding", "answers", "disk")
"""The checks of `lore status`, which run as one."""
Check = Callable[[], Finding]
HANDSHAKE_SECONDS = 60.0
MAX_PARTS = 300
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "lore doctor", "version": "1"}}
CONVERSATION = [
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
]


def examine(session: Session, only: Collection[str] = ()) -> JSON:
    """Run the checks and return the report. Raises UsageError (no such folder), InvalidArgument (no such check)."""
    index = index_folder(session.root, _settings(session).index.path)
    before: dict[str, Check] = {
        "python": place.python,
        "program": place.program,
        "configuration": lambda: place.configuration(session),
        "index folder": lambda: place.index_folder(index),
        "owner": lambda: place.owner(index),
    }
    after: dict[str, Check] = {"mcp": lambda: _handshake(session, index), "clients": lambda: _clients(session.root)}
    known = [*before, *HEALTH, *after]
    if unknown := [name for name in only if name not in known]:
        raise InvalidArgument(f"There is no check `{unknown[0][:100]}`.", f"Checks: {', '.join(known)}.")
    wanted = only or known
    findings = [_run(name, check) for name, check in before.items() if name in wanted]
    if not set(HEALTH).isdisjoint(wanted):
        findings += [finding for finding in _index(session) if not only or finding["name"] in (*only, "index")]
    findings += [_run(name, check) for name, check in after.items() if name in wanted]
    statuses = {finding["status"] for finding in findings}
    worst = next((status for status in ("failed", "warn") if status in statuses), "ok")
    return {"status": worst, "version": __version__, "checks": findings}


def _settings(session: Session) -> Settings:
    """Return the configuration; the defaults if it is invalid, which a separate check reports."""
    try:
        return session.settings
    except LoreError:
        return Settings()


def _run(name: str, check: Check, seconds: float = CHECK_SECONDS) -> dict[str, str]:
    """Run a check in a thread; abandon it if it takes too long."""
    late = Finding("failed", f"The check did not finish within {seconds:g} s.", "Run `lore stop`, then check again.")
    found = [late]
    thread = threading.Thread(target=lambda: found.append(_checked(check)), daemon=True)
    thread.start()
    thread.join(seconds)
    return found[-1].row(name)


def _checked(check: Check) -> Finding:
    try:
        return check()
    except LoreError as error:
        return Finding("failed", error.message, error.hint)
    except Exception as error:  # noqa: BLE001 - Lore may be damaged: the checks must find out
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        return Finding("failed", f"The check itself failed: {reason}", "Reinstall Lore, then check again.")


def _index(session: Session) -> list[dict[str, str]]:
    """Check the stores, the model and the answers, as `lore status` does."""
    found: list[dict[str, str]] = []

    def look() -> Finding:
        try:
            found.extend(place.from_health(check).row(check["part"]) for check in session.ask("healthcheck")["checks"])
        except Busy as error:  # not a defect: the index is in use
            return Finding("warn", error.message, error.hint)
        except InternalError as error:
            return Finding("failed", error.message, "Run `lore doctor --no-daemon`, which checks in this process.")
        return Finding("ok", "")

    outcome = _run("index", look)
    return found or [outcome]


def _handshake(session: Session, index: Path) -> Finding:
    """Start `lore mcp` on the project as a client would, and list its tools; start an owner only for an index."""
    command = [*clients.running_command(), "mcp", "-C", str(session.root)]
    if session.no_daemon or not has_index(index):
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


def _clients(root: Path) -> Finding:
    """Report which clients mention Lore, and whether their commands exist."""
    wrong, foreign, unread, found = (list[str]() for _ in range(4))
    for client, path, name, entry, is_user in _mentions(root, unread):
        subject = f"{client.title}: `{name}` in {label_of(path, root)}"
        if problem := _problem(entry, root):
            wrong.append(f"{subject} {problem}")
        elif parts := [] if is_user else foreign_parts(client, entry, root):
            foreign.append(f"{subject} contains what Lore does not write there: {', '.join(parts)[:MAX_PARTS]}")
        else:
            found.append(subject)
    detail = "; ".join([*wrong, *foreign, *unread, *found]) or "No client's configuration mentions Lore."
    if wrong:
        return Finding("failed", detail, "Correct the entry, or remove it and run `lore install` again.")
    remedy = "" if found else "Run `lore install claude-code` (or another)."
    if unread:
        remedy = "Correct the file; its client cannot read it either."
    if foreign:
        remedy = "Do not let the client start it unless you wrote it; compare it with `lore install CLIENT --print`."
    return Finding("warn" if remedy else "ok", detail, remedy)


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
            projects = data.get("projects")  # in the user's file, Claude Code may also store servers of a project
            own = projects.get(str(root)) if isinstance(projects, dict) else None
            own_servers = own.get(client.key) if isinstance(own, dict) else None
            for servers in (data.get(client.key), own_servers):
                for name, entry in servers.items() if isinstance(servers, dict) else ():
                    if isinstance(entry, dict) and (name == clients.PROGRAM or starts_lore(entry)):
                        yield client, path, str(name), entry, is_user


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
