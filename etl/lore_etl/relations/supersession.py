"""Find which documents supersede others. Pure functions."""

import posixpath
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Succession:
    """The final replacement of each superseded document, and the documents that supersede each other."""

    successor: Mapping[str, str] = field(default_factory=dict)
    circles: tuple[str, ...] = ()


def succession(supersedes: Mapping[str, Collection[str]], titles: Mapping[str, str]) -> Succession:
    """Return which document supersedes which, by each source's claimed names; names of deleted documents are ignored.

    A name is a path in the project, else a file in the document's folder, each with or without `.md`, else the title of
    a document in that folder.
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
        for candidate in (path, f"{path}.md"):
            if candidate in titles:
                return candidate
    siblings = (path for path, title in titles.items() if title == name and posixpath.dirname(path) == folder)
    return next(iter(sorted(siblings)), None)


def _last(old: str, direct: Mapping[str, str]) -> str | None:
    seen = {old}
    while (new := direct.get(old)) is not None:
        if new in seen:
            return None
        seen.add(new)
        old = new
    return old
