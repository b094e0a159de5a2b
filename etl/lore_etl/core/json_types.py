"""The type of JSON whose shape is only known at run time."""

from __future__ import annotations

from typing import Any

JSON = dict[str, Any]
"""A JSON object. Check its values where you read them; replies have types of their own in `replies/records.pyi`."""
