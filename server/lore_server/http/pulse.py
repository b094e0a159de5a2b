"""`GET /page/state`: the latest job and the freshness of the index as events, while a page is open."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.routing import Route

from lore_etl.core.clock import timestamp
from lore_etl.core.json_types import JSON
from lore_server.http.events import QUIET_SECONDS, STEP_SECONDS, Events, Stream, event_of, without_clocks

STATE = "/page/state"
IDLE_SECONDS = 0.5  # between two checks while no job runs
HEARTBEAT_SECONDS = 5.0  # after a longer silence, the page considers the server dead
READING = 4  # threads for all pages together


@dataclass(frozen=True)
class Pulse:
    """The source of event streams: `state` is called in a thread, and every stream ends with `stopping`."""

    state: Callable[[], JSON]
    stopping: anyio.Event


def pulse_routes(pulse: Pulse) -> list[Route]:
    limiter = anyio.CapacityLimiter(READING)

    async def state(request: Request) -> Events:
        return Events(_states(pulse, limiter))

    return [Route(STATE, state, methods=["GET"])]


async def _states(pulse: Pulse, limiter: anyio.CapacityLimiter) -> Stream:
    """Stream `state` on change and at intervals, shorter ones while a job runs, because its times change."""
    shown: object = None
    shown_at = 0.0
    while not pulse.stopping.is_set():
        state = await anyio.to_thread.run_sync(pulse.state, abandon_on_cancel=True, limiter=limiter)
        is_running = state.get("job", {}).get("state") == "running"
        lasting = {part: without_clocks(value) for part, value in state.items()}
        longest = QUIET_SECONDS if is_running else HEARTBEAT_SECONDS
        if lasting != shown or time.monotonic() - shown_at >= longest:
            yield event_of("state", {**state, "now": timestamp()})
            shown, shown_at = lasting, time.monotonic()
        with anyio.move_on_after(STEP_SECONDS if is_running else IDLE_SECONDS):
            await pulse.stopping.wait()
