"""Keep the files of the last scan, and look only at those again that a watcher reports."""

from __future__ import annotations

import stat
import threading
import time
from collections.abc import Callable, Iterable
from os import stat_result

from lore_etl.files.rules import is_rule_file
from lore_etl.files.scan import FileEntry, Scan, lasting_stamp

EVERYTHING = "."
"""The root of the project, for a change that cannot be assigned to a file."""


class Listing:
    """The last scan of a project. It is complete as long as every change since then is reported with `notice`."""

    def __init__(
        self, scan: Callable[[], Scan], facts: Callable[[str], stat_result | None], skips: Callable[[str, bool], bool]
    ) -> None:
        """`facts` is `lstat` of a path, and raises OSError; `skips` returns whether a scan skips a file or a folder."""
        self._scan = scan
        self._facts = facts
        self._skips = skips
        self._guard = threading.Lock()  # held during a scan: an older one must not replace a newer one
        self._last: Scan | None = None
        self._reports = threading.Lock()
        self._reported = set[str]()

    def scan(self) -> Scan:
        """Find all files."""
        with self._guard:
            return self._scanned()

    def notice(self, paths: Iterable[str]) -> None:
        """Look at these files or folders again, in the next `look`."""
        with self._reports:
            self._reported.update(paths)

    def has_news(self) -> bool:
        """Return whether there is a report that `look` has not followed yet."""
        return bool(self._reported)

    def forget(self) -> None:
        """Find all files in the next `look`, because changes may not have been reported."""
        with self._guard:
            self._last = None

    def look(self) -> Scan:
        """Look at the reported files again, and return them with the others; find all files if that is not enough."""
        with self._guard:
            reported = self._taken()
            last = self._last
            if last is None or last.unreadable:
                return self._scanned()
            reported |= {path for path, entry in last.files.items() if not entry.stamp}
            files, refused = dict(last.files), [problem.source for problem in last.refused]
            if any(_is_at_or_below(source, path) for source in refused for path in reported):
                return self._scanned()
            if not all(self._looked(path, files) for path in reported):
                return self._scanned()
            if files.keys() != last.files.keys():
                files = dict(sorted(files.items()))
            self._last = Scan(files, [], last.refused)
            return _copied(self._last)

    def _scanned(self) -> Scan:
        self._taken()  # before the scan, which may miss a change that is reported during it
        self._last = self._scan()
        return _copied(self._last)

    def _taken(self) -> set[str]:
        with self._reports:
            reported, self._reported = self._reported, set()
        return reported

    def _looked(self, path: str, files: dict[str, FileEntry]) -> bool:
        """Update one file; return False if other files may have changed with it."""
        if path == EVERYTHING or is_rule_file(path):
            return False
        try:
            facts = self._facts(path)
        except OSError:
            return False
        if facts is None:
            if files.pop(path, None) is None:
                return not any(_is_at_or_below(known, path) for known in files)
        elif stat.S_ISDIR(facts.st_mode):
            return path not in files and self._skips(path, True)
        elif not stat.S_ISREG(facts.st_mode):
            return path not in files and self._skips(path, False)
        elif path in files or not self._skips(path, False):
            files[path] = FileEntry(path, facts.st_size, lasting_stamp(facts, time.time_ns()))
        return True


def _is_at_or_below(path: str, place: str) -> bool:
    return path.startswith(place) and path[len(place) : len(place) + 1] in ("", "/")


def _copied(found: Scan) -> Scan:
    return Scan(dict(found.files), list(found.unreadable), list(found.refused))
