"""What somebody may have meant by a path that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def nearest(path: str, known: Sequence[str]) -> list[str]:
    """Up to five of the known paths that look like this one; those of the same name first."""
    same_name = [one for one in known if one.rpartition("/")[2] == path.rpartition("/")[2]]
    return list(dict.fromkeys((*same_name, *difflib.get_close_matches(path, known, n=5))))[:5]
