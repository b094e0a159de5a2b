"""Return the lists of routes, tools and commands, from the contract and from the command line itself."""

import re
from importlib import import_module
from typing import Any

import typer

from lore_server.cli.command import cli
from lore_server.cli.main import COMMANDS
from lore_server.contract import Operation, load_contract

COMMON = {"-C", "-c", "--json", "-v", "--no-daemon"}


def routes() -> str:
    """Return the route of each operation, with the arguments that a GET has, and whether it needs the token."""
    return "\n".join(
        f"- `{_route(one)}`: `{one.id}`{' (token)' if one.changes_state or one.needs_admin else ''}"
        for one in load_contract()
    )


def _route(operation: Operation) -> str:
    arguments = [name for name in operation.input_schema["properties"] if f"{{{name}}}" not in operation.path]
    query = "&".join(f"{name}=" for name in arguments) if operation.method == "GET" else ""
    return f"{operation.method} /api{operation.path}" + (f"?{query}" if query else "")


def tools() -> str:
    """Return the tools of each toolset with their summaries, in the order of the contract."""
    toolsets: dict[str, list[Operation]] = {}
    for operation in load_contract():
        toolsets.setdefault(operation.toolset, []).append(operation)
    return "\n\n".join(
        "\n".join([f"Toolset `{name}`:", "", *(f"- `{one.id}`: {one.summary}" for one in some)])
        for name, some in toolsets.items()
    )


def commands() -> str:
    """Return the commands with their arguments, their own options and their help."""
    for name in COMMANDS:
        import_module(f"lore_server.cli.{name}")  # registers its commands
    return "\n".join(sorted(_rows(typer.main.get_command(cli), "lore")))


def _rows(command: Any, words: str) -> list[str]:
    if hasattr(command, "commands"):
        return [row for name, one in command.commands.items() for row in _rows(one, f"{words} {name}")]
    usage = " ".join([words, *filter(None, map(_shown, command.params))])
    return [f"- `{usage}`: {command.help.partition(chr(10) * 2)[0]}"]


def _shown(parameter: Any) -> str:
    value = re.sub(r"[\[\]]|\.\.\.", "", parameter.metavar or parameter.name.upper())
    more = "…" if parameter.nargs == -1 or getattr(parameter, "multiple", False) else ""
    if parameter.param_type_name == "argument":
        return f"{value}{more}" if parameter.required else f"[{value}]{more}"
    if getattr(parameter, "hidden", False) or COMMON & set(parameter.opts):
        return ""
    name = [*parameter.opts, *parameter.secondary_opts][0 if not parameter.default else -1]
    shown = name if parameter.is_flag else f"{parameter.opts[0]} {value}"
    return f"{shown}{more}" if parameter.required else f"[{shown}]{more}"
