"""The view: an entry for each indexed pattern, PRP, memory and rule, by group, and the places that contain them."""

import json
import re
import threading
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from lore_etl.core.json_types import JSON
from lore_etl.core.model import KnowledgeType
from lore_etl.core.text import clip
from lore_etl.digest import Digest, Spec
from lore_etl.index import Index
from lore_etl.stores.catalogue import FileRow
from lore_etl.stores.snapshot import Derived
from lore_etl.system.nofollow import leads_elsewhere
from lore_etl.system.open_folder import facts_below

SYSTEM = ".ce"
DIGESTED = ("patterns", "examples", "prps", "memories", "rules")  # sources of the index whose files have a digest
COMMON = frozenset({"readme", "index", "main", "__init__", "conftest", "template"})  # not specific to any pattern
DONE = frozenset({"executed", "done", "completed", "implemented"})
LONGEST_KEY = 80  # characters
LONGEST_TITLE = 100  # of a rule
_PRP_ID = re.compile(r"PRP-\d+(?:\.\d+)*", re.IGNORECASE)
_NOT_IN_KEY = re.compile(r"[\W_]+")


class Group(StrEnum):
    """A group, with its name in `.ce/syntropy-index.json`."""

    SYSTEM_PATTERNS = "system_patterns"
    USER_PATTERNS = "user_patterns"
    SYSTEM_PRPS = "system_prps"
    USER_PRPS = "user_prps"
    MEMORIES = "memories"
    SYSTEM_RULES = "system_rules"


PATTERNS = (Group.SYSTEM_PATTERNS, Group.USER_PATTERNS)
PRPS = (Group.SYSTEM_PRPS, Group.USER_PRPS)
SOURCES: dict[str, tuple[Group, ...]] = {
    "framework": (Group.SYSTEM_PATTERNS, Group.SYSTEM_PRPS, Group.SYSTEM_RULES),
    "prp": PRPS,
    "example": PATTERNS,
    "memory": (Group.MEMORIES,),
    **{group.value: (group,) for group in Group},
}
"""Every name that can restrict a search, and its groups."""

PLACES = {
    "framework": (SYSTEM,),
    "system_prps": (".ce/PRPs/system", ".ce/PRPs"),
    "system_examples": (".ce/examples/system", ".ce/examples"),
    "system_rules": (".ce/RULES.md", ".ce/rules"),
    "user_prps": ("PRPs", "prps", "context-engineering/PRPs"),
    "user_examples": ("examples", "context-engineering/examples"),
    "memories": (".serena/memories", ".ce/memories", "MEMORY", "memories"),
    "claude_md": ("CLAUDE.md",),
    "docs": ("docs", "doc"),
}
"""The role of a place -> its usual paths, the most common first."""

GROUP_OF_PLACE = {
    "system_prps": Group.SYSTEM_PRPS,
    "system_examples": Group.SYSTEM_PATTERNS,
    "user_prps": Group.USER_PRPS,
    "user_examples": Group.USER_PATTERNS,
    "memories": Group.MEMORIES,
    "system_rules": Group.SYSTEM_RULES,
}
IN_INDEX = ("system_prps", "system_examples", "user_prps", "user_examples", "memories", "claude_md", "system_rules")
_BY_TYPE: dict[KnowledgeType, tuple[Group | None, Group | None]] = {
    KnowledgeType.EXAMPLE: (Group.SYSTEM_PATTERNS, Group.USER_PATTERNS),
    KnowledgeType.PRP: (Group.SYSTEM_PRPS, Group.USER_PRPS),
    KnowledgeType.MEMORY: (Group.MEMORIES, Group.MEMORIES),
    KnowledgeType.RULE: (Group.SYSTEM_RULES, None),
}


def group_of(path: str, kind: KnowledgeType) -> Group | None:
    """Return the group of a file; the project's own rules (CLAUDE.md) and other types are in none."""
    system, user = _BY_TYPE.get(kind, (None, None))
    return system if is_system(path) else user


def is_system(path: str) -> bool:
    """Return whether a file came with the framework."""
    return SYSTEM in path.split("/")[:-1]


def existing_places(root: Path) -> dict[str, str]:
    """Return role -> path of the places of a project, without reading its files. Symlinks are not followed."""
    found: dict[str, str] = {}
    for role, usual in PLACES.items():
        for path in usual:
            facts = facts_below(root, path)
            if facts is not None and not leads_elsewhere(facts):
                found.setdefault(role, path)
    return found


@dataclass(frozen=True)
class ViewEntry:
    """The data of a document or rule. `key` is unique in its group."""

    key: str
    group: Group
    path: str
    title: str
    excerpt: str
    tags: tuple[str, ...]
    line: int | None = None  # of rules only
    spec: Spec | None = None  # of PRPs only
    referenced_by: tuple[str, ...] = ()  # ids of PRPs, of patterns only

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


@dataclass(frozen=True)
class Entries:
    """A snapshot of the view, by group, path and line."""

    all: tuple[ViewEntry, ...] = ()

    @cached_property
    def by_path(self) -> Mapping[str, Sequence[ViewEntry]]:
        """Return path -> its entries, which are several if a file contains rules."""
        found: dict[str, list[ViewEntry]] = {}
        for entry in self.all:
            found.setdefault(entry.path, []).append(entry)
        return found

    @cached_property
    def by_group(self) -> Mapping[Group, tuple[ViewEntry, ...]]:
        return {group: tuple(entry for entry in self.all if entry.group is group) for group in Group}


class _File(NamedTuple):
    """A file in the catalogue, and its entries."""

    row: FileRow
    entries: tuple[ViewEntry, ...]


ENTRIES = Derived[Entries]("entries of the view")


class View:
    """A reader of the catalogue. The entries of unchanged files are kept, so that a change costs little."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._guard = threading.Lock()
        self._files: dict[str, _File] = {}
        self._entries = Entries()

    def entries(self) -> Entries:
        """Return the current entries, a new object whenever any changed. Raises IndexMissing, CatalogueDamaged."""
        self._index.require()
        with self._guard:
            self._entries = self._index.snapshot.read(ENTRIES, None, self._read)
            return self._entries

    def _read(self) -> Entries:
        catalogue, old = self._index.catalogue, self._files
        rows = catalogue.files_without_facts(DIGESTED)
        kept = {path: old[path] for path, row in rows.items() if path in old and old[path].row == row}
        if len(kept) == len(old) == len(rows):
            return self._entries
        for path, facts in catalogue.facts(rows.keys() - kept.keys()).items():
            known = json.loads(facts).get("digest")
            kept[path] = _File(rows[path], tuple(_entries_of(path, Digest.model_validate(known))) if known else ())
        self._files = kept
        return _arranged(entry for path in sorted(kept) for entry in kept[path].entries)


def _entries_of(path: str, digest: Digest) -> Iterator[ViewEntry]:
    """Yield the entry of a file, or one per rule; none for files in no group. Two may still have the same key."""
    group = group_of(path, digest.type)
    if group is None:
        return
    if group is Group.SYSTEM_RULES:
        for rule in digest.rules:
            slug = _NOT_IN_KEY.sub("-", rule.text.lower())[:LONGEST_KEY].strip("-")  # words in any script
            yield ViewEntry(slug, group, path, clip(rule.text, LONGEST_TITLE), rule.text, (), rule.line)
        return
    key = PurePosixPath(path).stem
    if group in PRPS:
        own = digest.spec.id if digest.spec else None  # in the front matter
        named = _PRP_ID.search(key) or _PRP_ID.fullmatch(own or "")
        key = named[0].upper() if named else key
    yield ViewEntry(key, group, path, digest.title, digest.excerpt, digest.tags, spec=digest.spec)


def _arranged(entries: Iterable[ViewEntry]) -> Entries:
    grouped: dict[Group, dict[str, ViewEntry]] = {group: {} for group in Group}
    for entry in entries:
        own = grouped[entry.group]
        unique = replace(entry, key=_other_key(entry, own)) if entry.key in own else entry
        own[unique.key] = unique
    prps = [entry for group in PRPS for entry in grouped[group].values()]
    named = references((entry for group in PATTERNS for entry in grouped[group].values()), prps)
    for group in PATTERNS:
        for key, found in grouped[group].items():
            grouped[group][key] = replace(found, referenced_by=named.get(found.path, ()))
    return Entries(tuple(entry for group in Group for entry in grouped[group].values()))


def _other_key(entry: ViewEntry, taken: Container[str]) -> str:
    """Return another key for an entry whose key is taken; the last choice is unique."""
    if entry.line is not None:
        others, last = [f"{entry.key}-{entry.line}"], f"{entry.path}:{entry.line}"
    else:
        others, last = [PurePosixPath(entry.path).stem, PurePosixPath(entry.path).name], entry.path
    return next((other for other in others if other not in taken), last)


def references(patterns: Iterable[ViewEntry], prps: Iterable[ViewEntry]) -> Mapping[str, tuple[str, ...]]:
    """Return path -> ids of the PRPs that name a pattern by its path, the end of it, or its file's name."""
    meant: dict[str, list[str]] = defaultdict(list)
    for pattern in patterns:
        for name in _names(pattern.path):
            meant[name].append(pattern.path)
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for prp in prps:
        for word in prp.spec.names.split(" ") if prp.spec else ():
            for path in meant.get(word, ()):
                found[path][prp.key] = None
    return {path: tuple(ids) for path, ids in found.items()}


def endings(path: str) -> Iterator[str]:
    """Yield the path and its endings at each folder, any of which may refer to the file."""
    parts = path.split("/")
    yield from ("/".join(parts[start:]) for start in range(len(parts) - 1))


def _names(path: str) -> Iterator[str]:
    file = PurePosixPath(path)
    for ending in endings(path):
        yield ending
        yield ending.removesuffix(file.suffix)
    if file.stem.lower() not in COMMON:
        yield file.name
        yield file.stem
