"""Run a local HTTP server that speaks the wire format of an answer model, for the real client libraries."""

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.harness.local_server import QuietHandler, listening

Reply = Callable[[QuietHandler, dict[str, Any]], None]
Text = str | Callable[[str], str]
"""A text, or a function that writes one for a prompt."""
HIDDEN = "internal detail key=hidden-detail"


@dataclass
class ModelServer:
    """Answers each request with the next reply of the script, and repeats the last reply."""

    script: list[Reply]
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""
    released: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving(*script: Reply) -> Iterator[ModelServer]:
    """Run the server on a free port of this machine."""
    fake = ModelServer(list(script))

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fake.requests.append(body)
            fake.headers.append(dict(self.headers))
            fake.paths.append(self.path)
            reply = fake.script.pop(0) if len(fake.script) > 1 else fake.script[0]
            self.released = fake.released
            reply(self, body)

    with listening(Handler) as port:
        fake.url = f"http://127.0.0.1:{port}"
        try:
            yield fake
        finally:
            fake.released.set()


def send(handler: QuietHandler, status: int, body: bytes, **headers: str) -> None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    handler.send(status, body, {"Content-Type": "application/json", **named})


class Wire:
    """The messages of one provider's API."""

    name: str
    ending = b""
    """Data sent after a complete stream."""

    def whole(self, text: str, finish: str) -> dict[str, Any]:
        raise NotImplementedError

    def piece(self, text: str, finish: str | None = None) -> dict[str, Any]:
        raise NotImplementedError

    def last(self) -> dict[str, Any]:
        """Return the message with the usage: 100 tokens read, 20 written."""
        raise NotImplementedError

    def error(self, code: int) -> dict[str, Any]:
        raise NotImplementedError

    def prompt_of(self, body: dict[str, Any]) -> str:
        raise NotImplementedError

    def is_streamed(self, path: str, body: dict[str, Any]) -> bool:
        raise NotImplementedError

    def refusal(self) -> dict[str, Any]:
        raise NotImplementedError

    stop: str
    limit: str

    def text(self, answer: Text, finish: str | None = None) -> Reply:
        """Answer with this text: in one message, or in a stream of one piece if the request asks for a stream."""

        def reply(handler: QuietHandler, body: dict[str, Any]) -> None:
            written = answer if isinstance(answer, str) else answer(self.prompt_of(body))
            if self.is_streamed(handler.path, body):
                self._stream(handler, [self.piece(written), self.piece("", finish or self.stop), self.last()])
            else:
                send(handler, 200, json.dumps(self.whole(written, finish or self.stop)).encode())

        return reply

    def stream(self, answer: Text, size: int = 7, ends: bool = True) -> Reply:
        """Send the answer in pieces of `size` characters; with `ends` False, the model never reports the end."""

        def reply(handler: QuietHandler, body: dict[str, Any]) -> None:
            end = [self.piece("", self.stop), self.last()] if ends else []
            self._stream(handler, [*self._pieces(answer, body, size), *end])

        return reply

    def cut(self, answer: Text = "") -> Reply:
        """Send some pieces, then close the connection in the middle of the next piece."""

        def reply(handler: QuietHandler, body: dict[str, Any]) -> None:
            self._stream(handler, self._pieces(answer, body, 7), is_open=True)
            handler.wfile.write(b"40\r\ndata: {")
            handler.close_connection = True

        return reply

    def fails_after(self, answer: Text = "") -> Reply:
        """Send some pieces, then an error in the API's own format."""
        return lambda handler, body: self._stream(handler, [*self._pieces(answer, body, 7), self.error(503)])

    def stalls_after(self, answer: Text = "") -> Reply:
        """Send some pieces, then nothing until the test ends."""

        def reply(handler: Any, body: dict[str, Any]) -> None:
            self._stream(handler, self._pieces(answer, body, 7), is_open=True)
            handler.released.wait()
            handler.close_connection = True

        return reply

    def drips(self) -> Reply:
        """Send single bytes, often enough that no read times out, but never a complete event."""

        def reply(handler: Any, body: dict[str, Any]) -> None:
            self._stream(handler, [], is_open=True)
            while not handler.released.wait(0.1):
                try:
                    handler.wfile.write(b"1\r\n:\r\n")
                except OSError:
                    break
            handler.close_connection = True

        return reply

    def blocked(self, handler: QuietHandler, body: dict[str, Any]) -> None:
        """Reply that the model refuses the prompt."""
        if self.is_streamed(handler.path, body):
            self._stream(handler, [self.refusal()])
        else:
            send(handler, 200, json.dumps(self.refusal()).encode())

    def status(self, code: int, **headers: str) -> Reply:
        """Return an error in the API's own format, with a text that must not be passed on."""
        return lambda handler, _: send(handler, code, json.dumps(self.error(code)).encode(), **headers)

    def _pieces(self, answer: Text, body: dict[str, Any], size: int) -> list[dict[str, Any]]:
        written = answer if isinstance(answer, str) else answer(self.prompt_of(body))
        return [self.piece(written[n : n + size]) for n in range(0, len(written), size)]

    def _stream(self, handler: QuietHandler, records: list[dict[str, Any]], is_open: bool = False) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        events = [b"data: " + json.dumps(record).encode() + b"\r\n\r\n" for record in records]
        for event in [*events, *([self.ending] if self.ending and not is_open else [])]:
            handler.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
            handler.wfile.flush()
        if not is_open:
            handler.wfile.write(b"0\r\n\r\n")


class Gemini(Wire):
    name, stop, limit = "gemini", "STOP", "MAX_TOKENS"

    def refusal(self) -> dict[str, Any]:
        return {"promptFeedback": {"blockReason": "SAFETY"}}

    def whole(self, text: str, finish: str) -> dict[str, Any]:
        return {**self.piece(text, finish), **self.last()}

    def piece(self, text: str, finish: str | None = None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
        return {"candidates": [{**candidate, "finishReason": finish} if finish else candidate], "modelVersion": "fake"}

    def last(self) -> dict[str, Any]:
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 15, "thoughtsTokenCount": 5, "totalTokenCount": 120}
        return {"usageMetadata": usage}

    def error(self, code: int) -> dict[str, Any]:
        return {"error": {"code": code, "message": HIDDEN, "status": "FAILED"}}

    def prompt_of(self, body: dict[str, Any]) -> str:
        return str(body["contents"][0]["parts"][0]["text"])

    def is_streamed(self, path: str, body: dict[str, Any]) -> bool:
        return ":streamGenerateContent" in path


class OpenAI(Wire):
    name, stop, limit = "openai", "stop", "length"
    ending = b"data: [DONE]\n\n"

    def refusal(self) -> dict[str, Any]:
        message = {"role": "assistant", "content": None}
        choice = {"index": 0, "finish_reason": "content_filter", "message": message, "delta": {}}
        return {"id": "1", "object": "chat.completion", "created": 1, "model": "fake", "choices": [choice]}

    def whole(self, text: str, finish: str) -> dict[str, Any]:
        choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
        return {**self.last(), "object": "chat.completion", "choices": [choice]}

    def piece(self, text: str, finish: str | None = None) -> dict[str, Any]:
        return self._chunk([{"index": 0, "delta": {"content": text}, "finish_reason": finish}])

    def last(self) -> dict[str, Any]:
        return {**self._chunk([]), "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}}

    def error(self, code: int) -> dict[str, Any]:
        return {"error": {"code": str(code), "message": HIDDEN, "type": "server_error"}}

    def prompt_of(self, body: dict[str, Any]) -> str:
        return str(body["messages"][-1]["content"])

    def is_streamed(self, path: str, body: dict[str, Any]) -> bool:
        return bool(body.get("stream"))

    def _chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": choices}


GEMINI, OPENAI = Gemini(), OpenAI()


def garbage(handler: QuietHandler, _: dict[str, Any]) -> None:
    """Reply with text that is not valid JSON."""
    send(handler, 200, b"<html>not what you think</html>", Content_Type="text/html")


def nothing(handler: QuietHandler, _: dict[str, Any]) -> None:
    """Close the connection without a reply."""
    handler.close_connection = True


def silence(handler: Any, body: dict[str, Any]) -> None:
    """Send no reply until the test ends."""
    handler.released.wait()
    nothing(handler, body)


def text_of(request: dict[str, Any]) -> str:
    """Return the text that a request wants to have embedded."""
    return str(request["content"]["parts"][0]["text"])


def values_of(text: str, dimension: int = 768) -> list[float]:
    """Return a vector that differs by text; like the API's shortened vectors its length is not 1."""
    return [3.0 + len(text), *(float(ord(character)) for character in text.ljust(dimension - 1)[: dimension - 1])]


def embeddings(dimension: int = 768, fewer: int = 0) -> Reply:
    """Send a vector for each text, or fewer."""

    def reply(handler: QuietHandler, body: dict[str, Any]) -> None:
        rows = [{"values": values_of(text_of(request), dimension)} for request in body["requests"]]
        send(handler, 200, json.dumps({"embeddings": rows[: len(rows) - fewer]}).encode())

    return reply


def embeddings_waiting(most: int) -> Reply:
    """Send vectors; a request for more than this many texts waits until the test releases it."""

    def reply(handler: Any, body: dict[str, Any]) -> None:
        if len(body["requests"]) > most:
            handler.released.wait()
        with suppress(ConnectionError):  # the client gave up and retried
            embeddings()(handler, body)

    return reply


def statements(*rows: tuple[str, Sequence[int], str]) -> str:
    """Return a reply of the agreed form from texts, numbers of passages, and quotes."""
    found = [{"quotes": [quote], "passages": [*of], "text": text} for text, of, quote in rows]
    return json.dumps({"statements": found})


def honest(*texts: str, of: int = 1) -> Callable[[str], str]:
    """Return a model that quotes a line of a passage for each of these texts."""
    return lambda prompt: statements(*((text, [of], quotable(prompt, of)) for text in texts))


def quotable(prompt: str, number: int = 1) -> str:
    """Return the longest line of a passage in a prompt."""
    found = re.search(rf"<passage (\w+) number={number} .*?>\n(.*?)\n</passage \1>", prompt, re.DOTALL)
    assert found is not None
    return max(found[2].split("\n"), key=len).strip()
