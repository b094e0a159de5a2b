"""The MCP clients that Lore can be installed in, with their configuration files and formats."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from lore_etl.core.errors import InvalidArgument
from lore_etl.core.json_types import JSON

Form = Literal["json", "toml"]


@dataclass(frozen=True)
class Client:
    """A client. `root` is its placeholder for the project folder, or None if it starts servers in that folder.

    Without a `project_file` the client has only the user's file.
    """

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
    settings: str = ""
    """The file beside them with hooks, in the format of Claude Code."""

    def file(self, project: Path, is_user: bool) -> Path:
        """Return the file that the client reads, of the project or of the user."""
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
    """Return a client with the values in `clients.toml`."""
    for key in {"home", "own"} & values.keys():
        first, *rest = values[key]
        values[key] = (*_FOLDERS.get(first, (first,)), *rest)
    return Client(name, **values)


_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CLIENTS = {name: _client(name, values) for name, values in _DATA.items()}


def label_of(path: Path, root: Path) -> str:
    """Return the path of a client's file as messages show it; for a project's file, from the root."""
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def client_named(name: str) -> Client:
    """Return the client with that name. Raises InvalidArgument."""
    if name not in CLIENTS:
        raise InvalidArgument(f"There is no client `{name[:100]}`.", f"Clients: {', '.join(CLIENTS)}.")
    return CLIENTS[name]
