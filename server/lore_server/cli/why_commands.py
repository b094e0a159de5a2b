"""`lore why`: the commits and tickets behind a file or some of its lines."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, cast

import typer

from lore_etl.core.errors import ClassNotFound, NotFound
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
    place: Annotated[str, typer.Argument(metavar="PLACE", help="FILE, FILE:10-20, Class or Class.member.")],
) -> None:
    """Show the commits that changed a file or some of its lines, and the tickets that they name."""
    path, start, end = _place(session, place)
    lines = {"start": start, "end": end} if start else {}
    result = session.ask("get_source", path=path, **lines, history=True, max_tokens=WHOLE)
    session.show(result, render_history.history(cast("SourceTextRecord", result)).body)
    if not result["history"]:
        raise typer.Exit(NotFound.exit_code)


def _place(session: Session, place: str) -> tuple[str, int | None, int | None]:
    """Return the path in the index and the lines of `FILE`, `FILE:3`, `FILE:3-9`, `Class` or `Class.member`."""
    if numbers := _LINES.fullmatch(place):
        return _path_in(session.root, numbers[1]), int(numbers[2]), int(numbers[3] or numbers[2])
    path = _path_in(session.root, place)
    if "/" in path or (session.root / path).is_file():
        return path, None, None
    try:
        source, (first, last) = _class(session, place)
    except ClassNotFound as error:
        class_, _, member = place.rpartition(".")
        if not class_:
            raise NotFound(f"There is no file and no class `{place}` in the index.", error.hint) from error
        source, (first, last) = _class(session, class_, member)
    return source, first, last


def _class(session: Session, name: str, member: str | None = None) -> tuple[str, list[int]]:
    """Return the file and the lines of a class, or of a member that it defines."""
    found = session.ask("get_class_hierarchy", root=name, depth=1, max_tokens=WHOLE)
    (class_,) = [row for row in found["classes"] if row["class"] == found["root"]]
    if not class_["source"]:
        raise NotFound(f"`{name}` is not defined in this project.")
    if member is None:
        return class_["source"], class_["lines"]
    lines = [row["lines"] for row in found["members"] if row["name"] == member]
    if not lines:
        raise NotFound(
            f"`{name}` defines no `{member}`.", f"Defined: {', '.join(row['name'] for row in found['members'])}."
        )
    return class_["source"], lines[0]


def _path_in(root: Path, given: str) -> str:
    """Return a file's path from the project root; it is given relative to the current folder or to the root."""
    place = (Path.cwd() / given).resolve()
    is_below = place.is_file() and place.is_relative_to(root) and not (root / given).is_file()
    return place.relative_to(root).as_posix() if is_below else PurePosixPath(given).as_posix()
