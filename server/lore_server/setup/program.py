"""The running `lore` program: the command that starts it again, and whether its name is enough."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

NAME = "lore"
PACKAGE = "lore-index"  # and the name of a second script, which `uvx` runs
MODULE = "lore_server.cli.main"


def running() -> list[str]:
    """Return the command that starts this program, by absolute path."""
    sibling = Path(sys.executable).with_name(f"{NAME}.exe" if sys.platform == "win32" else NAME)
    for file in (Path(sys.argv[0]).absolute(), sibling):
        if file.name in (NAME, sibling.name) and os.access(file, os.X_OK) and file.is_file():
            return [str(file)]
    return [sys.executable, "-P", "-m", MODULE]


def lasting() -> list[str]:
    """Return a command that starts this program later too: `uvx` and `pipx run` use an environment that they delete."""
    parts = Path(sys.prefix).parts
    if "archive-v0" in parts and "uv" in parts:
        return ["uvx", PACKAGE]
    return ["pipx", "run", PACKAGE] if {"pipx", ".cache"} <= set(parts) else running()


def is_on_path() -> bool:
    """Return whether `lore` means this program even outside an activated environment."""
    activated = os.environ.get("VIRTUAL_ENV")
    own = str(Path(activated) / ("Scripts" if sys.platform == "win32" else "bin")) if activated else ""
    folders = [
        folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder and folder.rstrip("/") != own
    ]
    found = shutil.which(NAME, path=os.pathsep.join(folders))
    return found is not None and Path(found).resolve() == Path(running()[0]).resolve()
