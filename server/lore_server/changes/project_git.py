"""Read the commits of a project without their secrets; its `.git` is untrusted. Readers raise `read_git`'s errors."""

import hashlib
import os
import re
import subprocess
import threading
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from lore_etl.core.dates import day_or_none
from lore_etl.core.errors import InvalidArgument, NotFound, StorageError
from lore_etl.files.git_folder import ALLOCATION, NO_HISTORY, head, repository, require_own_objects
from lore_etl.files.redaction import redact
from lore_etl.system.open_folder import facts_below, read_below
from lore_etl.system.processes import quiet

# These options keep git from running programs or opening connections named in .git/config.
_HARMLESS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "gpg.program=false")
LOG = ("log", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color", "--no-mailmap", "-z")
"""`git log` with NUL after each commit, because no message contains it."""
_SAFE_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C",
}  # fmt: skip
_REPOSITORY_VARIABLES = (  # set by git for its hooks and aliases
    "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
)  # fmt: skip
SECONDS = 8.0  # of git for one reply; the log of lines is the slow one
MAX_BYTES = 4_000_000
MAX_FOLLOWED = 20_000  # latest commits that are searched for the merge of a commit
MAX_FILE_BYTES = 20_000_000
_FORMAT = "--format=%H%D%n%as%n%an%n%B"
_NO_REFS = "--decorate-refs=refs/none"  # %D is then empty, or _GRAFTED
_TAGS = "refs/tags/"
_GRAFTED = "grafted"  # the commits where a shallow clone ends; git ascribes everything older to them
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_COMMIT_FIRST = "Lore reads commits with git: commit something first."
_UNREADABLE = "git cannot read this part of the history."
_COMPLETE = "If this is a partial clone, complete it: `git fetch --refetch --no-filter`."


class GitOutput(NamedTuple):
    """The output of git, and whether git finished in time."""

    text: str
    is_complete: bool


def read_git(root: Path, *arguments: str, seconds: float, max_bytes: int = -1) -> GitOutput:
    """Run git, and return at most `max_bytes` of its output. Raises InvalidArgument (no own history), StorageError."""
    found = repository(root)
    if found is None:
        raise InvalidArgument(NO_HISTORY, _COMMIT_FIRST)
    require_own_objects(found)
    # named explicitly, git does not look for another repository, nor for one without `.git` in the folder itself
    places = {"GIT_DIR": str(found.folder), "GIT_COMMON_DIR": str(found.common), "GIT_WORK_TREE": str(found.top)}
    kept = {name: value for name, value in os.environ.items() if name not in _REPOSITORY_VARIABLES}
    try:
        process = subprocess.Popen(
            ["git", *_HARMLESS, "-C", str(root), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=kept | _SAFE_ENVIRONMENT | ALLOCATION | places,
            **quiet(),
        )
    except OSError as error:
        raise StorageError("git cannot be run.", "Install git.") from error
    with process:
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        data = process.stdout.read(max_bytes) if process.stdout else b""
        is_complete = len(data) != max_bytes and timer.is_alive()
        timer.cancel()
        if not is_complete:
            process.kill()
    if is_complete and process.returncode:
        has_commits = head(root).commit is not None
        raise InvalidArgument(_UNREADABLE, _COMPLETE) if has_commits else InvalidArgument(NO_HISTORY, _COMMIT_FIRST)
    return GitOutput(data.decode("utf-8", "replace"), is_complete)


def has_blob(root: Path, path: str, blob: str) -> bool:
    """Return whether a file has the content of git's object, perhaps with other line ends. Raises OSError."""
    # git itself would run the filters that `.git/config` names
    algorithm, facts = {40: hashlib.sha1, 64: hashlib.sha256}.get(len(blob)), facts_below(root, path)
    if algorithm is None or facts is None:
        return False
    content = read_below(root, path, facts.st_size)
    texts = (content, content.replace(b"\r\n", b"\n"))
    return any(algorithm(b"blob %d\0%b" % (len(text), text)).hexdigest() == blob for text in texts)


class LoggedCommit(NamedTuple):
    """A commit: its id, the day of the change, its author and its message."""

    id: str
    day: str
    author: str
    message: str


class CommitLog(NamedTuple):
    """Commits, newest first, and whether they are all: git had the time, and the clone has the history."""

    commits: list[LoggedCommit]
    is_complete: bool


class CommittedLines(NamedTuple):
    """Lines of a file in the last commit, from 1; `is_same` if they are unchanged since."""

    first: int
    last: int
    is_same: bool


def changing(root: Path, path: str, lines: CommittedLines | None, count: int) -> CommitLog:
    """Return the latest commits that changed these lines, or a file, also under its earlier names."""
    what = ("--follow", "--", path) if lines is None else (f"-L{lines.first},{lines.last}:{path}",)
    return _log(root, count, "--no-merges", *what)


def first_with(root: Path, path: str, name: str) -> tuple[LoggedCommit, str] | None:
    """Return the earliest commit with a name in a file or its earlier path, and its first tag; None if not in time."""
    word = f"(^|[^[:alnum:]_$]){re.escape(name)}([^[:alnum:]_$]|$)"
    found = _log(root, MAX_FOLLOWED, "--no-merges", f"-S{word}", "--pickaxe-regex", "--follow", "--", path)
    if not found.commits or not found.is_complete:
        return None
    if tag := next(iter(tags(root, f"--contains={found.commits[-1].id}")), ""):
        # git fails if the tagged files do not have the name: it was removed, and is there again since a later commit
        read_git(root, "grep", "--no-recurse-submodules", "-qwF", "-e", name, f"{_TAGS}{tag}", seconds=SECONDS)
    return found.commits[-1], tag


def tags(root: Path, *options: str) -> list[str]:
    """Return the names of all tags, or of those that fit, the earliest first; none if git needs too long."""
    by_day = ("for-each-ref", "--sort=creatordate", "--format=%(refname)", *options, _TAGS)
    output = read_git(root, *by_day, seconds=SECONDS, max_bytes=MAX_BYTES)
    return [tag.removeprefix(_TAGS) for tag in output.text.split()] if output.is_complete else []


def naming(root: Path, names: Collection[str], count: int) -> CommitLog:
    """Return the latest commits whose message may name one of these tickets."""
    patterns = []
    for name in names:
        sign = "#" if name.isdecimal() else ""
        patterns.append(rf"--grep={sign}{name}\b" if sign or name.startswith("!") else f"--grep={name.upper()}")
    return _log(root, count, "-E", *patterns)


def changed_since(root: Path, point: str) -> dict[str, list[str]]:
    """Return the latest commits (day and subject) after a point by file. Raises NotFound, InvalidArgument."""
    if _DATE.fullmatch(point) and day_or_none(point):
        after = [f"--since={min(max(point, '1970-01-02'), '2099-12-31')}T00:00:00"]  # git reads no other years
    else:
        try:
            read_git(root, "rev-parse", "--verify", "--quiet", f"{point}^{{commit}}", seconds=SECONDS)
        except InvalidArgument as error:
            read_git(root, "rev-parse", "--git-dir", seconds=SECONDS)  # without a history, its error is raised
            hint = "Give a date such as 2026-01-31, or a commit or tag of this repository."
            raise NotFound(f"There is no commit or tag `{point}`.", hint) from error
        after = [f"{point}..HEAD"]
    wanted = ("--no-merges", "--name-only", "--no-renames", "--relative", _NO_REFS, "--format=%x01%D%as  %s", *after)
    output = read_git(root, *LOG, *wanted, f"-n{MAX_FOLLOWED}", "--", ".", seconds=SECONDS, max_bytes=MAX_BYTES)
    files, commits = dict[str, list[str]](), output.text.split("\1")[1:]
    if not output.is_complete or len(commits) == MAX_FOLLOWED:
        raise InvalidArgument(f"Too much has changed since `{point}` to list it.", "Give a later point.")
    for record in commits:
        subject, _, paths = record.partition("\0")
        if subject.startswith(_GRAFTED):
            hint = "Run `git fetch --unshallow`, or give a later point."
            raise InvalidArgument(f"This shallow clone lacks the history since `{point}`.", hint)
        subject = redact(subject)[0]
        for path in filter(None, paths.removeprefix("\n").split("\0")):
            files.setdefault(path, []).append(subject)
    return files


def merges_of(root: Path, ids: Collection[str]) -> dict[str, str]:
    """Return the messages of the merges that brought commits to the current branch, among its latest commits."""
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
    """Return the merge that brought each commit to the branch; a row is a commit and its parents, newest first."""
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


def committed(root: Path, path: str, lines: list[str], first: int, last: int) -> CommittedLines | None:
    """Return the place of some lines in the last commit, see `located`; None if the file is not in it."""
    try:
        output = read_git(root, "cat-file", "blob", f"HEAD:./{path}", seconds=SECONDS, max_bytes=MAX_FILE_BYTES)
    except InvalidArgument:
        read_git(root, "rev-parse", "--verify", "HEAD", seconds=SECONDS)  # if there are no commits, this is the reason
        return None
    before = [line.removesuffix("\r") for line in output.text.removesuffix("\n").split("\n")]
    return located(before, lines[:-1] if lines and not lines[-1] else lines, first, last)


def located(before: list[str], now: list[str], first: int, last: int) -> CommittedLines:
    """Return the place of lines before an edit; edited ones map to all between the unchanged beginning and end."""
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
    wanted = ("--no-patch", f"--max-count={count}", "--encoding=UTF-8", _NO_REFS, _FORMAT)
    output = read_git(root, *LOG, *wanted, *arguments, seconds=SECONDS, max_bytes=MAX_BYTES)
    records = output.text.split("\0")
    whole = records if output.is_complete else records[:-1]
    fields = [record.lstrip("\n").split("\n", 3) for record in whole]
    valid = (values for values in fields if len(values) == 4 and _ID.fullmatch(values[0]))
    commits = [LoggedCommit(id_, day, redact(author)[0], redact(message)[0]) for id_, day, author, message in valid]
    is_cut = any(values[0].endswith(_GRAFTED) for values in fields)
    return CommitLog(commits, output.is_complete and not is_cut)
