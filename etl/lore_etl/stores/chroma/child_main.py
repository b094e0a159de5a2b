"""`chroma run` in a process of its own: Chroma's server of Rust, called without any Python of Chroma's around it.

    python -P -m lore_etl.stores.chroma.child_main FOLDER PORT

Chroma's Python server has a hole that runs other people's code (CVE-2026-45829). It is not in this process: nothing of
the `chromadb` package is imported here, only the compiled module that its command line hands everything to.

The process holds a lock on the folder, says who it is, and ends when its input does, that is, with the Lore that
began it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

from filelock import FileLock, Timeout

from lore_etl.core.atomic import write_atomically
from lore_etl.system.processes import born

LOCK, NOTE = "chroma.lock", "chroma.note.lock"  # no seal looks at files that end so
IS_HELD, IS_NO_RUST = 75, 70
END_SECONDS = 10


def command_line(folder: Path, port: int) -> list[str]:
    """What Chroma's own command line would be told."""
    return ["chroma", "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]


def main(folder: Path, port: int) -> int:
    """Serve until the input ends."""
    import chromadb_rust_bindings  # type: ignore[import-untyped]

    cli: Any = chromadb_rust_bindings.cli
    if not isinstance(cli, BuiltinFunctionType) or "chromadb" in sys.modules:
        print("This Chroma has no server of Rust.", flush=True)  # noqa: T201 - the log
        return IS_NO_RUST
    lock = FileLock(folder / LOCK, mode=0o600, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print("Another Chroma holds this folder.", flush=True)  # noqa: T201 - the log
        return IS_HELD
    write_atomically(folder / NOTE, (json.dumps({"pid": os.getpid(), "born": born(os.getpid())}),))
    threading.Thread(target=_end_with_the_input, daemon=True).start()
    cli(command_line(folder, port))
    return 0


def _end_with_the_input() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(END_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    # without the interpreter's clean-up: the thread may still be reading
    os._exit(main(Path(sys.argv[1]), int(sys.argv[2])))
