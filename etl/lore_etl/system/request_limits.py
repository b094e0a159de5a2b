"""Limit the time and size of HTTP requests. The timeouts of httpx begin anew with each byte, so they limit neither.

httpx2 is a later version of it, which the clients of models use.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx
    import httpx2


@dataclass
class _Allowance:
    """The rest of a request: the time at which it must end, and the bytes that its reply may still have."""

    end: float
    size: int
    library: Any

    def seconds(self, timeout: float | None) -> float:
        """Return the timeout of one step. Raises ReadTimeout of the library if the time is over."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise self.library.ReadTimeout("the request took too long")
        return left if timeout is None else min(left, timeout)


_allowed: ContextVar[_Allowance] = ContextVar("allowed")


def limit_requests(
    client: httpx.Client | httpx2.Client, seconds: Callable[[], float], size: int, is_unpacked: bool = False
) -> None:
    """Limit whole requests at their network, because httpx has no option for it. Raises ReadTimeout, ReadError.

    A client that `is_unpacked` raises DecodingError for a compressed reply: a short one may unpack to gigabytes.
    """
    library = sys.modules[type(client).__module__.partition(".")[0]]
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, library.HTTPTransport):
            pool: Any = transport._pool
            pool._network_backend = _Limited(pool._network_backend)

    def begin(request: Any) -> None:
        _allowed.set(_Allowance(time.monotonic() + seconds(), size, library))

    def check(response: Any) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise library.DecodingError("the reply is compressed")

    hooks: Any = client.event_hooks
    checks = [check] if is_unpacked else []
    client.event_hooks = {"request": [*hooks["request"], begin], "response": [*checks, *hooks["response"]]}
    if is_unpacked:
        client.headers["accept-encoding"] = "identity"


class _Limited:
    """The network, or a stream of it, within the allowance of the request; everything else is left to it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, *place: Any, timeout: float | None = None, **more: Any) -> _Limited:
        return _Limited(self._inner.connect_tcp(*place, timeout=_allowed.get().seconds(timeout), **more))

    def start_tls(self, *secrets: Any, timeout: float | None = None, **more: Any) -> _Limited:
        return _Limited(self._inner.start_tls(*secrets, timeout=_allowed.get().seconds(timeout), **more))

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        allowed = _allowed.get()
        data: bytes = self._inner.read(max_bytes, timeout=allowed.seconds(timeout))
        allowed.size -= len(data)
        if allowed.size < 0:
            raise allowed.library.ReadError("the reply is too large")
        return data

    def write(self, data: bytes, timeout: float | None = None) -> None:
        self._inner.write(data, timeout=_allowed.get().seconds(timeout))
