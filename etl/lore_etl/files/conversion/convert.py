"""Convert a document to text in a child process, so that a damaged or hostile file cannot affect other files."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import NamedTuple

from lore_etl.core.json_types import JSON
from lore_etl.files.conversion.sandbox import DEFAULT_BUDGET, ORDINARY, OUT_OF_MEMORY, ConversionLimits, SyncBudget
from lore_etl.files.scan import Unreadable
from lore_etl.system.processes import quiet

MAX_BYTES = 50_000_000
PATIENCE = 4  # times the limit of processor time: the time after which a child is ended
_NONE = 256  # not a signal: Windows has none of these
_OUT_OF_TIME = frozenset({-getattr(signal, "SIGXCPU", _NONE), -getattr(signal, "SIGKILL", _NONE)})
_ABORTED = -getattr(signal, "SIGABRT", _NONE)
CONVERSION_VERSION = "7"  # increase it with every change that produces a different text for the same document
EXTRA = "documents"
NEEDS_EXTRA = f"needs the extra `{EXTRA}`"  # the reason for files that are left out without it


class DocumentFormat(NamedTuple):
    """A format: its title, the module that reads it, and the package that this module imports, if it is optional."""

    title: str
    reader: str
    module: str | None


_PDF = DocumentFormat("PDF", "pdf", "pypdfium2")
_WORD = DocumentFormat("Word", "office", "office_oxide")
_SLIDES = DocumentFormat("PowerPoint", "office", "office_oxide")
_SHEETS = DocumentFormat("Excel", "office", "office_oxide")
FORMATS = {
    ".pdf": _PDF, ".docx": _WORD, ".doc": _WORD, ".pptx": _SLIDES, ".ppt": _SLIDES, ".xlsx": _SHEETS, ".xls": _SHEETS,
    ".epub": DocumentFormat("EPUB", "epub", None),
}  # fmt: skip


class NotConverted(Unreadable):
    """The error for a document without readable text; its message appears in the report."""

    is_final = True


class Postponed(Unreadable):
    """The error for a document that waits for the next sync, because this one has spent its budget."""


class Converter:
    """Converts the documents of one sync, as long as another one certainly stays within the budget.

    Every sync converts at least one. All have the same limits, so that one that is too large need not be tried again.
    """

    def __init__(self, budget: SyncBudget = DEFAULT_BUDGET) -> None:
        self._budget = budget
        self._seconds, self._megabytes = 0.0, 0

    def convert(self, path: str, data: bytes) -> str:
        """Return the text, with a heading for each page, sheet, slide or chapter. Raises NotConverted, Postponed."""
        limits = self._budget.document
        is_over = self._megabytes + _counted(limits.megabytes) > self._budget.megabytes
        if self._seconds and (is_over or self._seconds + limits.seconds > self._budget.seconds):
            raise Postponed("it waits for the next sync")
        started, used, megabytes = time.monotonic(), _children_seconds(), limits.megabytes
        try:
            reply = _reply(path, data, limits)
            megabytes = int(reply["megabytes"])
        finally:
            waited = (time.monotonic() - started) / PATIENCE  # a child that hangs uses no processor time
            self._seconds += max(waited, _children_seconds() - used)
            self._megabytes += _counted(megabytes)
        if "text" not in reply:
            raise NotConverted(reply["problem"])
        return str(reply["text"])


def _children_seconds() -> float:
    """Return the processor time of ended child processes; always 0 on Windows."""
    times = os.times()
    return times.children_user + times.children_system


def _counted(megabytes: int) -> int:
    return max(0, megabytes - ORDINARY)


def _reply(path: str, data: bytes, limits: ConversionLimits) -> JSON:
    """Return the text or the problem of a document, and the megabytes that it took. Raises NotConverted."""
    kind = format_of(path)
    suffix = PurePosixPath(path).suffix.lower()
    if kind is None or suffix not in readable():
        raise NotConverted(NEEDS_EXTRA)
    too_slow = f"too large: reading it takes more than {limits.seconds} s"
    command = [sys.executable, "-I", "-m", "lore_etl.files.conversion.sandbox"]
    command += [kind.reader, suffix.removeprefix("."), *map(str, limits)]
    patience = limits.seconds * PATIENCE
    try:
        done = subprocess.run(
            command, input=data, capture_output=True, check=False, timeout=patience, env={}, **quiet()
        )
    except subprocess.TimeoutExpired as error:
        raise NotConverted(too_slow) from error
    if done.returncode in _OUT_OF_TIME:
        raise NotConverted(too_slow)
    if done.returncode in (OUT_OF_MEMORY, _ABORTED):
        raise NotConverted(f"too large: reading it needs more than {limits.megabytes:,} MB of memory")
    if done.returncode:
        raise NotConverted(f"damaged, or not a {kind.title} file")
    reply: JSON = json.loads(done.stdout)
    return reply


def format_of(path: str) -> DocumentFormat | None:
    return FORMATS.get(PurePosixPath(path).suffix.lower())


def readable() -> frozenset[str]:
    installed = {module: find_spec(module) is not None for _, _, module in FORMATS.values() if module}
    return frozenset(suffix for suffix, kind in FORMATS.items() if not kind.module or installed[kind.module])
