"""Exchange raw lines with `lore mcp` over its pipes, from several processes at the same time."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import termios
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import Queue
from typing import Any

from tests.harness.commands import as_lore

JSON = dict[str, Any]
INITIALIZE = {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
}  # fmt: skip
REPLY_SECONDS = 180


class StdioClient:
    """An agent with its own `lore mcp`, which calls one tool at a time."""

    def __init__(self, project: Path, *options: str, handshake: bool = True, program: Sequence[str] = ()) -> None:
        self.process = subprocess.Popen(
            [*(program or as_lore()), "mcp", *options], cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=dict(os.environ),
        )  # fmt: skip
        self._replies: Queue[JSON] = Queue()
        self._number = 0
        self.notifications: list[JSON] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        if handshake:
            self.request("initialize", INITIALIZE)
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if "id" in message:
                self._replies.put(message)
            else:
                self.notifications.append(message)

    def send(self, message: JSON) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def is_idle(self) -> bool:
        """Return whether the process has read all input and none of its threads runs; only on Linux.

        The threads are looked at twice: one may have woken another that was seen sleeping before.
        """
        assert self.process.stdin is not None
        unread = fcntl.ioctl(self.process.stdin, termios.FIONREAD, bytes(4))
        threads = self._threads()
        are_asleep = threads and all("State:\tS" in thread for thread in threads)
        return not any(unread) and bool(are_asleep) and threads == self._threads()

    def _threads(self) -> list[str]:
        """Return the status of each thread, which counts how often it ran; nothing if a thread just ended."""
        try:
            return [task.read_text() for task in Path(f"/proc/{self.process.pid}/task").glob("*/status")]
        except OSError:
            return []

    def begin(self, method: str, params: JSON) -> int:
        """Send a request without waiting for its reply."""
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def reply(self) -> JSON:
        """Return the next reply to any request."""
        return self._replies.get(timeout=REPLY_SECONDS)

    def request(self, method: str, params: JSON) -> JSON:
        number = self.begin(method, params)
        reply = self.reply()
        assert reply["id"] == number
        return reply

    def call(self, name: str, **arguments: Any) -> JSON:
        """Return the structured result of a tool; errors are results too."""
        reply = self.request("tools/call", {"name": name, "arguments": arguments})
        assert "result" in reply, reply
        structured: JSON = reply["result"]["structuredContent"]
        return structured

    def close(self) -> int:
        """Close the input and wait for the process."""
        assert self.process.stdin is not None
        if not self.process.stdin.closed:
            self.process.stdin.close()
        code = self.process.wait(timeout=120)
        self._reader.join()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        return code

    def __enter__(self) -> StdioClient:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None and self.process.stdin is not None and self.process.stdin.closed:
            self.process.kill()
        self.close()
