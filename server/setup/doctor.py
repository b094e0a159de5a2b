"""`lore doctor`: every check in order, each for itself; one that raises has failed, and the next one runs."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator

from etl.errors import LoreError
from etl.settings import Settings
from server import __version__
from server.setup import machine, place, wiring
from server.setup.finding import Examined, Finding, Report
from server.shell import Session

Check = tuple[str, Callable[[], Finding]]


def examine(session: Session) -> Report:
    """Look at everything. Raises UsageError where the project's folder is not there."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # a check asks nobody: a model that is not here is a finding
    here = Examined(session.root, _settings(session))
    findings = [_run(name, check) for name, check in _before(session, here)]
    findings += _index(session, here)
    findings += [_run(name, check) for name, check in _after(session, here)]
    return {
        "status": _worst([one["status"] for one in findings]),
        "version": __version__,
        "checks": findings,
    }


def _before(session: Session, here: Examined) -> Iterator[Check]:
    """What the index needs; nothing heavy is imported for it."""
    yield "python", machine.python
    yield "platform", machine.platform
    yield "program", machine.program
    yield "dependencies", machine.dependencies
    yield "configuration", lambda: place.configuration(session)
    yield "project", lambda: place.project(here)
    yield "index folder", lambda: place.index_folder(here)
    yield "owner", lambda: place.owner(here)
    yield "model", lambda: machine.model(here)


def _after(session: Session, here: Examined) -> Iterator[Check]:
    """What stands in front of the index."""
    yield "port", lambda: wiring.port(here)
    yield "mcp", lambda: wiring.handshake(session)
    yield "clients", lambda: wiring.clients(here)


def _settings(session: Session) -> Settings:
    """The configuration; the defaults where it is wrong, which has a check of its own."""
    try:
        return session.settings
    except LoreError:
        return Settings()


def _run(name: str, check: Callable[[], Finding]) -> dict[str, str]:
    try:
        finding = check()
    except LoreError as error:
        finding = Finding("failed", error.message, error.hint)
    except Exception as error:  # noqa: BLE001 - Lore may be half broken: that is what is being looked at
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        finding = Finding("failed", f"The check itself failed: {reason}", "Install Lore anew, then look again.")
    return finding.told(name)


def _index(session: Session, here: Examined) -> list[dict[str, str]]:
    """The stores, the model and the answers: what `lore status` checks."""
    found: list[dict[str, str]] = []

    def look() -> Finding:
        quiet = copy.copy(session)
        quiet.as_json = False
        result = quiet.call("healthcheck")
        found.extend(place.from_health(one, here).told(one["part"]) for one in result["checks"])
        return Finding("ok", "")

    outcome = _run("index", look)
    return found if outcome["status"] == "ok" else [outcome]


def _worst(statuses: list[str]) -> str:
    return next((one for one in ("failed", "warn") if one in statuses), "ok")
