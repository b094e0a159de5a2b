"""The program, the common options and the error handling of all commands."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from lore_server import __version__
from lore_server.console import output
from lore_server.console.terminal import configure_logging
from lore_server.owner.session import Session

cli = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Search a project's guides, code, tickets, releases, specs and decisions, and answer questions from them.",
)
CursorOption = Annotated[str | None, Option(help="next_cursor of a truncated reply.")]
TokensOption = Annotated[int, Option(help="Maximum tokens in the reply.")]
MassDeleteOption = Annotated[bool, Option("--allow-mass-delete", help="Allow deleting over 30 % of the index.")]
GroupsOption = Annotated[list[str] | None, Option("-g", "--group", help="Only this group; can be repeated.")]
Words = Annotated[list[str], Argument(metavar="WORD...", help="Words of the query; quotes are optional.")]


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        output.line(__version__)
        raise typer.Exit


@cli.callback()
def options(
    context: typer.Context,
    project: Annotated[Path | None, Option("-C", "--project", help="Project folder.", metavar="DIR")] = None,
    config: Annotated[
        Path | None, Option("-c", "--config", help="TOML or JSON file that overrides all others.", metavar="FILE")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print the operation's result as JSON.")] = False,
    verbose: Annotated[bool, Option("-v", "--verbose", help="Log to standard error.")] = False,
    no_daemon: Annotated[bool, Option("--no-daemon", help="Open the index in this process, without an owner.")] = False,
    version: Annotated[
        bool, Option("--version", help="Print the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Accept the options before or after the command."""
    context.obj = Session(project, config, as_json, verbose, no_daemon)


_COMMON = [
    parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    for name, parameter in inspect.signature(options, eval_str=True).parameters.items()
    if name not in ("context", "version")
]


def add_group(name: str, help: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a group of commands, and return the decorator that adds a command to it."""
    group = typer.Typer(no_args_is_help=True, help=help)
    cli.add_typer(group, name=name)
    return functools.partial(_command, group)


def _command(group: typer.Typer, function: Callable[..., None]) -> Callable[..., None]:
    """Turn a function of (session, …) into a command with the common options and error handling."""

    @functools.wraps(function)
    def run(context: typer.Context, **values: Any) -> None:
        given = {option.name: values.pop(option.name) for option in _COMMON}
        session = Session(**{name: value or getattr(context.obj, name) for name, value in given.items()})
        configure_logging(session.verbose)
        try:
            session.warn()
            function(session, **values)
        except (typer.Exit, typer.Abort, KeyboardInterrupt):
            raise
        except BrokenPipeError:
            raise typer.Exit(0) from None
        except Exception as error:  # noqa: BLE001 - outermost boundary of an interface
            raise typer.Exit(output.fail(error, session.as_json)) from None
        finally:
            session.close()

    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]  # without the session
    parameters = [context, *own, *_COMMON]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return group.command(name=function.__name__.rstrip("_").replace("_", "-"))(run)


command = functools.partial(_command, cli)
