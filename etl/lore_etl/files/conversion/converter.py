"""The child process: read one document from standard input, and write its text as JSON to standard output."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Callable

from lore_etl.files.conversion.marked_text import NoText
from lore_etl.files.conversion.sandbox import OUT_OF_MEMORY, ConversionLimits, limit_resources, open_nothing_more

Reader = Callable[[bytes, str], str]


def main() -> int:
    """Convert, and return the exit code. Any other error than NoText means that the document is damaged."""
    name, suffix, *numbers = sys.argv[1:]
    limits = ConversionLimits(*map(int, numbers))
    read = _reader(name)
    data = sys.stdin.buffer.read()
    limit_resources(limits)
    open_nothing_more()
    try:
        text = read(data, suffix)
        if len(text) > limits.characters:
            raise NoText(f"too large: its text has more than {limits.characters:,} characters")
        reply = {"text": text} if text.strip() else {"problem": "it contains no text"}
    except NoText as error:
        reply = {"problem": str(error)}
    except MemoryError:
        return OUT_OF_MEMORY
    sys.stdout.buffer.write(json.dumps(reply).encode())
    return 0


def _reader(name: str) -> Reader:
    """Return a reader with everything imported that it needs, because later it can open no file."""
    if name == "pdf":
        from lore_etl.files.conversion import pdf

        return pdf.read
    if name == "office":
        from lore_etl.files.conversion import office

        return office.read
    if name == "rtf":
        from lore_etl.files.conversion import rtf

        for codec in rtf.CODECS:  # Python opens their files when they are used first
            codecs.lookup(codec)
        return rtf.read
    if name == "opendocument":
        from lore_etl.files.conversion import opendocument

        return opendocument.read
    from lore_etl.files.conversion import epub

    return epub.read


if __name__ == "__main__":
    sys.exit(main())
