"""The groups of knowledge: patterns, PRPs, memories and rules, of the framework in `.ce/` or of the project."""

from __future__ import annotations

from enum import StrEnum

from lore_etl.core.model import KnowledgeType

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

_BY_TYPE: dict[KnowledgeType, tuple[Group | None, Group | None]] = {
    KnowledgeType.EXAMPLE: (Group.SYSTEM_PATTERNS, Group.USER_PATTERNS),
    KnowledgeType.PRP: (Group.SYSTEM_PRPS, Group.USER_PRPS),
    KnowledgeType.MEMORY: (Group.MEMORIES, Group.MEMORIES),
    KnowledgeType.RULE: (Group.SYSTEM_RULES, None),
}


def group_of(path: str, kind: KnowledgeType) -> Group | None:
    """Return the group of a file, by its path and type; None if it is in no group.

    Files in a folder `.ce` belong to the framework; the project's own rules (CLAUDE.md) are in no group.
    """
    system, user = _BY_TYPE.get(kind, (None, None))
    return system if is_system(path) else user


def is_system(path: str) -> bool:
    """Return whether a file came with the framework."""
    return SYSTEM in path.split("/")[:-1]
