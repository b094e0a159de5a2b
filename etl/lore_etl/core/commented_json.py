"""Read JSON with comments, as configuration files of editors and compilers contain it."""

from __future__ import annotations

import json
import re
from typing import Any

_STRING = r'("(?:\\.|[^"\\])*(?:"|\Z))'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)  # an open end would take quadratic time
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)


def loads(text: str) -> Any:
    """Parse JSON that may contain comments, and commas after the last value. Raises ValueError, RecursionError."""
    without_comments = _COMMENT.sub(lambda match: match[1] or " ", text)
    return json.loads(_LAST_COMMA.sub(lambda match: match[1] or " ", without_comments))
