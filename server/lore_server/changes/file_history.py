"""Explain a file by its history: the commits that changed it, and the tickets that they name."""

import re
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from lore_etl.core.errors import LoreError
from lore_etl.core.model import KnowledgeType
from lore_etl.core.text import clip
from lore_etl.files.indexed import KNOWLEDGE, PULLED
from lore_etl.index import Index
from lore_etl.system.open_folder import facts_below
from lore_server.changes import project_git
from lore_server.changes.project_git import CommitLog, LoggedCommit
from lore_server.changes.ticket_names import closed_by, files_by_name, names, names_of_file, shown_name
from lore_server.replies.paging import with_fields
from lore_server.replies.records import FileChangeRecord, NamedTicketRecord

MAX_COMMITS = 10  # commits
MAX_TICKETS = 5  # of a commit
LONGEST_SUBJECT, LONGEST_BODY = 200, 400
_SHORT_ID = 10
_REQUESTS = frozenset({"pulls", "merge_requests"})
_LINKED = re.compile(r"^Linked: (.+)$", re.MULTILINE)
_TRAILER = re.compile(r"^(?:[A-Z][A-Za-z-]+-by|Change-Id|Cc|git-svn-id): ", re.MULTILINE)
FEW = f"There are older commits than these {MAX_COMMITS}."
INCOMPLETE = "Older commits are missing: git took too long, or this is a shallow clone."
EDITED = "These lines changed after the last commit."
NOT_COMMITTED = "The file is not in the last commit."
NOT_OWN = "The file belongs to another repository in this project, whose history is not read."
NO_COMMIT = "No commit of the history changed this."
NOT_NAMED = "No commit names this ticket."


class FileHistory(NamedTuple):
    """Commits, newest first, and a note on missing or uncertain parts."""

    changes: list[FileChangeRecord]
    note: str | None


class ProjectHistory:
    """Reads the history of the files of an index with git, on demand."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def of(self, path: str, text: Sequence[str], first: int = 1, last: int | None = None) -> FileHistory:
        """Return the latest commits that changed a file (`text`, as indexed) or its lines, or that name a ticket."""
        tickets = self._index.catalogue.paths(KnowledgeType.TICKET)
        try:
            log, note = self._naming(path, text) if path in tickets else self._changing(path, text, first, last)
        except LoreError as error:
            return FileHistory([], error.message)
        by_name = preferred(tickets)
        shown = log.commits[:MAX_COMMITS]
        note = INCOMPLETE if not log.is_complete else FEW if len(log.commits) > MAX_COMMITS else note
        unnamed = [commit.id for commit in shown if not names(commit.message)]
        merges = project_git.merges_of(self._index.root, unnamed)
        return FileHistory([self._record(commit, merges.get(commit.id, ""), by_name) for commit in shown], note)

    def first_with(self, path: str, name: str) -> tuple[FileChangeRecord, str] | None:
        """Return the earliest commit with a name in a file, and the first tag with the commit; None if unknown."""
        try:
            commit, tag = project_git.first_with(self._index.root, path, name) or (None, "")
        except LoreError:
            return None
        by_name = preferred(self._index.catalogue.paths(KnowledgeType.TICKET))
        return (self._record(commit, "", by_name), tag) if commit else None

    def tags(self) -> list[str]:
        """Return the tags of the project; none if it has no history that git can read."""
        try:
            return project_git.tags(self._index.root)
        except LoreError:
            return []

    def _changing(self, path: str, text: Sequence[str], first: int, last: int | None) -> tuple[CommitLog, str | None]:
        root = self._index.root
        is_own = not path.startswith((f"{KNOWLEDGE}/", f"{PULLED}/"))
        lines = project_git.committed(root, path, list(text), first, last or len(text)) if is_own else None
        if lines is None:
            inner = any(facts_below(root, f"{folder}/.git") for folder in PurePosixPath(path).parents[:-1])
            return CommitLog([], True), NOT_OWN if inner else NOT_COMMITTED
        is_whole = first == 1 and (last or len(text)) >= len(text)
        found = project_git.changing(root, path, None if is_whole else lines, MAX_COMMITS + 1)
        return found, (None if found.commits else NO_COMMIT) if lines.is_same or is_whole else EDITED

    def _naming(self, path: str, text: Sequence[str]) -> tuple[CommitLog, str | None]:
        """Return the commits that name a ticket, or a pull request linked to it."""
        wanted = names_of_file(path)
        if path.startswith(f"{PULLED}/") and (linked := _LINKED.search("\n".join(text))):
            wanted |= {name for name in names(linked[1]) if name.lstrip("!").isdecimal()}
        found = project_git.naming(self._index.root, wanted, 2 * MAX_COMMITS) if wanted else CommitLog([], True)
        named = [commit for commit in found.commits if names(commit.message) & wanted]
        return CommitLog(named, found.is_complete), None if named else NOT_NAMED

    def _record(self, commit: LoggedCommit, merge: str, by_name: dict[str, str]) -> FileChangeRecord:
        """Return a commit with its tickets, which its message or the message of its merge names."""
        subject, _, body = commit.message.partition("\n")
        record: FileChangeRecord = {
            "commit": commit.id[:_SHORT_ID],
            "origin": "commit",
            "date": commit.day,
            "author": clip(commit.author, 100),
            "subject": clip(subject, LONGEST_SUBJECT),
            "tickets": self._tickets(f"{commit.message}\n{merge}", by_name),
        }
        return with_fields(record, body=clip(_TRAILER.split(body)[0], LONGEST_BODY))

    def _tickets(self, message: str, by_name: dict[str, str]) -> list[NamedTicketRecord]:
        """Return the tickets that a message names, those it closes first, and those that a pull request closes."""
        closed = set(closed_by(message))
        ordered = sorted(names(message), key=lambda name: (name not in closed, len(name), name))
        found = {name: self._ticket(name, by_name, name in closed) for name in ordered}
        for name, ticket in list(found.items()):
            if PurePosixPath(ticket.get("source", "")).parent.name in _REQUESTS:
                chunks = self._index.catalogue.of_source(by_name[name])
                text = "\n".join(chunk.text for chunk in chunks if chunk.kind != "comment")
                for number in closed_by(text):
                    found.setdefault(number, {**self._ticket(number, by_name, True), "via": ticket["name"]})
        known = sorted(found.values(), key=lambda ticket: "source" not in ticket)
        return known[:MAX_TICKETS]

    def _ticket(self, name: str, by_name: dict[str, str], is_closed: bool) -> NamedTicketRecord:
        record: NamedTicketRecord = {"name": shown_name(name)}
        state = None
        if (source := by_name.get(name)) and (chunks := self._index.catalogue.of_source(source)):
            record["source"], record["title"] = source, clip(chunks[0].title, LONGEST_SUBJECT)
            state = chunks[0].state
        return with_fields(record, closes=is_closed, state=state)


def preferred(tickets: Collection[str]) -> dict[str, str]:
    """Return tickets by their names; those pulled from a tracker are preferred, because they are up to date."""
    pulled = {source for source in tickets if source.startswith(f"{PULLED}/")}
    return files_by_name(set(tickets) - pulled) | files_by_name(pulled)
