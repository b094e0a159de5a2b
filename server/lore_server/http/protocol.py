"""uvicorn's HTTP protocol with limits: the time and the headers of a request, and the number of connections."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lore_etl.core.errors import Busy, InvalidArgument, LoreError
from lore_server.http.guard import Crowd, refused, with_our_headers


class LimitedProtocol(HttpToolsProtocol):
    """A connection. By itself, uvicorn waits forever for a request, and limits neither connections nor headers."""

    head_seconds = 10.0
    request_seconds = 60.0  # head and body: 32 MB at 4.5 Mbit/s
    max_connections = 128
    surplus_seconds = 2.0  # for a request that is refused to begin, and again for the client to read the reply
    max_surplus = 1_000  # connections that are refused at the same time; more are closed at once
    max_headers = 100
    max_head_bytes = 65_536  # of the line with the path and all headers, also of those after a body
    crowd = Crowd()

    _head_bytes = 0
    _unread_bytes = 0  # received since the last part of the request that is complete
    _is_refused = False
    _is_surplus = False
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait; a surplus connection is refused only at its request: closing it with unread bytes loses the reply."""
        super().connection_made(transport)
        others = [one for one in self.connections if isinstance(one, LimitedProtocol) and one is not self]
        surplus = sum(one._is_surplus for one in others)
        self._is_surplus = len(others) - surplus >= self.max_connections
        if self._is_surplus and surplus >= self.max_surplus:
            transport.abort()
        else:
            self._await(self.surplus_seconds if self._is_surplus else self.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Ignore blank lines between requests, but do not let them keep the connection open."""
        if self._is_surplus:
            self._turn_away()
            return
        if self._deadline is None and not self._is_answering():
            self._await(self.head_seconds)
        self._unread_bytes += len(data)
        super().data_received(data)
        if self._unread_bytes > self.max_head_bytes and not self._is_refused:
            self._refuse_head()

    def on_message_begin(self) -> None:
        """Start the deadline at the first byte of a request, which may precede the reply to the previous one."""
        if self._deadline is None:
            self._await(self.head_seconds)
        self._head_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value.rstrip(b" \t"))  # the parser removes only the spaces before it
        self._count(len(name) + len(value))

    def on_body(self, body: bytes) -> None:
        self._unread_bytes = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        self._unread_bytes = 0
        self._await(self.request_seconds)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._unread_bytes = 0
        self._stop_waiting()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        if not self._is_refused:
            super().send_400_response(msg)

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self.max_head_bytes or len(self.headers) > self.max_headers:
            self._refuse_head()
            raise ValueError("the headers exceed the limit")  # so that the parser stops

    def _refuse_head(self) -> None:
        self._is_refused = True
        limits = f"{self.max_headers} headers and {self.max_head_bytes:,} bytes"
        self._reject(InvalidArgument(f"A request may have at most {limits} before its body.", "Shorten it."), 431)

    def _await(self, seconds: float) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(seconds, self._expire)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _turn_away(self) -> None:
        """Answer that there are too many connections, then read on until the client closes or time is over."""
        if self._is_refused:
            return
        self._is_refused = True
        full = Busy(f"The limit of {self.max_connections} connections is reached.")
        self._write(full, more={"Retry-After": str(self.crowd.count_refusal())})
        self.transport.write_eof()
        self._await(self.surplus_seconds)

    def eof_received(self) -> None:
        if self._is_surplus:
            self._turn_away()
            self.transport.close()
        else:
            super().eof_received()

    def _expire(self) -> None:
        if not self._is_surplus:
            self._reject(InvalidArgument("The request did not arrive in time.", "Send it again."), 408)
        elif self._is_refused:
            self.transport.close()
        else:
            self._turn_away()

    def _reject(self, error: LoreError, status: int) -> None:
        if not self._is_answering() or not self.cycle.response_started:
            self._write(error, status)
        self.transport.close()

    def _write(self, error: LoreError, status: int | None = None, more: Mapping[str, str] | None = None) -> None:
        response = refused(error, status, {"Connection": "close", **(more or {})})
        line = f"HTTP/1.1 {response.status_code} {HTTPStatus(response.status_code).phrase}\r\n".encode()
        headers = b"".join(name + b": " + value + b"\r\n" for name, value in with_our_headers(response.raw_headers))
        self.transport.write(line + headers + b"\r\n" + bytes(response.body))
