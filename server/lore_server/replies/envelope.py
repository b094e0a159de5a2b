"""The envelope of errors of the toolset `projects`: the seed's fields around our record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from lore_etl.core.clock import precise_timestamp
from lore_etl.core.errors import FileSystemError, InvalidArgument, InvalidInput, LoreError, StorageError
from lore_etl.core.text import encodable

if TYPE_CHECKING:
    from lore_server.replies.records import ErrorRecord, KnowledgeErrorContextRecord, KnowledgeErrorRecord

Error = TypeVar("Error", bound=LoreError)
CONTEXT = ("project_id", "filename", "chapter_title", "section_header", "commit")
LONGEST = 300
_CODES = {InvalidArgument.code: InvalidInput.code, StorageError.code: FileSystemError.code}


def in_envelope(error: Error, envelope: str, arguments: Mapping[str, Any]) -> Error:
    """The error with what it is about, if its operation tells errors in an envelope."""
    if envelope and error.context is None:
        error.context = {"timestamp": precise_timestamp(), **context_of(arguments)}
    return error


def context_of(arguments: Mapping[str, Any]) -> dict[str, str]:
    """What a call was about: names, never content."""
    return {name: arguments[name][:LONGEST] for name in CONTEXT if isinstance(arguments.get(name), str)}


def enveloped(record: ErrorRecord, context: Mapping[str, str]) -> KnowledgeErrorRecord:
    """The record with the seed's fields: `error` is the message there. Half a character is no JSON, and marked."""
    about = {name: encodable(text) for name, text in context.items()}
    about["traceId"] = record["trace_id"]
    return {
        "success": False,
        "error": record["message"],
        "code": seed_code(record["code"]),
        "context": cast("KnowledgeErrorContextRecord", about),
        "message": record["message"],
        "hint": record["hint"],
        "trace_id": record["trace_id"],
    }


def seed_code(code: str) -> str:
    """The code by the seed's name."""
    return _CODES.get(code, code)
