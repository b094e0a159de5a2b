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
    return lambda handler, _: (fake().released.wait(30), nothing(handler, {}))[1]
