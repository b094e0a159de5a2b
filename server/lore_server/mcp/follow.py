"""Follow a running call: report its progress to the client that made it, until the client cancels it."""

from __future__ import annotations

import time
from typing import Any, TypeAlias

import anyio
import anyio.from_thread
import anyio.lowlevel
from mcp.server.context import ServerRequestContext

from lore_etl.core.errors import Cancelled
from lore_etl.core.progress import time_left
from lore_server.execution.progress import Listener, ignore_text

PROGRESS_SECONDS = 0.2
ESTIMATE_SECONDS = 4.0  # of a stage, before the time that is left is named
Context: TypeAlias = ServerRequestContext[Any]
"""The context of a request to a server without lifespan state."""
_DISCONNECTED = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.RunFinishedError)


class Follower:
    """The listener of one call. The protocol requires a growing number, so the steps of all stages are added up."""

    def __init__(self, context: Context) -> None:
        meta = context.meta or {}
        self.wants_progress = meta.get("progress_token", meta.get("progressToken")) is not None
        self.listener = Listener(self._report, self._report_text if self.wants_progress else ignore_text)
        self._session = context.session
        self._loop = anyio.lowlevel.current_token()
        self._stage = ""
        self._earlier_steps = self._done = self._total = self._sent = 0
        self._sent_at = self._stage_began = 0.0
        self._is_left = False

    def leave(self) -> None:
        """Stop waiting at the next step, because the client cancelled the call. The job continues."""
        self._is_left = True

    def _report(self, stage: str, done: int, total: int) -> None:
        """Report progress; called from the thread that works or waits."""
        if self._is_left:
            hint = "The job continues; follow it with get_job."
            raise Cancelled("The client is no longer waiting for this call.", hint)
        if not self.wants_progress:
            return
        now = time.monotonic()
        is_new = stage != self._stage or done < self._done or not self._earlier_steps
        if is_new:
            self._begin_stage(stage)
            self._stage_began = now
        self._done, self._total = done, max(done, total)
        is_due = is_new or now - self._sent_at >= PROGRESS_SECONDS or done >= total
        if is_due and self._earlier_steps + done > self._sent:
            self._sent_at = now
            seconds = now - self._stage_began
            left = time_left(done, total, seconds) if seconds > ESTIMATE_SECONDS else ""
            text = ", ".join(filter(None, (f"{stage}: {done} of {total}" if total else stage, left)))
            self._send(text, float(self._earlier_steps + self._total) if total else None)

    def _report_text(self, text: str) -> None:
        """Report a part of an answer as a message; called from the thread that works."""
        if self._is_left:
            raise Cancelled("The client is no longer waiting for this answer.")
        self._begin_stage("")
        self._send(text, None)

    def _begin_stage(self, stage: str) -> None:
        self._earlier_steps += self._total + 1
        self._stage, self._done, self._total = stage, 0, 0

    def _send(self, message: str, total: float | None) -> None:
        self._sent = self._earlier_steps + self._done
        try:
            report = self._session.report_progress
            anyio.from_thread.run(report, float(self._sent), total, message, token=self._loop)
        except _DISCONNECTED:
            self._is_left = True
