"""Limit the time and size of HTTP requests. The timeouts of httpx begin anew with each byte, so they limit neither."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass
class _Allowance:
    """The rest of a request: the time at which it must end, and the bytes that its reply may still have."""

    end: float
    size: int

    def seconds(self, timeout: float | None) -> float:
        """Return the timeout of one step. Raises httpx.ReadTimeout if the time is over."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise httpx.ReadTimeout("the request took too long")
        return left if timeout is None else min(left, timeout)


_allowed: ContextVar[_Allowance] = ContextVar("allowed")


def limit_requests(client: httpx.Client, seconds: Callable[[], float], size: int) -> None:
    """Limit whole requests at their network, because httpx has no option for it. Raises ReadTimeout, ReadError."""
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.HTTPTransport):
            pool: Any = transport._pool
            pool._network_backend = _Network(pool._network_backend)

    def begin(request: httpx.Request) -> None:
        _allowed.set(_Allowance(time.monotonic() + seconds(), size))

    hooks = client.event_hooks
    client.event_hooks = {**hooks, "request": [*hooks["request"], begin]}


class _Wrapper:
    """A part of the network that leaves everything else to what it wraps."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Network(_Wrapper):
    def connect_tcp(self, *place: Any, timeout: float | None = None, **more: Any) -> _Stream:
        return _Stream(self._inner.connect_tcp(*place, timeout=_allowed.get().seconds(timeout), **more))


class _Stream(_Wrapper):
    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        allowed = _allowed.get()
        data: bytes = self._inner.read(max_bytes, timeout=allowed.seconds(timeout))
        allowed.size -= len(data)
        if allowed.size < 0:
            raise httpx.ReadError("the reply is too large")
        return data

    def write(self, data: bytes, timeout: float | None = None) -> None:
        self._inner.write(data, timeout=_allowed.get().seconds(timeout))

    def start_tls(self, *secrets: Any, timeout: float | None = None, **more: Any) -> _Stream:
        return _Stream(self._inner.start_tls(*secrets, timeout=_allowed.get().seconds(timeout), **more))
