"""The user's key for Gemini."""

from __future__ import annotations

import os


def api_key() -> str | None:
    """From the environment only: a key in a file ends up in a commit."""
    return os.environ.get("GEMINI_API_KEY") or None
