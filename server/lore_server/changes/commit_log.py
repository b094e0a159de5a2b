"""The commits that changed a file or some of its lines, and those that name a ticket."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from lore_etl.core.errors import InvalidArgument, NotFound
from lore_server.changes.project_git import LOG, read_git

SECONDS = 8.0  # of git for one reply; the log of lines is the slow one
MAX_BYTES = 4_000_000
MAX_FOLLOWED = 20_000  # latest commits that are searched for the merge of a commit
MAX_FILE_BYTES = 20_000_000
_FORMAT = "--format=%H%n%as%n%an%n%B"
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class LoggedCommit(NamedTuple):
    """A commit: its id, the day of the change, its author and its message."""

    id: str
    day: str
    author: str
    message: str


class CommitLog(NamedTuple):
    """Commits, newest first, and whether git had time to find all of them."""

    commits: list[LoggedCommit]
    is_complete: bool


class CommittedLines(NamedTuple):
    """Lines of a file in the last commit, from 1; `is_same` if they are unchanged since."""

    first: int
    last: int
    is_same: bool


def changing(root: Path, path: str, lines: CommittedLines | None, count: int) -> CommitLog:
    """Return the latest commits that changed these lines, or a file, also under its earlier names.

    Raises the errors of `read_git`.
    """
    what = ("--follow", "--", path) if lines is None else (f"-L{lines.first},{lines.last}:{path}",)
    return _log(root, count, "--no-merges", *what)


def first_with(root: Path, path: str, name: str) -> tuple[LoggedCommit, str] | None:
    """Return the earliest commit with a name in a file or its earlier path, and the first tag with the commit.

    None if git finds no such commit in time. Raises the errors of `read_git`.
    """
    found = _log(root, MAX_FOLLOWED, "--no-merges", f"-S{name}", "--follow", "--", path)
    if not found.commits or not found.is_complete:
        return None
    by_day = ("for-each-ref", "--count=1", "--sort=creatordate", "--format=%(refname:short)", "refs/tags")
    tag = read_git(root, *by_day, f"--contains={found.commits[-1].id}", seconds=SECONDS, max_bytes=MAX_BYTES)
    return found.commits[-1], tag.text.strip() if tag.is_complete else ""


def naming(root: Path, names: Collection[str], count: int) -> CommitLog:
    """Return the latest commits whose message may name one of these tickets. Raises the errors of `read_git`."""
    patterns = [f"--grep={_pattern(name)}" for name in names]
    return _log(root, count, "-E", *patterns)


def changed_since(root: Path, point: str) -> dict[str, list[str]]:
    """Return the latest commits after a date, a commit or a tag by the files that they changed: day and subject.

    Raises NotFound for an unknown point, and the errors of `read_git`.
    """
    if _DATE.fullmatch(point):
        after = [f"--since={point}T00:00:00"]
    else:
        try:
            read_git(root, "rev-parse", "--verify", "--quiet", f"{point}^{{commit}}", seconds=SECONDS)
        except InvalidArgument as error:
            read_git(root, "rev-parse", "--git-dir", seconds=SECONDS)  # without a history, its error is raised
            hint = "Give a date such as 2026-01-31, or a commit or tag of this repository."
            raise NotFound(f"There is no commit or tag `{point}`.", hint) from error
        after = [f"{point}..HEAD"]
    wanted = ("--no-merges", "--name-only", "--relative", f"--max-count={MAX_FOLLOWED}", "--format=%x01%as  %s", *after)
    output = read_git(root, *LOG, *wanted, "--", ".", seconds=SECONDS, max_bytes=MAX_BYTES)
    files: dict[str, list[str]] = {}
    for record in output.text.split("\1")[1:]:
        subject, _, paths = record.partition("\0")
        for path in filter(None, paths.removeprefix("\n").split("\0")):
            files.setdefault(path, []).append(subject)
    return files


def merges_of(root: Path, ids: Collection[str]) -> dict[str, str]:
    """Return the messages of the merges that brought commits to the current branch, among its latest commits.

    Raises the errors of `read_git`.
    """
    if not ids:
        return {}
    newest = ("rev-list", "--parents", f"--max-count={MAX_FOLLOWED}", "HEAD")
    rows = read_git(root, *newest, seconds=SECONDS, max_bytes=MAX_BYTES).text.splitlines()
    brought = first_merges([row.split() for row in rows], ids)
    if not brought:
        return {}
    found = _log(root, len(ids), "--no-walk", *sorted(set(brought.values())))
    messages = {commit.id: commit.message for commit in found.commits}
    return {id_: messages[merge] for id_, merge in brought.items() if merge in messages}


def first_merges(rows: list[list[str]], ids: Collection[str]) -> dict[str, str]:
    """Return the merge that brought each commit to the branch; commits made on the branch itself are left out.

    A row is a commit and its parents, the newest commit first.
    """
    parents = {row[0]: row[1:] for row in rows if row}
    branch: list[str] = []
    current = rows[0][0] if rows else ""
    while current in parents:
        branch.append(current)
        current = next(iter(parents[current]), "")
    seen, found = set[str](), dict[str, str]()
    for merge in reversed(branch):
        seen.add(merge)
        waiting = parents[merge][1:]
        while waiting:
            commit = waiting.pop()
            if commit in parents and commit not in seen:
                seen.add(commit)
                waiting += parents[commit]
                if commit in ids:
                    found[commit] = merge
    return found


def _pattern(name: str) -> str:
    if name.isdecimal():
        return rf"#{name}\b"
    return rf"{name}\b" if name.startswith("!") else name.upper()


def committed(root: Path, path: str, lines: list[str], first: int, last: int) -> CommittedLines | None:
    """Return the place of some lines of a file in the last commit; None if the file is not in it.

    Lines changed since then map to all lines between the unchanged beginning and end of the file. Raises the errors of
    `read_git`.
    """
    try:
        output = read_git(root, "cat-file", "blob", f"HEAD:./{path}", seconds=SECONDS, max_bytes=MAX_FILE_BYTES)
    except InvalidArgument:
        read_git(root, "rev-parse", "--verify", "HEAD", seconds=SECONDS)  # if there are no commits, this is the reason
        return None
    before = [line.removesuffix("\r") for line in output.text.removesuffix("\n").split("\n")]
    return located(before, lines[:-1] if lines and not lines[-1] else lines, first, last)


def located(before: list[str], now: list[str], first: int, last: int) -> CommittedLines:
    """Return the place of the lines from `first` to `last` of a text before it was edited."""
    last, shorter = min(last, len(now)), min(len(before), len(now))
    head = next((n for n in range(shorter) if before[n] != now[n]), shorter)
    tail = next((n for n in range(shorter - head) if before[-1 - n] != now[-1 - n]), shorter - head)
    moved = len(before) - len(now)
    start = first if first <= head else max(head + 1, first + moved) if first > len(now) - tail else head + 1
    end = last if last <= head else last + moved if last > len(now) - tail else len(before) - tail
    start = min(max(start, 1), len(before))
    is_same = last <= head or first > len(now) - tail
    return CommittedLines(start, min(max(end, start), len(before)), is_same)


def _log(root: Path, count: int, *arguments: str) -> CommitLog:
    wanted = ("--no-patch", f"--max-count={count}", "--encoding=UTF-8", _FORMAT)
    output = read_git(root, *LOG, *wanted, *arguments, seconds=SECONDS, max_bytes=MAX_BYTES)
    records = output.text.split("\0")
    whole = records if output.is_complete else records[:-1]
    fields = [record.lstrip("\n").split("\n", 3) for record in whole]
    commits = [LoggedCommit(*values) for values in fields if len(values) == 4 and _ID.fullmatch(values[0])]
    return CommitLog(commits, output.is_complete)
