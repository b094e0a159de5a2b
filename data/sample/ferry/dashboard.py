"""The server behind the browser dashboard: a small JSON API and the static files."""

from __future__ import annotations

import asyncio
import hmac
import json
import mimetypes
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from ferry.errors import ConfigError
from ferry.job import Job, JobState
from ferry.queue import Queue

READ_TIMEOUT = 5.0
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def to_camel(name: str) -> str:
    """`run_at` as `runAt`: the API speaks the browser's naming."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


class Dashboard:
    """Answers the dashboard's requests.

    Args:
        queue: whose jobs to show.
        token: what clients must send as X-Ferry-Token; required unless `host` is the loopback.
        static_dir: the bundled browser code, usually web/dist.
        show_payload: payloads may hold personal data, so they are left out unless asked for.
    """

    PORT: ClassVar[int] = 8467
    PAGE_SIZE: ClassVar[int] = 50
    MAX_PAGE_SIZE: ClassVar[int] = 200

    @dataclass(frozen=True)
    class Response:
        """Status, body and type of an answer."""

        status: HTTPStatus
        body: bytes = b""
        content_type: str = "application/json"

        def encode(self) -> bytes:
            """The answer as it goes over the wire; every connection serves one request."""
            head = (
                f"HTTP/1.1 {self.status.value} {self.status.phrase}\r\n"
                f"Content-Type: {self.content_type}\r\nContent-Length: {len(self.body)}\r\n"
                "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
            )
            return head.encode() + self.body

    def __init__(self, queue: Queue, *, host: str = "127.0.0.1", port: int = PORT, token: str | None = None,
                 static_dir: Path | None = None, show_payload: bool = False) -> None:  # fmt: skip
        if host not in LOOPBACK and not token:
            raise ConfigError(f"a dashboard on {host} needs a token")
        self.queue = queue
        self.host, self.port, self.token = host, port, token
        self.static_dir = static_dir.resolve() if static_dir else None
        self.show_payload = show_payload

    async def serve(self) -> None:
        """Accept connections until cancelled."""
        server = await asyncio.start_server(self._handle, self.host, self.port)
        async with server:
            await server.serve_forever()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), READ_TIMEOUT)
            request, *lines = head.decode("latin-1").split("\r\n")
            method, target, _ = request.split(" ", 2)
            pairs = (line.partition(":") for line in lines if ":" in line)
            headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
            answer = await asyncio.to_thread(self.respond, method, target, headers)
        except (TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            answer = self.Response(HTTPStatus.BAD_REQUEST)
        writer.write(answer.encode())
        await writer.drain()
        writer.close()

    def respond(self, method: str, target: str, headers: Mapping[str, str]) -> Response:
        """The answer to a request; everything but the sockets, so tests call it directly."""
        url = urlsplit(target)
        if not url.path.startswith("/api/"):
            return self._static(unquote(url.path))
        sent = headers.get("x-ferry-token", "")
        if self.token and not hmac.compare_digest(sent.encode(), self.token.encode()):
            return self._json({"error": "missing or wrong X-Ferry-Token"}, HTTPStatus.UNAUTHORIZED)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        match (method, url.path.split("/")[2:]):
            case ("GET", ["stats"]):
                stats = self.queue.stats()
                return self._json({"counts": stats.counts, "backlog": stats.backlog})
            case ("GET", ["jobs"]):
                return self._jobs(query)
            case ("POST", ["jobs", job_id, "retry"]):
                revived = self.queue.store.revive(job_id)
                return self._json({"revived": revived}, HTTPStatus.OK if revived else HTTPStatus.CONFLICT)
        return self._json({"error": "no such endpoint"}, HTTPStatus.NOT_FOUND)

    def _jobs(self, query: Mapping[str, str]) -> Response:
        try:
            state = JobState(query["state"]) if "state" in query else None
            limit = min(self.MAX_PAGE_SIZE, max(1, int(query.get("limit", self.PAGE_SIZE))))
            offset = max(0, int(query.get("offset", 0)))
        except ValueError as error:
            return self._json({"error": str(error)}, HTTPStatus.BAD_REQUEST)
        jobs = self.queue.store.list_jobs(state, limit, offset)
        return self._json({"items": [self._public(job) for job in jobs], "limit": limit, "offset": offset})

    def _public(self, job: Job) -> dict[str, Any]:
        hidden = () if self.show_payload else ("payload",)
        return {to_camel(name): value for name, value in asdict(job).items() if name not in hidden}

    def _json(self, data: Any, status: HTTPStatus = HTTPStatus.OK) -> Response:
        return self.Response(status, json.dumps(data).encode())

    def _static(self, path: str) -> Response:
        if self.static_dir:
            file = (self.static_dir / path.lstrip("/") / ("index.html" if path == "/" else "")).resolve()
            if file.is_relative_to(self.static_dir) and file.is_file():
                kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
                return self.Response(HTTPStatus.OK, file.read_bytes(), kind)
        return self._json({"error": "not found"}, HTTPStatus.NOT_FOUND)
