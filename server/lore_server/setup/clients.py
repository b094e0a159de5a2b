"""The MCP clients that Lore can be installed in, and the command for their files, portable if possible."""

import itertools
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from lore_etl.config.project import find_project
from lore_etl.core.errors import InvalidArgument, UsageError
from lore_etl.core.json_types import JSON
from lore_etl.core.tables import table
from lore_etl.core.text import is_encodable

Form = Literal["json", "toml"]
PROGRAM = "lore"
PACKAGE = "lore-index"  # and the name of a second script, which `uvx` runs
MODULE = "lore_server.cli.main"


@dataclass(frozen=True)
class Client:
    """A client. `root` is its placeholder for the project folder; None if it starts servers in that folder."""

    name: str
    title: str
    home: tuple[str, str, str]
    """The user's file: the variable for its folder, the folder below HOME if that is not set, and the file name."""
    key: str = "mcpServers"
    project_file: str | None = None
    root: str | None = None
    user_root: str | None = None
    """The same in the user's file; empty if the client has no projects there."""
    then: str = ""
    form: Form = "json"
    extra: Mapping[str, str | bool | list[str]] = field(default_factory=dict)
    """Further keys, such as the one that loads the tools at the start instead of on demand."""
    has_argument_list: bool = False
    """Whether the program and its arguments are one list, `command`."""
    instructions: str = "AGENTS.md"
    """The file in the project folder whose text the client passes to its agent."""
    own: tuple[str, str, str] | None = None
    """Its folder of skills: the variable for a folder, the folder below HOME if that is not set, and the rest."""
    subagent: Mapping[str, str] | None = None
    """Further front matter of a subagent in the folder `agents` beside the skills; None if it has none."""
    subagent_file: str = "lore-search.md"
    settings: str = ""
    """The file beside them with hooks, in the format of Claude Code."""

    def file(self, project: Path, is_user: bool) -> Path:
        return project / self.project_file if self.project_file and not is_user else _below(*self.home)

    def own_file(self, *names: str) -> Path:
        """Return a file in the client's folder with the user's skills."""
        return _below(*self.own).joinpath(*names) if self.own else Path(*names)


def _below(variable: str, folder: str, name: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / folder) / name


_UNIX_HOME = ("XDG_CONFIG_HOME", ".config")
_WINDOWS_HOME = ("APPDATA", "AppData/Roaming")
_FOLDERS: dict[str, tuple[str, str]] = {
    "@app": {"darwin": ("", "Library/Application Support"), "win32": _WINDOWS_HOME}.get(sys.platform, _UNIX_HOME),
    "@config": _WINDOWS_HOME if sys.platform == "win32" else _UNIX_HOME,
    "@unix": _UNIX_HOME,
}


def _client(name: str, values: JSON) -> Client:
    for key in {"home", "own"} & values.keys():
        first, *rest = values[key]
        values[key] = (*_FOLDERS.get(first, (first,)), *rest)
    return Client(name, **values)


CLIENTS = {name: _client(name, values) for name, values in table(__file__).items()}


def label_of(path: Path, root: Path) -> str:
    """Return the path of a client's file as messages show it; for a project's file, from the root."""
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def client_named(name: str) -> Client:
    if name not in CLIENTS:
        raise InvalidArgument(f"There is no client `{name[:100]}`.", f"Clients: {', '.join(CLIENTS)}.")
    return CLIENTS[name]


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
    program_, *arguments = command_line(entry) or [""]
    started = Path(program_.replace("\\", "/")).stem
    packages = [word.partition("@")[0] for word in arguments]  # of `uvx lore-index@0.1.0 mcp`
    return started in (PROGRAM, PACKAGE) or not {MODULE, PACKAGE}.isdisjoint(packages)


def foreign_parts(client: Client, entry: JSON, root: Path) -> list[str]:
    """Return the parts of an entry in a project's file that Lore would not write: they decide what runs, and how."""
    own = {"command", "args", *client.extra}
    if "command" not in entry and urlsplit(str(entry.get("url", ""))).hostname in ("127.0.0.1", "localhost", "::1"):
        return [f"`{key}`" for key in entry if key not in own | {"type", "url"}]
    keys = [f"`{key}`" for key in entry if key not in own]
    words = [filled(word, root) for word in command_line(entry)]
    own_starts = ([PROGRAM], running_command(), lasting_command())
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
    for word in {client.root for client in CLIENTS.values() if client.root and client.root.startswith("$")}:
        text = text.replace(word, str(root))
    return text


def _command(wanted: EntryRequest) -> tuple[list[str], list[str]]:
    """Return the program: by name if that is enough, relative to the project folder, or by absolute path."""
    command = lasting_command()
    if wanted.is_user or command != running_command():
        return command, []
    if is_on_path():
        return [PROGRAM], ["`lore` is started by name, so everyone who uses this file needs it on PATH."]
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


def running_command() -> list[str]:
    """Return the command that starts this program, by absolute path."""
    sibling = Path(sys.executable).with_name(f"{PROGRAM}.exe" if sys.platform == "win32" else PROGRAM)
    for file in (Path(sys.argv[0]).absolute(), sibling):
        if file.name in (PROGRAM, sibling.name) and os.access(file, os.X_OK) and file.is_file():
            return [str(file)]
    return [sys.executable, "-P", "-m", MODULE]


def lasting_command() -> list[str]:
    """Return a command that starts this program later too: `uvx` and `pipx run` use an environment that they delete."""
    parts = Path(sys.prefix).parts
    if "archive-v0" in parts and "uv" in parts:
        return ["uvx", PACKAGE]
    return ["pipx", "run", PACKAGE] if {"pipx", ".cache"} <= set(parts) else running_command()


def is_on_path() -> bool:
    """Return whether `lore` means this program even outside an activated environment."""
    activated = os.environ.get("VIRTUAL_ENV")
    own = str(Path(activated) / ("Scripts" if sys.platform == "win32" else "bin")) if activated else ""
    folders = [
        folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder and folder.rstrip("/") != own
    ]
    found = shutil.which(PROGRAM, path=os.pathsep.join(folders))
    return found is not None and Path(found).resolve() == Path(running_command()[0]).resolve()
