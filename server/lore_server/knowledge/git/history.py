"""The history of a knowledge folder: each write is one commit. Every change needs the folder's lock."""

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lore_etl.core.errors import Busy, CommitNotFound, GitError
from lore_etl.core.text import counted
from lore_etl.files.git_folder import head
from lore_etl.system.processes import may_run
from lore_server.knowledge.git.commits import FIELDS, Author, Commit, file_line, import_stream, parsed
from lore_server.knowledge.git.git_command import Git, finish
from lore_server.knowledge.safe_files import TEMPORARY, Files, StoreLock

BRANCH = "main"
LOCK = "lore.lock"
INTERRUPTED = "After an interruption: "
_BEHIND = "lore-index-behind"
_PAUSE_SECONDS = 0.01
_OTHERS_SECONDS = 2.0
_IMPORT = ("fast-import", "--quiet")
FILE_MODES = ("100644", "100755")
_RESTORE = "Restore them in `.git` from a backup; or rename `.git`, and the next write begins a new history."
_LOCKS = "Wait for it. If no git process is running there, remove `.git/index.lock` in the knowledge folder."
_FEW = 500  # the maximum number of paths in the arguments of one command
_IGNORED = ("activity.log*", TEMPORARY)
_RAW = "* -text -ident -filter !eol !working-tree-encoding"  # git must not change a byte of a document

Changes = dict[str, bytes | None]  # path -> content, None to delete


class TreeEntry(NamedTuple):
    """The mode and the object id of a file, a symlink or a submodule."""

    mode: str
    id: str


class History:
    """The repository in the folder. The first write creates it; until then, the history is empty."""

    def __init__(self, home: Path, lock: StoreLock) -> None:
        self.home = home
        self.files = Files(home)
        self.git = Git(home)
        self.lock = lock
        self._is_prepared = False

    @property
    def exists(self) -> bool:
        """Return whether git takes the folder for a repository: an interrupted `git init` may leave an empty HEAD."""
        folder = self.home / ".git"
        return _has_content(folder / "HEAD") and os.path.lexists(folder / "objects")

    @property
    def branch(self) -> str:
        return head(self.home).branch or "HEAD"

    @property
    def tip(self) -> str | None:
        return head(self.home).commit if self.exists else None

    def locks(self) -> list[Path]:
        folder = self.home / ".git"
        return [path for path in (*folder.glob("*.lock"), *(folder / "refs").rglob("*.lock")) if path.name != LOCK]

    def wait_for_others(self) -> None:
        """Wait for another git process in the folder, or remove the locks that a killed one left."""
        deadline = time.monotonic() + self.lock.wait_seconds
        while locks := self.locks():
            for lock in locks:
                with contextlib.suppress(FileNotFoundError):
                    is_old = time.time() - lock.lstat().st_mtime > _OTHERS_SECONDS
                    # Lore's git processes hold our lock until they end, and other programs hold git's for milliseconds
                    if is_old and not may_run("git", self.home):
                        lock.unlink()
            if time.monotonic() > deadline:
                raise Busy("Git is running in the knowledge folder, or was killed there.", _LOCKS)
            time.sleep(_PAUSE_SECONDS)

    # --- writing -----------------------------------------------------------------------------------------------------

    def commit(self, changes: Changes, message: str, author: Author, parents: Sequence[str] | None = None) -> str:
        """Write files and commit them; return the commit's id. Raises StorageError, InvalidPath and GitError."""
        # after an error, the next write commits the files that were written
        self._prepare()
        above = parents if parents is not None else [self.tip] if self.tip else []
        stream = import_stream(message, author, above, (file_line(*change) for change in changes.items()))
        return self._advance(_IMPORT, stream, changes, message).decode().strip()

    def fast_forward(self, changes: Changes, commit: str, message: str) -> None:
        """Write the files that differ in a commit, then move the branch to it. Raises the errors of `commit`."""
        self._prepare()
        move = f"update HEAD {commit} {self.tip or '0' * len(commit)}\n"
        self._advance(("update-ref", "--stdin"), move.encode(), changes, message)

    def commit_all(self, author: Author, message: str = "") -> int:
        """Commit all changes in the folder, made by hand unless a message is given; return the number of files."""
        self._prepare()
        changed = self.uncommitted()
        if not changed:
            return 0
        keep, tip, message = [self.lock.descriptor], self.tip, message or by_hand(len(changed))
        with self._note_operation(message):
            self.git.run("add", "-A", "--", ".", keep=keep)
            tree = self.git.run("write-tree", keep=keep).decode().strip()
            if tip and tree == self.git.run("rev-parse", f"{tip}^{{tree}}").decode().strip():
                return 0  # only git's index was out of date
            whole = f'M 040000 {tree} ""\n'.encode()  # replaces all files with those of the tree
            stream = import_stream(message, author, [tip] if tip else [], [whole])
            self._advance(_IMPORT, stream, {}, message)
        return len(changed)

    def recover(self) -> int:
        """Commit the changes of a killed process and remove its leftovers; return the number of committed files."""
        message = ""
        if left_off := self.lock.read_note():
            message = INTERRUPTED + left_off.removeprefix(INTERRUPTED)
            for stale in self.locks():
                stale.unlink(missing_ok=True)
        for report in (self.home / ".git").glob("fast_import_crash_*"):
            report.unlink(missing_ok=True)
        self.files.remove_temporary()
        self._untrack()
        count = self.commit_all(Author(), message)
        self.lock.note("")
        return count

    def _untrack(self) -> None:
        """Leave files that are ours alone, such as a log committed by hand, out of the next commit."""
        if not self.exists:
            return
        excluded = [f"--exclude={pattern}" for pattern in _IGNORED]
        found = self.git.run("ls-files", "-z", "--cached", "--ignored", *excluded).decode(errors="surrogateescape")
        if paths := [path for path in found.split("\0") if path]:
            self.git.run("rm", "-q", "-f", "--cached", "--", *paths, keep=[self.lock.descriptor])

    def refresh_index(self) -> None:
        """Update git's index to the last commit, if a write could not do so."""
        marker = self.home / ".git" / _BEHIND
        if marker.exists():
            with self._note_operation("Refresh the index"):
                self.git.run("read-tree", "HEAD", keep=[self.lock.descriptor])
            marker.unlink(missing_ok=True)

    def uncommitted(self) -> list[str]:
        """Return the paths that differ from the last commit."""
        if not self.exists:
            return []
        found = self.git.run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
        return [line[3:] for line in found.decode(errors="surrogateescape").split("\0") if line]

    def tidy(self) -> None:
        """Let git pack its many small files if it finds that due, and index which commit changed which paths."""
        with contextlib.suppress(GitError):  # another process may be doing the same
            self.git.run("-c", "gc.auto=6700", "-c", "gc.autoDetach=false", "gc", "--auto", "--quiet", seconds=300)
            self.git.run("commit-graph", "write", "--reachable", "--changed-paths", "--split", seconds=300)

    def _advance(self, command: Sequence[str], data: bytes, changes: Changes, message: str) -> bytes:
        """Write files, then let a git command move the branch, and update the index. Return the command's output."""
        keep = [self.lock.descriptor]
        with self._note_operation(message), self.git.start(*command, keep=keep) as moving:
            for path, content in changes.items():  # first, so that after a kill `recover` commits them
                if content is None:
                    self.files.remove(path)
                else:
                    self.files.write(path, content)
            with self.git.start("update-index", "--add", "--remove", "-z", "--stdin", keep=keep) as indexing:
                printed = finish(moving, data)
                try:
                    finish(indexing, "".join(f"{path}\0" for path in changes).encode("utf-8", "surrogateescape"))
                except GitError:  # another git process has locked the index; the commit exists nevertheless
                    (self.home / ".git" / _BEHIND).touch()
        return printed

    @contextlib.contextmanager
    def _note_operation(self, message: str) -> Iterator[None]:
        """Note the operation in the lock file; an operation that does not finish leaves its note there."""
        self.lock.note(message)
        yield
        self.lock.note("")

    def _prepare(self) -> None:
        """Create the repository if it does not exist, and add our settings to it."""
        if self._is_prepared:
            return
        if not self.exists:
            self._create()
        info = self.home / ".git" / "info"
        info.mkdir(exist_ok=True)
        for name, lines in (("exclude", _IGNORED), ("attributes", (_RAW,))):
            with open(info / name, "a+", encoding="utf-8", errors="replace") as file:
                file.seek(0)
                known = file.read().splitlines()
                file.writelines(f"{line}\n" for line in lines if line not in known)
        self._is_prepared = True

    def _create(self) -> None:
        """Create the repository, or complete that of an interrupted `git init`, which may have left its locks."""
        folder = self.home / ".git"
        if any(map(_has_content, (folder / "packed-refs", *(folder / "refs").rglob("*")))):
            raise GitError("The history of the knowledge folder has lost its objects, or its HEAD.", _RESTORE)
        if not _has_content(folder / "HEAD"):
            (folder / "HEAD").unlink(missing_ok=True)
        for left in ("HEAD.lock", "config.lock"):
            (folder / left).unlink(missing_ok=True)
        self.git.run("init", "-q", "-b", BRANCH, "--template=", keep=[self.lock.descriptor])
        with open(folder / "HEAD", "rb+") as written:
            os.fsync(written.fileno())  # git does not do it

    # --- reading -----------------------------------------------------------------------------------------------------

    def log(self, paths: Sequence[str] = (), limit: int = 50, skip: int = 0) -> list[Commit]:
        """Return commits, newest first; if paths are given, only those that change one of them."""
        if self.tip is None:
            return []
        chosen = ("--end-of-options", "HEAD", "--", *map(_literal, paths))
        return self._commits(f"--max-count={limit}", f"--skip={skip}", *chosen)

    def resolve(self, commit: str) -> str:
        """Return the full id of a commit. Raises CommitNotFound."""
        name = commit.strip()
        if self.tip is None or not name or not all(letter in "0123456789abcdef" for letter in name.lower()):
            raise CommitNotFound(f"There is no commit `{commit[:80]}`.")
        try:
            found = self.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        except GitError as error:
            raise CommitNotFound(f"There is no commit `{commit[:80]}`.") from error
        return found.decode().split()[-1]

    def entry(self, commit: str) -> Commit:
        return self._commits("-1", self.resolve(commit))[0]

    def _commits(self, *arguments: str) -> list[Commit]:
        found = self.git.run("log", "-z", f"--format={'%x00'.join(FIELDS)}", *arguments)
        parts, width = found.decode(errors="replace").split("\0"), len(FIELDS)
        return [parsed(parts[at : at + width]) for at in range(0, len(parts) - width + 1, width)]

    def diff(self, old: str | None, new: str | None, paths: Sequence[str] = ()) -> str:
        """Return the changes as a patch: from a commit or an empty folder to another commit or to the current files."""
        if self.tip is None:
            raise CommitNotFound("Nothing has been written yet.")
        first = self.resolve(old) if old is not None else self._empty_tree()
        ends = [first, *([self.resolve(new)] if new is not None else [])]
        options = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/")
        found = self.git.run("diff", *options, "--end-of-options", *ends, "--", *map(_literal, paths))
        return found.decode(errors="replace")

    def changed_between(self, old: str | None, new: str) -> dict[str, tuple[TreeEntry | None, TreeEntry | None]]:
        """Return the paths that differ between two commits, each with its entries before and after."""
        first = old or self._empty_tree()
        options = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-commit-id")
        parts = self.git.run("diff-tree", *options, "--end-of-options", first, new).split(b"\0")
        found = {}
        for line, path in zip(parts[::2], parts[1::2], strict=False):
            before, after, old_id, new_id, _ = line.removeprefix(b":").decode().split(" ")
            found[path.decode("utf-8", "surrogateescape")] = (_entry(before, old_id), _entry(after, new_id))
        return found

    def blobs_of(self, commit: str, paths: Sequence[str] = ()) -> dict[str, str]:
        """Return the blob ids of a commit's files by path, limited to the given paths if they are few."""
        wanted = paths if len(paths) <= _FEW else ()
        found = self.git.run("ls-tree", "-r", "-z", commit, "--", *map(_literal, wanted))
        rows = (line.partition("\t") for line in found.decode("utf-8", "surrogateescape").split("\0") if line)
        return {path: facts.split(" ")[2] for facts, _, path in rows if facts.split(" ")[0] in FILE_MODES}

    def content_at(self, commit: str, path: str) -> bytes | None:
        name = self.blobs_of(commit, [path]).get(path)
        return self.contents([name])[name] if name else None

    def contents(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of blobs by id. Raises GitError if one is missing."""
        names = list(dict.fromkeys(blobs))
        found, start = dict[str, bytes](), 0
        printed = self.git.run("cat-file", "--batch", data="".join(f"{name}\n" for name in names).encode())
        for name in names:
            end = printed.index(b"\n", start)
            facts = printed[start:end].split(b" ")
            if facts[1:2] != [b"blob"]:
                raise GitError(f"The object {name} of the history cannot be read.")
            found[name] = printed[end + 1 : end + 1 + int(facts[2])]
            start = end + 2 + int(facts[2])
        return found

    def _empty_tree(self) -> str:
        return self.git.run("hash-object", "-t", "tree", "--stdin").decode().strip()


def by_hand(files: int) -> str:
    """Return the message of a commit of files that were changed outside Lore."""
    return f"Sync storage: {counted(files, 'file')} updated"


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _entry(mode: str, name: str) -> TreeEntry | None:
    return None if set(mode) == {"0"} else TreeEntry(mode, name)


def _literal(path: str) -> str:
    return f":(literal){path}"  # with any other pathspec magic, even `top`, git would ignore the filters of `tidy`
