"""Scripts without an extension: the first line names the interpreter, which determines the language."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath

FIRST_LINE = 256  # bytes
_ENV = rb"(?:\S*/)?env[ \t]+(?:(?:-\S*|\w+=\S*)[ \t]+)*"
_SHEBANG = re.compile(rb"#![ \t]*(?:" + _ENV + rb")?(?:\S*/)?(?P<program>[A-Za-z][A-Za-z-]*)[\d.]*(?=\s|$)")
_SUFFIXES = {
    ".awk": "awk gawk mawk",
    ".exs": "elixir",
    ".fish": "fish",
    ".groovy": "groovy",
    ".jl": "julia",
    ".js": "node nodejs bun deno",
    ".lua": "lua luajit",
    ".php": "php",
    ".pl": "perl",
    ".ps1": "pwsh",
    ".py": "python pypy",
    ".R": "Rscript",
    ".rb": "ruby jruby",
    ".sh": "sh bash dash ash ksh zsh bats",
    ".tcl": "tclsh wish expect",
    ".ts": "ts-node tsx",
}
_WRITTEN_BY_TOOLS = frozenset("configure gradlew install-sh libtool mvnw".split())
PROGRAMS = {program: suffix for suffix, programs in _SUFFIXES.items() for program in programs.split()}
"""The extension of the scripts that each interpreter runs."""


def suffix_of(path: str, beginning: Callable[[str, int], bytes]) -> str:
    """Return the extension that a script would have, such as `.py`; empty for other files. Nothing is executed.

    `beginning` returns the first bytes of a file, and its errors are raised.
    """
    name = PurePosixPath(path)
    if name.suffix or name.name in _WRITTEN_BY_TOOLS:
        return ""
    first = beginning(path, FIRST_LINE).partition(b"\n")[0]
    found = _SHEBANG.match(first) if b"\0" not in first else None
    return PROGRAMS.get(found["program"].decode(), "") if found else ""


def suffix_in(recipe: str) -> str:
    """Return the extension of a script in its recipe, `<source>:<hash>:<extension>`; empty for other files."""
    return recipe.partition(":")[2].partition(":")[2]
