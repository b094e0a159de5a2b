"""Gitignore patterns: a broken one is passed over in a `.gitignore`, as git does, and named in a configuration.

Python's `re` backtracks: `a**a**a**b` took 137 s for one file name. So a pattern with many wildcards is matched by RE2,
which is linear. pathspec's own way with RE2, one automaton for a whole file, fails at 2,000 patterns.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from functools import lru_cache

import re2
from pathspec import GitIgnoreSpec

from etl.errors import ConfigError

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
