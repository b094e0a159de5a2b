"""Match gitignore patterns. Like git, skip invalid patterns in a `.gitignore`; in the configuration they are an error.

Python's `re` backtracks: it took 137 s to match one file name with `a**a**a**b`. RE2 takes linear time, so it matches
patterns with many wildcards. The RE2 backend of pathspec builds one automaton for a whole file and fails at 2,000
patterns.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache

import re2
from pathspec import GitIgnoreSpec

from lore_etl.core.errors import ConfigError

_INVALID = (ValueError, re.error, re2.error)
_QUANTIFIER = re.compile("[*+]")
_QUIET = re2.Options()
_QUIET.log_errors = False
MAX_QUANTIFIERS = 3  # the parent folder and two wildcards: at most 255 * 255 / 2 steps for a file name


class Spec(GitIgnoreSpec):
    """The patterns of one ignore file or configuration key."""

    @cached_property
    def unions(self) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None] | None:
        """An automaton for all patterns that include and one for all others; None if there are too many for RE2.

        Each matches at least what one of its patterns matches. Where a line ends, `$` differs from that of `re`.
        """
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
        """Return whether the last matching pattern ignores this path, or None without a match. Folders end with `/`.

        `check_file` would also apply patterns that match a folder above, which a walk has already checked.
        """
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
    try:
        return _spec(patterns)
    except _INVALID as error:
        bad = next(pattern for pattern in patterns if not _is_valid(pattern))
        raise ConfigError(f"Configuration key `{key}`: {bad!r} is not a gitignore pattern.") from error


def lenient(patterns: Iterable[str]) -> Spec:
    """Compile the valid patterns and skip the others."""
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
        """Return whether a folder can contain an included file."""
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
    return bool(match) and not (path.endswith("/") and match is not None and match.end() == len(path))


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
