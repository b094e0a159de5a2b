"""Locate a project and its index. Standard library only, because the bridge must start quickly."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from lore_etl.config.layers import CONFIG_NAME, read_layers
from lore_etl.core.json_types import JSON

INDEX_NAME = ".lore"
VIEW_NAME = ".ce/syntropy-index.json"  # written for other programs; neither it nor copies are indexed


class Place(NamedTuple):
    """A project with its `-c` file, its index folder, a digest of its configuration, and the ignored settings."""

    root: Path
    config: Path | None
    folder: Path
    digest: str
    warning: str = ""


def find_project(start: Path) -> Path:
    """Return the nearest folder with a `lore.toml` or `.git`, from this folder upwards; else the folder itself."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / CONFIG_NAME).exists() or (folder / ".git").exists():
            return folder
    return start


def knowledge_home(environment: Mapping[str, str]) -> Path:
    """Return the knowledge folder: `LORE_HOME`, else `KNOWLEDGE_MCP_HOME`, else `~/.lore`."""
    named = environment.get("LORE_HOME") or environment.get("KNOWLEDGE_MCP_HOME")
    return Path(named or "~/.lore").expanduser().absolute()


def place_of(root: Path, config: Path | None = None) -> Place:
    """Return the place of a project according to the current configuration. Raises ConfigError."""
    layers = read_layers(root, config)
    table = layers.merged.get("index")
    path = str(table.get("path", INDEX_NAME)) if isinstance(table, dict) else INDEX_NAME
    text = json.dumps(_filled(layers.merged), sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return Place(root, config, index_folder(root, path), digest, layers.warning)


def index_folder(root: Path, path: str) -> Path:
    """Return the index folder. Follows no symlink inside the project, which may have come with it."""
    folder = Path(os.path.normpath(root / path))
    return folder if folder.is_relative_to(root) else folder.parent.resolve() / folder.name


def build_of(*packages: Path) -> str:
    """Return a digest of Lore's own files. An owner that runs other files is replaced."""
    digest = hashlib.sha256()
    for package in packages:
        for folder, folders, files in os.walk(package):
            folders[:] = sorted(folder for folder in folders if folder != "__pycache__")
            for name in sorted(files):
                info = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118 - a Path each costs more than the rest
                digest.update(f"{name}:{info.st_size}:{info.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def _filled(table: JSON) -> JSON:
    """Return the configuration without empty tables, so that comments do not change its digest."""
    below = {key: _filled(value) if isinstance(value, dict) else value for key, value in table.items()}
    return {key: value for key, value in below.items() if value != {}}
