"""What is to be synced: which folders, which server, how much."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lore_server.hook.folders import usual_folders

VARIABLE = "LORE_MEMORY_DIR"


@dataclass(frozen=True)
class UploadRequest:
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

    A project's own file names folders inside it only (`lore_etl.config.policy`); the user's may name any.
    """
    named = [one for one in environment.get(VARIABLE, "").split(os.pathsep) if one]
    if given:
        return tuple(given)
    if configured:
        return tuple(Path(os.path.realpath(project / os.path.expanduser(one))) for one in configured)  # noqa: PTH111
    return tuple(Path(one).expanduser() for one in named) or tuple(usual_folders(Path.home()))
