"""The user's API key for Gemini."""

from __future__ import annotations

import os


def api_key() -> str | None:
    """Return the key from the environment, never from a file, because files end up in commits."""
    return os.environ.get("GEMINI_API_KEY") or None
