"""The child process: read one document from standard input, and write its text as JSON to standard output."""

from __future__ import annotations

import json
import sys
from importlib import import_module

from lore_etl.files.conversion.marked_text import NoText
from lore_etl.files.conversion.sandbox import (
    OUT_OF_MEMORY,
    ConversionLimits,
    limit_resources,
    memory_meter,
    open_nothing_more,
)


def main() -> int:
    """Convert, and return the exit code. Any other error than NoText means that the document is damaged."""
    name, suffix, *numbers = sys.argv[1:]
    limits = ConversionLimits(*map(int, numbers))
    reader = import_module(f"lore_etl.files.conversion.{name}")  # everything it needs, before it may open no file
    data = sys.stdin.buffer.read()
    megabytes = memory_meter()
    limit_resources(limits)
    open_nothing_more()
    try:
        text = str(reader.read(data, suffix))
        if len(text) > limits.characters:
            raise NoText(f"too large: its text has more than {limits.characters:,} characters")
        reply = {"text": text} if text.strip() else {"problem": "it contains no text"}
    except NoText as error:
        reply = {"problem": str(error)}
    except MemoryError:
        return OUT_OF_MEMORY
    sys.stdout.buffer.write(json.dumps({**reply, "megabytes": megabytes()}).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
