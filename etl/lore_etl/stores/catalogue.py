"""Store files, chunks and classes in SQLite; one transaction makes a sync visible. A sync can rebuild it from files."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from sys import intern
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

from lore_etl.core.json_types import JSON
from lore_etl.core.model import Chunk, ClassNode, KnowledgeType, Member, canonical_json, row_id_of
from lore_etl.core.text import last_part
from lore_etl.relations.classes import Hierarchy
from lore_etl.stores.catalogue_file import CatalogueFile, set_values
from lore_etl.stores.catalogue_rows import (
    COLUMNS,
    ChunkRecord,
    User,
    chunk_of,
    imported_places,
    members_of,
    replace_uses,
)
from lore_etl.stores.snapshot import Derived, Kept
from lore_etl.stores.sqlite_file import in_portions, row_seal, unsealed

T = TypeVar("T")
COUNTS = Derived[int]("counts of rows", kept=8)
KEPT_CHUNKS = 24_000  # some 1.5 KB each: 36 MB
TITLE, COUNT = "min(json_extract(own, '$.title'))", "count(*)"  # of the chunks of a file
TAGS = "min(json_extract(own, '$.tags'))"  # as JSON; the chunks of a file have the same
FILES_AT = "files_at"  # the value that changes whenever records of files do
UNREAD = "unread "  # prefix of the stamp of an unreadable file: it is read again, but does not count as changed
_DAY = "coalesce(json_extract(own, '$.updated'), json_extract(own, '$.created'))"
_KEYS = (
    "SELECT id, source, type, content_hash, metadata_hash, has_vector, json_extract(own, '$.state'),"
    " json_extract(relations, '$.superseded_by') FROM chunk"
)
_ORDER = "ORDER BY source, position, id"
_CHUNK = f"SELECT {COLUMNS} FROM chunk"


class FileRow(NamedTuple):
    """The record of a file from the time it was last read."""

    path: str
    stamp: str
    hash: str
    recipe: str
    facts: str
    notes: str


class ChunkKey(NamedTuple):
    """A chunk without its text, as comparisons, the vector store and the order of embedding need it."""

    id: str
    source: str
    type: KnowledgeType
    content_hash: str
    metadata_hash: str
    has_vector: bool
    state: str | None
    superseded_by: str | None

    @property
    def row_id(self) -> str:
        return row_id_of(self.id, self.content_hash)

    @property
    def row(self) -> tuple[str, str, str]:
        """The row in the vector store: (row id, type, source)."""
        return self.row_id, self.type.value, self.source


class Catalogue(CatalogueFile):
    """The database of files and chunks. Its methods raise the errors of `CatalogueFile`."""

    def __init__(self, folder: Path) -> None:
        self._kept = Kept[str, Chunk](KEPT_CHUNKS)
        super().__init__(folder)

    def files(self, paths: Iterable[str] | None = None) -> dict[str, FileRow]:
        """Return the records of the given files that are recorded, or of all files, by path."""
        sql = "SELECT path, stamp, hash, recipe, facts, notes, seal FROM file"
        found = self._matching(sql, "path", paths)
        rows = self._made(lambda row: FileRow(*unsealed(row, "the record of a file")), found)
        return {row.path: row for row in rows}

    def files_without_facts(self, recipes: Sequence[str] = ()) -> dict[str, FileRow]:
        """Return the records of the files that these sources own, or of all, without facts, most of their size."""
        where = " OR ".join(["recipe LIKE ?"] * len(recipes)) or "1"
        sql = f"SELECT path, stamp, hash, recipe, '', notes FROM file WHERE {where}"
        return {row[0]: FileRow(*row) for row in self._rows(sql, [f"{recipe}:%" for recipe in recipes])}

    def stamps(self, paths: Iterable[str] | None = None) -> dict[str, str]:
        """Return the stamp of each of these files that is recorded, or of all, by path: enough to detect changes."""
        return dict(self._matching("SELECT path, stamp FROM file", "path", paths))

    def recipes_of_scripts(self) -> dict[str, str]:
        """Return the recipes of scripts without an extension, by path: those with a third part."""
        return dict(self._matching("SELECT path, recipe FROM file WHERE recipe LIKE '%:%:%'"))

    def facts(self, paths: Iterable[str] | None = None) -> dict[str, str]:
        return {path: row.facts for path, row in self.files(paths).items()}

    def _matching(
        self, sql: str, key: str = "", keys: Iterable[str] | None = None, order: str = ""
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a statement, only those with these values of a column, in portions, unless it is None."""
        if keys is None:
            yield from self._rows(f"{sql} {order}")
            return
        for marks, some in in_portions(dict.fromkeys(keys)):
            yield from self._rows(f"{sql} WHERE {key} IN ({marks}) {order}", some)

    def _made(self, make: Callable[[Any], T], rows: Iterable[Sequence[Any]]) -> Iterator[T]:
        """Yield what is made of each row; `make` raises an error if it is damaged."""
        with self._reporting():
            try:
                yield from map(make, rows)
            except (TypeError, ValueError, AttributeError) as error:
                raise sqlite3.DatabaseError("a record differs from its hash") from error

    def records(self, keys: Iterable[str], key: Literal["id", "source"] = "id") -> Iterator[ChunkRecord]:
        """Yield the records of these chunks, or of these files' chunks; those of a file in the order of its lines."""
        return self._made(ChunkRecord.read, self._matching(_CHUNK, key, keys, _ORDER))

    def every_chunk(self) -> Iterator[Chunk]:
        for _, some in in_portions(self.ids()):
            found = self.chunks(some)
            yield from (found[id_] for id_ in some if id_ in found)

    def ids(self) -> list[str]:
        return self._column(f"SELECT id FROM chunk {_ORDER}")

    def _column(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        return [row[0] for row in self._rows(sql, values)]

    def of_sources(self, value: str, sources: Iterable[str] | None = None) -> dict[str, Any]:
        """Return a value of the chunks of every file that has chunks, or of the given ones, by path."""
        return dict(self._matching(f"SELECT source, {value} FROM chunk", "source", sources, "GROUP BY source"))

    def types(self) -> dict[str, str]:
        """Return the type of every file that has chunks, by path: from an index on disk without their records."""
        return dict(self._matching("SELECT DISTINCT source, type FROM chunk"))

    def hierarchy(self) -> Hierarchy:
        return Hierarchy(self._made(_class_of, self._rows("SELECT name, record, seal FROM class ORDER BY name")))

    def members(self, node: ClassNode) -> tuple[Member, ...]:
        """Return the members that a class itself defines in all its parts; none of a class outside the project."""
        return members_of(node, self.facts(path for path, _ in node.parts))

    def uses(self, paths: Iterable[str] | None = None) -> dict[str, str]:
        return dict(self._matching("SELECT path, names FROM uses", "path", paths))

    def users(self, name: str) -> list[User]:
        last = "(SELECT type FROM chunk WHERE source = path LIMIT 1) = 'test', places DESC, path"
        sql = f"SELECT path, places, line FROM used WHERE last = ? AND name = ? ORDER BY {last}"
        return [User(*row) for row in self._rows(sql, (last_part(name), name))]

    def users_by_file(self) -> dict[str, int]:
        """Return how many files use the classes and functions of each file."""
        defined = "coalesce(json_extract(record, '$[1]'), substr(name, 1, instr(name, ':') - 1))"
        sql = f"SELECT {defined}, count(DISTINCT path) FROM used LEFT JOIN class USING (name) GROUP BY 1"
        return dict(self._rows(sql))

    def used_names(self, last: str) -> list[str]:
        return self._column("SELECT DISTINCT name FROM used WHERE last = ?", (last,))

    def importers(self, package: str, name: str) -> list[str]:
        """Return the files that import this name from a package of another project, those with most places first."""
        rows = self._rows("SELECT path, names, seal FROM uses WHERE instr(names, ?) ORDER BY path", (name,))
        uses = dict(self._made(lambda row: unsealed(row, "the uses of a file"), rows))
        facts = self.facts(uses)
        places = {path: imported_places(path, uses[path], facts[path], package, name) for path in uses if path in facts}
        return sorted(filter(places.get, places), key=lambda path: -places[path])

    def content_hashes(self) -> set[str]:
        return set(self._column("SELECT content_hash FROM chunk"))

    def apply(
        self,
        changed: Iterable[tuple[ChunkRecord, bool]],
        deleted: Iterable[str],
        files: Iterable[FileRow] = (),
        gone: Iterable[str] = (),
        classes: Hierarchy | None = None,
        used: Mapping[str, str] = MappingProxyType({}),
        **meta: str | None,
    ) -> None:
        """Store or delete chunks, given with `has_vector`, files and uses, and replace the tree: in one transaction."""
        touched = list(deleted)
        rows, paths = list(files), list(gone)

        def values() -> Iterator[tuple[object, ...]]:
            for record, has_vector in changed:
                touched.append(record.id)
                yield *record.row(), int(has_vector)

        with self._reporting(), self.transaction() as connection:
            connection.executemany("DELETE FROM chunk WHERE id = ?", [(chunk_id,) for chunk_id in touched])
            into = f"INSERT OR REPLACE INTO chunk ({COLUMNS}, has_vector)"
            connection.executemany(f"{into} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values())
            connection.executemany("DELETE FROM file WHERE path = ?", ((path,) for path in paths))
            sealed = ((*row, row_seal(*row)) for row in rows)
            connection.executemany("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?, ?)", sealed)
            if rows or paths:
                meta = {FILES_AT: str(time.time_ns()), **meta}
            replace_uses(connection, used, paths)
            if classes is not None:
                connection.execute("DELETE FROM class")
                connection.executemany("INSERT INTO class VALUES (?, ?, ?)", map(_row_of, classes.nodes.values()))
            set_values(connection, meta)
        self._kept.drop(touched)

    def mark_vectors(self, ids: Iterable[str], present: bool) -> None:
        with self._reporting(), self.transaction() as connection:
            rows = ((int(present), chunk_id) for chunk_id in ids)
            connection.executemany("UPDATE chunk SET has_vector = ? WHERE id = ?", rows)

    def switch_vectors(self, ids: Iterable[str], **meta: str | None) -> None:
        """Record that exactly these chunks have a vector in the store, in one transaction with `meta`."""
        with self._reporting(), self.transaction() as connection:
            connection.execute("UPDATE chunk SET has_vector = 0")
            connection.executemany("UPDATE chunk SET has_vector = 1 WHERE id = ?", ((chunk_id,) for chunk_id in ids))
            set_values(connection, meta)

    def chunk_keys(
        self, ids: Iterable[str] | None = None, sources: Iterable[str] = (), waiting_only: bool = False
    ) -> list[ChunkKey]:
        """Return the keys of these chunks and those of these files, or of all or those without a vector, by line."""
        sql = f"{_KEYS} WHERE has_vector = 0" if waiting_only else _KEYS
        rows = chain(self._matching(sql, "source", sources, _ORDER), self._matching(sql, "id", ids, _ORDER))
        return list(self._made(_key_of, rows))

    def with_vector(self) -> int:
        return self._count("chunk WHERE has_vector = 1")

    def waiting(self) -> int:
        return self._count("chunk WHERE has_vector = 0")

    def total(self) -> int:
        return self._count("chunk")

    def files_with_chunks(self) -> int:
        return self._count("(SELECT DISTINCT source FROM chunk)")

    def _count(self, rows: str) -> int:
        return self.snapshot.read(COUNTS, rows, lambda: int(self._rows(f"SELECT count(*) FROM {rows}")[0][0]))

    def sources(self, type_: str | None, under: str | None) -> list[JSON]:
        """Return the files that have chunks, by path: type, title, number of chunks, last line."""
        where, values = _where(type=type_)
        if under is not None:  # a range can use the index on `source`: "0" comes after "/"
            where, values = f"{where} AND source >= ? AND source < ?", [*values, f"{under}/", f"{under}0"]
        rows = self._rows(
            "SELECT source, min(type), min(json_extract(own, '$.title')), count(*),"
            f" max(json_extract(own, '$.lines[1]')) FROM chunk {where} GROUP BY source ORDER BY source",
            values,
        )
        return [dict(zip(("source", "type", "title", "chunks", "lines"), row, strict=True)) for row in rows]

    def paths(self, type_: str | None = None) -> list[str]:
        where, values = _where(type=type_)
        return self._column(f"SELECT DISTINCT source FROM chunk {where}", values)

    def every_row(self) -> list[tuple[str, ...]]:
        """Return (source, type, chunk id, content hash) of all chunks, by source and line."""
        return self._rows("SELECT source, type, id, content_hash FROM chunk ORDER BY source, position")

    def dates(self) -> dict[str, str]:
        """Return the date of every chunk that has one, by id: when it was updated, or else created."""
        return dict(self._matching(f"SELECT id, {_DAY} FROM chunk WHERE {_DAY} IS NOT NULL"))

    def texts(self, ids: Iterable[str]) -> dict[str, str]:
        return dict(self._matching("SELECT id, json_extract(own, '$.text') FROM chunk", "id", ids))

    def counts(self) -> dict[str, int]:
        return dict(self._matching("SELECT type, count(*) FROM chunk GROUP BY type ORDER BY type"))

    def chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        return {chunk.id: chunk for chunk in self._made(chunk_of, self._matching(_CHUNK, "id", ids))}

    def kept_chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        """Return the chunks with these ids that exist, by id, and keep them for later searches."""
        return self._kept.read(list(ids), self.chunks)

    def preload(self) -> Iterator[list[str]]:
        """Read as many chunks as stay in memory, and yield the content hashes of each portion."""
        for _, some in in_portions(self._column("SELECT id FROM chunk LIMIT ?", (KEPT_CHUNKS,))):
            yield [chunk.content_hash for chunk in self.kept_chunks(some).values()]

    def of_source(self, source: str) -> list[Chunk]:
        ids = self._column(f"SELECT id FROM chunk WHERE source = ? {_ORDER}", (source,))
        found = self.kept_chunks(ids)
        return [found[id_] for id_ in ids if id_ in found]

    def page(self, type_: str | None, source: str | None, limit: int, offset: int) -> tuple[int, list[Chunk]]:
        """Return the number of matching chunks, and one page of them, sorted by source and line."""
        where, values = _where(type=type_, source=source)
        total = int(self._column(f"SELECT count(*) FROM chunk {where}", values)[0])
        rows = self._rows(f"{_CHUNK} {where} {_ORDER} LIMIT ? OFFSET ?", [*values, limit, offset])
        return total, list(self._made(chunk_of, rows))


def _where(**wanted: str | None) -> tuple[str, list[str]]:
    """Return the condition that these columns have these values, except None, and the values."""
    given = {column: value for column, value in wanted.items() if value is not None}
    return " AND ".join(["WHERE 1", *(f"{column} = ?" for column in given)]), list(given.values())


def _class_of(row: Sequence[str]) -> ClassNode:
    name, record = unsealed(row, "a class")
    bases, source, lines, implements, parts, *more = json.loads(record)  # an earlier version did not write mixins
    places = tuple((path, local) for path, local in parts)
    return ClassNode(name, tuple(bases), source, lines and tuple(lines), tuple(implements), places, tuple(*more))


def _key_of(row: Sequence[str]) -> ChunkKey:
    id_, source, type_, content, metadata, vector, *others = row
    return ChunkKey(id_, intern(source), KnowledgeType(type_), content, metadata, bool(vector), *others)


def _row_of(node: ClassNode) -> tuple[str, str, str]:
    record = canonical_json([node.bases, node.source, node.lines, node.implements, node.parts, node.mixins])
    return node.name, record, row_seal(node.name, record)
