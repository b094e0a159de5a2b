"""`lore hook session-start --status`: what is known to be on the server, and how the last run went."""

from __future__ import annotations

import os

from lore_etl.system.processes import is_running
from lore_server.console import output
from lore_server.console.output import print_json
from lore_server.hook.state import SyncState, read_state
from lore_server.hook.tally import read_tally
from lore_server.hook.target import target_for
from lore_server.owner.session import Session


def show_status(session: Session, url: str | None) -> None:
    """Print it. Raises ConfigError."""
    target = target_for(session, url)
    state, log_file = read_state(target.file(os.environ, "state.json")), target.file(os.environ, "log")
    files = {path: entry for path, entry in state.files.items() if entry.is_whole}
    failed = [{"file": path, "reason": entry.failure} for path, entry in state.files.items() if entry.failure]
    last = state.last
    goes_on = bool(last) and "ended" not in last and is_running(int(last["pid"]), str(last["born"]))
    record = {
        "server": target.name, "files": len(files), "failed": failed, "orphans": state.orphans, "last": last or None,
        "is_running": goes_on, "is_damaged": state.is_damaged, "state": str(state.path), "log": str(log_file),
    }  # fmt: skip
    lines = [f"{len(files)} memory files are on {target.name}.", f"Last run: {_told(state, goes_on)}"]
    lines += [f"failed: {one['file']}: {one['reason']}" for one in failed]
    lines += [f"stays there: {one['id']} of {one['path']}: {one['reason']}" for one in state.orphans]
    if session.as_json:
        print_json(record)
    else:
        output.line("\n".join([*lines, f"Log: {log_file}"]))


def _told(state: SyncState, goes_on: bool) -> str:
    last = state.last
    if state.is_damaged:
        return "not known, the sync state is damaged."
    if not last:
        return "none yet."
    if "ended" not in last:
        return f"began {last['began']} and {'goes on' if goes_on else 'was cut off'}."
    return f"{last['ended']}: {read_tally(last)}{'' if last['answered'] else '; the server did not answer'}."
