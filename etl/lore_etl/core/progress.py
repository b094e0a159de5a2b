"""The callback for the progress of a run."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""A fast function called with (stage, done, total) between steps. If it raises, the run ends consistently."""


def silent(stage: str, done: int, total: int) -> None:
    """Ignore progress."""
