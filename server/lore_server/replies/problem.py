"""Convert errors to the records that every interface shows."""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING

from lore_etl.core.errors import InternalError, LoreError, StorageError
from lore_server.replies.envelope import enveloped

if TYPE_CHECKING:
    from lore_server.replies.records import ErrorRecord, KnowledgeErrorRecord

log = logging.getLogger(__name__)


def problem(error: BaseException) -> ErrorRecord | KnowledgeErrorRecord:
    """Return the error as every interface shows it, in the envelope of its toolset."""
    record = error_record(error)
    context = error.context if isinstance(error, LoreError) else None
    return record if context is None else enveloped(record, context)


def error_record(error: BaseException) -> ErrorRecord:
    """Return the record of an error; an unforeseen one is logged, and its text is not disclosed."""
    own_id = error.trace_id if isinstance(error, LoreError) else None
    trace_id = own_id or secrets.token_hex(8)
    if isinstance(error, OSError):
        log.error("system error, trace_id=%s", trace_id, exc_info=error)
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
