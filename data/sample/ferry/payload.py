"""Job arguments as JSON text, with tags for a few types that JSON lacks (see ADR 0003)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from ferry.errors import PayloadError, PayloadTooLarge

MAX_PAYLOAD_BYTES = 65_536
TAG = "$ferry"

_encoders: dict[type, tuple[str, Callable[[Any], str]]] = {}
_decoders: dict[str, Callable[[str], Any]] = {}


def codec(kind: type, tag: str, encode: Callable[[Any], str] = str) -> Callable[..., Callable[[str], Any]]:
    """Decorator: register the decorated function as the decoder of `kind`.

    Args:
        kind: the exact type to encode; subclasses are not covered.
        tag: the short name under which values are stored. It must never change afterwards.
        encode: turns a value into text.

    Example:
        >>> @codec(complex, "complex")
        ... def decode_complex(text: str) -> complex:
        ...     return complex(text)
    """

    def register(decode: Callable[[str], Any]) -> Callable[[str], Any]:
        if tag in _decoders:
            raise PayloadError(f"the tag {tag!r} is taken")
        _encoders[kind] = (tag, encode)
        _decoders[tag] = decode
        return decode

    return register


def _default(value: Any) -> dict[str, str]:
    known = _encoders.get(type(value))
    if known is None:
        raise PayloadError(f"cannot put a {type(value).__name__} into a job; pass an id or a path")
    tag, encode = known
    return {TAG: tag, "value": encode(value)}


def _object_hook(found: dict[str, Any]) -> Any:
    if TAG not in found:
        return found
    decode = _decoders.get(found[TAG])
    if decode is None:
        raise PayloadError(f"unknown tag {found[TAG]!r}; is its codec imported?")
    return decode(found["value"])


def encode(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The arguments as JSON text.

    Raises:
        PayloadError: a value has no JSON form and no codec.
        PayloadTooLarge: the text exceeds MAX_PAYLOAD_BYTES (64 KiB).
    """
    body = {"args": list(args), "kwargs": dict(kwargs)}
    text = json.dumps(body, default=_default, separators=(",", ":"), ensure_ascii=False)
    size = len(text.encode())
    if size > MAX_PAYLOAD_BYTES:
        raise PayloadTooLarge(size, MAX_PAYLOAD_BYTES)
    return text


def decode(text: str) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments from the text that `encode` wrote."""
    body = json.loads(text, object_hook=_object_hook)
    return body["args"], body["kwargs"]


@codec(datetime, "datetime", datetime.isoformat)
def _datetime(text: str) -> datetime:
    return datetime.fromisoformat(text)


@codec(date, "date", date.isoformat)
def _date(text: str) -> date:
    return date.fromisoformat(text)


@codec(Decimal, "decimal")
def _decimal(text: str) -> Decimal:
    return Decimal(text)


@codec(UUID, "uuid")
def _uuid(text: str) -> UUID:
    return UUID(text)
