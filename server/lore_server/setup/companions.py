"""Tell agents when to use Lore: by a block in the project's instructions, and files in the user's own folder.

No hook is written into the project: it would run for everyone who opens it.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lore_etl.core.errors import StorageError, UsageError, os_errors_as
from lore_etl.core.json_types import JSON
from lore_etl.core.tables import table
from lore_server.setup import install
from lore_server.setup.clients import CLIENTS, Client, lasting_command

START, END = "<!-- lore:start -->", "<!-- lore:end -->"
TEXTS: dict[str, str] = table(__file__)
BLOCK = f"""{START}
## Lore

{TEXTS["advice"]}- Tell subagents to do the same: they do not read this file.
{END}
"""
_BLOCK = re.compile(rf"{re.escape(START)}.*?{re.escape(END)}\n?", re.DOTALL)
MARK = "<!-- Written by `lore install`; `lore uninstall` removes it. -->"
EVENT, SEARCHES, HOOK = "PostToolUse", "Grep|Bash", ("hook", "searched")


@dataclass(frozen=True)
class Companion:
    """A file's text before and after (None: no file); `shown` is Lore's part; if it `is_left`, the user edits it."""

    path: Path
    before: str | None
    after: str | None
    shown: str
    is_left: bool = False

    def write(self) -> None:
        if self.after is not None:
            install.write(self.path, self.after, str(self.path))
            return
        with os_errors_as(StorageError, f"Cannot delete {self.path}", "Check the folder's permissions."):
            self.path.unlink(missing_ok=True)
        with suppress(OSError):  # it has other files
            self.path.parent.rmdir()


def changes(client: Client, server: str, is_wanted: bool) -> list[Companion]:
    """Return the files to write for a server, or to remove, except the user's. Raises UsageError, ConfigError."""
    if client.own is None:
        if is_wanted:
            able = ", ".join(one.name for one in CLIENTS.values() if one.own)
            raise UsageError(f"Lore knows no folder of skills for {client.title}.", f"Clients with one: {able}.")
        return []
    found = [_text(path, text, is_wanted) for path, text in texts(client, server)]
    if client.settings:
        found.append(_hook(client.own_file(client.settings), is_wanted))
    return [one for one in found if one.after != one.before or one.is_left]


def texts(client: Client, server: str) -> Iterator[tuple[Path, str]]:
    """Return the files that explain a server to agents, with their paths."""
    advice = TEXTS["advice"].replace("`lore`", f"`{server}`")
    skill = {"name": "lore", "description": TEXTS["skill"]}
    yield client.own_file("skills", "lore", "SKILL.md"), _document(skill, f"# Lore\n\n{advice}\n{TEXTS['condition']}\n")
    if client.subagent is not None:
        more = {key: value.format(server=f"mcp__{server}") for key, value in client.subagent.items()}
        agent = {"name": "lore-search", "description": TEXTS["agent"], **more}
        yield client.own_file("agents", client.subagent_file), _document(agent, f"{TEXTS['task']}\n{advice}")


def _document(front: dict[str, str], body: str) -> str:
    lines = "\n".join(f"{key}: {value}" for key, value in front.items())
    return f"---\n{lines}\n---\n\n{MARK}\n\n{body}"


def _text(path: Path, text: str, is_wanted: bool) -> Companion:
    before = install.read(path, str(path))
    if before is not None and MARK not in before:
        return Companion(path, before, before, text, is_left=is_wanted)
    return Companion(path, before, text if is_wanted else None, text)


def _hook(path: Path, is_wanted: bool) -> Companion:
    before = install.read(path, str(path))
    data = install.parse(before or "", "json", str(path))
    words = [*lasting_command(), *HOOK]
    command = subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
    hook = {"type": "command", "command": command, "timeout": 10, "async": True}
    ours: JSON = {"matcher": SEARCHES, "hooks": [hook]}
    every = data.get("hooks", {})
    groups = every.get(EVENT, []) if isinstance(every, dict) else None
    shown = json.dumps({"hooks": {EVENT: [ours]}}, indent=2) + "\n"
    if not isinstance(groups, list):
        return Companion(path, before, before, shown, is_wanted)
    wanted = [*(group for group in groups if not _runs_ours(group)), *([ours] if is_wanted else [])]
    events = {key: value for key, value in {**every, EVENT: wanted}.items() if value or key != EVENT}
    new = {key: value for key, value in {**data, "hooks": events}.items() if value or key != "hooks"}
    if new == data:
        return Companion(path, before, before, shown)
    try:
        return Companion(path, before, install.in_style_of(before or "", new), shown)
    except ValueError:  # it has comments, which would be lost
        return Companion(path, before, before, shown, True)


def _runs_ours(group: object) -> bool:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    commands = [hook.get("command") for hook in hooks if isinstance(hook, dict)] if isinstance(hooks, list) else []
    return any(str(command).endswith(" ".join(HOOK)) for command in commands)


def change_guide(label: str, project: Path, is_wanted: bool) -> Literal["written", "removed", "unchanged"]:
    """Add, update or remove the block. Raises StorageError, and ConfigError unless the file is UTF-8 in the project."""
    path = _linked(project / label)
    text = install.read(path, label, project)
    new = with_block(text or "") if is_wanted else without_block(text or "")
    if new == (text or ""):
        return "unchanged"
    install.write(path, new, label, project)
    return "written" if is_wanted else "removed"


def _linked(path: Path) -> Path:
    """Return the other file of instructions that this one is a symlink to, as is usual for CLAUDE.md; else the path."""
    target = Path(os.path.normpath(path.readlink())) if path.is_symlink() else Path()
    return path.with_name(target.name) if str(target) in {client.instructions for client in CLIENTS.values()} else path


def with_block(text: str) -> str:
    """Return the text with the current block, in place of an older block or at the end."""
    if _BLOCK.search(text):
        return _BLOCK.sub(lambda _: BLOCK, text, count=1)
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return text + gap + BLOCK


def without_block(text: str) -> str:
    """Return the text without the block and without the blank line before it."""
    return re.sub(rf"(?:(?<=\n)\n)?{_BLOCK.pattern}", "", text, count=1, flags=re.DOTALL)
