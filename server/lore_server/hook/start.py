"""`lore hook session-start`: look what changed, and if there is anything, have it delivered in the background."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lore_etl.core.errors import LoreError, StorageError
from lore_server.console import output
from lore_server.console.output import print_json
from lore_server.hook.background import Tell, begun, followed
from lore_server.hook.folders import find
from lore_server.hook.lucene import spelling
from lore_server.hook.plan import UploadPlan, made_plan
from lore_server.hook.state import HINT, make_folder, read_state
from lore_server.hook.tally import Tally, read_tally
from lore_server.hook.target import Target, target_for
from lore_server.hook.wanted import UploadRequest, memory_folders
from lore_server.owner.session import Session

if TYPE_CHECKING:
    from lore_server.hook.delivery import Connect

log = logging.getLogger(__name__)
JSON = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """What the command line asks for; where it does not say how many files, the configuration does."""

    url: str | None = None
    folders: Sequence[Path] = ()
    is_dry: bool = False
    everything: bool = False
    most: int | None = None
    budget_seconds: float = 15


def start(session: Session, request: Request) -> None:
    """Sync, and print what was done within the budget. Raises LoreError."""
    target, spelled, settings = target_for(session, request.url), spelling(os.environ), session.settings.hook
    wanted = UploadRequest(
        memory_folders(request.folders, settings.memory_dirs, session.root, os.environ),
        target.file(os.environ, "state.json"),
        target.name,
        request.everything,
        settings.max_files if request.most is None else request.most,
    )
    plan = made_plan(find(wanted.folders), read_state(wanted.state), wanted.everything, wanted.most)
    if request.is_dry:
        _print(session, _planned(target, plan), plan.complaints, _list(plan))
    elif plan.is_empty:
        _print(session, _record(target, plan.tally, False), plan.complaints)
    else:
        _deliver(session, target, request.budget_seconds, plan.tally, partial(_work, session, target, wanted, spelled))


def _work(session: Session, target: Target, wanted: UploadRequest, spelled: Callable[[str], str], tell: Tell) -> None:
    """What is done in the background. The clients are imported here, where nobody waits for them."""
    import anyio

    from lore_server.hook.hook_sync import sync

    try:
        connect = _connection(session, target, spelled)
        anyio.run(partial(sync, wanted, connect, lambda tally: tell({"tally": tally.told()})))
    except LoreError as error:
        log.warning("%s %s", error.message, error.hint)
    tell({"over": True})


def _connection(session: Session, target: Target, spelled: Callable[[str], str]) -> Connect:
    """What opens a session with the server."""
    if target.url:
        from lore_server.hook.remote_server import connected

        return partial(connected, target, spelled)
    from lore_server.hook.own import owned

    return partial(owned, session, spelled)


def _deliver(session: Session, target: Target, seconds: float, tally: Tally, work: Callable[[Tell], None]) -> None:
    """Have it done, watch it for so long, and print how far it is."""
    log_file = target.file(os.environ, "log")
    make_folder(log_file.parent)
    try:
        source = begun(work, log_file)
    except OSError as error:
        raise StorageError(f"No run can begin in the background: {error.strerror}.", HINT) from error
    warnings, is_over, has_ended = [], False, False
    for message in followed(source, seconds):
        tally = read_tally(message["tally"]) if "tally" in message else tally
        is_over, has_ended = is_over or "over" in message, has_ended or "ended" in message
        if message.get("is_warning"):
            warnings.append(message["log"])
        elif session.verbose and "log" in message:
            output.note(message["log"])
    if has_ended and not is_over:
        warnings.append(f"The run in the background ended early; see {log_file}.")
    _print(session, _record(target, tally, not has_ended), warnings)


def _record(target: Target, tally: Tally, goes_on: bool) -> JSON:
    return {"server": target.name, **tally.told(), "in_background": goes_on}


def _planned(target: Target, plan: UploadPlan) -> JSON:
    names = {"send": [one.label for one in plan.send], "moved": [one.label for one, _ in plan.moved]}
    return {**_record(target, plan.tally, False), "dry_run": True, **names, "remove": plan.gone}


def _list(plan: UploadPlan) -> list[str]:
    lines = [f"would send {one.label}" for one in plan.send]
    lines += [f"would note the move of {one.label}" for one, _ in plan.moved]
    return [*lines, *(f"would remove {path}" for path in plan.gone)]


def _print(session: Session, record: JSON, warnings: Sequence[str], lines: Sequence[str] = ()) -> None:
    """The numbers on standard output, what is wrong on standard error."""
    for warning in warnings:
        output.note(warning)
    if session.as_json:
        print_json({**record, "warnings": list(warnings)})
        return
    rest = " The rest goes on in the background; --status shows how far." if record["in_background"] else ""
    output.line("\n".join([*lines, f"Memories for {record['server']}: {read_tally(record)}.{rest}"]))
