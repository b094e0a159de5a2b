"""Set the number of hypothesis examples: few and always the same, ten times as many and random in `make test-all`."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

LONG = "long"
"""The profile of the long run."""


def trying(examples: int, **more: Any) -> settings:
    """Return the settings of a test that tries this many examples in every run."""
    return settings(
        max_examples=(10 if is_long() else 1) * examples, deadline=None, suppress_health_check=list(HealthCheck), **more
    )


def is_long() -> bool:
    """Return whether this is the long run."""
    return settings.get_current_profile_name() == LONG
