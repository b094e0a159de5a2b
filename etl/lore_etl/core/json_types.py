"""The type of a JSON object whose shape is only known at run time."""

from __future__ import annotations

from typing import Any

JSON = dict[str, Any]
"""A JSON object. Check its values when you read them; replies have their own types in `replies/records.pyi`."""
