"""`lore memory …`: findings, decisions and attempts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lore_etl.core.errors import NotFound, StorageError
from lore_server.cli.command import CursorOption, GroupsOption, TokensOption, Words, add_group
from lore_server.owner.session import Session

command = add_group("memory", "Memories about this project.")
FileOption = Annotated[
    Path | None, typer.Option("-f", "--file", help="File with the text; default: standard input.", metavar="FILE")
]


@command
def add(
    session: Session,
    name: str,
    group: Annotated[str, typer.Option("-g", "--group", help="Group of the memory.")] = "main",
    file: FileOption = None,
    source: Annotated[str, typer.Option(help="Origin of the text.")] = "",
    replaces: Annotated[str | None, typer.Option(help="Id of the memory this one replaces.", metavar="ID")] = None,
) -> None:
    """Save a text as a memory."""
    session.call("add_memory", name=name, body=_text(file), group_id=group, source=source, replaces=replaces)


@command
def search(
    session: Session,
    query: Words,
    group: GroupsOption = None,
    limit: Annotated[int, typer.Option("-n", "--limit", help="Maximum number of memories.")] = 10,
    max_tokens: TokensOption = 2000,
    cursor: CursorOption = None,
) -> None:
    """Search memories by meaning and by word."""
    result = session.call(
        "search_memories", query=" ".join(query), group_ids=group or [], limit=limit, max_tokens=max_tokens,
        cursor=cursor,
    )  # fmt: skip
    if not result["results"]:
        raise typer.Exit(NotFound.exit_code)


@command
def delete(session: Session, id: str) -> None:
    """Delete a memory; it stays in the history."""
    session.call("delete_memory", id=id)


def _text(file: Path | None) -> str:
    """Return the text of the file or of standard input, with its line endings."""
    try:
        data = sys.stdin.buffer.read() if file is None else file.read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        message = f"Cannot read {file or 'standard input'}: {error.strerror}."
        raise StorageError(message, "Give a readable file.") from error
    except UnicodeDecodeError as error:
        raise StorageError(f"{file or 'Standard input'} is not UTF-8.", "Save it as UTF-8.") from error
