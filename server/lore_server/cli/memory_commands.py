"""`lore memory …`: what was found out, decided, tried."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lore_etl.core.errors import NotFound, StorageError
from lore_server.cli.command import cli, commands_of
from lore_server.owner.session import Session

group = typer.Typer(no_args_is_help=True, help="What was remembered about this project.")
cli.add_typer(group, name="memory")
command = commands_of(group)
FileOption = Annotated[
    Path | None, typer.Option("-f", "--file", help="The text; default: standard input.", metavar="FILE")
]


@command
def add(
    session: Session,
    name: str,
    group: Annotated[str, typer.Option("-g", "--group", help="Its group.")] = "main",
    file: FileOption = None,
    source: Annotated[str, typer.Option(help="Where it comes from.")] = "",
    replaces: Annotated[str | None, typer.Option(help="Id of a memory that goes for it.", metavar="ID")] = None,
) -> None:
    """Remember a text under a name."""
    older = {} if replaces is None else {"replaces": replaces}
    session.call("add_memory", name=name, body=_text(file), group_id=group, source=source, **older)


@command
def search(
    session: Session,
    query: str,
    group: Annotated[list[str] | None, typer.Option("-g", "--group", help="Only this group; more than once.")] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", help="Most memories.")] = 10,
    max_tokens: Annotated[int, typer.Option(help="Budget of the reply.")] = 2000,
    cursor: Annotated[str | None, typer.Option(help="The rest of a reply that was cut: its next_cursor.")] = None,
) -> None:
    """Search memories by meaning and by word."""
    rest = {} if cursor is None else {"cursor": cursor}
    result = session.call(
        "search_memories", query=query, group_ids=group or [], limit=limit, max_tokens=max_tokens, **rest
    )
    if not result["results"]:
        raise typer.Exit(NotFound.exit_code)


@command
def delete(session: Session, id: str) -> None:
    """Forget a memory; the history keeps it."""
    session.call("delete_memory", id=id)


def _text(file: Path | None) -> str:
    """What is in the file, or comes over standard input; line ends stay as they are."""
    try:
        data = sys.stdin.buffer.read() if file is None else file.read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        raise StorageError(
            f"Cannot read {file or 'standard input'}: {error.strerror}.", "Name a file that you may read."
        ) from error
    except UnicodeDecodeError as error:
        raise StorageError(f"{file or 'Standard input'} is not UTF-8.", "Save it as UTF-8.") from error
