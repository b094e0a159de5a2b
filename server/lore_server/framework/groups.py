"""The groups of knowledge: patterns, PRPs, memories and rules, of the framework in `.ce/` or of the project.

And the places, files and folders, in which the framework and its users keep them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from lore_etl.core.model import KnowledgeType
from lore_etl.system.nofollow import leads_elsewhere
from lore_etl.system.open_folder import facts_below

SYSTEM = ".ce"


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
_IN_INDEX = ("system_prps", "system_examples", "user_prps", "user_examples", "memories", "claude_md", "system_rules")
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


@dataclass(frozen=True)
class Layout:
    """The existing places (role -> path)."""

    found: dict[str, str]

    @property
    def missing(self) -> dict[str, str]:
        """Return the missing places with their usual paths; those of the framework only if there is one."""
        has_framework = "framework" in self.found
        usual = {role: paths[0] for role, paths in PLACES.items() if role not in self.found}
        return {role: path for role, path in usual.items() if has_framework or path.split("/")[0] != SYSTEM}

    def paths(self) -> dict[str, str]:
        """Return the `paths` of `.ce/syntropy-index.json`: the actual or usual path of each place."""
        return {role: self.found.get(role, PLACES[role][0]) for role in _IN_INDEX}


def layout_of(root: Path) -> Layout:
    """Find the folders of a project, without reading its files. Symlinks are not followed."""
    found: dict[str, str] = {}
    for role, usual in PLACES.items():
        for path in usual:
            facts = facts_below(root, path)
            if facts is not None and not leads_elsewhere(facts):
                found.setdefault(role, path)
    return Layout(found)
