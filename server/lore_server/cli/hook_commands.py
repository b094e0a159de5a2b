"""`lore hook …`: the command for an agent's session-start hook, and a search on the same server."""

import os
from pathlib import Path
from typing import Annotated

from typer import Exit, Option

from lore_etl.core.errors import NotFound
from lore_server.cli.command import GroupsOption, add_group
from lore_server.console.output import fail, print_json
from lore_server.owner.session import Session

command = add_group("hook", "Keep memory files up to date on a knowledge server.")
UrlOption = Annotated[str | None, Option(help="URL of an MCP server with add_memory; default: Lore's own memories.")]


@command
def session_start(
    session: Session,
    url: UrlOption = None,
    memory_dir: Annotated[
        list[Path] | None, Option(help="Folder with memory files; can be repeated.", metavar="DIR")
    ] = None,
    dry_run: Annotated[bool, Option("-n", "--dry-run", help="List what would be sent, without sending it.")] = False,
    all: Annotated[bool, Option("-a", "--all", help="Also send unchanged files.")] = False,
    status: Annotated[bool, Option("-s", "--status", help="Show the result of the last run and exit.")] = False,
    max: Annotated[int, Option(min=0, help="Maximum number of files per run; 0: all.")] = 0,
    budget: Annotated[float, Option(min=0, max=600, help="Seconds to wait before continuing in the background.")] = 15,
) -> None:
    """Send changed memory files to a knowledge server, without ever blocking the session."""
    from lore_server.hook.knowledge_server import target_of
    from lore_server.hook.session_start import session_start, show_status, upload_request

    target_of(url, {}, session.root)  # unlike any other error, a wrong command line has an exit code
    try:
        target = target_of(url, os.environ, session.place.folder)
        if status:
            show_status(session, target)
        else:
            request = upload_request(session, target, memory_dir or (), all, max)
            session_start(session, target, request, dry_run, budget)
    except Exception as error:  # noqa: BLE001 - outermost boundary: the session must start, whatever the error
        fail(error, session.as_json)


@command
def searched(session: Session) -> None:
    """Mention Lore to an agent that searches files a third time for the same; reads the event of a client's hook."""
    from lore_server.hook.searched import reply

    reply()


@command
def search(session: Session, query: str, url: UrlOption = None, group: GroupsOption = None) -> None:
    """Search the knowledge server that the hook sends to, in its database's query syntax."""
    from lore_server.hook.knowledge_server import target_of

    target = target_of(url, os.environ, session.place.folder)
    if target.url:
        from lore_server.hook import mcp_connection

        print_json(mcp_connection.search(target, query, group or []))
    else:
        found = session.call("search_memories", query=query, group_ids=group or None)
        if not found["results"]:
            raise Exit(NotFound.exit_code)
