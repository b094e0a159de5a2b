"""Explain to agents when to use Lore, in a short block in the project's file of instructions, such as AGENTS.md."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from lore_server.setup import install
from lore_server.setup.clients import CLIENTS

START, END = "<!-- lore:start -->", "<!-- lore:end -->"
ADVICE = """\
This project has an index of its guides, code, tickets, releases, specs and decisions, served by the MCP server `lore`.

- Before you search files by hand, call `query_documents` with the question, and open what it finds with `get_source`.
- For "how", "where" and "why" questions, call `ask_knowledge_base`; its citations name files and lines.
- Before you change a class, call `get_class_hierarchy` to see its ancestors, subclasses and users.
- Trust results that are marked as current. Check those that are marked as changed or outdated against the file.
"""
BLOCK = f"""{START}
## Lore

{ADVICE}- Tell subagents to do the same: they do not read this file.
{END}
"""


def change(path: Path, label: str, project: Path, is_wanted: bool) -> Literal["written", "removed", "unchanged"]:
    """Add the block at the end of the file, update it, or remove it; the rest of the file is unchanged.

    Raises:
        ConfigError: the file is not a regular UTF-8 file inside the project.
        StorageError: the file cannot be written.
    """
    path = _linked(path)
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
    if parts := _around(text):
        return parts[0] + BLOCK + parts[1]
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return text + gap + BLOCK


def without_block(text: str) -> str:
    """Return the text without the block and without the blank line before it."""
    parts = _around(text)
    if parts is None:
        return text
    before, after = parts
    return (before.removesuffix("\n") if before.endswith("\n\n") else before) + after


def _around(text: str) -> tuple[str, str] | None:
    """Return the text before and after the block; None if there is no complete block."""
    start = text.find(START)
    end = text.find(END, start) if start >= 0 else -1
    return (text[:start], text[end + len(END) :].removeprefix("\n")) if end >= 0 else None
