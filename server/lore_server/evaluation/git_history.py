"""Build a set from the project's history: the commits that mention an indexed ticket show which files it changed."""

from __future__ import annotations

import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lore_etl.core.errors import InvalidArgument, NotFound, StorageError
from lore_etl.core.model import KnowledgeType
from lore_etl.index import Index
from lore_etl.stores.chunkfile import read_chunks
from lore_server.evaluation.sets import EvaluationSet, Judgements, Question
from lore_server.query.ranking import Ranked

MAX_FILES = 20  # a commit that changes more is not specific to one ticket
GIT_SECONDS = 120
_NUMBER = re.compile(r"(?<![\w&])#(\d+)\b")
_KEY = re.compile(r"(?<![^\W_])[A-Z][A-Z0-9]+-\d+(?![^\W_])")
# The project is untrusted: these options keep git from running programs or opening connections named in .git/config.
_HARMLESS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "gpg.program=false")
_PLAIN = ("--no-show-signature", "--no-ext-diff", "--no-textconv", "--name-only")
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
    for chunk in read_chunks(index.folder):
        if chunk.type == KnowledgeType.TICKET:
            texts[chunk.source].append(chunk.text)
        elif chunk.type != KnowledgeType.RELEASE:
            judged.add(chunk.source)
    tickets = _named(texts)
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
    """Return the document that a result counts as; tickets and releases do not count as changed files."""
    return None if result.chunk.type in (KnowledgeType.TICKET, KnowledgeType.RELEASE) else result.source


def commits(root: Path) -> Iterator[TicketCommit]:
    """Yield the commits that touch the folder, newest first, with paths relative to it."""
    command = ["git", *_HARMLESS, "-C", str(root), "log", *_PLAIN, "--no-merges", "--relative", "-z", _FORMAT]
    environment = {**os.environ, "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            command, capture_output=True, check=False, timeout=GIT_SECONDS, stdin=subprocess.DEVNULL, env=environment
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StorageError("git cannot be run.", "Install git, or evaluate a folder with a set.") from error
    if done.returncode:
        raise InvalidArgument("This project has no git history.", "Evaluate a folder with a set instead.")
    for record in done.stdout.decode("utf-8", "replace").split("\x1e")[1:]:
        message, _, files = record.partition("\x1f")
        yield TicketCommit(message, tuple(name.strip("\n") for name in files.split("\0") if name.strip("\n")))


def names(message: str) -> set[str]:
    """Return the tickets that a message mentions, by number or key."""
    return {*_NUMBER.findall(message), *(key.casefold() for key in _KEY.findall(message))}


def _named(tickets: dict[str, list[str]]) -> dict[str, str]:
    """Return ticket files by key and number; a number shared by two files is dropped."""
    found: dict[str, set[str]] = defaultdict(set)
    for source in tickets:
        stem = Path(source).stem
        numbers = re.findall(r"\d+", stem)
        for name in {
            *(key.casefold() for key in _KEY.findall(stem.upper())),
            *(str(int(number)) for number in numbers[:1]),
        }:
            found[name].add(source)
    return {name: next(iter(sources)) for name, sources in found.items() if len(sources) == 1}
