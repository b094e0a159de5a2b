"""Where logs go, and how much of them."""

from __future__ import annotations

import logging
import os
import sys


def configure_logging(verbose: bool) -> None:
    """Logs go to standard error; libraries are heard only when they warn."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s %(message)s", force=True
    )
    for name in ("etl", "server"):
        logging.getLogger(name).setLevel(logging.INFO if verbose else logging.WARNING)
