"""`lore pull`: copy the tickets and releases of a project from its tracker, and index them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from lore_etl.core.errors import IndexMissing
from lore_etl.core.text import counted
from lore_server.cli.command import command
from lore_server.console import output
from lore_server.owner.session import Session


@command
def pull(
    session: Session,
    tracker: Annotated[str, typer.Argument(help="github or gitlab.")],
    repository: Annotated[str, typer.Argument(help="OWNER/REPO or GROUP/PROJECT.")],
    to: Annotated[
        Path | None, typer.Option(help="Folder for the tickets; default: in the index folder.", metavar="FOLDER")
    ] = None,
    url: Annotated[str | None, typer.Option(help="URL of your own server's API.", metavar="URL")] = None,
    wait: Annotated[int, typer.Option(help="Maximum seconds to wait for the rate limit.", min=0)] = 60,
    sync: Annotated[bool, typer.Option(help="Index the tickets.")] = True,
) -> None:
    """Copy a project's tickets, comments and releases from GitHub or GitLab, and index them.

    Later pulls read only tickets that have changed. A token is read only from GITHUB_TOKEN or GITLAB_TOKEN.
    """
    from lore_etl.files.indexed import PULLED
    from lore_server.trackers.pull import PullRequest, check_project
    from lore_server.trackers.pull import pull as pull_project

    check_project(tracker, repository)
    if to is None and not session.has_index:
        raise IndexMissing("This project has no index.", "Run `lore init` first, or give a folder with --to.")
    home = to.resolve() if to else session.place.folder
    below = "" if to else f"{PULLED.removeprefix('@')}/{tracker}/{repository.lower()}"
    folder = home / below
    wanted = PullRequest(tracker, repository, home, below, url, wait, os.environ)
    report = pull_project(wanted, session.show_stage)
    files = counted(len(report.changed), "file")
    record = {**report.record(), "folder": str(folder)}
    session.show(record, f"{files} changed in {folder}; {counted(report.requests, 'request')}.")
    for note in () if session.as_json else report.notes:
        output.note(note)
    if sync and report.changed:
        session.sync()
