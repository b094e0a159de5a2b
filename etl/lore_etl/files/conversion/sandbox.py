"""The child process that converts a document from standard input to JSON on standard output, and limits itself."""

import codecs
import json
import os
import re
import sys
from importlib import import_module
from typing import NamedTuple

from lore_etl.files.conversion.marked_text import NoText

_CODECS = ("cp437", "utf-8-sig", "utf-16-le")  # those of readers; Python opens their files at the first use
OUT_OF_MEMORY = 3  # the exit code of a child that ran out of memory
ORDINARY = 128  # megabytes that a document may need without being counted; the largest of 120 real ones needed 95
_HIGHEST = re.compile(r"VmHWM:\s+(\d+) kB")


class ConversionLimits(NamedTuple):
    """The maximum processor time, memory and length of the text of one document."""

    seconds: int = 60
    megabytes: int = 1_024
    characters: int = 20_000_000


class SyncBudget(NamedTuple):
    """The processor time and memory beyond `ORDINARY` that all documents of a sync share, and the limits of each."""

    seconds: float = 300
    megabytes: int = 8_192
    document: ConversionLimits = ConversionLimits()


DEFAULT_BUDGET = SyncBudget()


def limit_resources(limits: ConversionLimits) -> None:
    """Limit this process, which can then open no file, socket or pipe. On Windows, the parent limits only the time."""
    for name in _CODECS:
        codecs.lookup(name)
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1))
        if sys.platform == "linux":  # macOS does not enforce it
            resource.setrlimit(resource.RLIMIT_AS, (limits.megabytes << 20,) * 2)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def main() -> int:
    """Convert, and return the exit code. Any other error than NoText means that the document is damaged."""
    name, suffix, *numbers = sys.argv[1:]
    limits = ConversionLimits(*map(int, numbers))
    reader = import_module(f"lore_etl.files.conversion.{name}")  # everything it needs, before it may open no file
    data = sys.stdin.buffer.read()
    # has the peak memory, for which `getrusage` begins with the parent's; opened now, because later no file can be
    status = open("/proc/self/status" if sys.platform == "linux" else os.devnull, errors="replace")  # noqa: SIM115
    limit_resources(limits)
    try:
        text = str(reader.read(data, suffix))
        if len(text) > limits.characters:
            raise NoText(f"too large: its text has more than {limits.characters:,} characters")
        reply = {"text": text} if text.strip() else {"problem": "it contains no text"}
    except NoText as error:
        reply = {"problem": str(error)}
    except MemoryError:
        return OUT_OF_MEMORY
    peak = _HIGHEST.search(status.read())
    sys.stdout.buffer.write(json.dumps({**reply, "megabytes": int(peak[1]) >> 10 if peak else 0}).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
