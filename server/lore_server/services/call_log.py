"""Log each call of the knowledge operations: operation, time, duration and outcome, but never content."""

import contextlib
import json
import os
import secrets
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

from lore_etl.core.dates import precise_timestamp
from lore_etl.core.errors import InternalError, InvalidArgument, InvalidContent, LoreError, ProjectNotFound
from lore_etl.core.json_types import JSON
from lore_etl.system.durable import replace
from lore_etl.system.nofollow import open_regular
from lore_server.contract import Operation
from lore_server.knowledge.safe_files import StoreLock
from lore_server.replies.problem import LONGEST, context_of, in_envelope, seed_code
from lore_server.services.knowledge_library import Library

ACTIVITY = "activity.log"
LARGEST_BYTES = 5_000_000
KEPT = 3
NAMED = ("project_id", "filename", "chapter_title")


class ActivityLog:
    """The log in a folder; if the folder does not exist, nothing is logged."""

    def __init__(self, home: Path, largest_bytes: int = LARGEST_BYTES, name: str = ACTIVITY) -> None:
        self._path = home / name
        self._largest = largest_bytes

    def add(self, record: Mapping[str, object]) -> None:
        """Append a line. Errors are ignored, because logging must not make a call fail."""
        with contextlib.suppress(OSError, ValueError, LoreError):
            line = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
            with open(open_regular(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "wb", buffering=0) as file:
                file.write(line)  # a single write, so that the lines of several processes do not mix
            if self._is_full():
                self._rotate()

    def _is_full(self) -> bool:
        return self._path.lstat().st_size > self._largest

    def _rotate(self) -> None:
        """Rename the log to `<name>.1`, unless another process is doing so or has just done so."""
        lock = self._path.with_name(f"{self._path.name}.lock")
        logs = [self._path, *(self._path.with_name(f"{self._path.name}.{number}") for number in range(1, KEPT + 1))]
        with StoreLock(lock, wait_seconds=0).hold():
            if self._is_full():
                for newer, older in reversed([*pairwise(logs)]):
                    if newer.exists():
                        replace(newer, older)
            lock.unlink(missing_ok=True)


class Recorder:
    """A runner of calls that gives each call a trace id and logs it."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._log = ActivityLog(library.home)

    def run(self, operation: Operation, arguments: Mapping[str, object], work: Callable[[], JSON]) -> JSON:
        """Return the result of the work. Raises LoreError for every failure, with trace id and context."""
        trace_id, started = secrets.token_hex(16), time.perf_counter()
        about = self._about(operation, arguments)
        try:
            result = work()
        except Exception as error:
            foreseen = error if isinstance(error, LoreError) else InternalError("Internal error in Lore.")
            foreseen.trace_id = foreseen.trace_id or trace_id
            if isinstance(foreseen, ProjectNotFound):
                foreseen.hint = self._library.note() or foreseen.hint
            in_envelope(foreseen, operation.envelope, about)
            self._log.add(activity(operation, about, foreseen.trace_id, time.perf_counter() - started, foreseen))
            if foreseen is error:
                raise
            raise foreseen from error
        self._log.add(activity(operation, about, trace_id, time.perf_counter() - started))
        return result

    def _about(self, operation: Operation, arguments: Mapping[str, object]) -> JSON:
        """Return the arguments with the project, if the operation is about one: the current one by default."""
        schema = operation.input_schema
        may_name_one = "project_id" in schema["properties"].keys() - schema.get("required", ())
        if arguments.get("project_id") is not None or not (may_name_one or operation.toolset == "memories"):
            return dict(arguments)
        try:
            return {**arguments, "project_id": self._library.current}
        except LoreError:
            return dict(arguments)  # the call itself reports the problem with the knowledge folder


def activity(
    operation: Operation, about: Mapping[str, object], trace_id: str, seconds: float, error: LoreError | None = None
) -> JSON:
    """Return the line of the log for a call, under the seed's names. It never has content of the call."""
    context = context_of(about)
    line: JSON = {"timestamp": precise_timestamp(), "method": operation.id, "success": error is None}
    line |= {name: context[name] for name in NAMED if context.get(name)}
    line |= {"traceId": trace_id, "duration": round(1000 * seconds, 1)}
    if error is not None:
        may_quote = isinstance(error, (InvalidArgument, InvalidContent))
        line["error"] = (error.default_hint if may_quote else error.message)[:LONGEST]
        line["errorCode"] = seed_code(error.code) if operation.envelope else error.code
        if context:
            line["errorContext"] = context
    return line
