"""Running the long-lived faces: stdio and HTTP, each answering before everything is loaded."""

from __future__ import annotations

import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

from etl.errors import StorageError
from server.contract import load_contract
from server.listener import Listener

if TYPE_CHECKING:
    from etl.settings import Settings
    from server.shell import Session


def serve_stdio(session: Session) -> None:
    """MCP on standard input and output. A wrong configuration fails here; the rest loads behind the handshake."""
    from server.lazy import Lazy
    from server.mcp.build import build_server
    from server.mcp.lines import serve_stdio as run

    contract, root, settings = load_contract(), session.root, session.settings

    def build() -> Any:
        from server.app import App

        return App(root, settings, contract)

    loaded = Lazy(build)

    def call(operation: str, arguments: dict[str, Any], listener: Listener) -> dict[str, Any]:
        result: dict[str, Any] = loaded.get().call(operation, arguments, listener)
        return result

    def problem(error: BaseException) -> dict[str, Any]:
        from server.app import problem

        return problem(error)

    try:
        run(build_server(contract, call, problem), loaded)
    finally:
        if loaded.is_built():
            loaded.get().close()


def serve_http(session: Session, host: str, port: int) -> None:
    """MCP and the HTTP API until interrupted; the address goes to standard error."""
    import uvicorn

    from server.app import App, problem
    from server.http import build_http
    from server.mcp.build import build_server

    settings: Settings = session.settings
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that a stopped service closes its stores
    app = App(session.root, settings, load_contract())
    try:
        listener = _listen(host, port)
        address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        sys.stderr.write(f"Lore serves {session.root.name}: MCP at {address}/mcp, API at {address}/api\n")
        sys.stderr.flush()
        web = build_http(app.contract, app.call, build_server(app.contract, app.call, problem))
        uvicorn.Server(uvicorn.Config(web, log_level="warning", access_log=False)).run(sockets=[listener])
    finally:
        app.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise StorageError(f"Cannot listen on {host}:{port}: {error.strerror}.", "Choose another port.") from error
    return listener
