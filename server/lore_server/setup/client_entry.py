"""Build the entry for a client's file: the command that starts Lore, portable between machines if possible."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from lore_etl.config.project import find_project
from lore_etl.core.errors import UsageError
from lore_etl.core.json_types import JSON
from lore_etl.core.text import is_encodable
from lore_server.setup import program
from lore_server.setup.clients import CLIENTS, Client


@dataclass(frozen=True)
class EntryRequest:
    """The purpose of the entry: its project, its options, and whether the file is shared."""

    client: Client
    project: Path
    is_user: bool = False
    is_fixed: bool = False
    """Whether the user named the project: the entry in the user's file then means this one, whichever is open."""
    config: Path | None = None
    toolsets: str | None = None


class ClientEntry(NamedTuple):
    """The entry as data, with notes for the user."""

    value: JSON
    notes: list[str]


def build(wanted: EntryRequest) -> ClientEntry:
    """Build the entry for a client. Raises UsageError for a path that is not UTF-8."""
    command, notes = _command(wanted)
    arguments = [*command[1:], "mcp", *_project(wanted)]
    if wanted.config:
        arguments += ["-c", _path(wanted, wanted.config.absolute())]
    if wanted.toolsets:
        arguments += ["--toolsets", wanted.toolsets]
    for text in (command[0], *arguments):
        if not is_encodable(text):
            raise UsageError("A path that is not UTF-8 cannot be written into a configuration.", "Rename the folder.")
    is_list = wanted.client.has_argument_list
    start: JSON = {"command": [command[0], *arguments]} if is_list else {"command": command[0], "args": arguments}
    return ClientEntry({**wanted.client.extra, **start}, [*notes, _next(wanted)])


def command_line(entry: object) -> list[str]:
    """Return the program of an entry and its arguments; empty if the entry starts no program."""
    if not isinstance(entry, dict):
        return []
    command, arguments = entry.get("command"), entry.get("args", [])
    whole = command if isinstance(command, list) else [command, *(arguments if isinstance(arguments, list) else [])]
    return [part for part in whole if isinstance(part, str)]


def starts_lore(entry: object) -> bool:
    """Return whether the program of an entry is Lore."""
    program_, *arguments = command_line(entry) or [""]
    started = Path(program_.replace("\\", "/")).stem
    packages = [word.partition("@")[0] for word in arguments]  # of `uvx lore-index@0.1.0 mcp`
    return started in (program.NAME, program.PACKAGE) or not {program.MODULE, program.PACKAGE}.isdisjoint(packages)


def foreign_parts(client: Client, entry: JSON, root: Path) -> list[str]:
    """Return the keys, program and arguments of an entry in a project's file that Lore would not write.

    A key such as `env` or `cwd`, another program or an option decides what runs, or with which configuration.
    """
    own = {"command", "args", *client.extra}
    if "command" not in entry and urlsplit(str(entry.get("url", ""))).hostname in ("127.0.0.1", "localhost", "::1"):
        return [f"`{key}`" for key in entry if key not in own | {"type", "url"}]
    keys = [f"`{key}`" for key in entry if key not in own]
    words = [filled(word, root) for word in command_line(entry)]
    own_starts = ([program.NAME], program.running(), program.lasting())
    start = next((start for start in own_starts if words[: len(start)] == start), words[:1])
    is_ours = start in own_starts
    name, *options = words[len(start) :] or [""]
    pairs = itertools.zip_longest(options[::2], options[1::2], fillvalue="")
    return [
        *keys,
        *([] if is_ours or not start else [f"the program {start[0]}"]),
        *([] if name == "mcp" else [f"the command `{name}`"]),
        *(f"{option} {value}".strip() for option, value in pairs if not _is_own_option(option, value, root)),
    ]


def _is_own_option(option: str, value: str, root: Path) -> bool:
    """Return whether Lore writes this option, and its value cannot come from the project."""
    if option == "-C":
        return (root / value).resolve() == root.resolve()
    if option == "-c":
        return Path(value).is_absolute() and not Path(value).resolve().is_relative_to(root.resolve())
    return option == "--toolsets"


def filled(text: str, root: Path) -> str:
    """Replace the clients' placeholders for the project folder."""
    for word in {client.root for client in CLIENTS.values() if client.root and client.root.startswith("$")}:
        text = text.replace(word, str(root))
    return text


def _command(wanted: EntryRequest) -> tuple[list[str], list[str]]:
    """Return the program: by name if that is enough, relative to the project folder, or by absolute path."""
    command = program.lasting()
    if wanted.is_user or command != program.running():
        return command, []
    if program.is_on_path():
        return [program.NAME], ["`lore` is started by name, so everyone who uses this file needs it on PATH."]
    file = Path(command[0])
    if wanted.client.root and file.is_relative_to(wanted.project):
        return [_path(wanted, file), *command[1:]], []
    return command, [
        f"The command is a path on this machine, {file}: everyone who uses this file needs Lore there. "
        "Put `lore` on PATH before installing to write its name instead."
    ]


def _project(wanted: EntryRequest) -> list[str]:
    """Return `-C` with the client's placeholder for the open project; empty if Lore finds it from its folder."""
    if wanted.is_user:
        if wanted.is_fixed or wanted.client.user_root == "":
            return ["-C", str(wanted.project)]
        return ["-C", wanted.client.user_root] if wanted.client.user_root else []
    if wanted.client.root:
        return ["-C", wanted.client.root]
    return [] if find_project(wanted.project) == wanted.project else ["-C", "."]


def _path(wanted: EntryRequest, file: Path) -> str:
    """Return the file relative to the client's placeholder if it is in the project and the file is shared."""
    if wanted.is_user or not wanted.client.root or not file.is_relative_to(wanted.project):
        return str(file)
    return f"{wanted.client.root}/{file.relative_to(wanted.project).as_posix()}"


def _next(wanted: EntryRequest) -> str:
    if not wanted.is_user:
        return wanted.client.then
    if not wanted.is_fixed and wanted.client.user_root != "":
        return f"In every project that {wanted.client.title} opens, Lore serves that project."
    return f"Lore serves {wanted.project.name} in any project that {wanted.client.title} has open."
