"""Find which PRPs mention which patterns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from lore_server.framework.view_entry import ViewEntry

COMMON = frozenset({"readme", "index", "main", "__init__", "conftest", "template"})  # not specific to any pattern


def references(patterns: Iterable[ViewEntry], prps: Iterable[ViewEntry]) -> Mapping[str, tuple[str, ...]]:
    """Return the path of each pattern -> the ids of the PRPs that mention it, in order.

    A PRP mentions a pattern by its path, by the end of the path from any folder on, or by its file's name. The
    extension is optional.
    """
    meant: dict[str, list[str]] = defaultdict(list)
    for pattern in patterns:
        for name in _names(pattern.path):
            meant[name].append(pattern.path)
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for prp in prps:
        words = prp.spec.names.split(" ") if prp.spec else ()
        for word in words:
            for path in meant.get(word, ()):
                found[path][prp.key] = None
    return {path: tuple(ids) for path, ids in found.items()}


def endings(path: str) -> Iterator[str]:
    """Yield the path and its endings at each folder, any of which may refer to the file."""
    parts = path.split("/")
    for start in range(len(parts) - 1):
        yield "/".join(parts[start:])


def _names(path: str) -> Iterator[str]:
    file = PurePosixPath(path)
    for ending in endings(path):
        yield ending
        yield ending.removesuffix(file.suffix)
    if file.stem.lower() not in COMMON:
        yield file.name
        yield file.stem
