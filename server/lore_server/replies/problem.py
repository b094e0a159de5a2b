"""An error as every face shows it."""

from __future__ import annotations

import logging
import secrets
from typing import Any

from lore_etl.core.errors import InternalError, LoreError, StorageError
from lore_server.replies.envelope import enveloped

log = logging.getLogger(__name__)


def problem(error: BaseException) -> dict[str, Any]:
    """The error as every face shows it; what was not foreseen is logged, not leaked."""
    told = error.trace_id if isinstance(error, LoreError) else None
    trace_id = told or secrets.token_hex(8)
    if isinstance(error, OSError):
        log.error("the system failed, trace_id=%s", trace_id, exc_info=error)
        error = StorageError(f"The system failed: {error.strerror or type(error).__name__}.")
    elif not isinstance(error, LoreError):
        log.error("unforeseen error, trace_id=%s", trace_id, exc_info=error)
        error = InternalError("Something went wrong inside Lore.")
    else:
        log.info("%s: %s trace_id=%s", error.code, error.message, trace_id)
        if isinstance(error, InternalError):
            log.error("%s trace_id=%s", error.message, trace_id, exc_info=error)
    record = {
        "error": True,
        "code": error.code,
        "message": error.message[:2000],
        "hint": error.hint[:2000],
        "trace_id": trace_id,
    }
    return record if error.context is None else enveloped(record, error.context)
