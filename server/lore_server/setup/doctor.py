"""`lore doctor`: run every check independently; a check that raises has failed, and the others still run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection

from lore_etl.config.project import index_folder
from lore_etl.config.settings import Settings
from lore_etl.core.errors import Busy, InternalError, InvalidArgument, LoreError
from lore_etl.core.json_types import JSON
from lore_server import __version__
from lore_server.owner.session import Session
from lore_server.setup import place, wiring
from lore_server.setup.place import Finding

CHECK_SECONDS = 30.0
HEALTH = ("contract", "database", "collection", "keywords", "verification", "embedding", "answers", "disk")
"""The checks of `lore status`, which run as one."""
Check = Callable[[], Finding]


def examine(session: Session, only: Collection[str] = ()) -> JSON:
    """Run the checks and return the report.

    Raises:
        UsageError: the project's folder does not exist.
        InvalidArgument: a check does not exist.
    """
    index = index_folder(session.root, _settings(session).index.path)
    before: dict[str, Check] = {
        "python": place.python,
        "program": place.program,
        "dependencies": place.dependencies,
        "configuration": lambda: place.configuration(session),
        "knowledge": lambda: place.knowledge(session),
        "index folder": lambda: place.index_folder(index),
        "owner": lambda: place.owner(index),
    }
    after: dict[str, Check] = {
        "mcp": lambda: wiring.handshake(session, index),
        "clients": lambda: wiring.clients(session.root),
    }
    known = [*before, *HEALTH, *after]
    if unknown := [name for name in only if name not in known]:
        raise InvalidArgument(f"There is no check `{unknown[0][:100]}`.", f"Checks: {', '.join(known)}.")
    wanted = only or known
    findings = [_run(name, check) for name, check in before.items() if name in wanted]
    if not set(HEALTH).isdisjoint(wanted):
        findings += [finding for finding in _index(session) if not only or finding["name"] in (*only, "index")]
    findings += [_run(name, check) for name, check in after.items() if name in wanted]
    return {"status": _worst([finding["status"] for finding in findings]), "version": __version__, "checks": findings}


def _settings(session: Session) -> Settings:
    """Return the configuration; the defaults if it is invalid, which a separate check reports."""
    try:
        return session.settings
    except LoreError:
        return Settings()


def _run(name: str, check: Check, seconds: float = CHECK_SECONDS) -> dict[str, str]:
    """Run a check in a thread; abandon it if it takes too long."""
    found: list[dict[str, str]] = []
    thread = threading.Thread(target=lambda: found.append(_checked(name, check)), daemon=True)
    thread.start()
    thread.join(seconds)
    if found:
        return found[0]
    late = Finding("failed", f"The check did not finish within {seconds:g} s.", "Run `lore stop`, then check again.")
    return late.row(name)


def _checked(name: str, check: Check) -> dict[str, str]:
    try:
        finding = check()
    except LoreError as error:
        finding = Finding("failed", error.message, error.hint)
    except Exception as error:  # noqa: BLE001 - Lore may be damaged: the checks must find out
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        finding = Finding("failed", f"The check itself failed: {reason}", "Reinstall Lore, then check again.")
    return finding.row(name)


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


def _worst(statuses: list[str]) -> str:
    return next((status for status in ("failed", "warn") if status in statuses), "ok")
