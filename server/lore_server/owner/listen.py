"""Listen on an owner's socket, serve the requests of its clients, and detect when the owner is idle.

Shells can differ in the sockets' folder (`TMPDIR`, `XDG_RUNTIME_DIR`), so a note stores its owner's full address.
"""

import hashlib
import hmac
import json
import logging
import os
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio import from_thread, lowlevel, to_thread
from anyio.abc import ByteStream, Listener, TaskGroup
from anyio.streams.buffered import BufferedByteReceiveStream

from lore_etl.config.project import private_folder
from lore_etl.config.settings import HAS_UNIX_SOCKETS
from lore_etl.core.errors import Cancelled, LoreError
from lore_etl.core.json_types import JSON
from lore_etl.core.progress import Listener as Hearer
from lore_etl.core.progress import ignore
from lore_etl.system.processes import born
from lore_server.app import App
from lore_server.execution.threads import CLIENT, Calls
from lore_server.owner.line import LOOPBACK, TCP, UNIX, VARIABLE, parsed
from lore_server.replies.problem import problem

log = logging.getLogger(__name__)
LONGEST_SOCKET = 100  # bytes: unix(7) allows 107, and macOS 103
LONGEST_HELLO, LONGEST_CALL = 10_000, 32_000_000
HELLO_SECONDS = 10.0
LOOK_SECONDS = 1.0
PROGRESS_SECONDS = 0.1
STARTER_SECONDS = 5.0
_Disconnected = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead)


class Connections:
    """The connected clients, by the configuration that each of them follows, and the time when the last one left."""

    def __init__(self) -> None:
        self.stopping = anyio.Event()
        self._followed: list[str] = []
        self._began = self._quiet_since = time.monotonic()
        self._is_new = True

    @property
    def clients(self) -> int:
        return len(self._followed)

    @asynccontextmanager
    async def inside(self, follows: str) -> AsyncIterator[None]:
        self._followed.append(follows)
        self._is_new = False
        try:
            yield
        finally:
            self._followed.remove(follows)
            self._quiet_since = time.monotonic()

    def all_follow(self, configuration: str) -> bool:
        """Return whether every client would use the next owner if it has this configuration."""
        if self._is_new and time.monotonic() < self._began + STARTER_SECONDS:
            return False  # the client that started this owner is about to connect
        return all(follows and follows == configuration for follows in self._followed)

    def quiet_seconds(self) -> float:
        return 0.0 if self._followed else time.monotonic() - self._quiet_since


class Entrance:
    """A listening socket. Connected clients stay connected when it is reopened."""

    def __init__(self, index: Path, transport: str) -> None:
        self._index = index
        self._transport = transport
        self._listener: Listener[ByteStream] | None = None
        self._file: Path | None = None
        self._facts: os.stat_result | None = None
        self.address = ""

    async def open(self) -> None:
        await self._hang_up()
        self._file = None
        if self._transport == "unix" and HAS_UNIX_SOCKETS:
            path = runtime_folder() / f"{hashlib.sha256(os.fsencode(self._index)).hexdigest()[:16]}.sock"
            self._file = path if len(os.fsencode(path)) <= LONGEST_SOCKET else None
        if self._file is None:
            tcp = await anyio.create_tcp_listener(local_host=LOOPBACK)
            self.address = f"{TCP}{LOOPBACK}:{tcp.extra(anyio.abc.SocketAttribute.local_port)}"
            self._listener = tcp
        else:
            self._file.unlink(missing_ok=True)  # left by an owner that ended: we hold the lock
            before = os.umask(0o177)
            try:
                self._listener = await anyio.create_unix_listener(self._file, mode=0o600)
            finally:
                os.umask(before)
            self.address = f"{UNIX}{self._file}"
            self._facts = self._file.lstat()

    async def admit(self, welcome: Callable[[ByteStream], Awaitable[None]], tasks: TaskGroup) -> None:
        """Accept clients until the socket is closed or reopened; serve each of them in the task group."""
        assert self._listener is not None
        with suppress(anyio.ClosedResourceError):
            await self._listener.serve(welcome, tasks)

    def is_there(self) -> bool:
        """Return whether clients can still connect: the system may clear temporary folders."""
        if self._file is None or self._facts is None:
            return True
        try:
            return os.path.samestat(self._facts, self._file.lstat())
        except OSError:
            return False

    async def close(self) -> None:
        await self._hang_up()
        if self._file is not None and self.is_there():
            self._file.unlink(missing_ok=True)

    async def _hang_up(self) -> None:
        if self._listener is not None:
            await self._listener.aclose()


def runtime_folder() -> Path:
    """Return `LORE_RUNTIME`, `$XDG_RUNTIME_DIR/lore` or a folder in the temporary folder. Raises OSError."""
    user = os.getuid() if hasattr(os, "getuid") else "me"
    session = os.environ.get("XDG_RUNTIME_DIR")
    default = Path(session, "lore") if session else Path(tempfile.gettempdir(), f"lore-{user}")
    return private_folder(Path(os.environ.get(VARIABLE, default)).absolute())


class SocketServer:
    """The server of the connections to the socket."""

    def __init__(self, app: App, token: str, connections: Connections) -> None:
        self._app = app
        self._token = token
        self._connections = connections
        self._calls = Calls(app.contract, app.call)
        self._imports = anyio.CapacityLimiter(1)

    def prepare(self) -> None:
        """Import MCP, which takes half a second, so that the first MCP client does not wait for it."""
        import lore_server.mcp.mcp_server  # noqa: F401

    async def welcome(self, stream: ByteStream) -> None:
        """Serve one client from its first message to its end. Invalid input ends at most its own connection."""
        try:
            async with stream:
                await self._serve(BufferedByteReceiveStream(stream), stream)
        except (*_Disconnected, anyio.DelimiterNotFound, TimeoutError, OSError):
            return
        except Exception:
            log.exception("a connection was closed")

    async def _serve(self, received: BufferedByteReceiveStream, stream: ByteStream) -> None:
        with anyio.fail_after(HELLO_SECONDS):
            hello = parsed(await received.receive_until(b"\n", LONGEST_HELLO))
        want, given = hello.get("want"), str(hello.get("token")).encode("utf-8", "surrogatepass")
        if not hmac.compare_digest(given, self._token.encode()):
            await _send(stream, {"ok": False})
        elif want == "status":
            project = str(self._app.index.root)
            await _send(stream, {"ok": True, "project": project, "clients": self._connections.clients})
        elif want == "stop":
            stays = bool(hello.get("if_free")) and not self._is_free(hello)
            if not stays:
                self._connections.stopping.set()
            with anyio.CancelScope(shield=True):  # the end of the owner must not cut its reply off
                await _send(stream, {"ok": True, "stays": stays})
        elif want in ("mcp", "call") and not self._connections.stopping.is_set():
            CLIENT.set(f"connection {id(stream)}")
            follows = str(hello.get("follows", "")) if want == "mcp" else ""  # a shell command ends soon by itself
            async with self._connections.inside(follows):
                await (self._mcp if want == "mcp" else self._shell)(hello, received, stream)

    def _is_free(self, hello: JSON) -> bool:
        """Return whether nothing runs, and every client would follow the asking one to the next owner."""
        is_idle = not self._calls.running and self._app.jobs.running_id() is None
        return is_idle and self._connections.all_follow(str(hello.get("follows", "")))

    async def _mcp(self, hello: JSON, received: BufferedByteReceiveStream, stream: ByteStream) -> None:
        await to_thread.run_sync(self.prepare, limiter=self._imports)  # other clients are answered meanwhile
        from lore_server.mcp.lines import serve_lines
        from lore_server.mcp.mcp_server import build_server

        chosen = hello.get("toolsets")
        names = list(map(str, chosen)) if isinstance(chosen, list) and chosen else None
        try:
            server = build_server(self._app.contract, self._calls, names)
        except LoreError as error:
            await _send(stream, {"ok": False, "problem": problem(error)})
            return
        repeatable = [operation.id for operation in self._app.contract if operation.is_repeatable]
        me = os.getpid()
        await _send(stream, {"ok": True, "repeatable": repeatable, "pid": me, "born": born(me) or ""})
        await serve_lines(server, received, stream)

    async def _shell(self, _: JSON, received: BufferedByteReceiveStream, stream: ByteStream) -> None:
        """Run the shell's calls one after the other: send progress during each, then the result or the error record."""
        await _send(stream, {"ok": True})
        while True:
            request = parsed(await received.receive_until(b"\n", LONGEST_CALL))
            operation, arguments = request.get("operation"), request.get("arguments")
            if not isinstance(operation, str) or not isinstance(arguments, dict):
                return
            try:
                hearer = _hearer(stream, hears_text=bool(request.get("streams")))
                await _send(stream, {"result": await self._calls.run(operation, arguments, hearer)})
            except _Disconnected:
                raise
            except Exception as error:  # noqa: BLE001 - the outermost boundary of a call
                await _send(stream, {"problem": problem(error)})


async def until_quiet(connections: Connections, idle_seconds: float, is_needed: Callable[[], bool]) -> None:
    """Return when the owner should stop, or when it is not needed and no client was connected for `idle_seconds`."""
    while not connections.stopping.is_set():
        with anyio.move_on_after(min(LOOK_SECONDS, idle_seconds)):
            await connections.stopping.wait()
        if connections.quiet_seconds() >= idle_seconds and not is_needed():
            return


async def _send(stream: ByteStream, message: JSON) -> None:
    await stream.send(json.dumps(message).encode() + b"\n")


def _hearer(stream: ByteStream, hears_text: bool) -> Hearer:
    """Return callbacks of worker threads that send progress and text; an answer ends if the client disconnects."""
    loop, sent_at, sent = lowlevel.current_token(), 0.0, ""

    def report(stage: str, done: int, total: int) -> None:
        nonlocal sent_at, sent
        now = time.monotonic()
        if stage != sent or now - sent_at >= PROGRESS_SECONDS or done >= total:
            sent_at, sent = now, stage
            with suppress(*_Disconnected, anyio.RunFinishedError):
                from_thread.run(_send, stream, {"progress": [stage, done, total]}, token=loop)

    def report_text(text: str) -> None:
        try:
            from_thread.run(_send, stream, {"text": text}, token=loop)
        except (*_Disconnected, anyio.RunFinishedError) as error:
            raise Cancelled("The client disconnected.") from error

    return Hearer(report, report_text if hears_text else ignore)
