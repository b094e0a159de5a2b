"""Read and replace the rows of the catalogue that relate files: classes and uses."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from lore_etl.core.model import ClassNode, canonical_json
from lore_etl.relations.classes import Hierarchy
from lore_etl.stores.soundness import row_seal
from lore_etl.stores.uses import rows


def checked_class(row: Sequence[str]) -> ClassNode:
    """Return a class. Raises sqlite3.DatabaseError."""
    name, record, seal = row
    if row_seal(name, record) != seal:
        raise sqlite3.DatabaseError("a class differs from its hash")
    bases, source, lines, implements = json.loads(record)
    return ClassNode(name, tuple(bases), source, tuple(lines) if lines else None, tuple(implements))


def replace_classes(connection: sqlite3.Connection, classes: Hierarchy) -> None:
    """Store exactly these classes."""
    records = (
        (node.name, canonical_json([node.bases, node.source, node.lines, node.implements]))
        for node in classes.nodes.values()
    )
    connection.execute("DELETE FROM class")
    connection.executemany(
        "INSERT INTO class VALUES (?, ?, ?)", ((name, record, row_seal(name, record)) for name, record in records)
    )


def replace_uses(connection: sqlite3.Connection, used: Mapping[str, str], gone: Iterable[str]) -> None:
    """Store what these files use, and forget it of those that are gone."""
    for path in (*used, *gone):
        found = connection.execute("SELECT names FROM uses WHERE path = ?", (path,)).fetchone()
        old = {row[:3] for row in rows(path, found[0])} if found else ()
        connection.executemany("DELETE FROM used WHERE last = ? AND name = ? AND path = ?", old)
        connection.execute("DELETE FROM uses WHERE path = ?", (path,))
    for path, packed in used.items():
        connection.execute("INSERT INTO uses VALUES (?, ?, ?)", (path, packed, row_seal(path, packed)))
        connection.executemany("INSERT INTO used VALUES (?, ?, ?, ?, ?)", rows(path, packed))
