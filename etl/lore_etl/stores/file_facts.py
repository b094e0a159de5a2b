"""Convert the facts of a file, except its chunks, to and from the JSON text that the catalogue stores."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from pydantic import TypeAdapter

from lore_etl.core.json_types import JSON
from lore_etl.core.model import ClassNode, FileFacts, Member, canonical_json
from lore_etl.core.text import is_named
from lore_etl.digest import Digest

_FACTS = TypeAdapter(FileFacts)


def pack(facts: FileFacts, short: Digest | None) -> str:
    known: JSON = _FACTS.dump_python(facts, mode="json", by_alias=True, exclude_defaults=True)
    if short is not None:
        known["digest"] = short.model_dump(mode="json")
    return canonical_json(known)


@lru_cache(maxsize=1 << 12)  # each sync reads the facts of all files
def unpack(packed: str) -> FileFacts:
    """Return the facts without members and uses, which are most of them, and on which no other file depends."""
    return replace(check(packed), members={})


def check(packed: str) -> FileFacts:
    """Return the facts without uses. Raises ValueError for facts that `pack` did not write."""
    return _FACTS.validate_json(packed)


def members_of(node: ClassNode, packed: str) -> tuple[Member, ...]:
    """Return the members that a class itself defines, from the facts of its file."""
    facts = check(packed or "{}")
    here = [class_ for class_ in facts.classes if class_.lines == node.lines]
    own = (class_.name for class_ in here if class_.full_name == node.name or is_named(node.name, class_.name))
    return facts.members.get(next(own, ""), ())
