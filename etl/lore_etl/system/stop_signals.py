"""Wait for the signals that request a server to end: SIGINT and SIGTERM, on Windows also Ctrl-Break."""

from __future__ import annotations

import signal
import sys
import threading

import anyio

_LOOK_SECONDS = 0.2


async def wait_for_stop_signal() -> None:
    """Return at the first signal. The main thread must run the event loop."""
    if sys.platform == "win32":  # its event loop does not support signal handlers
        requested = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK):
            signal.signal(number, lambda *_: requested.set())
        while not requested.is_set():
            await anyio.sleep(_LOOK_SECONDS)
    else:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                return
