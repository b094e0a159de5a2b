"""Write to standard output and error so that the content and names of files cannot control the terminal."""

from __future__ import annotations

import json
import logging
import re
import sys
from pathlib import Path

from lore_etl.core.text import SURROGATES
from lore_server.console.styling import styled, takes_style

# C0 without line feed and tab, DEL, C1, and the characters that reorder text
_STEERING = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069{SURROGATES}]")


def visible(text: str) -> str:
    r"""Escape control characters and direction marks, for example as `\x1b`."""
    return _STEERING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def out(text: str, root: Path | None = None) -> None:
    """Write a text to standard output; on a terminal, results of the project at `root` are coloured and linked."""
    shown = visible(text)
    sys.stdout.write(styled(shown, root) if root and takes_style(sys.stdout) else shown)


def err(text: str) -> None:
    sys.stderr.write(visible(text))
    sys.stderr.flush()


def out_json(value: object) -> None:
    """Write a value to standard output as JSON without control characters."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    sys.stdout.write(_STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n")


class VisibleFormatter(logging.Formatter):
    """A formatter of log records for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))
