"""The MCP clients that Lore can be installed in, with their configuration files and formats."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from lore_etl.core.errors import InvalidArgument

Form = Literal["json", "toml"]


@dataclass(frozen=True)
class Client:
    """A client. `root` is its placeholder for the project folder, or None if it starts servers in that folder.

    Without a `project_file` the client has only the user's file.
    """

    name: str
    title: str
    key: str
    project_file: str | None
    home: tuple[str, str, str]
    """The user's file: the variable for its folder, the folder below HOME if that is not set, and the file name."""
    root: str | None
    user_root: str | None
    """The same in the user's file; empty if the client has no projects there."""
    then: str
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
_APP_HOME = {"darwin": ("", "Library/Application Support"), "win32": _WINDOWS_HOME}.get(sys.platform, _UNIX_HOME)
CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-code", "Claude Code", "mcpServers", ".mcp.json", ("CLAUDE_CONFIG_DIR", "", ".claude.json"),
            root="${CLAUDE_PROJECT_DIR:-.}", user_root=None,
            then="Claude Code asks once whether the project's servers may run; `/mcp` lists them.",
            extra={"alwaysLoad": True}, instructions="CLAUDE.md", own=("CLAUDE_CONFIG_DIR", ".claude", ""),
            subagent={"tools": "{server}, Read, Grep, Glob"}, settings="settings.json",
        ),
        Client(
            "claude-desktop", "Claude Desktop", "mcpServers", None, (*_APP_HOME, "Claude/claude_desktop_config.json"),
            root=None, user_root="", then="",
        ),
        Client(
            "cursor", "Cursor", "mcpServers", ".cursor/mcp.json", ("", ".cursor", "mcp.json"),
            root="${workspaceFolder}", user_root="${workspaceFolder}",
            then="Cursor lists it among its MCP servers in the settings; enable it there.",
            own=("", ".cursor", ""), subagent={},
        ),
        Client(
            "vscode", "VS Code", "servers", ".vscode/mcp.json", (*_APP_HOME, "Code/User/mcp.json"),
            root="${workspaceFolder}", user_root="",
            then="Run `MCP: List Servers` in VS Code to start it, and trust it when asked.",
            extra={"type": "stdio"},
        ),
        Client(
            "gemini", "Gemini CLI", "mcpServers", ".gemini/settings.json",
            ("GEMINI_CLI_HOME", "", ".gemini/settings.json"), root=".", user_root=None,
            then="Gemini CLI reads it when it next starts; `/mcp` lists the servers.",
            instructions="GEMINI.md", own=("GEMINI_CLI_HOME", "", ".gemini"),
        ),
        Client(
            "codex", "Codex", "mcp_servers", ".codex/config.toml", ("CODEX_HOME", ".codex", "config.toml"),
            root=None, user_root=None, form="toml",
            then="Codex reads a project's file only if you trust the project; `codex mcp list` shows its servers.",
            own=("CODEX_HOME", ".codex", ""),
        ),
        Client(
            "copilot", "GitHub Copilot CLI", "mcpServers", None, ("COPILOT_HOME", ".copilot", "mcp-config.json"),
            root=None, user_root=None, then="", extra={"type": "stdio", "tools": ["*"], "deferTools": "never"},
            own=("COPILOT_HOME", ".copilot", ""),
        ),
        Client(
            "zed", "Zed", "context_servers", ".zed/settings.json",
            (*(_WINDOWS_HOME if sys.platform == "win32" else _UNIX_HOME), "zed/settings.json"),
            root=None, user_root=None,
            then="Zed starts it immediately; the settings of the agent panel show its state.",
        ),
        Client(
            "opencode", "opencode", "mcp", "opencode.json", (*_UNIX_HOME, "opencode/opencode.json"),
            root=None, user_root=None, then="opencode reads it when it next starts; `opencode mcp list` shows it.",
            extra={"type": "local", "enabled": True}, has_argument_list=True, own=(*_UNIX_HOME, "opencode"),
            subagent={"mode": "subagent"},
        ),
        Client(
            "windsurf", "Windsurf", "mcpServers", None, ("", ".codeium/windsurf", "mcp_config.json"),
            root=None, user_root="", then="",
        ),
        Client(
            "cline", "Cline", "mcpServers", None,
            (*_APP_HOME, "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
            root=None, user_root="", then="",
        ),
        Client(
            "jetbrains", "Junie in JetBrains IDEs", "mcpServers", None, ("", ".junie/mcp", "mcp.json"),
            root=None, user_root="", then="",
        ),
    )
}  # fmt: skip


def label_of(path: Path, root: Path) -> str:
    """Return the path of a client's file as messages show it; for a project's file, from the root."""
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def client_named(name: str) -> Client:
    """Return the client with that name. Raises InvalidArgument."""
    if name not in CLIENTS:
        raise InvalidArgument(f"There is no client `{name[:100]}`.", f"Clients: {', '.join(CLIENTS)}.")
    return CLIENTS[name]
