"""`lore index …`: publish the embeddings of an index as one file, and build an index from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lore_server.cli.command import cli, commands_of
from lore_server.console.progress_bar import progress_bar
from lore_server.owner.session import Session

if TYPE_CHECKING:
    from lore_etl.index import Index

group = typer.Typer(no_args_is_help=True, help="Publish a prebuilt index, or start from one.")
cli.add_typer(group, name="index")
command = commands_of(group)
FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The file with the embeddings.")]


@contextmanager
def _own_index(session: Session) -> Iterator[Index]:
    session.hold_index()
    with closing(session.open_app()) as app:
        yield app.index


@command
def export(session: Session, file: FileArgument) -> None:
    """Write the embeddings of the index to a file, without the texts."""
    from lore_etl.pipeline.prebuilt import export_index

    with _own_index(session) as index:
        count = export_index(index, file)
    size = file.stat().st_size
    session.show({"vectors": count, "bytes": size}, f"{count:,} embeddings, {size / 1e6:.1f} MB: {file}")


@command
def import_(
    session: Session,
    file: FileArgument,
    allow_mass_delete: Annotated[bool, typer.Option(help="Allow deleting over 30 % of the index.")] = False,
) -> None:
    """Sync the project with the embeddings of a file, and compute only missing ones."""
    from lore_etl.pipeline.prebuilt import import_index

    with _own_index(session) as index, progress_bar(session.as_json) as progress:
        taken, report = import_index(index, file, progress, allow_mass_delete)
    counts = f"{taken:,} embeddings taken from the file, {report.embedded:,} computed, in {report.duration:.1f} s."
    session.show({"taken": taken, **dataclasses.asdict(report)}, counts)
