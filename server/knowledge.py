"""`lore knowledge …`: what agents wrote, and its history."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from server.command import cli, commands_of
from server.shell import Session

group = typer.Typer(no_args_is_help=True, help="What agents wrote for this project, and its history.")
cli.add_typer(group, name="knowledge")
command = commands_of(group)
ProjectIdOption = Annotated[
    str | None, typer.Option("-p", "--project-id", help="Another project's id; default: this project.")
]
FileArgument = Annotated[str | None, typer.Argument(metavar="[FILE]", help="Only this document.")]
MainOption = Annotated[bool, typer.Option("--main", help="Only the main document.")]
AllOption = Annotated[bool, typer.Option("--all", help="All projects.")]


@command
def list_(session: Session, project_id: ProjectIdOption = None, all: AllOption = False) -> None:
    """List the documents of this project; with --all, the projects."""
    if all:
        session.call("list_projects")
    else:
        session.call("list_knowledge_files", **_given(project_id=project_id))


@command
def get(
    session: Session,
    file: FileArgument = None,
    project_id: ProjectIdOption = None,
    at: Annotated[str | None, typer.Option(metavar="COMMIT", help="As this commit has it.")] = None,
) -> None:
    """Print a document, or without FILE the main document."""
    about = _given(project_id=project_id, commit=at)
    if file is None:
        session.call("get_project_main", **about)
    else:
        session.call("get_knowledge_file", filename=file, **about)


@command
def log(
    session: Session,
    file: FileArgument = None,
    project_id: ProjectIdOption = None,
    main: MainOption = False,
    all: AllOption = False,
    limit: Annotated[int, typer.Option("-n", "--limit", help="Most commits.")] = 50,
    skip: Annotated[int, typer.Option(help="Leave out the newest.")] = 0,
) -> None:
    """List what was written, the newest first: commit, date, author, message."""
    about = _given(project_id=project_id, filename=file)
    session.call("get_knowledge_history", main=main, everything=all, limit=limit, skip=skip, **about)


@command
def show(session: Session, commit: str) -> None:
    """Show what a commit changed, as a patch."""
    session.call("get_knowledge_history", commit=commit)


@command
def diff(
    session: Session,
    since: str,
    commit: Annotated[str | None, typer.Argument(help="Up to this commit; default: now.")] = None,
    file: Annotated[str | None, typer.Option("-f", "--file", help="Only this document.")] = None,
    project_id: ProjectIdOption = None,
    main: MainOption = False,
    all: AllOption = False,
) -> None:
    """Show what changed since a commit, as a patch."""
    about = _given(project_id=project_id, filename=file, commit=commit)
    session.call("get_knowledge_history", since=since, main=main, everything=all, **about)


@command
def revert(
    session: Session,
    commit: str,
    author: Annotated[str | None, typer.Option(help="Who takes it back, for the history.")] = None,
) -> None:
    """Take back what a commit did, by a new one."""
    session.call("revert_knowledge", commit=commit, **_given(author=author))


def _given(**arguments: str | None) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}
