"""Commits: who made them and what they say, written as git stores them and read from what it prints. Pure."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lore_etl.core.text import one_line

EMAIL = "lore@localhost"
COMMITTER = "Lore"
SESSION = "Session: "
FIELDS = ("%H", "%P", "%an", "%cI", "%B")


class Author(NamedTuple):
    """Who writes: the agent's name, and the session it is in."""

    agent: str = ""
    session: str = ""


@dataclass(frozen=True)
class Commit:
    """One entry of the history; `date` is ISO 8601."""

    id: str
    parents: tuple[str, ...]
    agent: str
    session: str
    date: str
    message: str


def commit_text(tree: str, parents: Sequence[str], message: str, author: Author) -> bytes:
    """The commit object of now; whatever text the message and the names hold, git can read it."""
    now = f"{int(time.time())} +0000"
    agent = _ident(author.agent) or COMMITTER
    text = message.replace("\0", "\N{SYMBOL FOR NULL}").strip("\n") or "Update knowledge"
    if session := one_line(_ident(author.session)):
        text += f"\n\n{SESSION}{session}"
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"author {agent} <{EMAIL}> {now}", f"committer {COMMITTER} <{EMAIL}> {now}", "", text]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _ident(name: str) -> str:
    """Without what ends a field of a commit (git's own rule, ident.c)."""
    kept = "".join(letter for letter in name if letter not in "<>" and letter >= " ")
    return kept.strip(" .,:;\"\\'")[:100]


def parsed(fields: Sequence[str]) -> Commit:
    """A commit of the values of FIELDS."""
    name, parents, agent, date, message = fields
    text, _, last = message.rstrip("\n").rpartition("\n\n")
    if last.startswith(SESSION) and "\n" not in last:
        return Commit(name, tuple(parents.split()), agent, last.removeprefix(SESSION), date, text)
    return Commit(name, tuple(parents.split()), agent, "", date, message.rstrip("\n"))
