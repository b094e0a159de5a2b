"""Convert the facts of a file, except its chunks, to and from the JSON text that the catalogue stores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from lore_etl.core.model import ClassDefinition, ClassNode, FileFacts, Member, canonical_json
from lore_etl.core.text import is_named
from lore_etl.digest import Digest


def pack(facts: FileFacts, short: Digest | None) -> str:
    """Return the facts and the digest as JSON."""
    known: dict[str, object] = {"classes": [asdict(class_) for class_ in facts.classes], "imports": facts.imports}
    if facts.exports:
        known["exports"] = facts.exports
    if facts.members:
        known["defines"] = facts.members
    if facts.family:
        known["family"], known["package"] = facts.family, facts.package
    if facts.functions:
        known["functions"] = facts.functions
    if facts.methods:
        known["methods"] = facts.methods
    if facts.supersedes:
        known["supersedes"] = facts.supersedes
    if short is not None:
        known["digest"] = short.model_dump(mode="json")
    return canonical_json(known)


@lru_cache(maxsize=1 << 12)  # each sync reads the facts of all files
def unpack(packed: str) -> FileFacts:
    """Return the facts without members and uses, which are most of them, and on which no other file depends."""
    return _unpacked(json.loads(packed))


def check(packed: str) -> None:
    """Raise ValueError, KeyError, TypeError, AttributeError or IndexError for facts that `pack` did not write."""
    value = json.loads(packed)
    _unpacked(value)
    _members(value)


def _unpacked(value: Mapping[str, Any]) -> FileFacts:
    return FileFacts(
        classes=_classes(value),
        imports=_targets(value.get("imports", {})),
        supersedes=tuple(value.get("supersedes", ())),
        exports=_targets(value.get("exports", {})),
        family=value.get("family", ""),
        package=value.get("package", ""),
        functions=tuple(value.get("functions", ())),
        methods={name: tuple(signatures) for name, signatures in value.get("methods", {}).items()},
    )


def members_of(node: ClassNode, packed: str) -> tuple[Member, ...]:
    """Return the members that a class itself defines, from the facts of its file."""
    value = json.loads(packed or "{}")
    here = [class_ for class_ in _classes(value) if class_.lines == node.lines]
    own = (class_.name for class_ in here if class_.full_name == node.name or is_named(node.name, class_.name))
    name = next(own, None)
    return _members(value).get(name, ()) if name else ()


def _classes(value: Mapping[str, Any]) -> tuple[ClassDefinition, ...]:
    return tuple(
        ClassDefinition(
            class_["name"],
            (class_["lines"][0], class_["lines"][1]),
            tuple(class_["bases"]),
            class_["full_name"],
            class_.get("part", ""),
            tuple(class_["implements"]),
            class_["is_interface"],
        )
        for class_ in value.get("classes", ())
    )


def _members(value: Mapping[str, Any]) -> dict[str, tuple[Member, ...]]:
    found = value.get("defines", {})
    return {name: tuple(Member(row[0], row[1], (row[2][0], row[2][1])) for row in rows) for name, rows in found.items()}


def _targets(names: Mapping[str, Sequence[Any]]) -> dict[str, tuple[str, str | None]]:
    return {name: (target[0], target[1]) for name, target in names.items()}
