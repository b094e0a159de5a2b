"""`lore why`: the commits and tickets behind a file or some of its lines."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, cast

import typer

from lore_etl.core.errors import NotFound
from lore_server.cli.command import command
from lore_server.cli.query_commands import WHOLE
from lore_server.owner.session import Session
from lore_server.replies import render_history

if TYPE_CHECKING:
    from lore_server.replies.records import SourceTextRecord

_LINES = re.compile(r"(.+):(\d+)(?:-(\d+))?")


@command
def why(
    session: Session,
    place: Annotated[str, typer.Argument(metavar="PLACE", help="FILE or FILE:10-20.")],
) -> None:
    """Show the commits that changed a file or some of its lines, and the tickets that they name."""
    path, start, end = _place(session, place)
    lines = {"start": start, "end": end} if start else {}
    result = session.ask("get_source", path=path, **lines, history=True, max_tokens=WHOLE)
    session.show(result, render_history.history(cast("SourceTextRecord", result)).body)
    if not result["history"]:
        raise typer.Exit(NotFound.exit_code)


def _place(session: Session, place: str) -> tuple[str, int | None, int | None]:
    """Return the path in the index and the lines of `FILE`, `FILE:3` or `FILE:3-9`."""
    if numbers := _LINES.fullmatch(place):
        return _path_in(session.root, numbers[1]), int(numbers[2]), int(numbers[3] or numbers[2])
    return _path_in(session.root, place), None, None


def _path_in(root: Path, given: str) -> str:
    """Return a file's path from the project root; it is given relative to the current folder or to the root."""
    place = (Path.cwd() / given).resolve()
    is_below = place.is_file() and place.is_relative_to(root) and not (root / given).is_file()
    return place.relative_to(root).as_posix() if is_below else PurePosixPath(given).as_posix()
