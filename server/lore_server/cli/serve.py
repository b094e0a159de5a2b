"""Run the long-lived interfaces: stdio without an owner, and the owner that also serves HTTP."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from lore_etl.core.errors import LoreError, StorageError, os_errors_as
from lore_etl.core.json_types import JSON
from lore_etl.core.progress import Listener
from lore_etl.core.text import counted
from lore_etl.stores.owner_file import SERVE
from lore_server.console import terminal
from lore_server.contract import load_contract
from lore_server.execution.threads import Call, Calls

if TYPE_CHECKING:
    from starlette.routing import Route

    from lore_server.app import App
    from lore_server.http.page import Pulse
    from lore_server.http.site import Site
    from lore_server.owner.listen import Connections
    from lore_server.owner.session import Session

_ADDRESSES = "MCP at /mcp/<project> and /mcp, API at /projects/<project>/api and /api"


class LoadedApp:
    """The application of this process, loaded in the background in about a second; the first call waits for it."""

    def __init__(self, load: Callable[[], App]) -> None:
        self._load = load
        self._loading = threading.Lock()
        self._app: App | None = None
        threading.Thread(target=self._begin, name="loading", daemon=True).start()

    def call(self, operation: str, arguments: JSON, listener: Listener) -> JSON:
        return self._load_once().call(operation, arguments, listener)

    def close(self) -> None:
        if self._app is not None:
            self._app.close()

    def _load_once(self) -> App:
        with self._loading:
            self._app = self._app or self._load()
            return self._app

    def _begin(self) -> None:
        with contextlib.suppress(LoreError):  # raised again for the first call, which can report it
            self._load_once()


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
    from lore_server.http.page import Pulse
    from lore_server.http.site import site_of
    from lore_server.owner.find import make_way
    from lore_server.owner.process import Owner

    with _listening(site_of(session.root, session.settings, host, port), toolsets) as server:
        make_way(session.place)
        owner = Owner(session.root, session.config_file, SERVE)
        at = server.address

        async def serve(app: App, connections: Connections) -> None:
            about = f"{session.root.name}: page at {at}/, MCP at {at}/mcp, API at {at}/api"
            await server.run(about, app.call, Pulse(lambda: contextlib.nullcontext(app), connections.stopping))

        try:
            anyio.run(owner.run, serve, at)
        finally:
            owner.close()


def serve_projects(
    session: Session, where: Path, host: str | None, port: int | None, toolsets: list[str] | None
) -> None:
    """Serve many projects until interrupted; each has its own index, which is owned while it is in use."""
    from lore_server.http.page import Pulse, routes_of_many
    from lore_server.http.site import site_of
    from lore_server.owner.projects import Projects, read_projects

    projects = Projects(read_projects(where), session.config_file, load_contract())
    roots = {name: project.root for name, project in projects.all.items()}

    async def serve() -> None:
        about = f"{counted(len(roots), 'project')}: page at {server.address}/, {_ADDRESSES}"
        problems = (str(project.problem) for project in projects.all.values() if project.problem)
        pulse = Pulse(lambda: projects.hold(server.site.asked()[0]), anyio.Event())
        await server.run("\n".join([about, *problems]), projects.call, pulse, routes_of_many(projects.states))

    with _listening(site_of(session.root, session.settings, host, port, roots), toolsets) as server:
        projects.address = server.address
        anyio.run(projects.run, serve)


def serve_replica(
    session: Session, branch: str, host: str | None, port: int | None, toolsets: list[str] | None
) -> None:
    """Serve the latest published index of a branch until interrupted; it has no project folder and no owner."""
    from tempfile import TemporaryDirectory

    from lore_server.cli.publish_commands import target_of
    from lore_server.http.page import Pulse
    from lore_server.http.site import site_of
    from lore_server.owner.replica import Replica

    target_of(session, None)
    with (
        TemporaryDirectory(prefix="lore-replica-", ignore_cleanup_errors=True) as folder,
        contextlib.closing(Replica(session.settings, load_contract(), branch, Path(folder).resolve())) as replica,
    ):
        site = site_of(Path(replica.published.project), session.settings, host, port, is_replica=True)

        async def run() -> None:
            about = f"{site.project} of {branch}: MCP at {server.address}/mcp, API at {server.address}/api"
            pulse = Pulse(replica.hold, anyio.Event())
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(replica.follow)
                await server.run(about, replica.call, pulse)
                tasks.cancel_scope.cancel()

        with _listening(site, toolsets) as server:
            anyio.run(run)


@dataclass
class Server:
    """An HTTP server whose address is reserved."""

    site: Site
    toolsets: list[str] | None
    listener: socket.socket

    @property
    def address(self) -> str:
        name = f"[{self.site.host}]" if ":" in self.site.host else self.site.host
        return f"http://{name}:{self.listener.getsockname()[1]}"

    async def run(self, about: str, call: Call, pulse: Pulse, more: Sequence[Route] = ()) -> None:
        """Announce the server and answer requests, until a signal or `pulse.stopping`."""
        terminal.err(f"Lore serves {about}\n{self.site.notice}\n")
        import uvicorn

        from lore_server.http.application import audited, build_http
        from lore_server.http.protocol import LimitedProtocol
        from lore_server.owner.process import stop_on_signal
        from lore_server.trackers.webhooks import webhook_routes

        class Quiet(uvicorn.Server):
            @contextlib.contextmanager
            def capture_signals(self) -> Iterator[None]:
                """Leave signals to `stop_on_signal`."""
                yield

        call = audited(call, load_contract(), self.site)
        more = [*more, *webhook_routes(self.site, call, pulse.hold)]
        web = build_http(load_contract(), call, self.site, pulse, self.toolsets, more)
        config = uvicorn.Config(
            web, http=LimitedProtocol, log_level="warning", access_log=False, timeout_graceful_shutdown=5
        )
        server = Quiet(config)

        async def end() -> None:
            await pulse.stopping.wait()
            server.should_exit = True

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_on_signal, pulse.stopping)
            tasks.start_soon(end)
            await server.serve(sockets=[self.listener])
            pulse.stopping.set()
            tasks.cancel_scope.cancel()


@contextlib.contextmanager
def _listening(site: Site, toolsets: list[str] | None) -> Iterator[Server]:
    """Yield a server that listens. Raises ConfigError for an unknown toolset, StorageError."""
    from lore_server.mcp.mcp_server import check_toolsets

    check_toolsets(load_contract(), toolsets)
    family = socket.AF_INET6 if ":" in site.host else socket.AF_INET
    # with the protocol named instead of 0, asyncio sets TCP_NODELAY; without it each reply waits 45 ms for an
    # acknowledgement
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        with os_errors_as(StorageError, f"Cannot listen on {site.host}:{site.port}", "Choose another port."):
            if sys.platform == "win32":  # SO_REUSEADDR would let any process take over the port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
            else:  # a server can restart immediately
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((site.host, site.port))
            listener.listen(512)
        yield Server(site, toolsets, listener)
