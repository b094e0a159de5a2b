"""Set the number of hypothesis examples: few in every run, ten times as many in `make test-all`."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

LONG = "long"
"""The profile of the long run."""


def trying(examples: int, **more: Any) -> settings:
    """Return the settings of a test that tries this many examples in every run."""
    times = 10 if settings.get_current_profile_name() == LONG else 1
    return settings(max_examples=times * examples, deadline=None, suppress_health_check=list(HealthCheck), **more)
