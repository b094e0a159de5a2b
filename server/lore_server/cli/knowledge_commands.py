"""`lore knowledge …`: documents that agents wrote, and their history."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from lore_etl.config.project import knowledge_home
from lore_server.cli.command import add_group
from lore_server.console.output import note
from lore_server.owner.session import Session

command = add_group("knowledge", "Documents that agents wrote for this project, and their history.")
ProjectIdOption = Annotated[
    str | None, typer.Option("-p", "--project-id", help="Id of another project; default: this project.")
]
FileArgument = Annotated[str | None, typer.Argument(metavar="[FILE]", help="Only this document.")]
MainOption = Annotated[bool, typer.Option("--main", help="Only the main document.")]
NOT_ADOPTED = "Nothing was changed: confirm with --yes."
AllOption = Annotated[bool, typer.Option("--all", help="Include all projects.")]


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
    at: Annotated[str | None, typer.Option(metavar="COMMIT", help="Show the version at this commit.")] = None,
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
    limit: Annotated[int, typer.Option("-n", "--limit", help="Maximum number of commits.")] = 50,
    skip: Annotated[int, typer.Option(help="Number of newest commits to skip.")] = 0,
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
    commit: Annotated[
        str | None, typer.Argument(help="Last commit of the comparison; default: the current state.")
    ] = None,
    file: Annotated[str | None, typer.Option("-f", "--file", help="Only this document.")] = None,
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
    author: Annotated[str | None, typer.Option(help="Author of the revert, for the history.")] = None,
) -> None:
    """Undo a commit with a new commit."""
    session.call("revert_knowledge", commit=commit, author=author)


@command
def adopt(
    session: Session,
    project_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Project id; default: the matching project.")
    ] = None,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Confirm without a prompt.")] = False,
    all_clones: Annotated[bool, typer.Option("--all-clones", help="For all clones of this git remote.")] = False,
) -> None:
    """Show existing knowledge, and confirm that this folder uses it."""
    from lore_server.replies.render_projects import proposed
    from lore_server.services.adoption import Adoption
    from lore_server.services.knowledge_library import Library

    library = Library(knowledge_home(os.environ), session.root)
    try:
        adoption = Adoption(library)
        found = adoption.proposal(project_id, all_clones)
        if not session.as_json:
            note(proposed(found))
        name = found["adopt"]["project_id"]
        if yes or (not session.as_json and sys.stdin.isatty() and typer.confirm("Use it here?", err=True)):
            found = adoption.adopt(name, all_clones)
    finally:
        library.close()
    session.show(found, f"`{found['folder']}` now uses `{name}`." if found["adopted"] else NOT_ADOPTED)
    if found["adopted"] and session.has_index:
        session.ask("manage_knowledge_base", action="sync")
