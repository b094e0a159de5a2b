"""Decide by gitignore patterns which files are left out; invalid patterns are errors only in the configuration.

Python's `re` backtracks: it took 137 s to match a file name with `a**a**a**b`. RE2 takes linear time, so it matches
patterns with many wildcards; pathspec's RE2 backend builds one automaton per file and fails at 2,000 patterns.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from pathlib import Path

import re2
from pathspec import GitIgnoreSpec

from lore_etl.config.project import VIEW_NAME
from lore_etl.core.errors import ConfigError

IGNORE_FILE = ".gitignore"
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "bower_components"})
HIDDEN_BUT_READ = frozenset({".github", ".ce", ".serena", ".claude", ".cursor", ".cursorrules", ".gitattributes"})
_INVALID = (ValueError, re.error, re2.error)
_QUANTIFIER = re.compile("[*+]")
_QUIET = re2.Options()
_QUIET.log_errors = False
MAX_QUANTIFIERS = 3  # the parent folder and two wildcards: at most 255 * 255 / 2 steps for a file name


class Spec(GitIgnoreSpec):
    """The patterns of one ignore file or configuration key."""

    @cached_property
    def unions(self) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None] | None:
        """Automata that match at least the including and the other patterns (`$` is not `re`'s); None if too many."""
        kinds: tuple[list[str], list[str]] = [], []
        for pattern in self.patterns:
            if pattern.include is not None and pattern.regex is not None:
                kinds[not pattern.include].append(pattern.regex.pattern.replace("(?P<ps_d>", "(?:"))
        try:
            included, excluded = (re2.compile("|".join(kind), _QUIET) if kind else None for kind in kinds)
        except re2.error:
            return None
        return included, excluded

    def verdict(self, path: str) -> bool | None:
        """Return whether the last match ignores a path (folders end with `/`); a walk has checked those above."""
        if self.unions and "\n" not in path and not any(union and union.search(path) for union in self.unions):
            return None  # as for most paths
        for pattern in reversed(self.patterns):
            if pattern.include is not None and pattern.regex is not None and _means(pattern.regex, path):
                return bool(pattern.include)
        return None

    def includes(self, path: str) -> bool:
        """Return whether the last matching pattern includes this file; most files match none, or only such patterns."""
        if self.unions and "\n" not in path:
            included, excluded = self.unions
            if included is None or not included.search(path):
                return False
            if excluded is None or not excluded.search(path):
                return True
        return self.match_file(path)


def configured(key: str, patterns: Iterable[str]) -> Spec:
    """Compile the patterns of a configuration key. Raises ConfigError."""
    patterns = tuple(patterns)
    if bad := [pattern for pattern in patterns if not _is_valid(pattern)]:
        raise ConfigError(f"Configuration key `{key}`: {bad[0]!r} is not a gitignore pattern.")
    return _spec(patterns)


def lenient(patterns: Iterable[str]) -> Spec:
    return _spec(tuple(pattern for pattern in patterns if _is_valid(pattern)))


class Included:
    """The patterns of `index.include`. Raises ConfigError."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._spec = configured("index.include", patterns)
        self._patterns = [pattern for pattern in patterns if pattern.strip() and not pattern.startswith(("!", "#"))]

    def holds(self, path: str) -> bool:
        """Return whether the file, or the nearest matched folder above it, is included."""
        while path and self._patterns:
            is_included = self._spec.verdict(path)
            if is_included is not None:
                return is_included
            above = path.rstrip("/").rpartition("/")[0]
            path = above and above + "/"
        return False

    def reaches(self, folder: str) -> bool:
        return self.holds(folder + "/") or any(_may_mean_below(pattern, folder) for pattern in self._patterns)


def _may_mean_below(pattern: str, folder: str) -> bool:
    steps = pattern.strip().lstrip("/").split("/")
    if not pattern.strip().rstrip("/").count("/"):
        return True  # a bare name matches files at any depth
    for step, name in zip(steps, folder.split("/"), strict=False):
        if step == "**":
            return True
        if not fnmatchcase(name, step):
            return False
    return True


def _means(regex: re.Pattern[str], path: str) -> bool:
    if "ps_d" in regex.groupindex:  # pathspec's name for the slash after the match
        return any(match.end() == len(path) for match in regex.finditer(path))
    match = regex.search(path)  # `folder/**` matches the content of the folder
    return match is not None and not (path.endswith("/") and match.end() == len(path))


def _is_valid(pattern: str) -> bool:
    try:
        _spec((pattern,))
        return True
    except _INVALID:
        return False


@lru_cache(maxsize=1024)  # every sync compiles the same patterns
def _spec(patterns: tuple[str, ...]) -> Spec:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # `re` warns about nested brackets
        spec = Spec.from_lines(patterns, backend="simple")
    for pattern in spec.patterns:
        if pattern.regex is not None and len(_QUANTIFIER.findall(pattern.regex.pattern)) > MAX_QUANTIFIERS:
            pattern.regex = re2.compile(pattern.regex.pattern)  # `re` is 18 times as fast for simple patterns
    return spec


@dataclass(eq=False)
class Rules:
    """The rules in a folder: `index.exclude`, git's exclude file, ignore files, the nearest last; `index.include`.

    Each keeps its decisions and its folders' rules; after a change of an ignore file above, a walk gets other objects.
    """

    folder: str  # its path, empty or with a slash at the end
    specs: tuple[tuple[str, Spec], ...]
    include: Included
    skip: Container[str]  # paths of files and folders
    is_ignored: bool = False  # git ignores the folder, so only included files count
    _left_out: dict[str, bool] = field(default_factory=dict)
    _below: dict[str, Rules] = field(default_factory=dict)
    _with_file: tuple[bytes, Rules] | None = None

    def entering(self, ignore_file: bytes | None) -> Rules:
        """Return the rules with the folder's own ignore file, if it has one."""
        if ignore_file is None:
            return self
        if self._with_file is None or self._with_file[0] != ignore_file:
            lines = ignore_file.decode("utf-8-sig", "replace").splitlines()
            specs = (*self.specs, (self.folder, lenient(lines)))
            self._with_file = ignore_file, Rules(self.folder, specs, self.include, self.skip, self.is_ignored)
        return self._with_file[1]

    def inside(self, name: str) -> Rules:
        found = self._below.get(name)
        if found is None:
            folder = f"{self.folder}{name}/"
            is_ignored = self.is_ignored or self._ignores(folder)
            found = self._below[name] = Rules(folder, self.specs, self.include, self.skip, is_ignored)
        return found

    def leaves_out(self, name: str, is_folder: bool) -> bool:
        """Return whether a file, or a folder with everything in it, is left out."""
        key = name + "/" if is_folder else name
        found = self._left_out.get(key)
        if found is None:
            found = self._left_out[key] = self._decide(name, is_folder)
        return found

    def forget_others(self, entries: int) -> None:
        """Drop the decisions about deleted entries, if there are more decisions than entries."""
        if len(self._left_out) > 2 * entries + 8:
            self._left_out, self._below = {}, {}

    def _decide(self, name: str, is_folder: bool) -> bool:
        relative = self.folder + name
        if is_uninteresting(name) or relative in self.skip or relative.startswith(VIEW_NAME):
            return True
        path = relative + "/" if is_folder else relative
        if not self.is_ignored and not self._ignores(path):
            return False
        if self.specs[0][1].verdict(path):  # `index.exclude` takes precedence over `index.include`
            return True
        return not (self.include.reaches(relative) if is_folder else self.include.holds(relative))

    def _ignores(self, path: str) -> bool:
        verdicts = (spec.verdict(path[len(base) :]) for base, spec in reversed(self.specs))
        return next((verdict for verdict in verdicts if verdict is not None), False)


def rules_for(root: Path, exclude: Sequence[str], skip: Collection[Path] = (), include: Sequence[str] = ()) -> Rules:
    """Return the rules for the root of a project; git may ignore files that match `include`. Raises ConfigError."""
    skipped = {path.relative_to(root).as_posix() for path in skip if path.is_relative_to(root)}
    return Rules("", (("", configured("index.exclude", exclude)),), Included(include), skipped)


def is_uninteresting(name: str) -> bool:
    return name in SKIPPED_FOLDERS or (name.startswith(".") and name not in HIDDEN_BUT_READ)
