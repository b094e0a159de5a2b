"""Limit the replies of other servers: the seconds that they make a client wait, and the bytes that they contain."""

from __future__ import annotations

import email.utils
import math
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import httpx2

from lore_etl.core.errors import ProviderUnavailable

if TYPE_CHECKING:
    import httpx

LONGEST_PAUSE = 86_400.0
READ_SECONDS = 60.0
"""The maximum time for the content of a reply to arrive."""


class ReplyRefused(ProviderUnavailable):
    """A reply is too large, too slow, damaged, or compressed in a way that was not requested."""


UNPACKED = {"Accept-Encoding": "identity"}


class Bounded(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """The content of an UNPACKED reply for a library that reads all of it; raises `refused` after so many bytes."""

    def __init__(self, reply: httpx2.Response, limit: int, refused: Callable[[str], Exception]) -> None:
        reply.headers.pop("content-encoding", None)  # a little content may unpack to gigabytes
        self._content: Any = reply.stream
        self._left, self._limit, self._refused = limit, limit, refused

    def _counted(self, part: bytes) -> bytes:
        self._left -= len(part)
        if self._left < 0:
            raise self._refused(f"longer than {self._limit // 1_000_000} MB")
        return part

    def __iter__(self) -> Iterator[bytes]:
        return map(self._counted, self._content)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._content:
            yield self._counted(part)

    def close(self) -> None:
        self._content.close()

    async def aclose(self) -> None:
        await self._content.aclose()


def retry_seconds(header: str | None, now: float) -> float | None:
    """Return the seconds from 0 to a day that a `Retry-After` header asks for; None unless it is a number or a date."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return None if math.isnan(seconds) else min(LONGEST_PAUSE, max(0.0, seconds))


def content_of(reply: httpx.Response, limit: int) -> bytes:
    """Return the content of a streamed reply; gzip is unpacked up to the limit. Raises ReplyRefused."""
    coding = reply.headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity", "gzip"):
        raise ReplyRefused("compressed in a way that was not requested")
    data, end = bytearray(), time.monotonic() + READ_SECONDS
    for part in reply.iter_raw():
        data += part
        if len(data) > limit:
            raise ReplyRefused(f"too large: over {limit:,} bytes")
        if time.monotonic() > end:
            raise ReplyRefused(f"slow: it took over {READ_SECONDS:.0f} s")
    return unpacked(data, limit) if coding == "gzip" else bytes(data)


def unpacked(data: bytes | bytearray, limit: int) -> bytes:
    """Return the content of a gzip file. Raises ReplyRefused."""
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        found = reader.decompress(data, limit + 1)
    except zlib.error as error:
        raise ReplyRefused("damaged") from error
    if len(found) > limit:
        raise ReplyRefused(f"too large: over {limit:,} bytes when it is unpacked")
    if not reader.eof:
        raise ReplyRefused("damaged")
    return found
