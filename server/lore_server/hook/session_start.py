"""Run `lore hook session-start`: find changed files, upload them in the background, and report."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lore_etl.core.errors import LoreError, StorageError, os_errors_as
from lore_etl.core.json_types import JSON
from lore_etl.core.text import counted
from lore_etl.system.processes import detached, is_running
from lore_server.console import output
from lore_server.console.terminal import VisibleFormatter
from lore_server.hook.knowledge_server import Target, own_memories, query_escaping
from lore_server.hook.memory_files import memory_folders
from lore_server.hook.upload_state import HINT, Tally, UploadRequest, make_folder, make_plan, read_state
from lore_server.owner.find import open_log
from lore_server.owner.session import Session

if TYPE_CHECKING:
    from lore_server.hook.upload_run import Connect

log = logging.getLogger(__name__)
RESULT = "result: "
MAX_SECONDS = 1800  # then the child ends, because it holds the lock and a call may hang
CHILD = "LORE_HOOK_CHILD"
_LINE = re.compile(r"\S+ (\d+) ([A-Z]+) (.*)")
_FORMAT = VisibleFormatter("%(asctime)s %(process)d %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S%z")


def upload_request(
    session: Session, target: Target, folders: Sequence[Path] = (), everything: bool = False, limit: int = 0
) -> UploadRequest:
    """Return the command line's options, completed from configuration and environment. Raises ConfigError."""
    found = memory_folders(folders, session.settings.hook.memory_dirs, session.root, os.environ)
    return UploadRequest(found, target.file("state.json"), target.name, everything, limit)


def session_start(
    session: Session, target: Target, request: UploadRequest, is_dry: bool = False, budget_seconds: float = 15
) -> None:
    """Upload, and print the progress made within the budget. Raises LoreError."""
    escape = query_escaping(os.environ)
    if is_child():
        _upload(session, target, request, escape)
        return
    plan = make_plan(request, read_state(request.state_file))
    if is_dry:
        send = [file.label for file in plan.send]
        record = {**_record(target, plan.tally), "dry_run": True, "send": send, "remove": plan.gone}
        lines = [*(f"would send {label}" for label in send), *(f"would remove {path}" for path in plan.gone)]
        _print(session, record, plan.warnings, lines)
    elif plan.send or plan.gone:
        _upload_in_background(session, target, plan.tally, budget_seconds)
    else:
        _print(session, _record(target, plan.tally), plan.warnings)


def show_status(session: Session, target: Target) -> None:
    state, log_file = read_state(target.file("state.json")), target.file("log")
    complete = sum(entry.is_complete for entry in state.files.values())
    failed = [{"file": path, "reason": entry.failure} for path, entry in state.files.items() if entry.failure]
    last = state.last
    is_active = bool(last) and "ended" not in last and is_running(int(last["pid"]), str(last["born"]))
    if state.is_damaged:
        run = "unknown, because the sync state is damaged."
    elif not last:
        run = "none yet."
    elif "ended" not in last:
        run = f"started {last['began']}, {'still running' if is_active else 'interrupted'}."
    else:
        run = f"{last['ended']}: {Tally.of(last)}{'' if last['answered'] else '; the server did not respond'}."
    lines = [f"Sent to {target.name}: {counted(complete, 'memory file')}.", f"Last run: {run}"]
    lines += [f"failed: {entry['file']}: {entry['reason']}" for entry in failed]
    record = {
        "server": target.name, "files": complete, "failed": failed, "last": last or None,
        "is_running": is_active, "is_damaged": state.is_damaged, "state": str(state.path), "log": str(log_file),
    }  # fmt: skip
    session.show(record, *lines, f"Log: {log_file}")


def _upload(session: Session, target: Target, request: UploadRequest, escape: Callable[[str], str]) -> None:
    """Do the work of the child. It imports the clients, because nothing waits for that slow import here."""
    import anyio

    from lore_server.hook.upload_run import upload

    try:
        connect: Connect = partial(own_memories, session)
        if target.url:
            from lore_server.hook.mcp_connection import open_session

            connect = partial(open_session, target, escape)
        log.info("%s%s", RESULT, json.dumps(anyio.run(partial(upload, request, connect)).as_dict()))
    except LoreError as error:
        log.warning("%s %s", error.message, error.hint)


def _upload_in_background(session: Session, target: Target, planned: Tally, seconds: float) -> None:
    log_file = target.file("log")
    pid, status, logged = _start_child(log_file, seconds)
    last = read_state(target.file("state.json")).last
    tally = Tally.of(last) if last.get("pid") == pid else planned
    warnings = []
    for level, message in logged:
        if level != "INFO":
            warnings.append(message)
        elif message.startswith(RESULT):  # another run may have begun since, and recorded itself
            tally = Tally.of(json.loads(message.removeprefix(RESULT)))
        elif session.verbose:
            output.note(message)
    if status:
        warnings.append(f"The background process ended early; see {log_file}.")
    _print(session, _record(target, tally, in_background=status is None), warnings)


def _record(target: Target, tally: Tally, in_background: bool = False) -> JSON:
    return {"server": target.name, **tally.as_dict(), "in_background": in_background}


def _print(session: Session, record: JSON, warnings: Sequence[str], lines: Sequence[str] = ()) -> None:
    for warning in warnings:
        output.note(warning)
    rest = " The rest continues in the background; --status shows the progress." if record["in_background"] else ""
    summary = f"Memories for {record['server']}: {Tally.of(record)}.{rest}"
    session.show({**record, "warnings": list(warnings)}, *lines, summary)


def _start_child(log_file: Path, seconds: float) -> tuple[int, int | None, list[tuple[str, str]]]:
    """Start this command in a child, and wait. Return its id, status (None: it runs) and logs as (level, message)."""
    make_folder(log_file.parent)
    with os_errors_as(StorageError, "Cannot start in the background", HINT), open_log(log_file) as log:
        start = log.seek(0, os.SEEK_END)
        command = [sys.executable, "-P", "-m", "lore_server.cli.main", *sys.argv[1:]]
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, CHILD: "1"}, **detached()
        )
        try:
            status: int | None = child.wait(seconds)
        except subprocess.TimeoutExpired:
            status, child.returncode = None, 0  # nobody waits for it, which Python would report
        log.seek(start)
        lines = (_LINE.match(line) for line in log.read().decode("utf-8", "replace").splitlines())
        # several processes may log at the same time
        return child.pid, status, [(line[2], line[3]) for line in lines if line and int(line[1]) == child.pid]


def is_child() -> bool:
    """Return whether this process was started by `_start_child`, to do the work; if so, log to its standard error."""
    if os.environ.pop(CHILD, None) is None:
        return False
    limit = threading.Timer(MAX_SECONDS, os._exit, [1])
    limit.daemon = True
    limit.start()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_FORMAT)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("lore_server").setLevel(logging.INFO)
    return True
