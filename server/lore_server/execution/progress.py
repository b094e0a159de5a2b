"""Who listens to a call while it runs: to its progress, and to an answer as it is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lore_etl.core.model import Progress, silent


def unheard(text: str) -> None:
    """Text that nobody reads before the reply."""


@dataclass(frozen=True)
class Listener:
    """Both are called from the thread that works, and must be cheap."""

    progress: Progress = silent
    text: Callable[[str], None] = unheard


NOBODY = Listener()
