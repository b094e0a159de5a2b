"""A remote copy of the history: fetched and merged at start, pushed after commits. It never costs a local commit."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from lore_etl.core.errors import GitError, LoreError
from lore_server.knowledge.git.commits import Author
from lore_server.knowledge.git.history import FILE_MODES, FOREIGN, Changes, History, TreeEntry
from lore_server.knowledge.merge import Clash, merged

NAME = "origin"
HEAD = f"refs/remotes/{NAME}/HEAD"
PROBLEM = "lore-remote-problem"
NETWORK_SECONDS = 60.0
PROBLEM_CHARACTERS = 2_000
USUAL_BRANCHES = ("main", "master")
_HEADS = "refs/heads/"


@dataclass(frozen=True)
class RemoteState:
    """What is known of the remote: `none`, `unknown`, `up to date`, `ahead`, `behind`, `diverged` or `failed`."""

    state: str = "none"
    ahead: int = 0
    behind: int = 0
    problem: str | None = None

    @property
    def is_there(self) -> bool:
        """Whether a remote is configured."""
        return self.state != "none"


class Remote:
    """`origin`, if it is configured. `writing` holds the store's lock.

    The remote's branch is that of its HEAD, whatever the local one is called: all machines share one history.
    """

    def __init__(self, history: History, writing: Callable[[], AbstractContextManager[int]]) -> None:
        self._history = history
        self._git = history.git
        self._writing = writing
        self._configured: bool | None = None
        self._branch: str | None = None
        self._note = history.home / ".git" / PROBLEM
        self._network = threading.Lock()  # one conversation at a time
        self._wanted = threading.Condition()
        self._pushes = self._pushed = 0
        self._thread: threading.Thread | None = None

    def look(self) -> bool:
        """Whether there is a remote, asked of git again."""
        self._configured = False
        if self._history.exists:
            try:
                self._configured = bool(self._git.run("config", "--get", f"remote.{NAME}.url").strip())
            except GitError:
                self._configured = False
        return self._configured

    def state(self) -> RemoteState:
        """Where the remote stands as far as is known without asking it."""
        if not self.look():
            return RemoteState()
        try:
            ahead, behind = self._distance()
        except GitError:
            return RemoteState("failed" if self.problem else "unknown", problem=self.problem)
        names = {(False, False): "up to date", (True, False): "ahead", (False, True): "behind"}
        state = RemoteState(names.get((ahead > 0, behind > 0), "diverged"), ahead, behind, self.problem)
        return replace(state, state="failed") if self.problem and state.state in ("up to date", "ahead") else state

    @property
    def branch(self) -> str:
        """The branch of the remote that is followed, as far as is known without asking: its HEAD's, else our own."""
        if self._branch is None:
            try:
                ref = self._git.run("symbolic-ref", "-q", HEAD).decode().strip()
            except GitError:
                return self._history.branch
            return ref.removeprefix(f"refs/remotes/{NAME}/")
        return self._branch

    @property
    def problem(self) -> str | None:
        """Why the last pull or push failed, in whichever process; None if it did not."""
        try:
            return self._note.read_text(encoding="utf-8", errors="replace")[:PROBLEM_CHARACTERS].strip() or None
        except OSError:
            return None

    def pull(self) -> bool:
        """Fetch, then fast-forward or merge; whether files changed. `state` says what could not be done."""
        with self._network:
            return self._attempt(self._pull)

    def push(self) -> bool:
        """Push what is new, after merging what came meanwhile; whether the remote has all of it now."""
        with self._network:
            return self._attempt(self._push)

    def push_soon(self) -> None:
        """Push in the background; pushes that are wanted meanwhile become one."""
        if self._configured is None:
            self.look()
        if not self._configured:
            return
        with self._wanted:
            self._pushes += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="knowledge push", daemon=True)
                self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is left to push, or it failed; False if that takes longer."""
        with self._wanted:
            return self._wanted.wait_for(lambda: self._thread is None, seconds)

    def _run(self) -> None:
        while True:
            with self._wanted:
                if self._pushed == self._pushes:
                    self._thread = None
                    self._wanted.notify_all()
                    return
                upto = self._pushes
            self.push()
            with self._wanted:
                self._pushed = upto

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
        self._branch = branch = self._asked_branch()
        try:
            # without + a remote that was rewritten would be refused; it is only looked at, and never taken over
            spec = f"+refs/heads/{branch}:refs/remotes/{NAME}/{branch}"
            self._git.run("fetch", "-q", "--no-tags", NAME, spec, seconds=NETWORK_SECONDS, remote=True)
        except GitError as error:
            if "couldn't find remote ref" in error.message:
                return False  # an empty remote
            raise
        with self._writing():
            self._git.run("symbolic-ref", HEAD, f"refs/remotes/{NAME}/{branch}")
            if self._history.tip is None:
                self._git.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
            return self._take_over(branch)

    def _asked_branch(self) -> str:
        """The branch of the remote's HEAD; if that has no commit yet, ours if it is there, else the only one there."""
        found = self._git.run("ls-remote", "--symref", NAME, "HEAD", f"{_HEADS}*", seconds=NETWORK_SECONDS, remote=True)
        lines = [line.split("\t") for line in found.decode("utf-8", "surrogateescape").splitlines() if "\t" in line]
        branches = [name.removeprefix(_HEADS) for _, name in lines if name.startswith(_HEADS)]
        heads = [value.removeprefix(f"ref: {_HEADS}") for value, name in lines if name == "HEAD" and "ref:" in value]
        ours = self._history.branch
        usual = [name for name in (*heads, ours, *USUAL_BRANCHES) if name in branches]
        return next(iter([*usual, *branches, *heads]), ours)

    def _push(self) -> bool:
        if self._branch is None:
            self._branch = self._asked_branch()
        try:
            self._send(self._branch)
        except GitError:
            self._pull()  # it may be ahead of us; if that is not it, the second attempt says what it is
            self._send(self._branch)
        return True

    def _send(self, branch: str) -> None:
        tip = self._history.tip
        if tip is None:
            return
        self._git.run(
            "push", "-q", "--no-verify", NAME, f"{tip}:{_HEADS}{branch}", seconds=NETWORK_SECONDS, remote=True
        )
        self._git.run("update-ref", f"refs/remotes/{NAME}/{branch}", tip)  # as `_pull` names it, whatever is configured

    def _take_over(self, branch: str) -> bool:
        """Bring what was fetched into our branch; the lock is held."""
        history = self._history
        history.commit_all(FOREIGN, Author())
        theirs = self._git.run("rev-parse", "--verify", "-q", f"refs/remotes/{NAME}/{branch}").decode().strip()
        tip = history.tip
        base = self._base(tip, theirs)
        if theirs == base:
            return False
        changes = self._merge(base, tip, theirs)
        if tip is None or base == tip:
            history.fast_forward(changes, theirs, f"Fast-forward to {NAME}/{branch}")
        else:
            history.commit(changes, f"Merge {NAME}/{branch}", Author(), [tip, theirs])
        return True

    def _base(self, tip: str | None, theirs: str) -> str | None:
        if tip is None:
            return None
        try:
            return self._git.run("merge-base", tip, theirs).decode().split()[0]
        except GitError:
            return None  # histories without a common beginning are merged file by file all the same

    def _merge(self, base: str | None, tip: str | None, theirs: str) -> Changes:
        """What changes in our files when theirs come in. Raises Clash."""
        history = self._history
        ours = history.changed_between(base, tip) if tip and tip != base else {}
        versions = dict[str, tuple[TreeEntry | None, TreeEntry | None, TreeEntry | None]]()
        for path, (old, new) in history.changed_between(base, theirs).items():
            if any(entry and entry.mode not in FILE_MODES for entry in (old, new)):
                raise Clash(f"{path} (a symlink or a repository, not a document)")
            versions[path] = (old, new, ours.get(path, (None, old))[1])
        blobs = history.contents(entry.id for entries in versions.values() for entry in entries if entry)
        changes: Changes = {}
        for path, entries in versions.items():
            before, after, mine = (entry and blobs[entry.id] for entry in entries)
            found = merged(self._git, path, before, mine, after)
            if found != mine:
                changes[path] = found
        return changes

    def _distance(self) -> tuple[int, int]:
        theirs = f"refs/remotes/{NAME}/{self.branch}"
        found = self._git.run("rev-list", "--left-right", "--count", f"HEAD...{theirs}", "--")
        ahead, behind = found.split()
        return int(ahead), int(behind)
