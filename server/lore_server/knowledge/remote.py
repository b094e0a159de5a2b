"""Synchronise the history with a remote; a failure of the remote never makes a local commit fail."""

import contextlib
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from lore_etl.core.atomic import read_if_any
from lore_etl.core.errors import GitError, InvalidPath, LoreError
from lore_server.knowledge.document import read_metadata, with_updated
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.git.git_command import Git
from lore_server.knowledge.git.history import FILE_MODES, Changes, History, TreeEntry
from lore_server.knowledge.reader import exact
from lore_server.knowledge.registry import INDEX, merged_index

NAME = "origin"
HEAD = f"refs/remotes/{NAME}/HEAD"
NETWORK_SECONDS = 60.0
PROBLEM_CHARACTERS = 2_000
REFUSED = "The remote was refused, and nothing was taken from it"
_HEADS = "refs/heads/"


class Clash(Exception):
    """Both sides have changed the same lines."""


def merge_all(
    history: History,
    changed: Mapping[str, tuple[TreeEntry | None, TreeEntry | None]],  # before and after them
    ours: Mapping[str, bytes | None],
) -> Changes:
    """Return the changes to our files that add theirs. Raises GitError, and Clash with the paths in conflict."""
    blobs = history.contents(entry.id for entries in changed.values() for entry in entries if entry)
    changes, clashes = Changes(), list[str]()
    for path, entries in changed.items():
        base, theirs = (entry and blobs[entry.id] for entry in entries)
        try:
            found = _merged(history.git, path, base, ours[path], theirs)
        except Clash:
            clashes.append(path)
            continue
        if found != ours[path]:
            changes[path] = found
    if clashes:
        raise Clash(", ".join(clashes)[:500])
    return changes


def _merged(git: Git, path: str, base: bytes | None, ours: bytes | None, theirs: bytes | None) -> bytes | None:
    """Return the file with the changes of both sides; None if it is deleted. Raises Clash, GitError."""
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    if path == INDEX:
        whole = merged_index(base, ours, theirs)
        if whole is None:
            raise Clash(path)
        return whole
    if ours is None or theirs is None or base is None:
        raise Clash(path)
    texts = {"ours": exact(ours), "base": exact(base), "theirs": exact(theirs)}
    dates = [read_metadata(texts[name]).updated for name in ("ours", "theirs")]
    if dates[0] and dates[1]:  # every write sets the date, so it must not cause a conflict
        texts = {name: with_updated(text, max(dates[0], dates[1])) for name, text in texts.items()}
    with tempfile.TemporaryDirectory(prefix="lore-") as folder:
        for name, text in texts.items():
            (Path(folder) / name).write_bytes(text.encode("utf-8", "surrogateescape"))
        try:
            return git.run("merge-file", "-p", "-q", *(str(Path(folder) / name) for name in texts))
        except GitError as error:  # the exit status is the number of conflicts
            raise Clash(path) from error


@dataclass(frozen=True)
class RemoteState:
    """The state of the remote: `none`, `unknown`, `up to date`, `ahead`, `behind`, `diverged` or `failed`."""

    state: str = "none"
    ahead: int = 0
    behind: int = 0
    problem: str | None = None

    @property
    def is_there(self) -> bool:
        return self.state != "none"


class Remote:
    """The remote `origin`, if it is configured. `writing` holds the folder's lock."""

    def __init__(self, history: History, writing: Callable[[], AbstractContextManager[None]]) -> None:
        self._history = history
        self._git = history.git
        self._writing = writing
        self._configured: bool | None = None
        self._branch: str | None = None  # that of the remote's HEAD: all machines share a history
        self._note = history.home / ".git" / "lore-remote-problem"
        self._network = threading.RLock()  # one pull or push at a time
        self._changed = threading.Condition()
        self._is_due = False
        self._thread: threading.Thread | None = None

    def look(self) -> bool:
        """Ask git again whether a remote is configured, and return the answer."""
        self._configured = False
        with contextlib.suppress(GitError):
            if self._history.exists:
                self._configured = bool(self._git.run("config", "--get", f"remote.{NAME}.url").strip())
        return self._configured

    def state(self) -> RemoteState:
        """Return the state of the remote, as known without contacting it."""
        if not self.look():
            return RemoteState()
        theirs = f"refs/remotes/{NAME}/{self.branch}"
        try:
            found = self._git.run("rev-list", "--left-right", "--count", f"HEAD...{theirs}", "--")
        except GitError:
            return RemoteState("failed" if self.problem else "unknown", problem=self.problem)
        ahead, behind = map(int, found.split())
        names = {(False, False): "up to date", (True, False): "ahead", (False, True): "behind"}
        name = "failed" if self.problem and not behind else names.get((ahead > 0, behind > 0), "diverged")
        return RemoteState(name, ahead, behind, self.problem)

    @property
    def branch(self) -> str:
        """Return the branch of the remote's HEAD, as known without contacting the remote, else our own branch."""
        if self._branch is not None:
            return self._branch
        with contextlib.suppress(GitError):
            return self._git.run("symbolic-ref", "-q", HEAD).decode().strip().removeprefix(f"refs/remotes/{NAME}/")
        return self._history.branch

    @property
    def problem(self) -> str | None:
        """Return the reason why the last pull or push of any process failed; None if it succeeded."""
        return (read_if_any(self._note, 4 * PROBLEM_CHARACTERS, "replace") or "")[:PROBLEM_CHARACTERS].strip() or None

    def pull(self) -> bool:
        """Fetch, then fast-forward or merge; return whether files changed. A failure is reported by `problem`."""
        with self._network:
            return self._attempt(self._pull)

    def exchange(self) -> tuple[bool, bool]:
        """Pull, then push unless that failed; return whether files changed, and whether everything was pushed."""
        with self._network:
            return self.pull(), not self.problem and self._attempt(self._push)

    def push_soon(self) -> None:
        """Push in the background; requests during a push are combined into one."""
        if self._configured is None:
            self.look()
        if not self._configured:
            return
        with self._changed:
            self._is_due = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="knowledge push", daemon=True)
                self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait until the background push has finished or failed; return False after the timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: self._thread is None, seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._is_due:
                    self._thread = None
                    self._changed.notify_all()
                    return
                self._is_due = False
            with self._network:
                self._attempt(self._push)

    def _attempt(self, act: Callable[[], bool]) -> bool:
        problem, done = "", False
        try:
            done = act()
        except Clash as clash:
            problem = f"Both sides changed {clash}: merge them with git in the knowledge folder."
        except LoreError as error:
            problem = error.message
        with contextlib.suppress(OSError):
            if problem:
                self._note.write_text(problem, encoding="utf-8", errors="replace")
            else:
                self._note.unlink(missing_ok=True)
        return done

    def _pull(self) -> bool:
        self._branch = branch = self._ask_branch()
        try:
            # without +, git would refuse a rewritten branch; this only updates our copy of the remote's branch
            spec = f"+refs/heads/{branch}:refs/remotes/{NAME}/{branch}"
            self._git.run("fetch", "-q", "--no-tags", NAME, spec, seconds=NETWORK_SECONDS, remote=True)
        except GitError as error:
            if "couldn't find remote ref" in error.message:
                return False  # the remote is empty
            raise
        with self._writing():
            self._git.run("symbolic-ref", HEAD, f"refs/remotes/{NAME}/{branch}")
            if self._history.tip is None:
                self._git.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
            return self._take_over(branch)

    def _ask_branch(self) -> str:
        """Return the branch of the remote's HEAD; if it has no commit, our branch, a usual name, or any branch."""
        found = self._git.run("ls-remote", "--symref", NAME, "HEAD", f"{_HEADS}*", seconds=NETWORK_SECONDS, remote=True)
        lines = [line.split("\t") for line in found.decode("utf-8", "surrogateescape").splitlines() if "\t" in line]
        branches = [name.removeprefix(_HEADS) for _, name in lines if name.startswith(_HEADS)]
        heads = [value.removeprefix(f"ref: {_HEADS}") for value, name in lines if name == "HEAD" and "ref:" in value]
        ours = self._history.branch
        usual = [name for name in (*heads, ours, "main", "master") if name in branches]
        return next(iter([*usual, *branches, *heads]), ours)

    def _push(self) -> bool:
        """Push new commits, after merging those of the remote if needed."""
        if self._history.tip is None:
            self._pull()  # there is nothing to push, but the remote may still be refused
            return True
        if self._branch is None:
            self._branch = self._ask_branch()
        try:
            self._send(self._branch)
        except GitError:
            self._pull()  # the remote may be ahead; if not, the second attempt raises the actual error
            self._send(self._branch)
        return True

    def _send(self, branch: str) -> None:
        tip = self._history.tip
        assert tip is not None, "an empty history is not pushed"
        spec = f"{tip}:{_HEADS}{branch}"
        self._git.run("push", "-q", "--no-verify", NAME, spec, seconds=NETWORK_SECONDS, remote=True)
        self._git.run("update-ref", f"refs/remotes/{NAME}/{branch}", tip)  # the same name as in `_pull`

    def _take_over(self, branch: str) -> bool:
        """Merge the fetched commits into our branch; return whether files changed. The caller holds the lock."""
        history = self._history
        history.commit_all(Author())
        theirs = self._git.run("rev-parse", "--verify", "-q", f"refs/remotes/{NAME}/{branch}").decode().strip()
        tip = history.tip
        base: str | None = None
        with contextlib.suppress(GitError):  # histories without a common ancestor are merged file by file too
            base = self._git.run("merge-base", tip, theirs).decode().split()[0] if tip else None
        if theirs == base:
            return False
        changes = self._merge(base, theirs)
        if tip is None or base == tip:
            history.fast_forward(changes, theirs, f"Fast-forward to {NAME}/{branch}")
        else:
            history.commit(changes, f"Merge {NAME}/{branch}", Author(), [tip, theirs])
        return True

    def _merge(self, base: str | None, theirs: str) -> Changes:
        """Return the changes to our files, which are all committed, that merge theirs. Raises Clash, GitError."""
        changed, ours = self._history.changed_between(base, theirs), dict[str, bytes | None]()
        for path, entries in changed.items():
            try:  # the whole remote is refused before any of its files is written
                ours[path] = self._history.files.read(path)
            except InvalidPath as error:
                raise GitError(f"{REFUSED}: {error.message}") from error
            if any(entry and entry.mode not in FILE_MODES for entry in entries):
                raise GitError(f"{REFUSED}: {path} is a symlink or a repository, not a document.")
        return merge_all(self._history, changed, ours)
