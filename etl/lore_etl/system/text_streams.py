"""The encoding of standard input, output and error."""

from __future__ import annotations

import io
import sys


def use_utf8() -> None:
    """Read and write UTF-8. Windows would use the code page of the console, which lacks most characters."""
    if sys.platform == "win32":
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors="replace")
