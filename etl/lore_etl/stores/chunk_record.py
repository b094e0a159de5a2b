"""Convert chunks to and from the values that the catalogue stores for them, and seal these by a hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pydantic import TypeAdapter

from lore_etl.core.model import Ancestor, Chunk, canonical_json, parse_chunk, position_of

_CHUNK = TypeAdapter(Chunk)
_NOT_OWN = {"chain", "class_name", "content_hash", "metadata_hash", "superseded_by"}


def relations_of(class_name: str | None, chain: Iterable[Ancestor], superseded_by: str | None) -> str:
    """Return the part of a record that depends on other files, as JSON."""
    ancestors = [{"class": ancestor.class_name, "source": ancestor.source} for ancestor in chain]
    return canonical_json({"chain": ancestors, "class": class_name, "superseded_by": superseded_by})


NO_RELATIONS = relations_of(None, (), None)


Values = tuple[str, str | None, str, str, str]
"""The texts of a chunk in the catalogue, in the order of its columns, and the hash of all of them."""


def chunk_of(values: Values) -> Chunk:
    content_hash, local_class, own, relations, metadata_hash = values
    if metadata_hash != _seal(content_hash, local_class, own.encode(), relations):
        raise ValueError("a record differs from its hash")
    hashes = f'"content_hash":"{content_hash}","metadata_hash":"{metadata_hash}"'
    return parse_chunk(f"{own[:-1]},{hashes},{relations[1:]}")


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
    relations: str = NO_RELATIONS

    @classmethod
    def of(cls, chunk: Chunk, local_class: str | None = None) -> ChunkRecord:
        own = _CHUNK.dump_json(chunk, by_alias=True, exclude=_NOT_OWN)
        keys = chunk.id, chunk.source, chunk.type.value, position_of(chunk), chunk.content_hash
        return cls(*keys, local_class, own, relations_of(chunk.class_name, chunk.chain, chunk.superseded_by))

    @property
    def metadata_hash(self) -> str:
        return _seal(self.content_hash, self.local_class, self.own, self.relations)

    def values(self) -> Values:
        return self.content_hash, self.local_class, self.own.decode(), self.relations, self.metadata_hash

    @property
    def chunk(self) -> Chunk:
        """The chunk, parsed again each time."""
        return chunk_of(self.values())

    def related(self, relations: str) -> ChunkRecord:
        return self if self.relations == relations else replace(self, relations=relations)


def _seal(content_hash: str, local_class: str | None, own: bytes, relations: str) -> str:
    digest = hashlib.sha256(f"{content_hash}\0{local_class or ''}\0{relations}\0".encode())
    digest.update(own)
    return digest.hexdigest()
