"""Convert the facts of a file, except its chunks, to and from the JSON text that the catalogue stores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lore_etl.core.model import ClassDefinition, FileFacts, Member, canonical_json
from lore_etl.digest import Digest
from lore_etl.relations.classes import ClassNode


def pack(facts: FileFacts, class_of: Mapping[str, str | None], short: Digest | None) -> str:
    """Return the facts, the class of each chunk (by chunk id) and the digest as JSON."""
    known: dict[str, object] = {"classes": [asdict(one) for one in facts.classes], "imports": facts.imports}
    known["members"] = class_of
    if facts.exports:
        known["exports"] = facts.exports
    if facts.members:
        known["defines"] = facts.members
    if facts.supersedes:
        known["supersedes"] = facts.supersedes
    if short is not None:
        known["digest"] = short.model_dump(mode="json")
    return canonical_json(known)


def unpack(packed: str) -> tuple[FileFacts, dict[str, str]]:
    """Return the facts, and the class of each chunk by chunk id."""
    value = json.loads(packed)
    facts = FileFacts(
        classes=_classes(value),
        imports=_targets(value.get("imports", {})),
        supersedes=tuple(value.get("supersedes", ())),
        exports=_targets(value.get("exports", {})),
        members=_members(value),
    )
    return facts, value.get("members", {})


def members_of(node: ClassNode, packed: str) -> tuple[Member, ...]:
    """Return the members that a class itself defines, from the facts of its file."""
    value = json.loads(packed or "{}")
    here = [one for one in _classes(value) if one.lines == node.lines]
    name = next((one.name for one in here if one.full_name == node.name or _ends(node.name, one.name)), None)
    return _members(value).get(name, ()) if name else ()


def _ends(full: str, local: str) -> bool:
    return full == local or full.endswith((f".{local}", f":{local}"))


def _classes(value: Mapping[str, Any]) -> tuple[ClassDefinition, ...]:
    return tuple(
        ClassDefinition(one["name"], (one["lines"][0], one["lines"][1]), tuple(one["bases"]), one["full_name"])
        for one in value.get("classes", ())
    )


def _members(value: Mapping[str, Any]) -> dict[str, tuple[Member, ...]]:
    found = value.get("defines", {})
    return {name: tuple(Member(one[0], one[1], (one[2][0], one[2][1])) for one in rows) for name, rows in found.items()}


def _targets(names: Mapping[str, Sequence[Any]]) -> dict[str, tuple[str, str | None]]:
    return {name: (target[0], target[1]) for name, target in names.items()}
