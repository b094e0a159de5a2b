"""Count the files that a search found by type and folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from posixpath import commonprefix

MAX_FOLDERS = 20


def by_type(types: Iterable[str]) -> list[tuple[str, int]]:
    """Return (type, files), largest first."""
    return _sorted(Counter(types))


def by_folder(sources: Iterable[str]) -> list[tuple[str, int]]:
    """Return (pattern, files), largest first, for the entries of the deepest folder that contains all of these files.

    A pattern selects exactly the files it counts: `docs/**` for a folder, `docs/a.md` or `/a.md` for a file.
    """
    places = [source.split("/") for source in sources]
    depth = len(commonprefix([parts[:-1] for parts in places]))  # it also takes lists of folders
    counts: Counter[str] = Counter()
    for parts in places:
        place = "/".join(parts[: depth + 1])
        counts[f"{place}/**" if len(parts) > depth + 1 else place if depth else f"/{place}"] += 1
    return _sorted(counts)[:MAX_FOLDERS]


def _sorted(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
