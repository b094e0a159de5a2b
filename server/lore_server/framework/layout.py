"""The folders in which the framework and its users keep knowledge."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lore_etl.system.nofollow import leads_elsewhere
from lore_etl.system.open_folder import facts_below

FRAMEWORK = ".ce"
PLACES = {
    "framework": (FRAMEWORK,),
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

_IN_INDEX = ("system_prps", "system_examples", "user_prps", "user_examples", "memories", "claude_md", "system_rules")


@dataclass(frozen=True)
class Layout:
    """The existing places (role -> path)."""

    found: dict[str, str]

    @property
    def missing(self) -> dict[str, str]:
        """Return the missing places with their usual paths; those of the framework only if there is one."""
        has_framework = "framework" in self.found
        usual = {role: paths[0] for role, paths in PLACES.items() if role not in self.found}
        return {role: path for role, path in usual.items() if has_framework or path.split("/")[0] != FRAMEWORK}

    def paths(self) -> dict[str, str]:
        """Return the `paths` of `.ce/syntropy-index.json`: the actual or usual path of each place."""
        return {role: self.found.get(role, PLACES[role][0]) for role in _IN_INDEX}


def layout_of(root: Path) -> Layout:
    """Find the folders of a project, without reading its files. Symlinks are not followed."""
    there = {role: [path for path in usual if _is_there(root, path)] for role, usual in PLACES.items()}
    return Layout({role: paths[0] for role, paths in there.items() if paths})


def _is_there(root: Path, path: str) -> bool:
    facts = facts_below(root, path)
    return facts is not None and not leads_elsewhere(facts)
