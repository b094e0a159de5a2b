"""Where logs go, and how much of them."""

from __future__ import annotations

import logging
import os
import sys

from server.terminal import VisibleFormatter


class OneLine(VisibleFormatter):
    """A record as one line, its traceback indented below it.

    Messages quote names and keys of projects: what a terminal or a shell would act on is escaped.
    """

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`."""
        return super().format(record).replace("`", "\\x60").replace("\n", "\n  | ")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`."""
        return super().formatMessage(record).replace("\n", "\\n")


def configure_logging(verbose: bool) -> None:
    """Logs go to standard error; libraries are heard only when they warn."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("%(levelname)s %(name)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for name in ("etl", "server"):
        logging.getLogger(name).setLevel(logging.INFO if verbose else logging.WARNING)
