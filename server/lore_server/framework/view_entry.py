"""An entry of the view: a pattern, a PRP, a memory, or a single rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from lore_etl.core.json_types import JSON
from lore_etl.core.text import clip
from lore_etl.digest import Digest, Spec
from lore_etl.stores.catalogue import UNREAD, FileRow
from lore_server.framework.groups import PATTERNS, PRPS, Group, group_of

DONE = frozenset({"executed", "done", "completed", "implemented"})
LONGEST_KEY = 80  # characters
LONGEST_TITLE = 100  # of a rule
_PRP_ID = re.compile(r"PRP-\d+(?:\.\d+)*", re.IGNORECASE)
_NOT_IN_KEY = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class ViewEntry:
    """The data of a document or rule. `key` is unique in its group.

    Only rules have `line`, only PRPs have `spec`, and only patterns have `referenced_by`, the ids of PRPs.
    """

    key: str
    group: Group
    path: str
    title: str
    excerpt: str
    tags: tuple[str, ...]
    line: int | None = None
    spec: Spec | None = None
    referenced_by: tuple[str, ...] = ()

    @property
    def is_done(self) -> bool:
        """Return whether this is an executed PRP, whose referenced files should exist."""
        status = (self.spec.status or "").lower() if self.spec else ""
        return self.spec is not None and (status in DONE or "executed" in self.path.split("/")[:-1])

    def record(self) -> JSON:
        """Return the entry as stored in `.ce/syntropy-index.json`."""
        if self.group is Group.SYSTEM_RULES:
            return {"source": self.path, "line": self.line, "excerpt": self.title}
        rest = {"tags": list(self.tags), "excerpt": self.excerpt}
        if self.group in PATTERNS:
            return {"source": self.path, **rest, "referenced_by": list(self.referenced_by)}
        if self.spec is None:
            return {"source": self.path, **rest}
        about = {"implementations": list(self.spec.implementations), "verified": self.spec.verified}
        return {"source": self.path, "title": self.title, **about, **rest}


def entries_of(row: FileRow, digest: Digest) -> Iterator[ViewEntry]:
    """Yield the entries of a file: one, or one per rule for files of rules; none for files in no group.

    Two entries may still have the same key.
    """
    group = group_of(row.path, digest.type)
    if group is None:
        return
    if group is Group.SYSTEM_RULES:
        for rule in digest.rules:
            title = clip(rule.text, LONGEST_TITLE)
            yield ViewEntry(_slug(rule.text), group, row.path, title, rule.text, (), rule.line)
        return
    key = _prp_key(row.path, digest.spec) if group in PRPS else PurePosixPath(row.path).stem
    yield ViewEntry(key, group, row.path, digest.title, digest.excerpt, digest.tags, spec=digest.spec)


def other_keys(entry: ViewEntry) -> Iterator[str]:
    """Yield alternative keys for an entry whose key is taken; the last one is unique."""
    if entry.line is not None:
        yield f"{entry.key}-{entry.line}"
        yield f"{entry.path}:{entry.line}"
    else:
        yield PurePosixPath(entry.path).stem
        yield PurePosixPath(entry.path).name
        yield entry.path


def _prp_key(path: str, spec: Spec | None) -> str:
    """Return the PRP's id from its file name, otherwise from its front matter, otherwise the name itself."""
    stem = PurePosixPath(path).stem
    named = _PRP_ID.search(stem) or _PRP_ID.fullmatch(spec.id or "" if spec else "")
    return named[0].upper() if named else stem


def _slug(text: str) -> str:
    """Return a rule's words in lower case joined by `-`, in any script."""
    return _NOT_IN_KEY.sub("-", text.lower())[:LONGEST_KEY].strip("-")


def modified_of(stamp: str) -> float:
    """Return the modification time of a file from its stamp, in seconds since 1970."""
    parts = stamp.removeprefix(UNREAD).split(":")
    return int(parts[1]) / 1e9 if len(parts) > 1 else 0.0
