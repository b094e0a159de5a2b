"""Log output and log levels."""

from __future__ import annotations

import logging
import os
import sys

from lore_server.console.terminal import VisibleFormatter

LEVEL_VARIABLES = ("LORE_LOG_LEVEL", "KNOWLEDGE_MCP_LOG_LEVEL")
LEVELS = {
    "DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARN": logging.WARNING, "WARNING": logging.WARNING,
    "ERROR": logging.ERROR,
}  # fmt: skip


class OneLine(VisibleFormatter):
    """A formatter that writes a record as one line, with its traceback indented below.

    Messages quote names and keys of projects, so characters that a terminal or a shell would interpret are escaped.
    """

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("`", "\\x60").replace("\n", "\n  | ")

    def formatMessage(self, record: logging.LogRecord) -> str:
        return super().formatMessage(record).replace("\n", "\\n")


def configure_logging(verbose: bool, default: int = logging.WARNING) -> None:
    """Send logs to standard error, from the level set in the environment; libraries log only warnings and errors."""
    named = next((os.environ[name] for name in LEVEL_VARIABLES if os.environ.get(name)), "")
    level = LEVELS.get(named.strip().upper(), default)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("%(levelname)s %(name)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for name in ("lore_etl", "lore_server"):
        logging.getLogger(name).setLevel(min(level, logging.INFO) if verbose else level)
    if named and named.strip().upper() not in LEVELS:
        message = "%s is not a log level. Set %s to one of %s."
        logging.getLogger(__name__).warning(message, named[:40], LEVEL_VARIABLES[0], ", ".join(LEVELS))
