"""Add colour and links to results shown on a terminal."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TextIO

# a result or a reference: its number, the path with its lines, and the rest, which begins with the type in brackets
_PLACE = re.compile(
    r"^(?P<number>\d+\.|\[\d+\]) (?P<place>(?P<path>\S[^\n]*?)(?::\d+(?:-\d+)?)?)(?P<rest>  \[[^\n]*)$", re.MULTILINE
)
_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def takes_style(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that shows colours and the user has not disabled them."""
    if not stream.isatty() or os.environ.get("NO_COLOR"):
        return False
    return os.environ.get("TERM", "dumb") != "dumb" or "WT_SESSION" in os.environ  # the latter on Windows


def styled(text: str, root: Path) -> str:
    """Return visible text with the place of each result in bold and linked to its file, and the details dimmed.

    Only files of the project are linked.
    """
    return _PLACE.sub(lambda match: _styled_place(match, root), text)


def _styled_place(match: re.Match[str], root: Path) -> str:
    place = f"{_BOLD}{match['place']}{_PLAIN}"
    file = root / match["path"]
    if file.is_file() and file.resolve().is_relative_to(root):
        place = f"\x1b]8;;{file.as_uri()}\x1b\\{place}\x1b]8;;\x1b\\"
    return f"{match['number']} {place}{_DIM}{match['rest']}{_PLAIN}"
