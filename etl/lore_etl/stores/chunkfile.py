"""Read and write `chunks.jsonl.gz` and `class-hierarchy.json`, the desired state of the index.

`chunks.jsonl.gz` begins with a snapshot: one record per chunk, sorted by source. Updates may follow: a line with
sources, then the records that replace all earlier records of these sources. The snapshot and each update are separate
members of the gzip file, so that an update can be appended. An interrupted update is incomplete and is ignored.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import ValidationError

from lore_etl.core.atomic import append_durably, write_atomically
from lore_etl.core.errors import IndexDamaged, StorageError, os_errors_as
from lore_etl.core.model import Ancestor, Chunk, canonical_json, parse_chunk, position, row_id_of
from lore_etl.relations.classes import Hierarchy, from_records

CHUNKS = "chunks.jsonl.gz"
HIERARCHY = "class-hierarchy.json"
PLAIN = "chunks.jsonl"  # of earlier versions
LEVEL = 1  # of compression: the default would save another tenth of the bytes, and take three times as long
GZIP = 31  # zlib's number for gzip with the largest window
READ_BYTES = 1 << 16
UPDATED_SHARE = 0.5  # updates may be half as large as the snapshot, so that an edit rewrites few bytes on average
SMALL_BYTES = 5_000  # and this large in any file
# keys of a canonical record, in order; inside a JSON string a backslash precedes every quote
_CONTENT, _ID, _METADATA = b'"content_hash":"', b'"id":"', b'"metadata_hash":"'
_SOURCE, _STATE = b'","source":"', b'","state":'
_COLUMNS, _SUCCESSOR, _SYMBOLS = b'"columns":', b',"superseded_by":', b',"symbols":'
_LINES, _TYPE = b'"lines":[', b'"type":"'
_HASH, _ID_DIGITS = 64, 32


class Relations:
    """The part of a record that depends on other files: class, ancestors, and the document that supersedes this one."""

    def __init__(self, class_name: str | None, chain: tuple[Ancestor, ...], superseded_by: str | None) -> None:
        self.fields: dict[str, Any] = {"class_name": class_name, "chain": chain, "superseded_by": superseded_by}
        ancestors = [{"class": ancestor.class_name, "source": ancestor.source} for ancestor in chain]
        self.beginning = canonical_json({"chain": ancestors, "class": class_name})[:-1].encode() + b","
        self.successor = _SUCCESSOR + canonical_json(superseded_by).encode() + _SYMBOLS


@dataclass(slots=True, eq=False)
class ChunkLine:
    """A line of `chunks.jsonl.gz` with the keys that a comparison needs; the rest is parsed on demand."""

    id: str
    source: str
    content_hash: str
    metadata_hash: str
    line: bytes

    @classmethod
    def of(cls, chunk: Chunk) -> ChunkLine:
        return cls(chunk.id, chunk.source, chunk.content_hash, chunk.metadata_hash, chunk.line())

    @classmethod
    def sealed(cls, chunk: Chunk, relations: Relations | None = None) -> ChunkLine:
        """Return the line of a chunk with its metadata hash, on request with other relations.

        The chunk does not need that hash yet.
        """
        bare = _bare(chunk.line(), len(chunk.content_hash), len(chunk.metadata_hash))
        if relations:
            bare = _with(bare, relations)
        return cls(chunk.id, chunk.source, chunk.content_hash, *_sealed(bare, chunk.content_hash))

    @classmethod
    def written(cls, line: bytes) -> ChunkLine:
        """Return a line that `write_chunks` wrote, checked by its own hash. Raises ValueError."""
        content, id_, metadata = _places(line)
        source = metadata + _HASH + len(_SOURCE)
        raw = line[source : line.index(_STATE, source)]
        hashes = line[content : content + _HASH].decode(), line[metadata : metadata + _HASH].decode()
        if hashlib.sha256(_bare(line)).hexdigest() != hashes[1]:
            raise ValueError("a chunk record differs from its hash")
        path = json.loads(b'"%b"' % raw) if b"\\" in raw else raw.decode()
        return cls(line[id_ : id_ + _ID_DIGITS].decode(), path, *hashes, line)

    def related(self, relations: Relations) -> ChunkLine:
        """Return the line with these relations, and with another hash if they differ; nothing is parsed."""
        if self.has(relations):
            return self
        bare = _with(_bare(self.line), relations)
        return ChunkLine(self.id, self.source, self.content_hash, *_sealed(bare, self.content_hash))

    def has(self, relations: Relations) -> bool:
        return self.line.startswith(relations.beginning) and relations.successor in self.line

    @property
    def row_id(self) -> str:
        return row_id_of(self.id, self.content_hash)

    @property
    def type(self) -> str:
        start = self.line.rindex(_TYPE) + len(_TYPE)
        return self.line[start : self.line.index(b'"', start)].decode()

    @property
    def position(self) -> int:
        """The sort key of the chunk in its file."""
        columns = self.line.index(_COLUMNS) + len(_COLUMNS)
        first = _number(self.line, columns + 1) if self.line[columns : columns + 1] == b"[" else None
        return position(_number(self.line, self.line.index(_LINES, columns) + len(_LINES)), first)

    @property
    def chunk(self) -> Chunk:
        """The chunk, parsed again each time, because all parsed chunks need much memory. Raises IndexDamaged."""
        return _parsed(self.line)


def _number(line: bytes, start: int) -> int:
    """Return the number that begins here and ends with a comma."""
    return int(line[start : line.index(b",", start)])


def _places(line: bytes) -> tuple[int, int, int]:
    """Return where the content hash, the id and the metadata hash of a record begin. Raises ValueError."""
    content = line.index(_CONTENT) + len(_CONTENT)
    id_ = line.index(_ID, content) + len(_ID)
    return content, id_, line.index(_METADATA, id_) + len(_METADATA)


def _bare(line: bytes, content_length: int = _HASH, metadata_length: int = _HASH) -> bytes:
    """Return a record without its hashes, which have these lengths."""
    content, _, metadata = _places(line)
    return b"".join((line[:content], line[content + content_length : metadata], line[metadata + metadata_length :]))


def _with(bare: bytes, relations: Relations) -> bytes:
    """Return a record without hashes, with these relations instead of its own."""
    middle = bare[bare.index(_COLUMNS) : bare.index(_SUCCESSOR)]
    end = bare[bare.index(_SYMBOLS) + len(_SYMBOLS) :]
    return b"".join((relations.beginning, middle, relations.successor, end))


def _sealed(bare: bytes, content_hash: str) -> tuple[str, bytes]:
    """Return the metadata hash of a record without hashes, and the record with both hashes."""
    content, _, metadata = _places(bare)
    digest = hashlib.sha256(bare).hexdigest()
    parts = (bare[:content], content_hash.encode(), bare[content:metadata], digest.encode(), bare[metadata:])
    return digest, b"".join(parts)


@dataclass(frozen=True)
class WrittenChunks:
    """Chunks that were just written: all of some `sources`, or of all if that is None."""

    lines: list[ChunkLine]
    sources: frozenset[str] | None = None


def write_chunks(folder: Path, lines: Iterable[ChunkLine]) -> None:
    """Replace the file atomically by a snapshot; the same chunks give the same bytes."""
    write_atomically(folder / CHUNKS, _compressed(part for line in lines for part in (line.line, b"\n")))
    with suppress(OSError):
        (folder / PLAIN).unlink()


def _compressed(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a member of a gzip file."""
    packer = zlib.compressobj(LEVEL, wbits=GZIP)
    for part in parts:
        if packed := packer.compress(part):
            yield packed
    yield packer.flush()


def update_chunks(folder: Path, groups: Mapping[str, Sequence[ChunkLine]], appended: int) -> int:
    """Replace the chunks of these sources, given in full, by appending an update; a source without chunks is deleted.

    When the updates become large, the file is replaced by a snapshot. `appended` is the size of the earlier updates;
    return the new size.

    Raises:
        StorageError: the disk is full or not writable; the content is unchanged.
        IndexDamaged: the current content cannot be read.
    """
    sources = sorted(groups)
    body = b"".join(line.line + b"\n" for source in sources for line in groups[source])
    head = canonical_json({"sources": sources}).encode() + b"\n"
    update = b"".join(_compressed((head, body)))
    path = folder / CHUNKS
    with os_errors_as(StorageError, f"Cannot write {CHUNKS}"):
        size, total = path.stat().st_size, appended + len(update)
        if total <= max(SMALL_BYTES, UPDATED_SHARE * (size - appended)):
            append_durably(path, update)
            return total
    write_chunks(folder, _sorted({**by_source(read_lines(folder)), **groups}))
    return 0


def read_lines(folder: Path) -> list[ChunkLine]:
    """Return all chunks, unparsed if Lore wrote the file; an empty list if the file is absent.

    Raises:
        IndexDamaged: a line is not a valid chunk record.
        StorageError: the file cannot be read.
    """
    members = _members(folder)
    lines = _lines_of(next(members, []))
    updates = [(_sources(records), _lines_of(records[1:])) for records in members]
    if not updates:
        return lines
    groups = by_source(lines)
    for sources, changed in updates:
        groups |= {**{source: [] for source in sources}, **by_source(changed)}
    return _sorted(groups)


def _sorted(groups: Mapping[str, Sequence[ChunkLine]]) -> list[ChunkLine]:
    return [line for source in sorted(groups) for line in groups[source]]


def by_source(lines: Iterable[ChunkLine]) -> dict[str, list[ChunkLine]]:
    """Return the chunks of each source, given those of a source together."""
    return {source: list(group) for source, group in groupby(lines, key=lambda line: line.source)}


def read_chunks(folder: Path) -> list[Chunk]:
    """Return all chunks, parsed; an empty list if the file is absent. Raises IndexDamaged, StorageError."""
    return [line.chunk for line in read_lines(folder)]


def _sources(update: Sequence[bytes]) -> list[str]:
    """Return the sources that an update replaces. Raises IndexDamaged."""
    try:
        return list(map(str, json.loads(update[0])["sources"]))
    except (IndexError, ValueError, KeyError, TypeError) as error:
        raise IndexDamaged(f"{CHUNKS} contains a damaged update.") from error


def _lines_of(records: Sequence[bytes]) -> list[ChunkLine]:
    try:
        return [ChunkLine.written(record) for record in records]
    except ValueError:  # another program wrote the file
        return [ChunkLine.of(_parsed(record)) for record in records]


def _parsed(line: bytes) -> Chunk:
    try:
        return parse_chunk(line)
    except ValidationError as error:
        raise IndexDamaged(f"{CHUNKS} contains a damaged record.") from error


def _members(folder: Path) -> Iterator[list[bytes]]:
    """Yield the records of each complete member; none if the file is absent. Raises IndexDamaged, StorageError."""
    try:
        with open(folder / CHUNKS, "rb") as file:
            yield from _unpacked(file)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(f"Cannot read {CHUNKS}: {error.strerror}.") from error
    except zlib.error as error:
        raise IndexDamaged(f"{CHUNKS} is damaged.") from error


def _unpacked(file: BinaryIO) -> Iterator[list[bytes]]:
    """Read in portions, because the text of all members is several times as large as the file."""
    count, packed = 0, file.read(READ_BYTES)
    while packed:
        unpacker, records, rest = zlib.decompressobj(GZIP), list[bytes](), b""
        while packed and not unpacker.eof:
            *whole, rest = (rest + unpacker.decompress(packed)).split(b"\n")
            records += whole
            packed = unpacker.unused_data or file.read(READ_BYTES)
        if unpacker.eof:
            yield [*records, rest] if rest else records
            count += 1
    if not count:
        raise IndexDamaged(f"{CHUNKS} contains only a part of its snapshot.")


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
