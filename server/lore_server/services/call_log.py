"""Log each call of the knowledge operations: operation, time, duration and outcome, but never content."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping

from lore_etl.core.errors import InternalError, InvalidArgument, InvalidContent, LoreError
from lore_etl.core.json_types import JSON
from lore_server.contract import Operation
from lore_server.knowledge.activity_log import Activity, ActivityLog
from lore_server.replies.envelope import context_of, in_envelope, seed_code
from lore_server.services.knowledge_library import Library

UNNAMED = (
    "list_projects",
    "delete_project",
    "get_server_info",
    "get_storage_status",
    "sync_storage",
    "revert_knowledge",
)


class Recorder:
    """A runner of calls that gives each call a trace id and logs it."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._log = ActivityLog(library.home)

    def run(self, operation: Operation, arguments: Mapping[str, object], work: Callable[[], JSON]) -> JSON:
        """Return the result of the work. Raises LoreError for every failure, with trace id and context."""
        trace_id, started = secrets.token_hex(16), time.perf_counter()
        about = self._about(operation.id, arguments)
        try:
            result = work()
        except Exception as error:
            foreseen = error if isinstance(error, LoreError) else InternalError("Internal error in Lore.")
            foreseen.trace_id = foreseen.trace_id or trace_id
            in_envelope(foreseen, operation.envelope, about)
            self._add(operation, about, foreseen.trace_id, started, foreseen)
            if foreseen is error:
                raise
            raise foreseen from error
        self._add(operation, about, trace_id, started)
        return result

    def _about(self, method: str, arguments: Mapping[str, object]) -> JSON:
        if method in UNNAMED or arguments.get("project_id") is not None:
            return dict(arguments)
        try:
            return {**arguments, "project_id": self._library.current}
        except LoreError:
            return dict(arguments)  # the call itself reports the problem with the knowledge folder

    def _add(
        self,
        operation: Operation,
        about: Mapping[str, object],
        trace_id: str,
        started: float,
        error: LoreError | None = None,
    ) -> None:
        texts = {name: value if isinstance(value, str) else None for name, value in about.items()}
        activity = Activity(
            method=operation.id,
            success=error is None,
            trace_id=trace_id,
            duration=1000 * (time.perf_counter() - started),
            project_id=texts.get("project_id"),
            filename=texts.get("filename"),
            chapter_title=texts.get("chapter_title"),
            error=_said(error) if error else None,
            error_code=_code(error, operation) if error else None,
            error_context=context_of(about) if error else {},
        )
        self._log.add(activity)


def _said(error: LoreError) -> str:
    """Return the message of an error, or only its hint if the message may quote the content of the call."""
    return error.default_hint if isinstance(error, (InvalidArgument, InvalidContent)) else error.message


def _code(error: LoreError, operation: Operation) -> str:
    return seed_code(error.code) if operation.envelope else error.code
