"""Check `project_root`: a server serves one project only."""

from __future__ import annotations

from pathlib import Path

from lore_etl.core.errors import InvalidArgument


def check_root(root: Path, project_root: str | None, hint: str) -> None:
    """Raise InvalidArgument if `project_root` is not the project's folder."""
    if project_root is None:
        return
    try:
        is_this = Path(project_root).expanduser().resolve() == root
    except (OSError, ValueError, RuntimeError):
        is_this = False  # NUL in the path, a symlink loop, or the home of a user who does not exist
    if not is_this:
        raise InvalidArgument("This server serves one project, and `project_root` is a different folder.", hint)
