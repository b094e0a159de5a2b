"""Read and write `chunks.jsonl` and `class-hierarchy.json`, the desired state of the index."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from lore_etl.core.atomic import write_atomically
from lore_etl.core.errors import IndexDamaged, StorageError
from lore_etl.core.model import Ancestor, Chunk, canonical_json
from lore_etl.relations.classes import Hierarchy, from_records

CHUNKS = "chunks.jsonl"
HIERARCHY = "class-hierarchy.json"
# keys of a canonical record, in order; inside a JSON string a backslash precedes every quote
_CONTENT, _ID, _METADATA = b'"content_hash":"', b'"id":"', b'"metadata_hash":"'
_SOURCE, _STATE = b'","source":"', b'","state":'
_HASH, _ID_DIGITS = 64, 32


class Relations:
    """The part of a record that depends on other files: class, ancestors, and the document that supersedes this one."""

    def __init__(self, class_name: str | None, chain: tuple[Ancestor, ...], superseded_by: str | None) -> None:
        self.fields = {"class_name": class_name, "chain": chain, "superseded_by": superseded_by}
        ancestors = [ancestor.model_dump(mode="json", by_alias=True) for ancestor in chain]
        self.beginning = canonical_json({"chain": ancestors, "class": class_name})[:-1].encode() + b","
        self.successor = b',"superseded_by":%b,"symbols":' % canonical_json(superseded_by).encode()


@dataclass(slots=True, eq=False)
class ChunkLine:
    """A line of `chunks.jsonl` with the keys that a comparison needs; the rest is parsed when it is needed."""

    id: str
    source: str
    content_hash: str
    metadata_hash: str
    line: bytes
    _chunk: Chunk | None = None

    @classmethod
    def of(cls, chunk: Chunk) -> ChunkLine:
        """Return the line that is written for a chunk."""
        line = canonical_json(chunk.record()).encode()
        return cls(chunk.id, chunk.source, chunk.content_hash, chunk.metadata_hash, line, chunk)

    @classmethod
    def written(cls, line: bytes) -> ChunkLine:
        """Return a line that `write_chunks` wrote, checked by its own hash. Raises ValueError."""
        content = line.index(_CONTENT) + len(_CONTENT)
        id_ = line.index(_ID, content) + len(_ID)
        metadata = line.index(_METADATA, id_) + len(_METADATA)
        source = metadata + _HASH + len(_SOURCE)
        raw = line[source : line.index(_STATE, source)]
        bare = b"".join((line[:content], line[content + _HASH : metadata], line[metadata + _HASH :]))
        hashes = line[content : content + _HASH].decode(), line[metadata : metadata + _HASH].decode()
        if hashlib.sha256(bare).hexdigest() != hashes[1]:
            raise ValueError("a chunk record differs from its hash")
        path = json.loads(b'"%b"' % raw) if b"\\" in raw else raw.decode()
        return cls(line[id_ : id_ + _ID_DIGITS].decode(), path, *hashes, line)

    def has(self, relations: Relations) -> bool:
        """Return whether the record already has these relations."""
        return self.line.startswith(relations.beginning) and relations.successor in self.line

    @property
    def title(self) -> str:
        return self.chunk.title

    @property
    def chunk(self) -> Chunk:
        """The parsed chunk. Raises IndexDamaged."""
        if self._chunk is None:
            self._chunk = _parsed(self.line)
        return self._chunk


def write_chunks(folder: Path, lines: Iterable[ChunkLine]) -> None:
    """Replace the file atomically; the same chunks give the same bytes."""
    write_atomically(folder / CHUNKS, (b"\n".join([*(line.line for line in lines), b""]),))


def read_lines(folder: Path) -> list[ChunkLine]:
    """Return all chunks, unparsed if `write_chunks` wrote the file; an empty list if the file is absent.

    Raises:
        IndexDamaged: a line is not a valid chunk record.
        StorageError: the file cannot be read.
    """
    lines = _content(folder).splitlines()
    try:
        return [ChunkLine.written(line) for line in lines]
    except ValueError:  # another program wrote the file
        return [ChunkLine.of(_parsed(line)) for line in lines]


def read_chunks(folder: Path) -> list[Chunk]:
    """Return all chunks, parsed; an empty list if the file is absent. Raises IndexDamaged, StorageError."""
    return [_parsed(line) for line in _content(folder).splitlines()]


def _parsed(line: bytes) -> Chunk:
    try:
        return Chunk.model_validate_json(line)
    except ValidationError as error:
        raise IndexDamaged(f"{CHUNKS} contains a damaged record.") from error


def _content(folder: Path) -> bytes:
    try:
        return (folder / CHUNKS).read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise StorageError(f"Cannot read {CHUNKS}: {error.strerror}.") from error


def signature(folder: Path) -> str | None:
    """Return a string that changes whenever one of the two files changes; None if a file is absent."""
    try:
        stats = [(folder / name).stat() for name in (CHUNKS, HIERARCHY)]
    except FileNotFoundError:
        return None
    return " ".join(f"{info.st_size}:{info.st_mtime_ns}:{info.st_ino}" for info in stats)


def write_hierarchy(folder: Path, hierarchy: Hierarchy) -> None:
    """Replace the file atomically: a list of classes sorted by name."""
    rows = ",\n".join(canonical_json(row) for row in hierarchy.records())
    write_atomically(folder / HIERARCHY, (f"[\n{rows}\n]\n",))


def read_hierarchy(folder: Path) -> Hierarchy:
    """Return the class tree; empty if nothing was written yet.

    Raises:
        IndexDamaged: the file was not written by `write_hierarchy`, or it is missing although chunks exist.
        StorageError: the file cannot be read.
    """
    try:
        return from_records(json.loads((folder / HIERARCHY).read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        if (folder / CHUNKS).exists():
            raise IndexDamaged(f"{HIERARCHY} is missing.") from error
        return Hierarchy([])
    except OSError as error:
        raise StorageError(f"Cannot read {HIERARCHY}: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise IndexDamaged(f"{HIERARCHY} is damaged.") from error
