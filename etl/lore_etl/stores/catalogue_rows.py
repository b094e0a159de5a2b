"""Convert chunks, and the facts of files, to and from the texts that the catalogue stores; hashes seal the chunks."""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

from pydantic import TypeAdapter

from lore_etl.core.json_types import JSON
from lore_etl.core.model import CHUNK, Ancestor, Chunk, ClassNode, FileFacts, Member, canonical_json, position_of
from lore_etl.core.text import last_part
from lore_etl.digest import Digest
from lore_etl.stores.sqlite_file import row_seal

_NOT_OWN = {"chain", "class_name", "content_hash", "metadata_hash", "superseded_by"}
COLUMNS = "id, source, type, position, content_hash, class, own, relations, metadata_hash"
"""The columns of a chunk in the catalogue, in the order of the fields of its record."""


def relations_of(class_name: str | None, chain: Iterable[Ancestor], superseded_by: str | None) -> str:
    """Return the part of a record that depends on other files, as JSON."""
    ancestors = [{"class": ancestor.class_name, "source": ancestor.source} for ancestor in chain]
    return canonical_json({"chain": ancestors, "class": class_name, "superseded_by": superseded_by})


@dataclass(slots=True, eq=False)
class ChunkRecord:
    """A chunk as it is stored, in much less memory than a parsed one; its file names its class `local_class`."""

    id: str
    source: str
    type: str
    position: int
    content_hash: str
    local_class: str | None
    own: bytes
    relations: str
    metadata_hash: str

    @classmethod
    def of(cls, chunk: Chunk, local_class: str | None = None) -> Self:
        own = CHUNK.dump_json(chunk, by_alias=True, exclude=_NOT_OWN)
        relations = relations_of(chunk.class_name, chunk.chain, chunk.superseded_by)
        keys = chunk.id, chunk.source, chunk.type.value, position_of(chunk), chunk.content_hash
        return cls(*keys, local_class, own, relations, _seal(chunk.content_hash, local_class, own, relations))

    @classmethod
    def read(cls, row: Sequence[Any]) -> Self:
        """Return the record with these values of the columns. Raises ValueError if they differ from their hash."""
        id_, source, type_, position, content_hash, local_class, text, relations, seal = row
        own = text.encode()
        if seal != _seal(content_hash, local_class, own, relations):
            raise ValueError("a record differs from its hash")
        return cls(id_, source, type_, position, content_hash, local_class, own, relations, seal)

    def row(self) -> tuple[str | int | None, ...]:
        keys = self.id, self.source, self.type, self.position, self.content_hash
        return *keys, self.local_class, self.own.decode(), self.relations, self.metadata_hash

    @property
    def chunk(self) -> Chunk:
        """The chunk, parsed again each time."""
        hashes = f'"content_hash":"{self.content_hash}","metadata_hash":"{self.metadata_hash}"'
        return CHUNK.validate_json(self.own[:-1] + f",{hashes},{self.relations[1:]}".encode())

    def related(self, relations: str) -> Self:
        if self.relations == relations:
            return self
        seal = _seal(self.content_hash, self.local_class, self.own, relations)
        return replace(self, relations=relations, metadata_hash=seal)


def chunk_of(row: Sequence[Any]) -> Chunk:
    return ChunkRecord.read(row).chunk


def _seal(content_hash: str, local_class: str | None, own: bytes, relations: str) -> str:
    digest = hashlib.sha256(f"{content_hash}\0{local_class or ''}\0{relations}\0".encode())
    digest.update(own)
    return digest.hexdigest()


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


def members_of(node: ClassNode, packed: Mapping[str, str]) -> tuple[Member, ...]:
    """Return the members of all parts of a class, each once, from the facts of their files."""
    found: dict[str, Member] = {}
    for path, name in node.parts:
        for member in check(packed.get(path, "{}")).members.get(name, ()):
            found.setdefault(member.name, member._replace(source="" if path == node.source else path))
    return tuple(found.values())


def pack_uses(uses: Mapping[str, Sequence[Any]], target: Callable[[str], str | None]) -> str:
    """Return the uses, even if they have a target, as JSON with the full names of what they refer to in the project."""
    return canonical_json({name: [*place[:2], target(name)] for name, place in uses.items()})


def targets(packed: str) -> dict[str, str | None]:
    return {name: target for name, (_, _, target) in json.loads(packed).items()}


def use_rows(path: str, packed: str) -> set[tuple[str, str, str, int, int]]:
    """Return a row for each class or function that the file uses: the last part of its name, its name, and the user."""
    found: dict[str, tuple[int, int]] = {}
    for places, line, target in json.loads(packed).values():
        if target:
            before, first = found.get(target, (0, line))
            found[target] = before + places, min(first, line)
    return {(last_part(name), name, path, *place) for name, place in found.items()}


def imported_places(path: str, packed: str, facts: str, package: str, name: str) -> int:
    """Return at how many places a file uses a name that it imports from a package of another project."""
    imports, number = check(facts).imports, 0
    for written, (places, _, target) in json.loads(packed).items():
        first, *rest = written.split(".")
        module, inner = imports.get(first, ("", None))
        is_module = inner is None or not inner[:1].isupper()  # `Context.invoke` is no function of the package
        is_meant = inner in (name, "default") if first == name else is_module and rest[:1] == [name]
        found = module.partition(".")[0] if path.endswith(".py") else module.replace("/", ".")
        number += places * (target is None and is_meant and found == package)
    return number


def replace_uses(connection: sqlite3.Connection, used: Mapping[str, str], gone: Iterable[str]) -> None:
    for path in (*used, *gone):
        found = connection.execute("SELECT names FROM uses WHERE path = ?", (path,)).fetchone()
        old = {row[:3] for row in use_rows(path, found[0])} if found else ()
        connection.executemany("DELETE FROM used WHERE last = ? AND name = ? AND path = ?", old)
        connection.execute("DELETE FROM uses WHERE path = ?", (path,))
    for path, packed in used.items():
        connection.execute("INSERT INTO uses VALUES (?, ?, ?)", (path, packed, row_seal(path, packed)))
        connection.executemany("INSERT INTO used VALUES (?, ?, ?, ?, ?)", use_rows(path, packed))
