"""What is to be synced: which folders, which server, how much."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from etl.errors import ConfigError
from server.hook.folders import usual_folders

VARIABLE = "LORE_MEMORY_DIR"


@dataclass(frozen=True)
class Wanted:
    """One run. `state` is the file where it is noted down, `most` how many files are sent; 0 is all of them."""

    folders: tuple[Path, ...]
    state: Path
    server: str
    everything: bool = False
    most: int = 0


def memory_folders(
    given: Sequence[Path], configured: Sequence[str], project: Path, environment: Mapping[str, str]
) -> tuple[Path, ...]:
    """Those of the command line, else of the configuration, else of `LORE_MEMORY_DIR`, else the usual ones.

    Raises:
        ConfigError: the configuration names a folder that is neither in the project nor below the home folder.
    """
    named = [one for one in environment.get(VARIABLE, "").split(os.pathsep) if one]
    if given:
        return tuple(given)
    if configured:
        return tuple(_allowed(one, project) for one in configured)
    return tuple(Path(one).expanduser() for one in named) or tuple(usual_folders(Path.home()))


def _allowed(text: str, project: Path) -> Path:
    """A project's configuration may be somebody else's: it does not send what is elsewhere on the machine."""
    folder = Path(os.path.realpath(project / Path(text).expanduser()))
    above = Path.home() if text.startswith("~") else project
    if not folder.is_relative_to(os.path.realpath(above)):
        raise ConfigError(
            f"Configuration key `hook.memory_dirs`: {text[:200]} is neither in the project nor below ~.",
            f"Name it with --memory-dir, or in {VARIABLE}.",
        )
    return folder
