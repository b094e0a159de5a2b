"""Gitignore patterns: a broken one is passed over in a `.gitignore`, as git does, and named in a configuration."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable

from pathspec import GitIgnoreSpec

from etl.errors import ConfigError


def configured(key: str, patterns: Iterable[str]) -> GitIgnoreSpec:
    """The patterns under a configuration key. Raises ConfigError."""
    patterns = list(patterns)
    if bad := [one for one in patterns if not _is_valid(one)]:
        raise ConfigError(f"Configuration key `{key}`: {bad[0]!r} is not a gitignore pattern.")
    return _spec(patterns)


def lenient(patterns: Iterable[str]) -> GitIgnoreSpec:
    """The patterns that can be understood."""
    return _spec(one for one in patterns if _is_valid(one))


def _is_valid(pattern: str) -> bool:
    try:
        _spec([pattern])
    except (ValueError, re.error):
        return False
    return True


def _spec(patterns: Iterable[str]) -> GitIgnoreSpec:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of `re`, about brackets in brackets
        return GitIgnoreSpec.from_lines(patterns)
