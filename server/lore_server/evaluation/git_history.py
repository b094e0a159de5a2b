"""Build a set from the project's history: the commits that mention an indexed ticket show which files it changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lore_etl.core.errors import NotFound, StorageError
from lore_etl.core.model import KnowledgeType
from lore_etl.index import Index
from lore_server.changes.project_git import LOG, read_git
from lore_server.changes.ticket_names import files_by_name, names
from lore_server.evaluation.sets import EvaluationSet, Judgements, Question
from lore_server.query.ranking import Ranked

MAX_FILES = 20  # a commit that changes more is not specific to one ticket
GIT_SECONDS = 120
_FORMAT = "--format=%x1e%B%x1f"


@dataclass(frozen=True)
class TicketCommit:
    """A commit's message and its changed files."""

    message: str
    files: tuple[str, ...]


def set_from_git(root: Path, index: Index) -> EvaluationSet:
    """Return tickets as questions, judged by the files changed in the commits that mention them.

    Raises:
        IndexMissing: the project has not been synced.
        InvalidArgument: the project is not a git repository.
        NotFound: no commit names a ticket of the index.
    """
    index.require()
    texts: dict[str, list[str]] = defaultdict(list)
    judged = set()
    for chunk in index.catalogue.every_chunk():
        if chunk.type == KnowledgeType.TICKET:
            texts[chunk.source].append(chunk.text)
        elif chunk.type != KnowledgeType.RELEASE:
            judged.add(chunk.source)
    tickets = files_by_name(texts)
    judgements: Judgements = defaultdict(dict)
    for commit in commits(root):
        changed = [file for file in commit.files if file in judged]
        if changed and len(commit.files) <= MAX_FILES:
            for ticket in {tickets[name] for name in names(commit.message) if name in tickets}:
                judgements[ticket].update(dict.fromkeys(changed, 1))
    if not judgements:
        raise NotFound(
            "No commit mentions an indexed ticket.",
            "Tickets are found by number (`#12` and issues/issue-12.md) or by key (`ABC-12`); sync them first.",
        )
    questions = [Question(judgement, "\n".join(texts[judgement])) for judgement in sorted(judgements)]
    return EvaluationSet("history", questions, dict(judgements))


def file_not_ticket(question: Question, result: Ranked) -> str | None:
    """Return the document that a result represents; tickets and releases do not count as changed files."""
    return None if result.chunk.type in (KnowledgeType.TICKET, KnowledgeType.RELEASE) else result.source


def commits(root: Path) -> Iterator[TicketCommit]:
    """Yield the commits that touch the folder, newest first, with paths relative to it."""
    output = read_git(root, *LOG, "--name-only", "--no-merges", "--relative", _FORMAT, seconds=GIT_SECONDS)
    if not output.is_complete:
        raise StorageError("git takes too long to read the history.", "Evaluate a folder with a set.")
    for record in output.text.split("\x1e")[1:]:
        message, _, files = record.partition("\x1f")
        yield TicketCommit(message, tuple(name.strip("\n") for name in files.split("\0") if name.strip("\n")))
