"""The history of a knowledge folder: each write is one commit. All that changes it needs the store's lock."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lore_etl.core.errors import CommitNotFound, GitError
from lore_etl.files.git_head import head
from lore_server.knowledge.git.branch import move_branch
from lore_server.knowledge.git.commits import FIELDS, Author, Commit, commit_text, parsed
from lore_server.knowledge.git.git_command import Git, finish
from lore_server.knowledge.git.objects import FILE_MODE, TEMPORARY_OBJECT, Objects, TreeEntry, blob_id
from lore_server.knowledge.lock import StoreLock
from lore_server.knowledge.safe_files import TEMPORARY, Files

BRANCH = "main"
FOREIGN = "Changes made outside of Lore"
LOCK = "lore.lock"
INTERRUPTED = "After an interruption: "
_BEHIND = "lore-index-behind"
_IGNORED = ("activity.log*", TEMPORARY)
_RAW = "* -text -ident -filter !eol !working-tree-encoding\n"  # no byte of a document is git's to change


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
        entries = {path: TreeEntry(FILE_MODE, blob) if blob else None for path, blob in blobs.items()}
        tree = objects.changed_tree(objects.tree_of(tip) if tip else None, entries) or objects.empty_tree()
        above = list(parents) if parents is not None else [tip] if tip else []
        commit = objects.write("commit", commit_text(tree, above, message, author))
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
            commit = objects.write("commit", commit_text(tree, [tip] if tip else [], message, author))
            self._move(commit, tip, [])
        return len(changed)

    def recover(self) -> int:
        """Finish what a killed process began, remove what it left; how many files were committed."""
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
        """Let git pack what has become many small files, and note which commit changed which paths.

        It looks itself whether it is time. What another process is doing already need not be done.
        """
        with contextlib.suppress(GitError):
            self.git.run("-c", "gc.auto=6700", "-c", "gc.autoDetach=false", "gc", "--auto", "--quiet", seconds=300)
            self.git.run("commit-graph", "write", "--reachable", "--changed-paths", "--split", seconds=300)

    def _move(self, commit: str, tip: str | None, paths: Sequence[str]) -> None:
        """Branch and index to the new commit, side by side: whichever is late after a kill, `recover` sees it."""
        keep = [self._lock.descriptor]
        indexing = self.git.start("update-index", "--add", "--remove", "-z", "--stdin", keep=keep) if paths else None
        try:
            move_branch(self.home, self.git, commit, tip, keep)
        finally:
            if indexing is not None:
                data = b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)
                try:
                    finish(indexing, data)
                except GitError:  # somebody's own git holds the index; the commit is made all the same
                    (self.home / ".git" / _BEHIND).touch()

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
        options = ["-z", f"--format={'%x00'.join(FIELDS)}", f"--max-count={limit}", f"--skip={skip}"]
        found = self.git.run("log", *options, "--end-of-options", "HEAD", "--", *map(_literal, paths))
        parts = found.decode(errors="replace").split("\0")
        width = len(FIELDS)
        return [parsed(parts[at : at + width]) for at in range(0, len(parts) - width + 1, width)]

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
        found = self.git.run("log", "-z", "-1", f"--format={'%x00'.join(FIELDS)}", self.resolve(commit))
        return parsed(found.decode(errors="replace").split("\0")[: len(FIELDS)])

    def diff(self, old: str | None, new: str | None, paths: Sequence[str] = ()) -> str:
        """What changed, as a patch: from a commit (None: from nothing) to another (None: to the files as they are)."""
        if self.tip is None:
            raise CommitNotFound("Nothing has been written yet.")
        first = self.resolve(old) if old is not None else self.objects.empty_tree()
        ends = [first, *([self.resolve(new)] if new is not None else [])]
        options = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/")
        found = self.git.run("diff", *options, "--end-of-options", *ends, "--", *map(_literal, paths))
        return found.decode(errors="replace")

    def changed_between(self, old: str | None, new: str) -> dict[str, tuple[TreeEntry | None, TreeEntry | None]]:
        """Path -> entry before and after, of two commits."""
        first = old or self.objects.empty_tree()
        options = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-commit-id")
        parts = self.git.run("diff-tree", *options, "--end-of-options", first, new).split(b"\0")
        found = {}
        for line, path in zip(parts[::2], parts[1::2], strict=False):
            before, after, one, two, _ = line.removeprefix(b":").decode().split(" ")
            found[path.decode("utf-8", "surrogateescape")] = (_entry(before, one), _entry(after, two))
        return found


def _entry(mode: str, name: str) -> TreeEntry | None:
    return None if set(mode) == {"0"} else TreeEntry(mode.encode(), name)


def _literal(path: str) -> str:
    return f":(literal){path}"  # other magic, even `top`, would make git ignore the filters of `tidy`


def _add_lines(path: Path, lines: Sequence[str]) -> None:
    with contextlib.suppress(FileNotFoundError):
        known = path.read_text(encoding="utf-8", errors="replace")
        lines = [line for line in lines if line not in known.splitlines()]
    if lines:
        with open(path, "a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
