"""Count the matches of a search by type and folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from posixpath import commonprefix

from lore_server.query.scope import FileKey

MAX_FOLDERS = 20


def by_type(matches: Mapping[FileKey, int]) -> list[tuple[str, int]]:
    """Return (type, passages), largest first."""
    counts: Counter[str] = Counter()
    for file, number in matches.items():
        counts[file.type] += number
    return _sorted(counts)


def by_folder(matches: Mapping[FileKey, int]) -> list[tuple[str, int]]:
    """Return (pattern, passages), largest first, for the entries of the deepest folder that contains all matches.

    A pattern selects exactly the passages it counts: `docs/**` for a folder, `docs/a.md` or `/a.md` for a file.
    """
    places = {file: file.source.split("/") for file in matches}
    depth = len(commonprefix([parts[:-1] for parts in places.values()]))  # it also takes lists of folders
    counts: Counter[str] = Counter()
    for file, parts in places.items():
        place = "/".join(parts[: depth + 1])
        pattern = f"{place}/**" if len(parts) > depth + 1 else place if depth else f"/{place}"
        counts[pattern] += matches[file]
    return _sorted(counts)[:MAX_FOLDERS]


def _sorted(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
