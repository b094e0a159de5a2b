"""`lore knowledge …` and `lore memory …`: documents that agents wrote, with their history, and memories."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from lore_etl.config.project import knowledge_home
from lore_etl.core.errors import NotFound, StorageError, os_errors_as
from lore_server.cli.command import CursorOption, GroupsOption, TokensOption, Words, add_group
from lore_server.console.output import note
from lore_server.owner.session import Session

command = add_group("knowledge", "Documents that agents wrote for this project, and their history.")
memory_command = add_group("memory", "Memories about this project.")
ProjectIdOption = Annotated[
    str | None, Option("-p", "--project-id", help="Id of another project; default: this project.")
]
FileArgument = Annotated[str | None, Argument(metavar="[FILE]", help="Only this document.")]
MainOption = Annotated[bool, Option("--main", help="Only the main document.")]
NOT_ADOPTED = "Nothing was changed: confirm with --yes."
AllOption = Annotated[bool, Option("--all", help="Include all projects.")]


@command
def list_(session: Session, project_id: ProjectIdOption = None, all: AllOption = False) -> None:
    """List the documents of this project, or all projects with --all."""
    if all:
        session.call("list_projects")
    else:
        session.call("list_knowledge_files", project_id=project_id)


@command
def get(
    session: Session,
    file: FileArgument = None,
    project_id: ProjectIdOption = None,
    at: Annotated[str | None, Option(metavar="COMMIT", help="Show the version at this commit.")] = None,
) -> None:
    """Print a document, or the main document if no FILE is given."""
    operation = "get_project_main" if file is None else "get_knowledge_file"
    session.call(operation, filename=file, project_id=project_id, commit=at)


@command
def log(
    session: Session,
    file: FileArgument = None,
    project_id: ProjectIdOption = None,
    main: MainOption = False,
    all: AllOption = False,
    limit: Annotated[int, Option("-n", "--limit", help="Maximum number of commits.")] = 50,
    skip: Annotated[int, Option(help="Number of newest commits to skip.")] = 0,
) -> None:
    """List the commits, newest first: id, date, author, message."""
    about = {"project_id": project_id, "filename": file, "main": main, "everything": all}
    session.call("get_knowledge_history", limit=limit, skip=skip, **about)


@command
def show(session: Session, commit: str) -> None:
    """Show the changes of a commit as a patch."""
    session.call("get_knowledge_history", commit=commit)


@command
def diff(
    session: Session,
    since: str,
    commit: Annotated[str | None, Argument(help="Last commit of the comparison; default: the current state.")] = None,
    file: Annotated[str | None, Option("-f", "--file", help="Only this document.")] = None,
    project_id: ProjectIdOption = None,
    main: MainOption = False,
    all: AllOption = False,
) -> None:
    """Show the changes since a commit as a patch."""
    about = {"project_id": project_id, "filename": file, "main": main, "everything": all}
    session.call("get_knowledge_history", since=since, commit=commit, **about)


@command
def revert(
    session: Session,
    commit: str,
    author: Annotated[str | None, Option(help="Author of the revert, for the history.")] = None,
) -> None:
    """Undo a commit with a new commit."""
    session.call("revert_knowledge", commit=commit, author=author)


@command
def adopt(
    session: Session,
    project_id: Annotated[
        str | None, Argument(metavar="[ID]", help="Project id; default: the matching project.")
    ] = None,
    yes: Annotated[bool, Option("-y", "--yes", help="Confirm without a prompt.")] = False,
    all_clones: Annotated[bool, Option("--all-clones", help="For all clones of this git remote.")] = False,
) -> None:
    """Show existing knowledge, and confirm that this folder uses it."""
    from lore_server.replies.render_knowledge import proposed
    from lore_server.services.knowledge_library import Library

    library = Library(knowledge_home(os.environ), session.root)
    try:
        found = library.proposal(project_id, all_clones)
        if not session.as_json:
            note(proposed(found))
        name = found["adopt"]["project_id"]
        if yes or (not session.as_json and sys.stdin.isatty() and typer.confirm("Use it here?", err=True)):
            found = library.adopt(name, all_clones)
    finally:
        library.close()
    session.show(found, f"`{found['folder']}` now uses `{name}`." if found["adopted"] else NOT_ADOPTED)
    if found["adopted"] and session.has_index:
        session.ask("manage_knowledge_base", action="sync")


@memory_command
def add(
    session: Session,
    name: str,
    group: Annotated[str, Option("-g", "--group", help="Group of the memory.")] = "main",
    file: Annotated[
        Path | None, Option("-f", "--file", help="File with the text; default: standard input.", metavar="FILE")
    ] = None,
    source: Annotated[str, Option(help="Origin of the text.")] = "",
    replaces: Annotated[str | None, Option(help="Id of the memory this one replaces.", metavar="ID")] = None,
) -> None:
    """Save a text as a memory."""
    session.call("add_memory", name=name, body=_text(file), group_id=group, source=source, replaces=replaces)


@memory_command
def search(
    session: Session,
    query: Words,
    group: GroupsOption = None,
    limit: Annotated[int, Option("-n", "--limit", help="Maximum number of memories.")] = 10,
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


@memory_command
def delete(session: Session, id: str) -> None:
    """Delete a memory; it stays in the history."""
    session.call("delete_memory", id=id)


def _text(file: Path | None) -> str:
    """Return the text of the file or of standard input, with its line endings."""
    with os_errors_as(StorageError, f"Cannot read {file or 'standard input'}", "Give a readable file."):
        data = sys.stdin.buffer.read() if file is None else file.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StorageError(f"{file or 'Standard input'} is not UTF-8.", "Save it as UTF-8.") from error
