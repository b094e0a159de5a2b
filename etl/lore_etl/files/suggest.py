"""Suggest existing paths for a path that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def nearest(path: str, known: Sequence[str]) -> list[str]:
    """Return up to five similar known paths, starting with those that have the same file name."""
    same_name = [name for name in known if name.rpartition("/")[2] == path.rpartition("/")[2]]
    return list(dict.fromkeys((*same_name, *difflib.get_close_matches(path, known, n=5))))[:5]
