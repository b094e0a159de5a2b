"""Write to standard output, error and the log so that the content and names of files cannot control the terminal."""

import json
import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TextIO

from lore_etl.core.text import SURROGATES

LEVEL_VARIABLES = ("LORE_LOG_LEVEL", "KNOWLEDGE_MCP_LOG_LEVEL")
LEVELS = ("DEBUG", "INFO", "WARN", "WARNING", "ERROR")
# C0 without line feed and tab, DEL, C1, and the characters that reorder text
_STEERING = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069{SURROGATES}]")


def visible(text: str) -> str:
    r"""Escape control characters and direction marks, for example as `\x1b`."""
    return _STEERING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def out(text: str, root: Path | None = None) -> None:
    """Write a text to standard output; on a terminal, results of the project at `root` are coloured and linked."""
    sys.stdout.write(_shown(text, root))


def _shown(text: str, root: Path | None) -> str:
    return styled(visible(text), root) if root and takes_style(sys.stdout) else visible(text)


def page(text: str, root: Path | None = None) -> None:
    """Write a text as `out` does, through the user's pager if it is longer than the terminal, as git does."""
    pager = os.environ.get("LORE_PAGER", os.environ.get("PAGER", "less"))
    is_long = is_screen(sys.stdout) and text.count("\n") >= shutil.get_terminal_size().lines
    command = shlex.split(pager) if is_long else []
    if not command or shutil.which(command[0]) is None:
        out(text, root)
        return
    sys.stdout.flush()
    subprocess.run(command, input=_shown(text, root), encoding="utf-8", env={"LESS": "FRX", **os.environ}, check=False)


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


class OneLine(VisibleFormatter):
    """A formatter that writes a record as one line of visible characters, with its traceback indented below."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("`", "\\x60").replace("\n", "\n  | ")

    def formatMessage(self, record: logging.LogRecord) -> str:
        return super().formatMessage(record).replace("\n", "\\n")


def configure_logging(verbose: bool, default: int = logging.WARNING) -> None:
    """Send logs to standard error, from the level set in the environment; libraries log only warnings and errors."""
    named = next((os.environ[name] for name in LEVEL_VARIABLES if os.environ.get(name)), "")
    wanted = named.strip().upper()
    level = logging.getLevelNamesMapping()[wanted] if wanted in LEVELS else default
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("%(levelname)s %(name)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for name in ("lore_etl", "lore_server"):
        logging.getLogger(name).setLevel(min(level, logging.INFO) if verbose else level)
    if named and wanted not in LEVELS:
        message = "%s is not a log level. Set %s to one of %s."
        logging.getLogger(__name__).warning(message, named[:40], LEVEL_VARIABLES[0], ", ".join(LEVELS))


# a result or a reference: its number, the path with its lines, and the rest, which begins with the type in brackets
_PLACE = re.compile(
    r"^(?P<number>\d+\.|\[\d+\]) (?P<place>(?P<path>\S[^\n]*?)(?::\d+(?:-\d+)?)?)(?P<rest>  \[[^\n]*)$", re.MULTILINE
)
_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def is_screen(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that can do more than append lines."""
    return stream.isatty() and (os.environ.get("TERM", "dumb") != "dumb" or "WT_SESSION" in os.environ)  # on Windows


def takes_style(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that shows colours and the user has not disabled them."""
    return is_screen(stream) and not os.environ.get("NO_COLOR")


def styled(text: str, root: Path) -> str:
    """Return visible text with the place of each result in bold, linked if it is in the project, and details dimmed."""
    return _PLACE.sub(lambda match: _styled_place(match, root), text)


def _styled_place(match: re.Match[str], root: Path) -> str:
    place = f"{_BOLD}{match['place']}{_PLAIN}"
    file = root / match["path"]
    if file.is_file() and file.resolve().is_relative_to(root):
        place = f"\x1b]8;;{file.as_uri()}\x1b\\{place}\x1b]8;;\x1b\\"
    return f"{match['number']} {place}{_DIM}{match['rest']}{_PLAIN}"
