"""What replaced what: documents that say they supersede others. Pure functions."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Succession:
    """By which document each outdated one was replaced in the end, and the documents that replace each other."""

    successor: Mapping[str, str] = field(default_factory=dict)
    circles: tuple[str, ...] = ()


def succession(supersedes: Mapping[str, Collection[str]], titles: Mapping[str, str]) -> Succession:
    """Who succeeds whom.

    `supersedes` has the names that documents say they replace, by source; `titles` those of all documents. A name is a
    path in the project, else a file beside the document, each with or without `.md`, else the title of one beside it.
    What is not there any more has been replaced already.
    """
    direct: dict[str, str] = {}
    for source in sorted(supersedes):
        for name in supersedes[source]:
            old = _meant(source, name.strip(), titles)
            if old is not None and old != source:
                direct[old] = source
    final = {old: _last(old, direct) for old in direct}
    circles = tuple(old for old in sorted(direct) if final[old] is None)
    return Succession({old: new for old, new in final.items() if new is not None}, circles)


def _meant(source: str, name: str, titles: Mapping[str, str]) -> str | None:
    folder = posixpath.dirname(source)
    for path in (name, posixpath.normpath(posixpath.join(folder, name))):
        for one in (path, f"{path}.md"):
            if one in titles:
                return one
    beside = (path for path, title in titles.items() if title == name and posixpath.dirname(path) == folder)
    return next(iter(sorted(beside)), None)


def _last(old: str, direct: Mapping[str, str]) -> str | None:
    """The end of the chain of successors; None if it has none."""
    seen = {old}
    while (new := direct.get(old)) is not None:
        if new in seen:
            return None
        seen.add(new)
        old = new
    return old
