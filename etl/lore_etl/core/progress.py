"""The callbacks for the progress of a run, and for the text of an answer as it is written."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from lore_etl.core.json_types import JSON

ENOUGH = 32  # steps, as in the first batch of passages: the first of them also load models and rules
Progress = Callable[[str, int, int], None]
"""A fast function called with (stage, done, total) between steps. If it raises, the run ends consistently."""


class Plan(NamedTuple):
    """The files that a build has found, before it reads them; `inventory` only if it reads all of them."""

    to_read: int
    files: int
    removed: int  # indexed files that it does not find any more, because they were deleted or are ignored now
    inventory: JSON | None


Announce = Callable[[Plan], None]  # a fast function that receives the plan of a build once it is known


def silent(stage: str, done: int, total: int) -> None:
    """Ignore progress."""


def time_left(done: int, total: int, elapsed: float) -> str:
    """Return how long the rest of a stage takes at its pace so far, as text; empty if that is not known yet."""
    if not done < total or not (done >= ENOUGH or 10 * done >= total):
        return ""
    seconds = (total - done) * max(0.001, elapsed) / done
    return f"{seconds:.0f} s left" if seconds < 120 else f"{seconds / 60:.0f} min left"


def ignore(said: object) -> None:
    """Ignore the plan of a build, or the text of an answer, because nobody reads it before the reply."""


@dataclass(frozen=True)
class Listener:
    """The callbacks of a call. They run in the working thread and must be fast."""

    progress: Progress = silent
    text: Callable[[str], None] = ignore


NOBODY = Listener()
