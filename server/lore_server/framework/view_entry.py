"""One entry of the view: a pattern, a PRP, a memory, or a single rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from lore_etl.core.json_types import JSON
from lore_etl.core.text import clip
from lore_etl.digest import Digest
from lore_etl.digest.specs import Spec
from lore_etl.stores.catalogue import UNREAD, FileRow
from lore_server.framework.groups import PATTERNS, PRPS, Group, group_of

DONE = frozenset({"executed", "done", "completed", "implemented"})
LONGEST_KEY = 80  # characters
LONGEST_TITLE = 100  # of a rule
_PRP_ID = re.compile(r"PRP-\d+(?:\.\d+)*", re.IGNORECASE)
_NOT_IN_KEY = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class ViewEntry:
    """What is known of a document or rule. `key` is unique in its group, `modified` in seconds since 1970.

    `line` is there for rules only, `spec` for PRPs only; `referenced_by` are ids of PRPs, for patterns only.
    """

    key: str
    group: Group
    path: str
    title: str
    excerpt: str
    tags: tuple[str, ...]
    hash: str
    modified: float
    line: int | None = None
    spec: Spec | None = None
    referenced_by: tuple[str, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether this is a PRP that has been carried out: what it names should exist."""
        status = (self.spec.status or "").lower() if self.spec else ""
        return self.spec is not None and (status in DONE or "executed" in self.path.split("/")[:-1])

    def record(self) -> JSON:
        """The entry as `.ce/syntropy-index.json` has it."""
        if self.group is Group.SYSTEM_RULES:
            return {"source": self.path, "line": self.line, "excerpt": self.excerpt}
        rest = {"tags": list(self.tags), "excerpt": self.excerpt}
        if self.group in PATTERNS:
            return {"source": self.path, **rest, "referenced_by": list(self.referenced_by)}
        if self.spec is None:
            return {"source": self.path, **rest}
        about = {"implementations": list(self.spec.implementations), "verified": self.spec.verified}
        return {"source": self.path, "title": self.title, **about, **rest}


def entries_of(row: FileRow, digest: Digest) -> Iterator[ViewEntry]:
    """What a file is in the view: one entry, of a file of rules one for each rule, of a file in no group none.

    Two entries may still have the same key.
    """
    group = group_of(row.path, digest.type)
    if group is None:
        return
    modified = modified_of(row.stamp)
    if group is Group.SYSTEM_RULES:
        for rule in digest.rules:
            title = clip(rule.text, LONGEST_TITLE)
            yield ViewEntry(_slug(rule.text), group, row.path, title, rule.text, (), row.hash, modified, rule.line)
        return
    key = _prp_key(row.path, digest.spec) if group in PRPS else PurePosixPath(row.path).stem
    yield ViewEntry(
        key, group, row.path, digest.title, digest.excerpt, digest.tags, row.hash, modified, spec=digest.spec
    )


def other_keys(entry: ViewEntry) -> Iterator[str]:
    """What to call an entry whose key is taken; the last is its own alone."""
    if entry.line is not None:
        yield f"{entry.key}-{entry.line}"
        yield f"{entry.path}:{entry.line}"
    else:
        yield PurePosixPath(entry.path).stem
        yield PurePosixPath(entry.path).name
        yield entry.path


def _prp_key(path: str, spec: Spec | None) -> str:
    """The PRP's id: of its file's name, else of its front matter, else the name itself."""
    stem = PurePosixPath(path).stem
    named = _PRP_ID.search(stem) or _PRP_ID.fullmatch(spec.id or "" if spec else "")
    return named[0].upper() if named else stem


def _slug(text: str) -> str:
    """A rule's words in lower case with `-` between, of any script."""
    return _NOT_IN_KEY.sub("-", text.lower())[:LONGEST_KEY].strip("-")


def modified_of(stamp: str) -> float:
    """When a file was last written, by its stamp, in seconds since 1970."""
    parts = stamp.removeprefix(UNREAD).split(":")
    return int(parts[1]) / 1e9 if len(parts) > 1 else 0.0
