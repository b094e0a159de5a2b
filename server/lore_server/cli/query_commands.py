"""Commands that parse their arguments, call one operation and print its result."""

import json
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Annotated, cast

import typer
from typer import Argument, Option

from lore_etl.config.project import private_folder
from lore_etl.core.atomic import read_if_any, replace_content
from lore_etl.core.errors import (
    AnswerNotFound,
    Cancelled,
    IndexMissing,
    InvalidArgument,
    NotFound,
    UsageError,
    from_record,
)
from lore_etl.stores.claim import record_folder
from lore_server.cli.command import CursorOption, MassDeleteOption, TokensOption, Words, command
from lore_server.console import output
from lore_server.owner.session import LONGEST_WAIT, Session
from lore_server.replies import render_index
from lore_server.replies.records import SourceTextRecord
from lore_server.setup.clients import CLIENTS

WHOLE = 1_000_000  # tokens: a shell has a pager, not a context window
ToolsetsOption = Annotated[
    str, Option(help="MCP tools to offer; default: query,documents,manage. projects and memories write knowledge.")
]
TypeOption = Annotated[str, Option("-t", "--type", help="Only this document type.")]
BriefOption = Annotated[bool, Option("--brief", help="Show file names and lines without text.")]
TypesOption = Annotated[
    list[str] | None, Option("-t", "--type", help="Only this document type; repeat it for several.")
]
LAST_ANSWER = "last-answer"  # the file with its id, among the records of the index
LONGEST = 40  # characters of an id


@command
def init(
    session: Session,
    folder: Annotated[Path | None, Argument(metavar="[DIR]", help="Project folder; default: see -C.")] = None,
    sync: Annotated[bool, Option(help="Build the index.")] = True,
    force: Annotated[bool, Option("--force", help="Accept the home folder or / as the project.")] = False,
) -> None:
    """Set up Lore for a project: find its knowledge, write lore.toml if missing, build the index."""
    if folder is not None and session.project is not None:
        raise UsageError("The project folder is given twice.", "Give it after init or with -C, not both.")
    session.project = folder or session.project
    if not force and session.root in (Path.home().resolve(), Path(session.root.anchor)):
        raise UsageError(f"{session.root} is not a project.", "Name a project's folder, or add --force to index it.")
    session.announce()
    try:
        result = session.call("init_project", sync=sync, wait_seconds=LONGEST_WAIT)
    except KeyboardInterrupt:
        output.note("The sync continues in the background; `lore call cancel_job id=latest` cancels it.")
        raise
    job = result.get("job", {"state": "done"})
    if job["state"] != "done":
        raise typer.Exit(from_record(job["problem"]).exit_code if "problem" in job else Cancelled.exit_code)
    if (questions := result.get("questions")) and not session.as_json:
        output.note("Next:")
        output.note(f'  lore search "{questions["search"]}"')
        output.note(f'  lore ask "{questions["ask"]}"')
        output.note(f"  lore install CLIENT    ({', '.join(CLIENTS)})")


@command
def sync(session: Session, allow_mass_delete: MassDeleteOption = False) -> None:
    """Update the index to match the project's files."""
    session.announce()
    started = session.ask("manage_knowledge_base", action="sync", allow_mass_delete=allow_mass_delete, wait_seconds=0)
    try:
        result = session.ask("get_job", id=started["id"], wait_seconds=LONGEST_WAIT)
    except KeyboardInterrupt:
        if "joined" not in started:
            session.ask("cancel_job", id=started["id"])
        raise
    if "problem" in result and result["state"] == "failed":
        raise from_record(result["problem"])
    session.print_result("manage_knowledge_base", result)
    if result["state"] != "done":
        raise typer.Exit(Cancelled.exit_code)


@command
def search(
    session: Session,
    query: Words,
    also: Annotated[
        list[str] | None, Option(help="Another phrasing of the question, or a name in it; up to three.")
    ] = None,
    type: TypesOption = None,
    path: Annotated[
        list[str] | None, Option("-p", "--path", help="Only this file, folder or pattern (docs/**); repeatable.")
    ] = None,
    lang: Annotated[list[str] | None, Option(help="Only this language (python); repeatable.")] = None,
    after: Annotated[str | None, Option(help="Only documents dated on or after this day (2025-01-31).")] = None,
    before: Annotated[str | None, Option(help="Only documents dated before this day.")] = None,
    limit: Annotated[int, Option("-n", "--limit", help="Maximum number of results.")] = 10,
    passages: Annotated[int, Option(help="Maximum number of further passages of each file.")] = 0,
    facets: Annotated[bool, Option("--facets", help="Count the matches by type, folder, language and age.")] = False,
    explain: Annotated[bool, Option("--explain", help="Show each score's terms and each step's time.")] = False,
    brief: BriefOption = False,
    max_tokens: TokensOption = 2000,
    cursor: CursorOption = None,
) -> None:
    """Search the project and list ranked passages with file and lines."""
    result = session.call(
        "query_documents", query=[" ".join(query), *also] if also else " ".join(query), type=type or None,
        path=path or None, lang=lang or None, after=after, before=before, limit=limit, passages=passages, facets=facets,
        explain=explain, brief=brief, max_tokens=max_tokens, cursor=cursor,
    )  # fmt: skip
    if not result["results"]:
        raise typer.Exit(NotFound.exit_code)


@command
def ask(
    session: Session,
    query: Annotated[
        list[str] | None, Argument(metavar="[WORD]...", help="Words of the question; only --save works without any.")
    ] = None,
    type: TypesOption = None,
    limit: Annotated[int, Option("-n", "--limit", help="Maximum number of files to use.")] = 5,
    max_tokens: TokensOption = 3000,
    continue_: Annotated[bool, Option("--continue", help="Follow up on your last answer in this project.")] = False,
    brief: BriefOption = False,
    save: Annotated[str | None, Option(help="Save the answer as a knowledge document.", metavar="TITLE")] = None,
) -> None:
    """Answer a question with citations."""
    if not query:
        if save is None or continue_:
            raise UsageError("There is no question.", 'Ask one: lore ask "how are jobs retried".')
        session.call("save_answer", answer=last_answer(session.place.folder), title=save)
        return
    operation, shown = "ask_knowledge_base", output.StreamedAnswer(session.as_json)
    session.on_text = shown.on_text
    earlier = {"follow_up": last_answer(session.place.folder)} if continue_ else {}
    result = session.ask(
        operation, query=" ".join(query), type=type or "all", limit=limit, max_tokens=max_tokens, brief=brief, **earlier
    )
    session.print_result(operation, result, shown.printed)
    remember_answer(session.place.folder, result["id"])
    if not result["found"]:
        raise typer.Exit(NotFound.exit_code)
    if save is not None:
        saved = session.ask("save_answer", answer=result["id"], title=save)
        output.note(f"Saved as {saved['filename']}.")


@command
def hierarchy(
    session: Session, root: str, depth: Annotated[int | None, Option(help="Levels of subclasses; default: all.")] = None
) -> None:
    """Show a class and its subclasses."""
    session.call("get_class_hierarchy", root=root, depth=depth, max_tokens=WHOLE)


@command
def docs(
    session: Session,
    id: Annotated[str | None, Argument(help="Id of a chunk to show in full.")] = None,
    type: TypeOption = "all",
    source: Annotated[str | None, Option("-s", "--source", help="Only this file.")] = None,
    limit: Annotated[int, Option("-n", "--limit")] = 100,
    offset: Annotated[int, Option()] = 0,
) -> None:
    """List the indexed chunks, or show one in full."""
    if id is not None:
        session.call("get_document_by_id", id=id, max_tokens=WHOLE)
    else:
        session.call("list_documents", type=type, source=source, limit=limit, offset=offset, max_tokens=WHOLE)


@command
def status(session: Session) -> None:
    """Check every component and suggest repairs."""
    result = session.call("healthcheck")
    if result["status"] == "unhealthy":
        raise typer.Exit(1)


@command
def verify(session: Session) -> None:
    """Compare the whole content of the index; `lore sync` repairs damage."""
    if not session.has_index:
        raise IndexMissing("This project has no index yet.")
    if session.call("manage_database", action="verify")["status"] != "verified":
        raise typer.Exit(1)


@command
def call(
    session: Session,
    operation: Annotated[str, Argument(metavar="OPERATION", help="Its name; an unknown one lists all.")],
    arguments: Annotated[list[str] | None, Argument(metavar="[KEY=VALUE]...")] = None,
    json_args: Annotated[str | None, Option(help="Arguments as a JSON object.")] = None,
) -> None:
    """Run any operation of the contract and print its result."""
    from lore_server.contract import load_contract

    known = load_contract()[operation]  # it determines which values are numbers
    try:
        given = json.loads(json_args) if json_args else {}
    except (ValueError, RecursionError) as error:
        raise InvalidArgument("--json-args is not valid JSON.") from error
    if not isinstance(given, dict):
        raise InvalidArgument("--json-args must be a JSON object.")
    for pair in arguments or ():
        key, separator, value = pair.partition("=")
        if not separator:
            raise InvalidArgument(f"`{pair}` is not in the form key=value.")
        given[key] = known.parsed(key, value)
    session.as_json = True
    session.print_result(operation, session.ask(operation, **given))


@command
def serve(
    session: Session,
    port: Annotated[int | None, Option(help="Port; 0 picks a free port.")] = None,
    host: Annotated[str | None, Option(help="Address to listen on; any address but loopback requires a token.")] = None,
    toolsets: ToolsetsOption = "",
    projects: Annotated[Path | None, Option(help="A folder of projects, or a file that names them: serve all.")] = None,
    replica: Annotated[
        str | None, Option(metavar="BRANCH", help="Serve the snapshots of a branch at published.target.")
    ] = None,
) -> None:
    """Serve the page at /, MCP at /mcp and the HTTP API at /api."""
    from lore_server.cli.serve import serve_http, serve_projects, serve_replica

    chosen = _chosen(toolsets)
    if replica is not None and projects is not None:
        raise UsageError("--replica and --projects exclude each other.", "Start a server for each.")
    if replica is not None:
        serve_replica(session, replica, host, port, chosen)
    elif projects is not None:
        serve_projects(session, projects, host, port, chosen)
    else:
        serve_http(session, host, port, chosen)
    from lore_server.owner.process import leave

    leave()


@command
def mcp(session: Session, toolsets: ToolsetsOption = "") -> None:
    """Serve MCP over standard input and output, through the owner of the index."""
    chosen = _chosen(toolsets)
    if session.no_daemon:
        from lore_server.cli.serve import serve_stdio

        serve_stdio(session, chosen)
        return
    from lore_server.owner.bridge import run

    raise typer.Exit(run(session.root, session.config_file, chosen))


def _chosen(toolsets: str) -> list[str] | None:
    return [toolset.strip() for toolset in toolsets.split(",")] if toolsets else None


def remember_answer(index: Path, id_: str) -> None:
    """Store the id. After an error there is only no answer to continue."""
    with suppress(OSError):
        replace_content(private_folder(record_folder(index)) / LAST_ANSWER, [id_], 0o600)


def last_answer(index: Path) -> str:
    """Return the id of the last answer. Raises AnswerNotFound."""
    if id_ := (read_if_any(record_folder(index) / LAST_ANSWER, LONGEST) or "").strip():
        return id_
    raise AnswerNotFound("You have no earlier answer in this project.", "Ask a question first, without --continue.")


@command
def why(session: Session, place: Annotated[str, Argument(metavar="PLACE", help="FILE or FILE:10-20.")]) -> None:
    """Show the commits that changed a file or some of its lines, and the tickets that they name."""
    from lore_server.replies.paging import place_of

    path, asked = place_of(place)
    lines = {"start": asked[0], "end": asked[1]} if asked else {}
    result = session.ask("get_source", path=_path_in(session.root, path), **lines, history=True, max_tokens=WHOLE)
    session.show(result, render_index.history(cast("SourceTextRecord", result)).body)
    if not result["history"]:
        raise typer.Exit(NotFound.exit_code)


def _path_in(root: Path, given: str) -> str:
    """Return a file's path from the project root; it is given relative to the current folder or to the root."""
    place = (Path.cwd() / given).resolve()
    is_below = place.is_file() and place.is_relative_to(root) and not (root / given).is_file()
    return place.relative_to(root).as_posix() if is_below else PurePosixPath(given).as_posix()
