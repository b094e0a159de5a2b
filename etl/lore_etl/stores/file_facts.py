"""Convert the facts of a file, except its chunks, to and from the JSON texts and rows that the catalogue stores."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from pydantic import TypeAdapter

from lore_etl.core.json_types import JSON
from lore_etl.core.model import ClassNode, FileFacts, Member, canonical_json
from lore_etl.core.text import is_named, last_part
from lore_etl.digest import Digest
from lore_etl.stores.sqlite_file import row_seal

_FACTS = TypeAdapter(FileFacts)
Uses = Mapping[str, tuple[int, int]]
"""The places and the first line of each name that a file uses."""


class User(NamedTuple):
    """A file that uses a class or function: at how many places, and the line of the first one."""

    path: str
    places: int
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" + f" and {self.places - 1} more" * (self.places > 1)


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
    facts = check(packed or "{}")
    here = [class_ for class_ in facts.classes if class_.lines == node.lines]
    own = (class_.name for class_ in here if class_.full_name == node.name or is_named(node.name, class_.name))
    return facts.members.get(next(own, ""), ())


def pack_uses(uses: Uses, target: Callable[[str], str | None]) -> str:
    """Return the uses as JSON, each with the full name of what it refers to, if that is in the project."""
    return canonical_json({name: [*place, target(name)] for name, place in uses.items()})


def targets(packed: str) -> dict[str, str | None]:
    return {name: target for name, (_, _, target) in json.loads(packed).items()}


def retargeted(packed: str, target: Callable[[str], str | None]) -> str:
    return canonical_json({name: [*row[:2], target(name)] for name, row in json.loads(packed).items()})


def use_rows(path: str, packed: str) -> set[tuple[str, str, str, int, int]]:
    """Return a row for each class or function that the file uses: the last part of its name, its name, and the user."""
    found: dict[str, tuple[int, int]] = {}
    for places, line, target in json.loads(packed).values():
        if target:
            before, first = found.get(target, (0, line))
            found[target] = before + places, min(first, line)
    return {(last_part(name), name, path, *place) for name, place in found.items()}


def replace_uses(connection: sqlite3.Connection, used: Mapping[str, str], gone: Iterable[str]) -> None:
    for path in (*used, *gone):
        found = connection.execute("SELECT names FROM uses WHERE path = ?", (path,)).fetchone()
        old = {row[:3] for row in use_rows(path, found[0])} if found else ()
        connection.executemany("DELETE FROM used WHERE last = ? AND name = ? AND path = ?", old)
        connection.execute("DELETE FROM uses WHERE path = ?", (path,))
    for path, packed in used.items():
        connection.execute("INSERT INTO uses VALUES (?, ?, ?)", (path, packed, row_seal(path, packed)))
        connection.executemany("INSERT INTO used VALUES (?, ?, ?, ?, ?)", use_rows(path, packed))
