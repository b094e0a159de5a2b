"""Find the names of tickets in the messages of commits and pull requests, and the files of these tickets."""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePosixPath

_NUMBER = re.compile(r"(?<![\w&])#(\d+)\b")
_REQUEST = re.compile(r"(?<![^\s\w/(\[,;:.-])!(\d{1,9})\b")
_REQUESTS = "merge_requests"  # GitLab's folder of those, which it numbers separately: `!12` and `#12` are different
_OTHERS = "AES|[AL]?GPL|BSD|CVE|GHSA|HTTP|IEEE|ISO|JEP|JSR|MPL|PEP|RFC|RUSTSEC|SHA|TLS|[UW]TF"  # standards and the like
_KEY = re.compile(rf"(?<![^\W_])(?!(?:{_OTHERS})-)[A-Z]{{2}}[A-Z0-9]*-\d+(?![^\W_]|\.\d)")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)  # instructions of a template, with examples
_FILE_NUMBER = re.compile(r"(?:\d{4}-\d\d(?:-\d\d)?(?!\d))?+\D*0*(\d+)")  # the first that is no part of a leading date
_CLOSING = re.compile(r"(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b:?[ \t]+(?:issue[ \t]+)?#(\d{1,9})\b")


def names(message: str) -> set[str]:
    """Return the tickets that a message mentions, by number or key; a merge request of GitLab as `!12`."""
    text = _COMMENT.sub("", message)
    return {*_NUMBER.findall(text), *map("!{}".format, _REQUEST.findall(text)), *map(str.casefold, _KEY.findall(text))}


def shown_name(name: str) -> str:
    """Return the name of a ticket as messages write it: `#12`, `!12` or `ABC-12`."""
    return f"#{name}" if name.isdecimal() else name.upper()


def closed_by(text: str) -> list[str]:
    """Return the numbers of the tickets that a pull request or commit claims to close ("Fixes #12")."""
    return list(dict.fromkeys(_CLOSING.findall(_COMMENT.sub("", text))))


def names_of_file(source: str) -> set[str]:
    """Return the names of a ticket by its file: the keys, and the number."""
    sign = "!" if PurePosixPath(source).parent.name == _REQUESTS else ""
    keys = _KEY.findall(PurePosixPath(source).stem.upper())
    return {*map(str.casefold, keys), *(f"{sign}{number}" for number in [number_of_file(source)] if number)}


def number_of_file(source: str) -> str:
    """Return the number of a ticket by its file; empty without one."""
    found = _FILE_NUMBER.match(PurePosixPath(source).stem)
    return found[1] if found else ""


def files_by_name(sources: Iterable[str]) -> dict[str, str]:
    """Return ticket files by key and number; a name shared by two files is dropped."""
    found: dict[str, set[str]] = defaultdict(set)
    for source in sources:
        for name in names_of_file(source):
            found[name].add(source)
    return {name: next(iter(sources)) for name, sources in found.items() if len(sources) == 1}
