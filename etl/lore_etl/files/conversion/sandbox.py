"""The limits on the conversion of a document, and how the child process applies them to itself."""

from __future__ import annotations

import codecs
import sys
from typing import NamedTuple

_CODECS = ("cp437", "utf-8-sig", "utf-16-le")
"""Codecs that readers use; Python opens their files at the first use."""
OUT_OF_MEMORY = 3
"""The exit code of a child that ran out of memory."""


class ConversionLimits(NamedTuple):
    """The maximum processor time, memory and length of the text of one document."""

    seconds: int = 60
    megabytes: int = 1_024
    characters: int = 20_000_000


def limit_resources(limits: ConversionLimits) -> None:
    """Limit this process. Windows has no such limits; there the parent limits only the time."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1))
        if sys.platform == "linux":  # macOS does not enforce it
            resource.setrlimit(resource.RLIMIT_AS, (limits.megabytes << 20,) * 2)


def open_nothing_more() -> None:
    """Make every further attempt to open a file, a socket or a pipe fail. Windows has no such limit."""
    for name in _CODECS:
        codecs.lookup(name)
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
