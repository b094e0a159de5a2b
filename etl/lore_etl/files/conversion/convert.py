"""Convert a document to text in a child process, so that a damaged or hostile file cannot affect other files."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import PurePosixPath

from lore_etl.files.conversion.formats import NEEDS_EXTRA, format_of, readable
from lore_etl.files.conversion.sandbox import OUT_OF_MEMORY, ConversionLimits
from lore_etl.files.scan import Unreadable
from lore_etl.system.processes import quiet

MAX_BYTES = 50_000_000

DEFAULT_LIMITS = ConversionLimits()
_OUT_OF_TIME = frozenset({-getattr(signal, "SIGXCPU", 0), -getattr(signal, "SIGKILL", 0)})
_ABORTED = -getattr(signal, "SIGABRT", 0)


class NotConverted(Unreadable):
    """The error for a document without readable text; its message appears in the report."""

    is_final = True


def converted(path: str, data: bytes, limits: ConversionLimits = DEFAULT_LIMITS) -> str:
    """Return the text of a document, with a heading for each page, sheet, slide or chapter.

    Raises:
        NotConverted: the document is damaged, encrypted or too large, or has no text.
    """
    kind = format_of(path)
    suffix = PurePosixPath(path).suffix.lower()
    if kind is None or suffix not in readable():
        raise NotConverted(NEEDS_EXTRA)
    command = [sys.executable, "-I", "-m", "lore_etl.files.conversion.converter"]
    arguments = [kind.reader, suffix.removeprefix("."), *map(str, limits)]
    try:
        done = subprocess.run(
            [*command, *arguments],
            input=data,
            capture_output=True,
            check=False,
            timeout=limits.seconds * 4,
            env={},
            **quiet(),
        )
    except subprocess.TimeoutExpired as error:
        raise NotConverted(_too_slow(limits)) from error
    if done.returncode:
        raise NotConverted(_ending(done.returncode, kind.title, limits))
    reply = json.loads(done.stdout)
    if "text" not in reply:
        raise NotConverted(reply["problem"])
    return str(reply["text"])


def _ending(code: int, title: str, limits: ConversionLimits) -> str:
    """Return why the child ended, by its exit code."""
    if code in _OUT_OF_TIME:
        return _too_slow(limits)
    if code in (OUT_OF_MEMORY, _ABORTED):
        return f"too large: reading it needs more than {limits.megabytes:,} MB of memory"
    return f"damaged, or not a {title} file"


def _too_slow(limits: ConversionLimits) -> str:
    return f"too large: reading it takes more than {limits.seconds} s"
