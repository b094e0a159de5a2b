"""`lore doctor`: every check in order, each for itself; one that raises has failed, and the next one runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from lore_etl.config.settings import Settings
from lore_etl.core.errors import Busy, InternalError, LoreError
from lore_server import __version__
from lore_server.owner.session import Session
from lore_server.setup import machine, place, wiring
from lore_server.setup.finding import Examined, Finding, Report

CHECK_SECONDS = 30.0
Check = tuple[str, Callable[[], Finding]]


def examine(session: Session) -> Report:
    """Look at everything. Raises UsageError where the project's folder is not there."""
    here = Examined(session.root, _settings(session))
    findings = [_run(name, check) for name, check in _before(session, here)]
    findings += _index(session)
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
    yield "knowledge", lambda: place.knowledge(here)
    yield "index folder", lambda: place.index_folder(here)
    yield "owner", lambda: place.owner(here)
    yield "model", lambda: machine.model(here)


def _after(session: Session, here: Examined) -> Iterator[Check]:
    """What stands in front of the index."""
    yield "port", lambda: wiring.port(here)
    yield "mcp", lambda: wiring.handshake(session, here)
    yield "clients", lambda: wiring.clients(here)


def _settings(session: Session) -> Settings:
    """The configuration; the defaults where it is wrong, which has a check of its own."""
    try:
        return session.settings
    except LoreError:
        return Settings()


def _run(name: str, check: Callable[[], Finding], seconds: float = CHECK_SECONDS) -> dict[str, str]:
    """Run a check in a thread of its own; one that takes too long is left behind."""
    found: list[dict[str, str]] = []
    thread = threading.Thread(target=lambda: found.append(_checked(name, check)), daemon=True)
    thread.start()
    thread.join(seconds)
    if found:
        return found[0]
    late = Finding("failed", f"The check did not end within {seconds:g} s.", "Run `lore stop`, then look again.")
    return late.told(name)


def _checked(name: str, check: Callable[[], Finding]) -> dict[str, str]:
    try:
        finding = check()
    except LoreError as error:
        finding = Finding("failed", error.message, error.hint)
    except Exception as error:  # noqa: BLE001 - Lore may be half broken: that is what is being looked at
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        finding = Finding("failed", f"The check itself failed: {reason}", "Install Lore anew, then look again.")
    return finding.told(name)


def _index(session: Session) -> list[dict[str, str]]:
    """The stores, the model and the answers: what `lore status` checks."""
    found: list[dict[str, str]] = []

    def look() -> Finding:
        try:
            found.extend(place.from_health(one).told(one["part"]) for one in session.ask("healthcheck")["checks"])
        except Busy as error:  # it works for somebody else
            return Finding("warn", error.message, error.hint)
        except InternalError as error:
            return Finding("failed", error.message, "Run `lore doctor --no-daemon`: it looks in this process.")
        return Finding("ok", "")

    outcome = _run("index", look)
    return found or [outcome]


def _worst(statuses: list[str]) -> str:
    return next((one for one in ("failed", "warn") if one in statuses), "ok")
