"""Callbacks for the progress of a call and for the text of an answer as it is written."""

from collections.abc import Callable
from dataclasses import dataclass

from lore_etl.core.progress import Progress, silent


def ignore_text(text: str) -> None:
    """Ignore the text of an answer, because nobody reads it before the reply."""


@dataclass(frozen=True)
class Listener:
    """The callbacks of a call. They run in the working thread and must be fast."""

    progress: Progress = silent
    text: Callable[[str], None] = ignore_text


NOBODY = Listener()
