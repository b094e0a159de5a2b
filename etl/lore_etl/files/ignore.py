"""Gitignore patterns: a broken one is passed over in a `.gitignore`, as git does, and named in a configuration.

Python's `re` backtracks: `a**a**a**b` took 137 s for one file name. So a pattern with many wildcards is matched by RE2,
which is linear. pathspec's own way with RE2, one automaton for a whole file, fails at 2,000 patterns.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

import re2
from pathspec import GitIgnoreSpec

from lore_etl.core.errors import ConfigError

_QUANTIFIER = re.compile("[*+]")
MAX_QUANTIFIERS = 3  # the folder above and two wildcards: at most 255 * 255 / 2 steps for a file name


def configured(key: str, patterns: Iterable[str]) -> GitIgnoreSpec:
    """The patterns under a configuration key. Raises ConfigError."""
    patterns = tuple(patterns)
    if bad := [one for one in patterns if not _is_valid(one)]:
        raise ConfigError(f"Configuration key `{key}`: {bad[0]!r} is not a gitignore pattern.")
    return _spec(patterns)


def lenient(patterns: Iterable[str]) -> GitIgnoreSpec:
    """The patterns that can be understood."""
    return _spec(tuple(one for one in patterns if _is_valid(one)))


def verdict(spec: GitIgnoreSpec, path: str) -> bool | None:
    """Whether the last pattern that means this very path ignores it; None if there is none. A folder ends with `/`.

    `check_file` would also let a pattern decide that means a folder above; a walk has asked about that already.
    """
    for pattern in reversed(spec.patterns):
        if pattern.include is not None and pattern.regex is not None and _means(pattern.regex, path):
            return bool(pattern.include)
    return None


class Included:
    """The patterns of `index.include`: which files they mean, and where such files may lie. Raises ConfigError."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._spec = configured("index.include", patterns)
        self._patterns = [one for one in patterns if one.strip() and not one.startswith(("!", "#"))]

    def holds(self, path: str) -> bool:
        """Whether the file, or else the nearest folder above it that a pattern means, is included."""
        while path and self._patterns:
            is_included = verdict(self._spec, path)
            if is_included is not None:
                return is_included
            above = path.rstrip("/").rpartition("/")[0]
            path = above and above + "/"
        return False

    def reaches(self, folder: str) -> bool:
        """Whether an included file may lie somewhere in a folder."""
        return self.holds(folder + "/") or any(_may_mean_below(one, folder) for one in self._patterns)


def _may_mean_below(pattern: str, folder: str) -> bool:
    steps = pattern.strip().lstrip("/").split("/")
    if not pattern.strip().rstrip("/").count("/"):
        return True  # a bare name means files at any depth
    for step, name in zip(steps, folder.split("/"), strict=False):
        if step == "**":
            return True
        if not fnmatchcase(name, step):
            return False
    return True


def _means(regex: re.Pattern[str], path: str) -> bool:
    if "ps_d" in regex.groupindex:  # pathspec's name for the slash behind what was matched
        return any(match.end() == len(path) for match in regex.finditer(path))
    match = regex.search(path)  # `folder/**` means what is in the folder
    return bool(match) and not (path.endswith("/") and match is not None and match.end() == len(path))


def _is_valid(pattern: str) -> bool:
    try:
        _spec((pattern,))
        return True
    except (ValueError, re.error, re2.error):
        return False


@lru_cache(maxsize=1024)  # every sync asks for the same ones
def _spec(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of `re`, about brackets in brackets
        spec = GitIgnoreSpec.from_lines(patterns, backend="simple")
    for pattern in spec.patterns:
        if pattern.regex is not None and len(_QUANTIFIER.findall(pattern.regex.pattern)) > MAX_QUANTIFIERS:
            pattern.regex = re2.compile(pattern.regex.pattern)  # Python's is 18 times as fast for the simple ones
    return spec
