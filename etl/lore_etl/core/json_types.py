"""The type of a JSON object whose shape is only known at run time, and JSON with comments as editors write it."""

import json
import re
from typing import Any

JSON = dict[str, Any]
"""A JSON object. Check its values when you read them; replies have their own types in `replies/records.pyi`."""

_STRING = r'("(?:\\.|[^"\\])*(?:"|\Z))'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)  # an open end would take quadratic time
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)


def loads_with_comments(text: str) -> Any:
    """Parse JSON that may contain comments, and commas after the last value. Raises ValueError, RecursionError."""
    without_comments = _COMMENT.sub(lambda match: match[1] or " ", text)
    return json.loads(_LAST_COMMA.sub(lambda match: match[1] or " ", without_comments))
