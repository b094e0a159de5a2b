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
        self._steps = Steps()
        self._reported_at = self._stage_began = 0.0
        self._is_left = False

    def leave(self) -> None:
        """Stop waiting at the next step, because the client cancelled the call. The job continues."""
        self._is_left = True

    def _report(self, stage: str, done: int, total: int) -> None:
        """Report progress; called from the thread that works or waits."""
        if self._is_left:
            raise Cancelled(
                "The client is no longer waiting for this call.", "The job continues; follow it with get_job."
            )
        if not self.wants_progress:
            return
        is_new = self._steps.take(stage, done, total)
        now = time.monotonic()
        self._stage_began = now if is_new else self._stage_began
        if not is_new and now - self._reported_at < PROGRESS_SECONDS and done < total:
            return
        if not self._steps.advance():
            return
        self._reported_at = now
        left = time_left(done, total, now - self._stage_began) if now - self._stage_began > ESTIMATE_SECONDS else ""
        self._send(", ".join(filter(None, (f"{stage}: {done} of {total}" if total else stage, left))))

    def _report_text(self, text: str) -> None:
        """Report a part of an answer as a message; called from the thread that works."""
        if self._is_left:
            raise Cancelled("The client is no longer waiting for this answer.")
        self._steps.take(f"text {self._steps.reached}", 0, 0)
        self._steps.advance()
        self._send(text)

    def _send(self, message: str) -> None:
        try:
            anyio.from_thread.run(
                self._session.report_progress, self._steps.reached, self._steps.total, message, token=self._loop
            )
        except _DISCONNECTED:
            self._is_left = True


class Steps:
    """The progress of an unknown number of stages as one growing number, with a total if it is known."""

    def __init__(self) -> None:
        self.reached = 0.0
        self.total: float | None = None
        self._stage: str | None = None
        self._before = 0
        self._done = 0
        self._of = 0

    def take(self, stage: str, done: int, total: int) -> bool:
        """Record a step, and return whether it starts a stage."""
        is_new = stage != self._stage or done < self._done
        if is_new:
            self._before += self._of + 1
        self._stage, self._done, self._of = stage, done, max(done, total)
        self.total = float(self._before + self._of) if total else None
        return is_new

    def advance(self) -> bool:
        """Move to the recorded step; False if it is no further than before."""
        now = float(self._before + self._done)
        is_further = now > self.reached
        self.reached = max(self.reached, now)
        return is_further
