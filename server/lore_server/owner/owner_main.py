"""`python -P -m lore_server.owner.owner_main ROOT CONFIG`: run the owner, and print one line: ready, or why not."""

import os
import sys


def main() -> int:
    """Own the index until it is no longer needed. It forks first, so that its starter has no child to wait for."""
    if hasattr(os, "fork") and os.fork():
        return 0
    import logging
    from pathlib import Path

    from lore_etl.core.errors import LoreError
    from lore_etl.system.processes import has_reader, prepare_streams
    from lore_server.console.terminal import configure_logging

    prepare_streams()
    configure_logging(verbose=False, default=logging.INFO)
    sys.excepthook = lambda *error: logging.getLogger(__name__).critical("the owner exits", exc_info=error)
    root, config = Path(sys.argv[1]), Path(sys.argv[2]) if sys.argv[2] else None
    try:
        from lore_server.owner.process import own

        if not has_reader(sys.stdout):
            return 0  # the starter found another owner, and a later stop must not let this one take over
        own(root, config, lambda: _send({"ready": True}))
    except LoreError as error:
        from lore_server.replies.problem import problem

        _send({"problem": problem(error)})
        return error.exit_code
    return 0


def _send(message: dict[str, object]) -> None:
    """Send one line to the process that started us, and nothing after it, because that process may have ended."""
    import contextlib
    import json

    if sys.stdout is not None and not sys.stdout.closed:
        with open(os.devnull, "wb") as nowhere:
            with contextlib.suppress(OSError):
                sys.stdout.write(json.dumps(message) + "\n")
                sys.stdout.flush()
            os.dup2(nowhere.fileno(), 1)


if __name__ == "__main__":
    sys.exit(main())
