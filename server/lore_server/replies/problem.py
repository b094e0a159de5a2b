"""Convert errors to the records of every interface; `projects` has the seed's envelope around Lore's record."""

import logging
import secrets
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from lore_etl.core.dates import precise_timestamp
from lore_etl.core.errors import FileSystemError, InternalError, InvalidArgument, InvalidInput, LoreError, StorageError
from lore_etl.core.text import encodable
from lore_server.replies.records import ErrorRecord, KnowledgeErrorContextRecord, KnowledgeErrorRecord

log = logging.getLogger(__name__)
Error = TypeVar("Error", bound=LoreError)
CONTEXT = ("project_id", "filename", "chapter_title", "section_header", "commit")
LONGEST = 300
_CODES = {InvalidArgument.code: InvalidInput.code, StorageError.code: FileSystemError.code}


def problem(error: BaseException) -> ErrorRecord | KnowledgeErrorRecord:
    """Return the error as every interface shows it: in the envelope of its toolset, `error` is the message."""
    record = error_record(error)
    if not isinstance(error, LoreError) or error.context is None:
        return record
    about = {name: encodable(text) for name, text in error.context.items()}
    return {
        "success": False,
        "error": record["message"],
        "code": seed_code(record["code"]),
        "context": cast("KnowledgeErrorContextRecord", {**about, "traceId": record["trace_id"]}),
        "message": record["message"],
        "hint": record["hint"],
        "trace_id": record["trace_id"],
    }


def error_record(error: BaseException) -> ErrorRecord:
    """Return the record of an error; an unexpected error is logged, and its text is not disclosed."""
    trace_id = getattr(error, "trace_id", None) or secrets.token_hex(8)
    if isinstance(error, OSError):
        log.info("system error, trace_id=%s", trace_id, exc_info=error)  # it is no bug, so users see no traceback
        error = StorageError(f"System error: {error.strerror or type(error).__name__}.")
    elif not isinstance(error, LoreError):
        log.error("unexpected error, trace_id=%s", trace_id, exc_info=error)
        error = InternalError("Internal error in Lore.")
    else:
        log.info("%s: %s trace_id=%s", error.code, error.message, trace_id)
        if isinstance(error, InternalError):
            log.error("%s trace_id=%s", error.message, trace_id, exc_info=error)
    return {
        "error": True,
        "code": error.code,
        "message": error.message[:2000],
        "hint": error.hint[:2000],
        "trace_id": trace_id,
    }


def in_envelope(error: Error, envelope: str, arguments: Mapping[str, Any]) -> Error:
    """Return the error, with its context if the operation reports errors in an envelope."""
    if envelope and error.context is None:
        error.context = {"timestamp": precise_timestamp(), **context_of(arguments)}
    return error


def context_of(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the names in the arguments of a call, but never content."""
    return {name: arguments[name][:LONGEST] for name in CONTEXT if isinstance(arguments.get(name), str)}


def seed_code(code: str) -> str:
    return _CODES.get(code, code)
