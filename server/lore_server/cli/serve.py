"""Run the long-lived interfaces: stdio without an owner, and the owner that also serves HTTP."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import anyio

from lore_etl.core.errors import Busy, LoreError, StorageError
from lore_etl.core.json_types import JSON
from lore_etl.system.sockets import reserve_address
from lore_server.console import terminal
from lore_server.contract import load_contract
from lore_server.execution.progress import Listener
from lore_server.execution.threads import Calls

if TYPE_CHECKING:
    from pathlib import Path

    from lore_server.app import App
    from lore_server.http import Site
    from lore_server.owner.listen import Connections
    from lore_server.owner.session import Session


class LoadedApp:
    """The application of this process, loaded in the background in about a second; the first call waits for it."""

    def __init__(self, load: Callable[[], App]) -> None:
        self._load = load
        self._loading = threading.Lock()
        self._app: App | None = None
        threading.Thread(target=self._begin, name="loading", daemon=True).start()

    def call(self, operation: str, arguments: JSON, listener: Listener) -> JSON:
        """Run an operation. Raises LoreError, also if the application cannot be loaded."""
        return self._loaded().call(operation, arguments, listener)

    def close(self) -> None:
        """Close the application, if it is loaded."""
        if self._app is not None:
            self._app.close()

    def _loaded(self) -> App:
        with self._loading:
            self._app = self._app or self._load()
            return self._app

    def _begin(self) -> None:
        with contextlib.suppress(LoreError):  # raised again for the first call, which can report it
            self._loaded()


def serve_stdio(session: Session, toolsets: list[str] | None) -> None:
    """Serve MCP on standard input and output with the index in this process, loading it after the handshake."""
    from lore_server.mcp.lines import serve_stdio as run
    from lore_server.mcp.mcp_server import build_server

    contract, root, settings = load_contract(), session.root, session.settings

    def load() -> App:
        from lore_server.app import App

        return App(root, settings, contract)

    with contextlib.closing(LoadedApp(load)) as app:
        run(build_server(contract, Calls(contract, app.call), toolsets))


def serve_http(session: Session, host: str | None, port: int | None, toolsets: list[str] | None) -> None:
    """Own the index and serve page, API and MCP until interrupted; print the address to standard error."""
    from lore_server.http import site_of
    from lore_server.mcp.mcp_server import check_toolsets
    from lore_server.owner.process import Owner, leave

    settings = session.settings
    if toolsets is not None:
        check_toolsets(load_contract(), toolsets)
    site = site_of(session.root, settings, host, port)
    with contextlib.closing(_listener(site.host, site.port)) as listener:
        name = f"[{site.host}]" if ":" in site.host else site.host
        address = f"http://{name}:{listener.getsockname()[1]}"
        make_way(session.root, session.config_file)
        owner = Owner(session.root, session.config_file, "serve")
        try:

            def ready() -> None:
                about = f"page at {address}/, MCP at {address}/mcp, API at {address}/api"
                terminal.err(f"Lore serves {session.root.name}: {about}\n{site.notice}\n")

            anyio.run(
                owner.run, ready, lambda app, connections: _serve(app, connections, site, listener, toolsets), address
            )
        finally:
            owner.close()
    leave()


def make_way(root: Path, config: Path | None) -> None:
    """Stop a background owner once it is free; its clients will reconnect here.

    Raises:
        Busy: another `lore serve` is running, or the owner does not stop.
    """
    from lore_etl.config.project import place_of
    from lore_server.owner import find
    from lore_server.owner.misfit import wait_until_free

    where = place_of(root, config)
    note = find.holder(where.folder)
    if note is None or not note.address:
        return
    if note.kind == "serve":
        raise Busy(f"`lore serve` (pid {note.pid}) already serves this index at {note.web}.", "`lore stop` stops it.")
    wait_until_free(where, note)


async def _serve(
    app: App, connections: Connections, site: Site, listener: socket.socket, toolsets: list[str] | None
) -> None:
    import uvicorn

    from lore_server.http import Pulse, build_http
    from lore_server.http.protocol import LimitedProtocol
    from lore_server.mcp.mcp_server import build_server

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Leave signals to the owner."""
            yield

    calls = Calls(app.contract, app.call)
    mcp = build_server(app.contract, calls, toolsets)
    web = build_http(app.contract, calls, mcp, site, Pulse(app.state, connections.stopping))
    config = uvicorn.Config(
        web, http=LimitedProtocol, log_level="warning", access_log=False, timeout_graceful_shutdown=5
    )
    server = Server(config)
    async with anyio.create_task_group() as tasks:

        async def end() -> None:
            await connections.stopping.wait()
            server.should_exit = True

        tasks.start_soon(end)
        await server.serve(sockets=[listener])
        connections.stopping.set()


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # with the protocol named instead of 0, asyncio sets TCP_NODELAY; without it each reply waits 45 ms for an
    # acknowledgement
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        reserve_address(listener)
        listener.bind((host, port))
        listener.listen(512)
    except OSError as error:
        listener.close()
        raise StorageError(f"Cannot listen on {host}:{port}: {error.strerror}.", "Choose another port.") from error
    return listener
