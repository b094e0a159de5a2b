"""Pass MCP messages between standard input and output and the owner's socket (`lore mcp`).

If the owner ends, the bridge finds or starts another one, repeats the client's `initialize`, and sends the open
requests again if they are repeatable. Standard library only, so that it starts fast and stays small.
"""

import json
import os
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import BinaryIO

from lore_etl.config.project import Place, place_of
from lore_etl.core.errors import Busy, LoreError
from lore_etl.core.json_types import JSON
from lore_etl.system.processes import is_running, wait_for_parent
from lore_server.console import terminal
from lore_server.owner.find import connect
from lore_server.owner.line import LineSocket, parsed

PARENT_SECONDS = 1.0
SERVER_ERROR = -32000
MAX_REPEATS = 3  # a request that ends its owner would probably end the next one as well
INITIALIZE = "initialize"


class Bridge:
    """The connection of a client, on `source` and `target`, to one owner at a time. Raises LoreError."""

    def __init__(self, place: Place, toolsets: list[str] | None, source: BinaryIO, target: BinaryIO) -> None:
        self._place = place
        self._hello: JSON = {"want": "mcp", **({"toolsets": toolsets} if toolsets else {})}
        self._source, self._target = source, target
        self._writing = threading.Lock()
        self._guard = threading.Condition()  # guards all below; never held while waiting for a client or an owner
        self._handshake: list[bytes] = []
        self._swallow: set[str] = set()
        self._open: dict[str, JSON] = {}
        self._repeats = Counter[str]()
        self._has_ended = False
        self._owner = (0, "")
        self._repeatable: frozenset[str] = frozenset()
        self._line = self._dial(place, may_replace=True)

    def run(self) -> None:
        """Forward lines until the input has ended and every request has a reply."""
        listener = threading.Thread(target=self._listen, name="replies")
        listener.start()
        for line in self._source:
            with self._guard:
                self._note(line)
                self._guard.notify_all()
                owner = self._line
            try:
                owner.send(line if line.endswith(b"\n") else line + b"\n")
            except OSError:
                owner.end()  # the listener sends the open requests to the next owner
        with self._guard:
            self._has_ended = True
            self._guard.notify_all()
            self._line.end()
        listener.join()

    def _dial(self, place: Place, may_replace: bool) -> LineSocket:
        line, reply = connect(place, self._hello, may_replace)
        self._repeatable = frozenset(reply.get("repeatable", ()))
        self._owner = int(reply.get("pid", 0)), str(reply.get("born", ""))
        return line

    def _note(self, line: bytes) -> None:
        """Remember the part of a message that a new owner would need."""
        message = parsed(line)
        method, number = message.get("method"), message.get("id")
        if method == INITIALIZE:
            self._handshake = [line]
        elif method == "notifications/initialized":
            self._handshake.append(line)
        if method == "notifications/cancelled":
            self._open.pop(_key(_table(message.get("params")).get("requestId")), None)
        elif isinstance(method, str) and number is not None:
            self._open[_key(number)] = message

    def _listen(self) -> None:
        while True:
            try:
                line = self._line.read()
            except OSError:
                line = b""
            if line.endswith(b"\n"):
                if self._is_for_the_client(line):
                    self._write(line)
                continue
            with self._guard:
                # a running owner leaves only those requests open that it never answers, such as invalid ones
                is_done = self._has_ended and (not self._open or is_running(*self._owner))
                if is_done or not self._reconnect():
                    return

    def _is_for_the_client(self, line: bytes) -> bool:
        message = parsed(line)
        if "id" not in message or "method" in message:
            return True
        key = _key(message["id"])
        with self._guard:
            self._open.pop(key, None)
            self._repeats.pop(key, None)
            if key not in self._swallow:
                return True
            self._swallow.remove(key)
            return False

    def _reconnect(self) -> bool:
        """Connect the client to another owner. Return False if there is none and the input has ended."""
        self._line.close()
        while True:
            try:
                self._line = self._dial(place_of(self._place.root, self._place.config), may_replace=False)
                break
            except LoreError as error:
                for key in list(self._open):
                    self._fail(key, error)
            if self._has_ended:
                return False
            # the client may continue, and its next request is a reason to try again
            self._guard.wait_for(lambda: self._open or self._has_ended)
        self._introduce()
        return True

    def _introduce(self) -> None:
        """Repeat the handshake without passing on its reply, then the open requests that are repeatable."""
        try:
            for line in self._handshake:
                message = parsed(line)
                if "id" in message and _key(message["id"]) not in self._open:
                    self._swallow.add(_key(message["id"]))
                self._line.send(line)
            for key, message in list(self._open.items()):
                if message["method"] == INITIALIZE:
                    continue
                is_call = message["method"] == "tools/call"
                may_repeat = not is_call or _table(message.get("params")).get("name") in self._repeatable
                if self._repeats[key] >= MAX_REPEATS or not may_repeat:
                    self._fail(key, Busy("The owner of the index exited during this call.", "Call again."))
                else:
                    self._repeats[key] += 1
                    self._line.send_message(message)
            if self._has_ended:
                self._line.end()
        except OSError:
            return  # this owner ended as well: the listener notices

    def _fail(self, key: str, problem: LoreError) -> None:
        message = self._open.pop(key)
        self._repeats.pop(key, None)
        record = {"code": problem.code, "message": problem.message, "hint": problem.hint}
        data = {"error": True, **record, "trace_id": problem.trace_id or ""}
        error = {"code": SERVER_ERROR, "message": f"{problem.message} {problem.hint}", "data": data}
        self._write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode() + b"\n")

    def _write(self, line: bytes) -> None:
        try:
            with self._writing:
                self._target.write(line)
                self._target.flush()
        except OSError:
            os._exit(0)  # the client no longer reads


def run(root: Path, config: Path | None, toolsets: list[str] | None) -> int:
    """Run the bridge on this process's input and output and return its exit code. Raises ConfigError."""
    threading.Thread(target=_end_with_the_parent, args=(os.getppid(),), daemon=True).start()
    place = place_of(root, config)
    if place.warning:
        terminal.err(f"{place.warning}\n")
    try:
        Bridge(place, toolsets, sys.stdin.buffer, sys.stdout.buffer).run()
    except LoreError as error:
        terminal.err(f"{error.message}\n{error.hint}\n")
        return error.exit_code
    except KeyboardInterrupt:
        os._exit(130)  # Python would wait for the thread that waits for replies
    return 0


def _end_with_the_parent(parent: int) -> None:
    """End this process with its parent, because another process of a killed client may keep our input open."""
    wait_for_parent(parent, PARENT_SECONDS)
    os._exit(0)


def _table(value: object) -> JSON:
    return value if isinstance(value, dict) else {}


def _key(number: object) -> str:
    return json.dumps(number)
