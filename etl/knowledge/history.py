"""The history of a knowledge folder: each write is one commit. All that changes it needs the store's lock."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from etl.errors import CommitNotFound, GitError
from etl.head import head
from etl.knowledge.files import TEMPORARY, Files
from etl.knowledge.git import Git, finish
from etl.knowledge.lock import StoreLock
from etl.knowledge.objects import FILE_MODE, TEMPORARY_OBJECT, Entry, Objects, blob_id

BRANCH = "main"
EMAIL = "lore@localhost"
COMMITTER = "Lore"
FOREIGN = "Changes made outside of Lore"
SESSION = "Session: "
LOCK = "lore.lock"
INTERRUPTED = "After an interruption: "
_BEHIND = "lore-index-behind"
_IGNORED = ("activity.log*", TEMPORARY)
_RAW = "* -text -ident -filter !eol !working-tree-encoding\n"  # no byte of a document is git's to change
_FIELDS = ("%H", "%P", "%an", "%cI", "%B")
_NONE = "0" * 40


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


Changes = Mapping[str, bytes | None]  # path -> content, None to delete


class History:
    """The repository in the folder. It is made by the first write; until then reading finds an empty history."""

    def __init__(self, home: Path, lock: StoreLock) -> None:
        self.home = home
        self.files = Files(home)
        self.git = Git(home)
        self._lock = lock
        self._opened: Objects | None = None

    @property
    def exists(self) -> bool:
        """Whether there is a repository."""
        return (self.home / ".git" / "HEAD").is_file()

    @property
    def objects(self) -> Objects:
        """The object database; made if need be."""
        if self._opened is None:
            if not self.exists:
                self.git.run("init", "-q", "-b", BRANCH, "--template=", keep=[self._lock.descriptor])
            self._prepare(self.home / ".git" / "info")
            kind = self.git.run("rev-parse", "--show-object-format").decode().strip()
            self._opened = Objects(self.home, self.git, kind)
        return self._opened

    @property
    def branch(self) -> str:
        """The branch that is written to."""
        return head(self.home).branch or "HEAD"

    @property
    def tip(self) -> str | None:
        """The last commit."""
        return head(self.home).commit if self.exists else None

    # --- writing -----------------------------------------------------------------------------------------------------

    def commit(self, changes: Changes, message: str, author: Author, parents: Sequence[str] | None = None) -> str:
        """Write files and their commit, and say its id. The objects come first: what fails there has changed nothing.

        Raises:
            GitError: the files may be written then, and are committed by the next write.
            StorageError, InvalidPath: a file cannot be written.
        """
        objects, tip = self.objects, self.tip
        blobs = {path: None if data is None else objects.write("blob", data) for path, data in changes.items()}
        entries = {path: Entry(FILE_MODE, blob) if blob else None for path, blob in blobs.items()}
        tree = objects.changed_tree(objects.tree_of(tip) if tip else None, entries) or objects.empty_tree()
        above = list(parents) if parents is not None else [tip] if tip else []
        commit = objects.write("commit", _commit_text(tree, above, message, author))
        self.apply(changes, commit, message)
        return commit

    def apply(self, changes: Changes, commit: str, message: str) -> None:
        """Write the files that a commit has, then move the branch to it. Raises as `commit`."""
        tip = self.tip
        with self._marked(message):
            for path, data in changes.items():
                if data is None:
                    self.files.remove(path)
                else:
                    self.files.write(path, data)
            self._move(commit, tip, list(changes))

    def commit_all(self, message: str, author: Author) -> int:
        """Commit whatever is in the folder, and say how many files differed."""
        objects, tip = self.objects, self.tip
        changed = self.uncommitted()
        if not changed:
            return 0
        keep = [self._lock.descriptor]
        with self._marked(message):
            self.git.run("add", "-A", "--", ".", keep=keep)
            tree = self.git.run("write-tree", keep=keep).decode().strip()
            if tip and tree == objects.tree_of(tip):
                return 0  # only the index was behind
            commit = objects.write("commit", _commit_text(tree, [tip] if tip else [], message, author))
            self._move(commit, tip, [])
        return len(changed)

    def recover(self) -> int:
        """Finish what a killed process began, remove what it left; how many files were committed."""
        if not self.exists:
            return 0
        message = FOREIGN
        if left_off := self._lock.left_off():
            message = INTERRUPTED + left_off.removeprefix(INTERRUPTED)
            for stale in (*(self.home / ".git").glob("*.lock"), *(self.home / ".git" / "refs").rglob("*.lock")):
                if stale.name != LOCK:
                    stale.unlink(missing_ok=True)
        for left in (self.home / ".git" / "objects").glob(f"??/{TEMPORARY_OBJECT}*"):
            left.unlink(missing_ok=True)
        self.files.remove_temporary()
        count = self.commit_all(message, Author())
        self._lock.note("")
        return count

    def holds(self, path: str, data: bytes) -> bool:
        """Whether the last commit has this content at the path."""
        objects, tip = self.objects, self.tip
        return tip is not None and objects.entry_at(tip, path) == blob_id(data, objects.algorithm)

    def refresh_index(self) -> None:
        """Bring git's index to the last commit, if a write could not."""
        marker = self.home / ".git" / _BEHIND
        if marker.exists():
            with self._marked("Refresh the index"):
                self.git.run("read-tree", "HEAD", keep=[self._lock.descriptor])
            marker.unlink(missing_ok=True)

    def uncommitted(self) -> list[str]:
        """Paths that differ from the last commit."""
        if not self.exists:
            return []
        found = self.git.run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
        return [line[3:] for line in found.decode(errors="surrogateescape").split("\0") if line]

    def tidy(self) -> None:
        """Let git pack what has become many small files; it looks itself whether it is time."""
        self.git.run("-c", "gc.auto=6700", "-c", "gc.autoDetach=false", "gc", "--auto", "--quiet", seconds=300)

    def _move(self, commit: str, tip: str | None, paths: Sequence[str]) -> None:
        """Branch and index to the new commit, side by side: whichever is late after a kill, `recover` sees it."""
        keep = [self._lock.descriptor]
        indexing = self.git.start("update-index", "--add", "--remove", "-z", "--stdin", keep=keep) if paths else None
        try:
            self._move_branch(commit, tip)
        finally:
            if indexing is not None:
                data = b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)
                try:
                    finish(indexing, data)
                except GitError:  # somebody's own git holds the index; the commit is made all the same
                    (self.home / ".git" / _BEHIND).touch()

    def _move_branch(self, commit: str, tip: str | None) -> None:
        """As `git update-ref` does, by its lock (gitrepository-layout(5)); that takes 5 ms of processor time more."""
        branch = head(self.home).branch
        folder = self.home / ".git"
        if branch is None or (folder / "reftable").exists():
            self.git.run("update-ref", "HEAD", commit, tip or _NONE, keep=[self._lock.descriptor])
            return
        ref = folder / "refs" / "heads" / branch
        lock = ref.with_name(f"{ref.name}.lock")
        try:
            ref.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            with open(descriptor, "w", encoding="ascii") as file:
                file.write(f"{commit}\n")
            if self.tip != tip:
                lock.unlink()
                raise GitError("Somebody's own git moved the branch meanwhile.", "Try again.")
            lock.rename(ref)
        except OSError as error:
            raise GitError(f"The branch cannot be moved: {error.strerror}.") from error
        self._note_move(branch, commit, tip)

    def _note_move(self, branch: str, commit: str, tip: str | None) -> None:
        """The reflog: what git itself says to have been where."""
        line = f"{tip or '0' * len(commit)} {commit} {COMMITTER} <{EMAIL}> {int(time.time())} +0000\tlore\n"
        for name in ("HEAD", f"refs/heads/{branch}"):
            with contextlib.suppress(OSError):
                path = self.home / ".git" / "logs" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with open(path, "a", encoding="utf-8") as file:
                    file.write(line)

    @contextlib.contextmanager
    def _marked(self, message: str) -> Iterator[None]:
        """What is being done stands in the lock's file meanwhile, and stays there if we do not come to the end."""
        self._lock.note(message)
        yield
        self._lock.note("")

    def _prepare(self, info: Path) -> None:
        info.mkdir(exist_ok=True)
        _add_lines(info / "exclude", _IGNORED)
        _add_lines(info / "attributes", [_RAW.strip()])

    # --- reading -----------------------------------------------------------------------------------------------------

    def log(self, paths: Sequence[str] = (), limit: int = 50, skip: int = 0) -> list[Commit]:
        """The commits, newest first; only those that touch one of the paths, if any are given."""
        if self.tip is None:
            return []
        options = ["-z", f"--format={'%x00'.join(_FIELDS)}", f"--max-count={limit}", f"--skip={skip}"]
        found = self.git.run("log", *options, "--end-of-options", "HEAD", "--", *map(_literal, paths))
        parts = found.decode(errors="replace").split("\0")
        width = len(_FIELDS)
        return [_commit(parts[at : at + width]) for at in range(0, len(parts) - width + 1, width)]

    def resolve(self, commit: str) -> str:
        """The whole id of a commit of this branch's history. Raises CommitNotFound."""
        name = commit.strip()
        if self.tip is None or not name or not all(letter in "0123456789abcdef" for letter in name.lower()):
            raise CommitNotFound(f"There is no commit `{commit[:80]}`.")
        try:
            found = self.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        except GitError as error:
            raise CommitNotFound(f"There is no commit `{commit[:80]}`.") from error
        return found.decode().split()[-1]

    def entry(self, commit: str) -> Commit:
        """One commit. Raises CommitNotFound."""
        found = self.git.run("log", "-z", "-1", f"--format={'%x00'.join(_FIELDS)}", self.resolve(commit))
        return _commit(found.decode(errors="replace").split("\0")[: len(_FIELDS)])

    def diff(self, old: str | None, new: str | None, paths: Sequence[str] = ()) -> str:
        """What changed, as a patch: from a commit (None: from nothing) to another (None: to the files as they are)."""
        first = self.resolve(old) if old is not None else self.objects.empty_tree()
        ends = [first, *([self.resolve(new)] if new is not None else [])]
        options = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/")
        found = self.git.run("diff", *options, "--end-of-options", *ends, "--", *map(_literal, paths))
        return found.decode(errors="replace")

    def changed_between(self, old: str | None, new: str) -> dict[str, tuple[Entry | None, Entry | None]]:
        """Path -> entry before and after, of two commits."""
        first = old or self.objects.empty_tree()
        options = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-commit-id")
        parts = self.git.run("diff-tree", *options, "--end-of-options", first, new).split(b"\0")
        found = {}
        for line, path in zip(parts[::2], parts[1::2], strict=False):
            before, after, one, two, _ = line.removeprefix(b":").decode().split(" ")
            found[path.decode("utf-8", "surrogateescape")] = (_entry(before, one), _entry(after, two))
        return found


def _commit_text(tree: str, parents: Sequence[str], message: str, author: Author) -> bytes:
    now = f"{int(time.time())} +0000"
    agent = _ident(author.agent) or COMMITTER
    text = message.replace("\0", "\N{SYMBOL FOR NULL}").strip("\n") or "Update knowledge"
    if session := " ".join(_ident(author.session).split()):
        text += f"\n\n{SESSION}{session}"
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"author {agent} <{EMAIL}> {now}", f"committer {COMMITTER} <{EMAIL}> {now}", "", text]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _ident(name: str) -> str:
    """Without what ends a field of a commit (git's own rule, ident.c)."""
    kept = "".join(letter for letter in name if letter not in "<>" and letter >= " ")
    return kept.strip(" .,:;\"\\'")[:100]


def _commit(fields: Sequence[str]) -> Commit:
    name, parents, agent, date, message = fields
    text, _, last = message.rstrip("\n").rpartition("\n\n")
    if last.startswith(SESSION) and "\n" not in last:
        return Commit(name, tuple(parents.split()), agent, last.removeprefix(SESSION), date, text)
    return Commit(name, tuple(parents.split()), agent, "", date, message.rstrip("\n"))


def _entry(mode: str, name: str) -> Entry | None:
    return None if set(mode) == {"0"} else Entry(mode.encode(), name)


def _literal(path: str) -> str:
    return f":(top,literal){path}"


def _add_lines(path: Path, lines: Sequence[str]) -> None:
    with contextlib.suppress(FileNotFoundError):
        known = path.read_text(encoding="utf-8", errors="replace")
        lines = [line for line in lines if line not in known.splitlines()]
    if lines:
        with open(path, "a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
