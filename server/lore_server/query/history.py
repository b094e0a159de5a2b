"""Find files by the subjects of the commits that changed them, which say what a file is for in other words."""

import math
import threading
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lore_etl.core.errors import InvalidArgument, StorageError
from lore_etl.files.git_folder import head
from lore_etl.stores.keywords import question_stems, stems
from lore_server.changes.project_git import LOG, read_git

COMMITS = 5_000  # latest
FILES = 30  # of a commit: one that changes more says little about each
PIECES, SECONDS, MAX_BYTES = 6, 2.0, 8_000_000  # a search reads one piece
HITS = 200  # commits
DECAY = 0.6  # each further commit of a file counts this share of the one before
SATURATION, LENGTH = 1.2, 0.75  # the parameters of BM25
_LATEST = ("--no-merges", "--relative", "--name-status", "--encoding=UTF-8", "--format=%x1e%at %s%x1f")
_RENAMES = (("-M50%", f"-l{FILES}"), ("-M100%",))  # similar files are found by their content, which a clone may lack


class Commit(NamedTuple):
    """The words of the subject of a commit, and the files that it changed, by their present names."""

    words: tuple[str, ...]
    files: tuple[str, ...]


class History:
    """The latest commits of a project, in memory. Without git, there are none."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._head: str | None = None  # commits up to this one are known
        self._target, self._pieces = "", 0
        self._records: list[str] = []  # of the target
        self._commits: dict[str, Commit] = {}  # by date and subject, which a rebase keeps
        self._having: dict[str, list[int]] = {}
        self._lengths = np.zeros(0)

    def refresh(self) -> None:
        """Read the commits since the last call, or, if git takes longer than some seconds, a part of them."""
        commit = head(self._root).commit
        with self._lock:
            if commit is None or commit == self._head:
                return
            if commit != self._target:
                self._target, self._pieces, self._records = commit, 0, []
            self._pieces += 1
            is_last = self._read(f"{self._head}..{commit}" if self._head else commit)
            if is_last or self._pieces == PIECES:
                self._head, self._records = commit, []

    def _read(self, commits: str) -> bool:
        """Read the next commits, and return whether there are no more."""
        known = len(self._records)
        piece = (f"--skip={known}", f"--max-count={COMMITS - known}")
        for renames in _RENAMES:
            with suppress(InvalidArgument, StorageError):  # the history only improves the order
                arguments = (*LOG, *_LATEST, *renames, *piece, commits)
                output = read_git(self._root, *arguments, seconds=SECONDS, max_bytes=MAX_BYTES)
                break
        else:
            return True
        records = output.text.split("\x1e")[1:]
        self._records += records if output.is_complete else records[:-1]
        self._add(self._records)
        return output.is_complete

    def _add(self, records: list[str]) -> None:
        """Add commits, newest first."""
        now: dict[str, str] = {}  # earlier name -> present name
        found = {}
        for record in records:
            subject, _, changes = record.partition("\x1f")
            fields = iter([field.strip("\n") for field in changes.split("\0") if field.strip("\n")])
            renames, files = {}, set()
            for status in fields:
                path = next(fields, "")
                if status.startswith("R"):
                    renames[path] = path = next(fields, "")
                files.add(now.get(path, path))
            now |= {old: now.get(new, new) for old, new in renames.items()}
            if len(files) <= FILES:
                found[subject] = Commit(tuple(stems(subject.partition(" ")[2])), tuple(files))
        for subject, commit in self._commits.items():
            known = commit._replace(files=tuple(now.get(file, file) for file in commit.files)) if now else commit
            found.setdefault(subject, known)
        having = defaultdict(list)
        for number, commit in enumerate(found.values()):
            for word in commit.words:
                having[word].append(number)
        self._commits, self._having = found, having
        self._lengths = np.array([len(commit.words) for commit in found.values()], dtype=float)

    def matches(self, text: str) -> dict[str, float]:
        """Return how well the commits of the last `refresh` match a question, by path: sums of BM25."""
        with self._lock:
            lengths, having, commits = self._lengths, self._having, list(self._commits.values())
        if not commits:
            return {}
        number, scores = len(commits), np.zeros(len(commits))
        for word in question_stems(text):
            if those := having.get(word):
                scores[those] += math.log(1 + (number - len(those) + 0.5) / (len(those) + 0.5))
        typical = max(1.0, float(lengths.mean()))
        scores *= (SATURATION + 1) / (1 + SATURATION * (1 - LENGTH + LENGTH * lengths / typical))
        found, before = defaultdict[str, float](float), Counter[str]()
        for place in np.argsort(-scores, kind="stable")[:HITS].tolist():
            for file in commits[place].files if scores[place] else ():
                found[file] += float(scores[place]) * DECAY ** before[file]
                before[file] += 1
        return found
