"""Read the names by which other files import a project: `go.mod`, `Cargo.toml`, `package.json` and `tsconfig.json`."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from lore_etl.core.json_types import loads_with_comments
from lore_etl.core.model import FileFacts

MAX_PATHS = 200


def manifest_facts(path: str, text: str) -> FileFacts | None:
    """Return the facts of a manifest; None for any other file, and for one that cannot be read."""
    name = PurePosixPath(path).name
    read = _READERS.get("tsconfig.json" if re.fullmatch(r"[jt]sconfig(\.\w+)?\.json", name) else name)
    try:
        return read(text) if read else None
    except (ValueError, RecursionError, AttributeError, TypeError):
        return None


def _go(text: str) -> FileFacts | None:
    found = re.search(r"^module[ \t]+\"?([\w./~-]+)", text, re.MULTILINE)
    return FileFacts(family="manifest:go", package=found[1]) if found else None


def _cargo(text: str) -> FileFacts | None:
    name = tomllib.loads(text).get("package", {}).get("name")
    return FileFacts(family="manifest:rust", package=name) if isinstance(name, str) else None


def _package(text: str) -> FileFacts | None:
    """Return the name of an npm package, and its main files as exports."""
    value = json.loads(text)
    name = value.get("name")
    if not isinstance(name, str):
        return None
    mains: dict[str, tuple[str, str | None]] = {
        key: (value[key], None)
        for key in ("source", "module", "main", "types", "typings")
        if isinstance(value.get(key), str)
    }
    return FileFacts(family="manifest:node", package=name, exports=mains)


def _tsconfig(text: str) -> FileFacts | None:
    """Return the paths of a TypeScript configuration as imports: pattern to (target, base folder)."""
    options: Any = loads_with_comments(text).get("compilerOptions", {})
    paths, base = options.get("paths", {}), options.get("baseUrl", ".")
    known: dict[str, tuple[str, str | None]] = {
        pattern: (targets[0], str(base))
        for pattern, targets in list(paths.items())[:MAX_PATHS]
        if isinstance(targets, list) and targets and isinstance(targets[0], str)
    }
    return FileFacts(family="manifest:tsconfig", package=str(base) if "baseUrl" in options else "", imports=known)


_READERS: dict[str, Callable[[str], FileFacts | None]] = {
    "go.mod": _go,
    "Cargo.toml": _cargo,
    "package.json": _package,
    "tsconfig.json": _tsconfig,
}
