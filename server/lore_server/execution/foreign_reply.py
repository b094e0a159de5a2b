"""Limit the replies of other servers: the seconds that they make a client wait, and the bytes that they contain."""

import email.utils
import math
import time
import zlib

import httpx

from lore_etl.core.errors import ProviderUnavailable

LONGEST_PAUSE = 86_400.0
READ_SECONDS = 60.0
"""The maximum time for the content of a reply to arrive."""


class ReplyRefused(ProviderUnavailable):
    """A reply is too large, too slow, damaged, or compressed in a way that was not requested."""


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
