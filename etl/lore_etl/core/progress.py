"""The callback for the progress of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from lore_etl.core.json_types import JSON

Progress = Callable[[str, int, int], None]
"""A fast function called with (stage, done, total) between steps. If it raises, the run ends consistently."""


class Plan(NamedTuple):
    """The files that a build has found, before it reads them; `inventory` only if it reads all of them."""

    to_read: int
    files: int
    deleted: int
    inventory: JSON | None


Announce = Callable[[Plan], None]
"""A fast function that receives the plan of a build once it is known."""


def unannounced(plan: Plan) -> None:
    """Ignore the plan."""


def silent(stage: str, done: int, total: int) -> None:
    """Ignore progress."""
