"""Choose what only the long run tries: further parameters of a test, and ten times as many, random examples."""

from collections.abc import Container, Iterable
from typing import Any

import pytest
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


def often(values: Iterable[Any], chosen: Container[Any]) -> list[Any]:
    """Return the parameters of a test; those that are not chosen are for the long run only. A tuple has several."""
    return [value if value in chosen else _for_the_long_run(value) for value in values]


def _for_the_long_run(value: Any) -> Any:
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.long)
