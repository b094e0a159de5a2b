"""Run a local HTTP server that speaks Gemini's wire format, for the real google-genai client."""

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
    """Answers each request with the next reply of the script, and repeats the last reply."""

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
            """Log nothing, because tests read their own output."""

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
    """Return a candidate with this text."""
    candidate = {"content": {"role": "model", "parts": [{"text": answer}]}, "finishReason": "STOP", "index": 0}
    body = {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 2}}
    return lambda handler, _: send(handler, 200, json.dumps(body).encode())


def stream(*pieces: str, finish: str | None = "STOP") -> Reply:
    """Send the answer in pieces, as server-sent events; without `finish` the model never reports the end."""
    return lambda handler, _: _stream(handler, [*map(_piece, pieces), *([_piece("", finish)] if finish else [])])


def cut(*pieces: str) -> Reply:
    """Send some pieces, then close the connection in the middle of the next piece."""

    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        _stream(handler, [*map(_piece, pieces)], ends=False)
        handler.wfile.write(b"40\r\ndata: {")
        handler.close_connection = True

    return reply


def fails_after(*pieces: str) -> Reply:
    """Send some pieces, then an error in the API's own format."""
    error = {"error": {"code": 503, "message": "internal detail key=hidden-detail", "status": "UNAVAILABLE"}}
    return lambda handler, _: _stream(handler, [*map(_piece, pieces), error])


def stalls_after(fake: Callable[[], FakeGemini], *pieces: str) -> Reply:
    """Send some pieces, then nothing until the test ends."""

    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        _stream(handler, [*map(_piece, pieces)], ends=False)
        fake().released.wait(30)
        handler.close_connection = True

    return reply


def drips(fake: Callable[[], FakeGemini]) -> Reply:
    """Send single bytes, often enough that no read times out, but never a complete event."""

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
    """Reply that the model refuses the prompt."""
    send(handler, 200, json.dumps({"promptFeedback": {"blockReason": "SAFETY"}}).encode())


def status(code: int) -> Reply:
    """Return an error in the API's own format, with a text that must not be passed on."""
    error = {"error": {"code": code, "message": "internal detail key=hidden-detail", "status": "FAILED"}}
    return lambda handler, _: send(handler, code, json.dumps(error).encode())


def garbage(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    """Reply with text that is not valid JSON."""
    send(handler, 200, b"<html>not what you think</html>", "text/html")


def nothing(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
    """Close the connection without a reply."""
    handler.close_connection = True


def silence(fake: Callable[[], FakeGemini]) -> Reply:
    """Send no reply until the test ends."""

    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        fake().released.wait(30)
        nothing(handler, body)

    return reply
