"""A local HTTP server that speaks Gemini's wire format, for the real google-genai client."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


@dataclass
class FakeGemini:
    """Answers each request with the next reply of the script, the last one for ever."""

    script: list[Reply]
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""
    released: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving(*script: Reply) -> Iterator[FakeGemini]:
    """Run the server on a free port of this machine."""
    fake = FakeGemini(list(script))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fake.requests.append(body)
            fake.headers.append(dict(self.headers))
            fake.paths.append(self.path)
            reply = fake.script.pop(0) if len(fake.script) > 1 else fake.script[0]
            reply(self, body)

        def log_message(self, format: str, *args: object) -> None:
            """Tests read their own output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield fake
    finally:
        fake.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, kind: str = "application/json") -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def text(answer: str) -> Reply:
    """A candidate with this text."""
    candidate = {"content": {"role": "model", "parts": [{"text": answer}]}, "finishReason": "STOP", "index": 0}
    body = {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 2}}
    return lambda handler, _: send(handler, 200, json.dumps(body).encode())


def stream(*pieces: str, finish: str | None = "STOP") -> Reply:
    """The answer in pieces, as server-sent events; without `finish` the model never says that it is done."""
    return lambda handler, _: _stream(handler, [*map(_piece, pieces), *([_piece("", finish)] if finish else [])])


def cut(*pieces: str) -> Reply:
    """Pieces, then the connection is gone in the middle of the next one."""

    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        _stream(handler, [*map(_piece, pieces)], ends=False)
        handler.wfile.write(b"40\r\ndata: {")
        handler.close_connection = True

    return reply


def fails_after(*pieces: str) -> Reply:
    """Pieces, then an error in the API's own form."""
    error = {"error": {"code": 503, "message": "internal detail key=hidden-detail", "status": "UNAVAILABLE"}}
    return lambda handler, _: _stream(handler, [*map(_piece, pieces), error])


def stalls_after(fake: Callable[[], FakeGemini], *pieces: str) -> Reply:
    """Pieces, then nothing until the test is over."""

    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        _stream(handler, [*map(_piece, pieces)], ends=False)
        fake().released.wait(30)
        handler.close_connection = True

    return reply


def drips(fake: Callable[[], FakeGemini]) -> Reply:
    """A byte now and then: enough that no read ever times out, never enough for an event."""

    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        _stream(handler, [], ends=False)
        while not fake().released.wait(0.1):
            try:
                handler.wfile.write(b"1\r\n:\r\n")
            except OSError:
                break
        handler.close_connection = True

    return reply


def _piece(answer: str, finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": [{"text": answer}]}, "index": 0}
    return {"candidates": [{**candidate, "finishReason": finish} if finish else candidate], "modelVersion": "fake"}


def _stream(handler: BaseHTTPRequestHandler, records: list[dict[str, Any]], ends: bool = True) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for record in records:
        event = b"data: " + json.dumps(record).encode() + b"\r\n\r\n"
        handler.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
        handler.wfile.flush()
    if ends:
        handler.wfile.write(b"0\r\n\r\n")


def blocked(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    """A prompt that the model refuses."""
    send(handler, 200, json.dumps({"promptFeedback": {"blockReason": "SAFETY"}}).encode())


def status(code: int) -> Reply:
    """An error in the API's own form, with a text that must reach nobody."""
    error = {"error": {"code": code, "message": "internal detail key=hidden-detail", "status": "FAILED"}}
    return lambda handler, _: send(handler, code, json.dumps(error).encode())


def garbage(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    """Something that is no JSON."""
    send(handler, 200, b"<html>not what you think</html>", "text/html")


def nothing(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    """The connection is closed without a reply."""
    handler.close_connection = True


def silence(fake: Callable[[], FakeGemini]) -> Reply:
    """No reply until the test is over."""

    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        fake().released.wait(30)
        nothing(handler, body)

    return reply
